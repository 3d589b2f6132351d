"""Verb 2, register: a new query meets all stored tuples. And remove, which undoes it.

A verb checks first and raises before it changes anything: what it raises makes the operation void.
"""

from dataclasses import replace

from engine.eddy.eddy import Eddy, FreshQuery
from engine.errors import NameTakenError, NotFoundError
from engine.limits import CHUNK_ROWS
from engine.log.operation import Operation, Register, Remove
from engine.query.binder import bind
from engine.query.clause import BoundQuery, StandingQueryClause
from engine.results.delta import ClauseRecord, QueryRecord
from engine.results.draft import Draft
from engine.results.hits import ClauseId
from engine.results.page import page_of
from engine.stems.state import State
from engine.tuples.schema import StreamId


def register(
    state: State, draft: Draft, *, eddy: Eddy, operation: Operation, content: Register
) -> None:
    """Add a handle; where its clause is new, write its pages over everything that is retained.

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
        record = ClauseRecord(clause_id, clause.text, streams, content.materialize)
        state.hold_clause(record)
        draft.clauses[clause_id] = record
        keep_pages(state, draft, eddy=eddy, clause_id=clause_id, clause=clause)
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
    return bind(content.sql, declared)


def keep_pages(
    state: State,
    draft: Draft,
    *,
    eddy: Eddy,
    clause_id: ClauseId,
    clause: StandingQueryClause,
) -> None:
    """Join the clause, and write its pages.

    It meets whole chunks: from the one on that holds the first retained row. So a page depends on its
    clause and its chunk alone and a restart makes it again bit for bit; rows below the floor are never
    shown, whatever pages hold.
    """
    stream = state.streams[clause.sources[0].stream_id]
    first_row = stream.record.floor_row // CHUNK_ROWS * CHUNK_ROWS
    for hits in eddy.join(fresh=FreshQuery(clause_id, clause, first_row)):
        for chunk, offsets in hits.by_chunk():
            draft.pages[clause_id, chunk] = page_of(offsets)
            if chunk == stream.open_chunk:
                stream.open_hits[clause_id] = offsets


def count_queries(state: State, draft: Draft, streams: tuple[StreamId, ...], *, by: int) -> None:
    """Bring the number of queries in the records of `streams` up to date."""
    for stream_id in dict.fromkeys(streams):
        stream = state.streams[stream_id]
        stream.record = replace(stream.record, queries=stream.record.queries + by)
        draft.streams[stream_id] = stream.record
