"""Verb 2, register: a new query meets all stored tuples. And remove, which undoes it.

A verb checks first and raises before it changes anything: what it raises makes the operation void.
"""

from engine.eddy.eddy import Eddy, FreshQuery
from engine.errors import NameTakenError, NotFoundError
from engine.limits import CHUNK_ROWS
from engine.log.operation import Materialize, Operation, Register, Remove
from engine.query.clause import BoundQuery, StandingQueryClause
from engine.results.delta import ClauseRecord, QueryRecord
from engine.results.draft import Draft
from engine.results.hits import ClauseId
from engine.stems.query_stem import is_cheap
from engine.stems.state import State, StreamState
from engine.tuples.schema import StreamId


def register(
    state: State, draft: Draft, *, eddy: Eddy, operation: Operation, content: Register
) -> None:
    """Add a handle; where its clause is new, write its pages over what is retained and kept.

    Raises:
        NameTakenError: the handle is standing already.
        NotFoundError: a stream is not in force under the id given.
        SqlError: the text does not bind.
    """
    if content.query_id in state.queries:
        raise NameTakenError(f"Query {content.query_id} is standing already.", id=content.query_id)
    bound = bound_query(state, content)
    clause = bound.clause
    streams = tuple(source.stream_id for source in clause.sources)
    clause_id = state.shared.get((clause.text, streams, content.materialize))
    if clause_id is None:
        clause_id = ClauseId(operation.seq)
        stream = state.streams[streams[0]]
        record = ClauseRecord(
            clause_id,
            clause.text,
            streams,
            content.materialize,
            kept_row=first_kept_row(stream, clause, content.materialize),
            block_row=stream.open_chunk * CHUNK_ROWS,
        )
        state.hold_clause(record)
        draft.clauses[clause_id] = record
        keep_pages(draft, eddy=eddy, record=record, clause=clause)
    query = QueryRecord(
        query_id=content.query_id,
        seq=operation.seq,
        clause_id=clause_id,
        canonical=bound.canonical,
        window=bound.window,
        name=content.name,
        labels=dict(content.labels),
    )
    state.hold_query(query)
    draft.queries[query.query_id] = query
    count_queries(state, draft, streams, by=1)


def remove(state: State, draft: Draft, *, content: Remove) -> None:
    """Take a handle out; its clause goes with the last one. Raises NotFoundError if it is not standing."""
    query = state.queries.get(content.query_id)
    if query is None:
        raise NotFoundError(f"No query {content.query_id} is standing.")
    streams = state.clauses[query.clause_id].record.streams
    gone = state.release_query(content.query_id)
    draft.dropped_queries.add(content.query_id)
    if gone is not None:
        draft.dropped_clauses.add(gone)
    count_queries(state, draft, streams, by=-1)


def bound_query(state: State, content: Register) -> BoundQuery:
    """Return the query's text bound against the declarations it was written for."""
    declared = {}
    for name, stream_id in content.streams.items():
        if state.names.get(name) != stream_id:
            raise NotFoundError(f"No stream {name} with id {stream_id} is in force.")
        declared[name] = (stream_id, state.streams[stream_id].record.schema)
    return state.bind(content.sql, declared)


def keep_pages(
    draft: Draft, *, eddy: Eddy, record: ClauseRecord, clause: StandingQueryClause
) -> None:
    """Join the clause, and write its pages of the whole chunks whose hits are to be kept."""
    first_row = record.kept_row if record.kept_row < record.block_row else None
    fresh = FreshQuery(record.clause_id, clause, record.materialize, first_row)
    for pages in eddy.join(fresh=fresh):
        draft.pages[record.clause_id, pages.run] = pages


def first_kept_row(
    stream: StreamState, clause: StandingQueryClause, materialize: Materialize
) -> int:
    """Return the row from which on hits of a fresh clause are kept.

    By `auto` a cheap clause is not evaluated over old data before somebody asks for it: that is as fast
    then, and most of 100,000 are not asked at once. Others begin with the chunk of the first retained row,
    whole, so that a page depends on its clause and its chunk alone.
    """
    nothing = materialize is Materialize.NONE
    if nothing or (materialize is Materialize.AUTO and is_cheap(clause)):
        return stream.open_chunk * CHUNK_ROWS
    return stream.record.floor_row // CHUNK_ROWS * CHUNK_ROWS


def count_queries(state: State, draft: Draft, streams: tuple[StreamId, ...], *, by: int) -> None:
    """Bring the number of queries in the records of `streams` up to date."""
    for stream_id in dict.fromkeys(streams):
        stream = state.streams[stream_id]
        stream.record = stream.record.counting(stream.record.queries + by)
        draft.streams[stream_id] = stream.record
