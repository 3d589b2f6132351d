"""What verbs have in common: composites that were found are written, and clauses cease to meet tuples, because their
last handle has gone or because they ran over a bound.
"""  # noqa: D205

from dataclasses import replace

from psoup.engine.eddy.join_entrants import Joined
from psoup.engine.limits import JOIN_RESULTS_MAX
from psoup.engine.log.operation import QueryId
from psoup.engine.results.delta import Suspension
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.state.state import State
from psoup.engine.tuples.schema import StreamId


def release(state: State, draft: Draft, query_id: QueryId) -> None:
    """Take a standing handle out; its clause goes with the last one, and that one's composites with it."""
    record = state.clauses[state.queries[query_id].clause_id].record
    gone = state.release_query(query_id)
    draft.dropped_queries.add(query_id)
    if gone is not None:
        draft.dropped_clauses.add(gone)
        draft.dropped_composites.update(state.drop_composites(record))
    count_queries(state, draft, record.streams, by=-1)


def count_queries(state: State, draft: Draft, streams: tuple[StreamId, ...], *, by: int) -> None:
    """Bring the number of queries in the records of `streams` up to date."""
    for stream_id in dict.fromkeys(streams):
        stream = state.streams[stream_id]
        stream.record = stream.record.counting(stream.record.queries + by)
        draft.streams[stream_id] = stream.record


def suspend(state: State, draft: Draft, clause_id: ClauseId, reason: str) -> None:
    """Let a clause over several streams meet nothing more, and forget its composites. Twice is once."""
    standing = state.clauses[clause_id]
    record = standing.record
    assert record.join is not None, "only joins that are kept run over a bound"
    if record.join.suspended is not None:
        return
    suspended = replace(record.join, suspended=Suspension(draft.seq, reason))
    standing.record = draft.clauses[clause_id] = replace(record, join=suspended)
    state.query_stem.evict(clause_id)
    draft.dropped_composites.update(state.drop_composites(record))


def note_joined(state: State, draft: Draft, found: Joined) -> list[tuple[ClauseId, str]]:
    """Write the pages that an entrant has found; return the clauses that are over a bound, and why."""
    for number, page in enumerate(found.pages):
        key = (found.group, found.entrant, found.number, number)
        draft.composites[key] = page
        state.composites.note(key, page)
    reason = f"more than {JOIN_RESULTS_MAX:,} results within retention"
    over = state.composites.over(found.group, JOIN_RESULTS_MAX)
    meeting = [clause_id for clause_id in over if clause_id in state.query_stem.groups]
    return [*found.overrun, *((clause_id, reason) for clause_id in meeting)]
