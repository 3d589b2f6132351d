"""What holds in every Results Structure, asserted over plain records: `check()` of each store."""

from collections.abc import Iterable, Sequence

from engine.results.contract import Checkpoint
from engine.results.delta import BatchRecord, PageKey, StreamRecord
from engine.tuples.schema import StreamId


def check_records(checkpoint: Checkpoint, page_keys: Iterable[PageKey]) -> None:
    """Assert that records refer to each other and that none is from above the applied operation.

    Every query has its clause, every clause its streams and a query, every page its clause, every
    batch its stream; batches of a stream lie behind one another. O(records + pages).
    """
    applied = checkpoint.cut.seq
    streams = {record.stream_id: record for record in checkpoint.streams}
    clauses = {record.clause_id: record for record in checkpoint.clauses}
    assert len({record.schema.name for record in streams.values()}) == len(streams)
    assert all(stream_id <= applied for stream_id in streams)
    for query in checkpoint.queries:
        assert query.clause_id in clauses, "a query has its clause"
        assert query.seq <= applied, "a query is visible once it is applied"
    used = {query.clause_id for query in checkpoint.queries}
    for clause in clauses.values():
        assert clause.clause_id in used, "a clause has a query"
        assert all(stream_id in streams for stream_id in clause.streams), "and its streams"
        assert clause.clause_id <= applied
    for clause_id, chunk in page_keys:
        assert clause_id in clauses, "a page has its clause"
        assert chunk >= 0
    _check_batches(streams, checkpoint.batches)


def _check_batches(streams: dict[StreamId, StreamRecord], batches: Sequence[BatchRecord]) -> None:
    last: dict[StreamId, BatchRecord] = {}
    for batch in batches:
        assert batch.stream_id in streams, "a batch has its stream"
        before = last.get(batch.stream_id)
        if before is not None:
            assert before.seq < batch.seq, "batches are in the order of the log"
            assert before.first_row + before.rows <= batch.first_row, "rows are counted once"
            assert before.first_tuple_id + before.rows <= batch.first_tuple_id
        last[batch.stream_id] = batch
    for stream_id, batch in last.items():
        assert batch.first_row + batch.rows <= streams[stream_id].rows
