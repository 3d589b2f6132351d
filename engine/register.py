"""Verb 2, register: a new query meets all stored tuples. And remove, which undoes it.

A verb checks first and raises before it changes anything: what it raises makes the operation void.
"""

from psoup.engine.clauses.query_stem import is_join_kept
from psoup.engine.data.source import DatedRows
from psoup.engine.eddy.eddy import Eddy, FreshJoin, FreshQuery
from psoup.engine.errors import NameTakenError, NotFoundError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, Operation, Register, Remove
from psoup.engine.query.clause import BoundQuery, StandingQueryClause
from psoup.engine.query.values.value_set import INT64_MAX
from psoup.engine.release import count_queries, note_joined, release, suspend
from psoup.engine.results.delta import ClauseRecord, JoinRecord, QueryRecord
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.state.state import State, first_kept_row

Fresh = tuple[ClauseId, StandingQueryClause, Materialize]
"""A new clause, and how its hits are to be kept."""


def register(
    state: State, draft: Draft, *, eddy: Eddy, operation: Operation, content: Register
) -> None:
    """Add a handle; for a new clause, find and write its hits among the retained tuples, if hits are kept.

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
        if len(streams) > 1:
            begin_join(state, draft, eddy=eddy, fresh=(clause_id, clause, content.materialize))
        else:
            begin_clause(state, draft, eddy=eddy, fresh=(clause_id, clause, content.materialize))
    query = QueryRecord(
        query_id=content.query_id,
        seq=operation.seq,
        clause_id=clause_id,
        canonical=bound.canonical,
        window=bound.window,
        name=content.name,
        labels=dict(content.labels),
        ranges=bound.ranges,
        text=content.text,
    )
    state.hold_query(query)
    draft.queries[query.query_id] = query
    count_queries(state, draft, streams, by=1)


def remove(state: State, draft: Draft, *, content: Remove) -> None:
    """Take a handle out; its clause goes with the last one. Raises NotFoundError if it is not standing."""
    query = state.queries.get(content.query_id)
    if query is None:
        raise NotFoundError(f"No query {content.query_id} is standing.")
    release(state, draft, query.query_id)


def bound_query(state: State, content: Register) -> BoundQuery:
    """Return the query's text bound against the declarations it was written for."""
    declared = {}
    for name, stream_id in content.streams.items():
        if state.names.get(name) != stream_id:
            raise NotFoundError(f"No stream {name} with id {stream_id} is in force.")
        declared[name] = (stream_id, state.streams[stream_id].record.schema)
    return state.bind(content.sql, declared)


def begin_clause(state: State, draft: Draft, *, eddy: Eddy, fresh: Fresh) -> None:
    """Add a clause over one stream, and write its pages of the whole chunks whose hits are to be kept."""
    clause_id, clause, materialize = fresh
    (source,) = clause.sources
    stream = state.streams[source.stream_id]
    record = ClauseRecord(
        clause_id,
        clause.text,
        (source.stream_id,),
        materialize,
        kept_row=first_kept_row(stream, clause, materialize),
        block_row=stream.open_chunk * CHUNK_ROWS,
    )
    state.hold_clause(record)
    draft.clauses[clause_id] = record
    first_row = record.kept_row if record.kept_row < record.block_row else None
    for pages in eddy.join(fresh=FreshQuery(clause_id, clause, materialize, first_row)):
        draft.pages[clause_id, pages.run] = pages


def begin_join(state: State, draft: Draft, *, eddy: Eddy, fresh: Fresh) -> None:
    """Add a clause over several streams; where its composites are kept, in its group, with all there are by now."""
    clause_id, clause, materialize = fresh
    streams = tuple(source.stream_id for source in clause.sources)
    if not is_join_kept(clause, materialize):
        record = ClauseRecord(clause_id, clause.text, streams, materialize)
        state.hold_clause(record)
        draft.clauses[clause_id] = record
        return
    fronts = tuple(state.streams[stream_id].open_chunk * CHUNK_ROWS for stream_id in streams)
    group_id = state.query_stem.groups.fitting(clause) or clause_id
    join = JoinRecord(group_id, fronts)
    record = ClauseRecord(clause_id, clause.text, streams, materialize, join=join)
    state.hold_clause(record)
    draft.clauses[clause_id] = record
    # What retention has let go before the query came, none of its positions shows.
    records = [state.streams[stream_id].record for stream_id in streams]
    spans = [
        DatedRows(record.stream_id, record.floor_row, front, record.floor_us, INT64_MAX)
        for record, front in zip(records, fronts, strict=True)
    ]
    for found in eddy.join(fresh=FreshJoin(clause_id, clause, materialize, group_id, spans)):
        for over, reason in note_joined(state, draft, found):
            suspend(state, draft, over, reason)
