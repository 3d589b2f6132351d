"""Verb 2, register: a new query meets all stored tuples. Also remove, which undoes it, and replace, which does both.

A verb checks first and raises before it changes anything: what it raises makes the operation void.
"""

import dataclasses

from psoup.engine.clauses.query_stem import is_join_kept
from psoup.engine.data.source import DatedRows
from psoup.engine.eddy.eddy import Eddy, FreshJoin, FreshQuery
from psoup.engine.errors import NameTakenError, NotFoundError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, Register, Remove, Replace, definition
from psoup.engine.query.clause import BoundQuery, StandingQueryClause
from psoup.engine.query.values.value_set import INT64_MAX
from psoup.engine.release import count_queries, note_joined, release, suspend
from psoup.engine.results.delta import ClauseRecord, JoinRecord, QueryRecord
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.state.state import State, first_kept_row
from psoup.engine.tuples.batch import Seq

Fresh = tuple[ClauseId, StandingQueryClause, Materialize]
"""A new clause, and how its hits are to be kept."""


def register(state: State, draft: Draft, *, eddy: Eddy, content: Register) -> None:
    """Add a handle; for a new clause, find and write its hits among the retained tuples, if hits are kept.

    Raises:
        NameTakenError: the handle is standing already.
        NotFoundError: a stream is not in force under the id given.
        SqlError: the text does not bind.
    """
    if content.query_id in state.queries:
        raise NameTakenError(f"Query {content.query_id} is standing already.", id=content.query_id)
    bound = bound_query(state, content)
    clause_id = clause_of(state, draft, eddy=eddy, query=(bound, content))
    query = query_record(
        bound, content, seq=draft.seq, clause_id=clause_id, now_us=draft.arrival_us
    )
    state.hold_query(query)
    draft.queries[query.query_id] = query
    count_queries(state, draft, state.clauses[clause_id].record.streams, by=1)


def replace(state: State, draft: Draft, *, eddy: Eddy, content: Replace) -> None:
    """Make a standing query what `content` says, under its handle and name. Another definition is its next version.

    Raises:
        NotFoundError: no query stands under handle and name, or a stream is not in force under the id given.
        SqlError: the text does not bind.
    """
    given = content.query
    before = state.queries.get(given.query_id)
    if before is None or before.name != given.name:
        raise NotFoundError(f"No query {given.query_id} is standing under this name.")
    bound = bound_query(state, given)
    clause_id = clause_of(state, draft, eddy=eddy, query=(bound, given))
    clause = state.clauses[before.clause_id].record
    redefined = definition(clause.materialize, before.canonical) != given.definition
    query = dataclasses.replace(
        query_record(bound, given, seq=before.seq, clause_id=clause_id, now_us=draft.arrival_us),
        version=before.version + redefined,
        defined_seq=draft.seq if redefined else before.defined_seq,
        amended_seq=before.amended_seq if redefined else draft.seq,
    )
    read = clause.streams if redefined else ()
    if clause_id != before.clause_id:
        release(state, draft, query.query_id)
        draft.dropped_queries.discard(query.query_id)
        count_queries(state, draft, state.clauses[clause_id].record.streams, by=1)
    state.hold_query(query)
    draft.queries[query.query_id] = query
    for stream_id in read:  # who waits for the query is woken by what its streams say
        stream = state.streams[stream_id]
        stream.record = draft.streams[stream_id] = dataclasses.replace(
            stream.record, replaced_seq=draft.seq
        )


def remove(state: State, draft: Draft, *, content: Remove) -> None:
    """Take a handle out; its clause goes with the last one. Raises NotFoundError if it is not standing."""
    query = state.queries.get(content.query_id)
    if query is None:
        raise NotFoundError(f"No query {content.query_id} is standing.")
    release(state, draft, query.query_id)


def clause_of(
    state: State, draft: Draft, *, eddy: Eddy, query: tuple[BoundQuery, Register]
) -> ClauseId:
    """Return the clause of a query: the one that stands for its condition, or a fresh one."""
    bound, content = query
    clause, materialize = bound.clause, content.materialize
    streams = tuple(source.stream_id for source in clause.sources)
    standing = state.shared.get((clause.text, streams, materialize))
    if standing is not None:
        return standing
    clause_id = ClauseId(draft.seq)
    begin = begin_join if len(streams) > 1 else begin_clause
    begin(state, draft, eddy=eddy, fresh=(clause_id, clause, materialize))
    return clause_id


def query_record(
    bound: BoundQuery, content: Register, *, seq: Seq, clause_id: ClauseId, now_us: int
) -> QueryRecord:
    """Return the record of a handle, registered by operation `seq`, over a clause that is held.

    It expires its time to live after `now_us`.
    """
    return QueryRecord(
        query_id=content.query_id,
        seq=seq,
        clause_id=clause_id,
        canonical=bound.canonical,
        window=bound.window,
        name=content.name,
        labels=dict(content.labels),
        ranges=bound.ranges,
        text=content.text,
        ttl_us=content.ttl_us,
        expires_us=None if content.ttl_us is None else now_us + content.ttl_us,
    )


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
