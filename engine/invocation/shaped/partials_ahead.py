"""Partials made before anybody asks: of queries with `materialize` `complete`, as chunks of their stream become whole.

What is made is what the next invocation would make, by the same code; it finds it in the cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.aggregates.partials.partial_cache import Key, TooManyGroups
from psoup.engine.aggregates.partials.stream_partials import StreamPartials
from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.one_stream.stream_aggregates import sealed_partials
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invocation.position.pinning import pinned
from psoup.engine.invocation.shaped.grouping import grouping_of
from psoup.engine.invocation.shaped.series_groups import in_one_pass
from psoup.engine.invocation.shaped.visible_groups import StreamRows
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.results.contract import ResultsReader, Snapshot

CHUNKS_OF_STEP: Final = 256
"""Chunks of one step: a million rows, some ten milliseconds."""


def key_ahead(snapshot: Snapshot, cache: InvocationCache) -> Key | None:
    """Return whose partials are made ahead for a query; None = none are.

    They are for groups of one stream whose aggregates can be merged, where all hits are kept.
    """
    if snapshot.clause.materialize is not Materialize.COMPLETE:
        return None
    reading = cache.reading(snapshot)
    if not in_one_pass(reading, len(snapshot.streams)):
        return None
    texts = reading.of_shape(grouping_of).texts
    return snapshot.cut.gen, snapshot.clause.clause_id, texts


@dataclass(frozen=True, slots=True)
class StepAhead:
    """What a step has come to.

    Attributes:
        more: whether chunks are left for another step.
        refused_bytes: the size of partials for which there is no room; 0 = they are kept.
    """

    more: bool = False
    refused_bytes: int = 0


def step_ahead(
    snapshots: Sequence[Snapshot],
    results: ResultsReader,
    source: TupleSource,
    cache: InvocationCache,
) -> StepAhead:
    """Make the partials of the next CHUNKS_OF_STEP whole chunks that the windows of some queries show, or will.

    Where there is no room for all of them, those before the windows are let go. Where there is none even so, nothing
    is kept that was made, and invocations make what they need.

    Args:
        snapshots: of queries of one key, one at least.
        results: where hits are kept.
        source: where tuples are held.
        cache: where partials are kept.

    Raises:
        NotFoundError: a query has been removed.
        PageExpiredError: rows were dropped meanwhile, or a query was replaced.

    Cost: that of reading and aggregating the rows of these chunks.
    """
    found = [_finding(snapshot, results, source, cache) for snapshot in snapshots]
    reaching = [(one.sealed_chunks(), one) for one in found if one is not None]
    reaching = [(chunks, one) for chunks, one in reaching if chunks]
    if not reaching:
        return StepAhead()
    needed, finding = min(reaching, key=lambda pair: pair[0].start)
    past = max(chunks.stop for chunks, _ in reaching)
    needed = range(needed.start, min(past, finding.whole_row // CHUNK_ROWS))
    snapshot = snapshots[0]
    gen, clause_id, reading = snapshot.cut.gen, snapshot.clause.clause_id, cache.reading(snapshot)
    grouping = reading.of_shape(grouping_of)
    known = cache.partials.partials(gen, clause_id, grouping)
    step = _step(needed, known)
    made = known
    if step:
        made = finding.settled(
            lambda: sealed_partials(
                step,
                grouping,
                StreamRows(finding, reading.group_names),
                known=known,
                lowest_row=snapshot.streams[0].dropped_row,
            )
        )
    assert made is not None, "a step makes some, unless all are known"
    if cache.partials.keep_ahead(gen, clause_id, grouping, made):
        return StepAhead(more=bool(_step(needed, made)))
    if not isinstance(made, StreamPartials):
        return StepAhead(refused_bytes=1)
    if made.first < needed.start < made.past:
        made = made.since(needed.start)
        if cache.partials.keep_ahead(gen, clause_id, grouping, made):
            return StepAhead(more=bool(_step(needed, made)))
    return StepAhead(refused_bytes=made.nbytes)


def _finding(
    snapshot: Snapshot, results: ResultsReader, source: TupleSource, cache: InvocationCache
) -> StreamFinding | None:
    """Return what finds the rows of a query at its NOW; None = there is no NOW yet."""
    at = pinned(snapshot, Request(limit=1))
    if at is None:
        return None
    return StreamFinding(results, source, snapshot, cache.reading(snapshot), cache, at=at)


def _step(needed: range, known: StreamPartials | TooManyGroups | None) -> range:
    """Return which chunks to make now, of those that are needed; none where all are known.

    Last come those of segments that are known as a whole: an invocation that came before made no more than that.
    """
    if isinstance(known, TooManyGroups):
        return range(0)
    if known is not None:
        begin, end = -(-needed.start // known.unit), needed.stop // known.unit
        needed = range(begin * known.unit, max(begin, end) * known.unit)
    if known is None or known.past < needed.start or known.first > needed.stop:
        return needed[:CHUNKS_OF_STEP]
    if known.first > needed.start:
        return range(max(needed.start, known.first - CHUNKS_OF_STEP), known.first)
    if known.past < needed.stop or not known.divided:
        return range(known.past, needed.stop)[:CHUNKS_OF_STEP]
    undivided = known.first_undivided(needed.start, needed.stop)
    if undivided is None:
        return range(0)
    step = range(undivided, needed.stop)[:CHUNKS_OF_STEP]
    return range(max(needed.start, undivided), step.stop)
