"""State(k) made again from a checkpoint: records as they were published, tuples from the log's batches.

Tuples are built and not probed: what they satisfied is in the store already.
"""

from collections.abc import Iterable

from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.log.operation import Operation
from psoup.engine.query.clause import BoundQuery
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import BatchRecord, ClauseRecord
from psoup.engine.sources.logged_batch import logged_batch
from psoup.engine.state.state import State
from psoup.engine.tuples.batch import TupleBatch, TupleId


def restore(state: State, checkpoint: Checkpoint, batches: Iterable[Operation]) -> None:
    """Fill a fresh state with everything the checkpoint and its batches say.

    Segments on their way out get their full time anew, since a checkpoint does not say when they left.

    Raises:
        IntegrityError: a record's batch, stream or clause is missing, or a stored text does not bind.
    """
    state.applied, state.arrival_us = checkpoint.cut.seq, checkpoint.cut.arrival_us
    for record in sorted(checkpoint.streams, key=lambda record: record.stream_id):
        state.hold_stream(record)
    for clause_record in sorted(checkpoint.clauses, key=lambda record: record.clause_id):
        hold_clause(state, clause_record)
    for key, page in checkpoint.composites.items():
        state.composites.note(key, page)
    for query in sorted(checkpoint.queries, key=lambda record: record.seq):
        if query.clause_id not in state.clauses:
            raise IntegrityError(f"Query {query.query_id} has no clause {query.clause_id}.")
        state.hold_query(query)
    state.expired.update((at_us, query_id) for query_id, at_us in checkpoint.expired.items())
    records = {record.seq: record for record in checkpoint.batches}
    for operation in batches:
        hold_batch(state, records.pop(operation.seq, None), operation)
    if records:
        raise IntegrityError(f"The log lacks {len(records)} batches that are still held.")
    for stream in state.streams.values():
        if stream.stem.past_row != stream.record.rows:
            raise IntegrityError(
                f"Stream {stream.record.schema.name} has {stream.record.rows} rows, its batches end at"
                f" {stream.stem.past_row}."
            )


def hold_clause(state: State, record: ClauseRecord) -> None:
    """Hold a clause, and let it meet tuples again; one that is suspended never does."""
    clause, join = bound_record(state, record).clause, record.join
    state.hold_clause(record)
    if join is None or join.suspended is None:
        group_id = None if join is None else join.group
        state.query_stem.build(record.clause_id, clause, record.materialize, group_id)


def bound_record(state: State, record: ClauseRecord) -> BoundQuery:
    """Return the clause that was published as text, bound as the query that the text is.

    A clause that was published before select lists were told apart from conditions has one in its text. It keeps its
    hits and its handles; queries that come later share the clause of their condition alone.
    """
    try:
        streams = [state.streams[stream_id].record for stream_id in record.streams]
        declared = {one.schema.name: (one.stream_id, one.schema) for one in streams}
        return state.bind(record.text, declared)
    except (EngineError, KeyError) as error:
        raise IntegrityError(f"Clause {record.clause_id} does not bind any more.") from error


def hold_batch(state: State, record: BatchRecord | None, operation: Operation) -> None:
    """Build a batch where its record says it lies; rows of dropped segments are left out."""
    if record is None or record.stream_id not in state.streams:
        raise IntegrityError(f"Operation {operation.seq} is no batch that is held.")
    stream = state.streams[record.stream_id]
    batch = logged_batch(
        stream.reader,
        operation,
        stream_id=record.stream_id,
        first_tuple_id=record.first_tuple_id,
        rows=record.rows,
    )
    skipped = stream.stem.past_row - record.first_row
    if not 0 <= skipped < len(batch):
        raise IntegrityError(f"Batch {operation.seq} does not lie where its record says.")
    stream.stem.build(behind(batch.whole(), skipped) if skipped else batch)
    retained = record.past_row > stream.record.floor_row
    (stream.retained if retained else stream.retired).append(record)


def behind(batch: TupleBatch, skipped: int) -> TupleBatch:
    """Return the batch without its first `skipped` rows."""
    some = slice(skipped, len(batch))
    return TupleBatch(
        stream_id=batch.stream_id,
        schema=batch.schema,
        columns=tuple(column.part(some) for column in batch.columns),
        first_tuple_id=TupleId(batch.first_tuple_id + skipped),
        times_us=batch.times_us[some],
        seq=batch.seq,
        arrival_us=batch.arrival_us,
    )
