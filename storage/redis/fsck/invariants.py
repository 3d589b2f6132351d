"""What holds in every Results Structure, asserted over plain records."""

from collections.abc import Iterable, Sequence

from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import (
    CHUNKS,
    BatchRecord,
    BlockKey,
    ClauseRecord,
    JoinRecord,
    PageKey,
    StreamRecord,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.tuples.schema import StreamId


def check_records(checkpoint: Checkpoint) -> None:
    """Assert that records refer to each other and that none is from above the applied operation.

    Every query has its clause, every clause its streams and a query, every batch its stream; batches of a
    stream lie behind one another. O(records).
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
        assert 0 <= clause.kept_row <= clause.block_row
        assert clause.kept_row % CHUNK_ROWS == clause.block_row % CHUNK_ROWS == 0
        if clause.join is not None:
            _check_join(clause, clause.join, streams, applied)
    _check_batches(streams, checkpoint.batches)


def check_pages(checkpoint: Checkpoint, pages: Iterable[PageKey]) -> None:
    """Assert that every page of a clause's own has its clause, and is of a chunk that came before it."""
    streams = {record.stream_id: record for record in checkpoint.streams}
    clauses = {record.clause_id: record for record in checkpoint.clauses}
    for clause_id, chunk in pages:
        assert clause_id in clauses, "a page has its clause"
        clause = clauses[clause_id]
        assert clause.kept_row <= chunk * CHUNK_ROWS < clause.block_row, "the rest is in blocks"
        assert chunk // CHUNKS in clause.paged_segments
        _check_held(streams[clause.streams[0]], chunk)


def check_blocks(checkpoint: Checkpoint, blocks: Iterable[tuple[BlockKey, MatchBlock]]) -> None:
    """Assert that every block has its stream, and is of a whole chunk and of clauses that have come."""
    streams = {record.stream_id: record for record in checkpoint.streams}
    for (stream_id, chunk), block in blocks:
        assert stream_id in streams, "a block has its stream"
        _check_held(streams[stream_id], chunk)
        block.check()
        assert block.clause_ids[0] > 0
        assert block.clause_ids[-1] <= checkpoint.cut.seq


def check_composites(
    checkpoint: Checkpoint, pages: Iterable[tuple[CompositeKey, CompositePage]]
) -> None:
    """Assert that every page of composites has a clause of its group, or its own one, and names rows in whole chunks.

    `pages` are all that are kept: those of the checkpoint, no fewer and no more.
    """
    streams = {record.stream_id: record for record in checkpoint.streams}
    joins = {c.clause_id: (c, c.join) for c in checkpoint.clauses if c.join is not None}
    members = {join.group: clause for clause, join in joins.values()}
    found: set[CompositeKey] = set()
    for key, page in pages:
        group, entrant, number, _ = key
        found.add(key)
        assert group in members, "a page has a clause of its group"
        read = [streams[stream_id] for stream_id in members[group].streams]
        assert len(page.rows) == len(read), "a row of each source"
        assert 0 <= entrant <= len(read)
        fronts = tuple(stream.rows // CHUNK_ROWS * CHUNK_ROWS for stream in read)
        if entrant == len(read):
            assert ClauseId(number) in joins, "a clause's own page has its clause"
            _, join = joins[ClauseId(number)]
            assert join.group == group
            assert page.block.clause_ids.tolist() == [number]
            fronts = join.fronts
        else:
            assert (page.rows[entrant] // CHUNK_ROWS == number).all(), "of the chunk that entered"
        assert all(past <= front for past, front in zip(page.past_rows, fronts, strict=True))
        assert page.rows.min() >= 0
        page.check()
        assert page.block.clause_ids[0] > 0
        assert page.block.clause_ids[-1] <= checkpoint.cut.seq
    assert found == checkpoint.composites.keys(), "a restart begins with all of them"


def _check_join(
    clause: ClauseRecord, join: JoinRecord, streams: dict[StreamId, StreamRecord], applied: int
) -> None:
    read = [streams[stream_id] for stream_id in clause.streams]
    assert 0 < join.group <= clause.clause_id, "a group is as old as its first clause"
    assert len(join.fronts) == len(read) > 1
    for front, stream in zip(join.fronts, read, strict=True):
        assert front % CHUNK_ROWS == 0
        assert 0 <= front <= stream.rows
    if join.suspended is not None:
        assert clause.clause_id <= join.suspended.since_seq <= applied


def _check_held(stream: StreamRecord, chunk: int) -> None:
    assert (chunk + 1) * CHUNK_ROWS <= stream.rows, "hits are kept of whole chunks"
    assert chunk // CHUNKS >= stream.dropped_row // SEGMENT_ROWS, "and of segments that are held"


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
