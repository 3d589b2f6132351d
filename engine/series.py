"""Verb 3 at many instants: what a query answers at each of a sequence of them, all of one snapshot.

Each point equals what `invoke` answers with `now_us` at the same position. Groups of one stream are made in one pass
over its rows (`invocation/shaped/series_groups.py`); anything else by one invocation a point, sharing what is found.
"""

from collections.abc import Callable, Sequence
from typing import Final

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import TupleSource
from psoup.engine.errors import PageExpiredError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.pinning import instant, pinned
from psoup.engine.invocation.position.series_points import Point, Series, instants_of_points
from psoup.engine.invocation.shaped.series_groups import (
    SeriesGroups,
    in_one_pass,
    series_too_large,
)
from psoup.engine.invoke import ATTEMPTS_MAX, Request, answered, retention_overtakes
from psoup.engine.limits import SERIES_ROWS_MAX
from psoup.engine.log.operation import QueryId
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.results.contract import ResultsReader, Snapshot

__all__ = ["Point", "Series", "series"]

_Found = tuple[list[Point], tuple[AggregateCall, ...]]
_LEAST_ROWS: Final = 1


def series(
    results: ResultsReader,
    source: TupleSource,
    *,
    query_id: QueryId,
    instants: Callable[[Snapshot], Sequence[int]],
    cache: InvocationCache,
    rows_max: int = SERIES_ROWS_MAX,
) -> Series:
    """Return what a query answers at a sequence of instants.

    Args:
        results: where hits are kept.
        source: where tuples are held.
        query_id: the query.
        instants: returns those that are asked for, given the snapshot that is answered from; () = none.
        cache: of this process.
        rows_max: of all points together.

    Raises:
        NotFoundError: the query is not standing.
        NowOutOfRangeError: an instant lies after NOW, or before what retention has kept.
        QuerySuspendedError: the query joins streams, and ran over a bound.
        AnswerTooLargeError: the points have more than `rows_max` rows together, or a point what `invoke` refuses.
        OverloadedError: tuples leave retention faster than they are read.

    Cost: of groups of one stream whose aggregates merge that of one invocation over all windows together, and O(groups)
    for each point; else that of as many invocations as there are points.
    """
    for _ in range(ATTEMPTS_MAX):
        checkpoint()
        snapshot = results.snapshot(query_id)
        asked_us = instants(snapshot)
        hops = instants_of_points(snapshot, asked_us)
        try:
            points, overflowed = _points(
                results, source, snapshot, hops, cache=cache, rows_max=rows_max
            )
        except PageExpiredError:  # rows left retention while they were read
            continue
        now_us = instant(snapshot, None)
        shape = cache.reading(snapshot).shape
        outputs = tuple([(output.name, output.type) for output in shape.outputs])
        cut, query = snapshot.cut, snapshot.query
        return Series(cut, query, now_us, outputs, asked_us, points, overflowed)
    raise retention_overtakes()


def _points(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    instants: Sequence[int],
    *,
    cache: InvocationCache,
    rows_max: int,
) -> _Found:
    reading = cache.reading(snapshot)
    if not instants:
        return [], ()
    if not in_one_pass(reading, len(snapshot.streams)):
        return _invoked(results, source, snapshot, instants, cache=cache, rows_max=rows_max)
    at = pinned(snapshot, Request(limit=_LEAST_ROWS, now_us=max(instants)))
    assert at is not None, "an instant was asked for"
    groups = SeriesGroups(results, source, snapshot, reading, cache, at=at, instants=instants)
    return groups.points(rows_max=rows_max)


def _invoked(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    instants: Sequence[int],
    *,
    cache: InvocationCache,
    rows_max: int,
) -> _Found:
    """Return the points by one invocation each."""
    points: list[Point] = []
    overflowed: dict[AggregateCall, None] = {}
    left = rows_max
    for now_us in instants:
        checkpoint()
        request = Request(limit=max(left, _LEAST_ROWS), now_us=now_us)
        answer = answered(results, source, snapshot, request=request, cache=cache)
        left -= answer.count
        if left < 0:
            raise series_too_large(rows_max)
        overflowed |= dict.fromkeys(answer.overflowed)
        points.append(
            Point(
                now_us,
                answer.begin_us,
                answer.end_us,
                answer.complete_from_us,
                answer.count,
                answer.columns,
            )
        )
    return points, tuple(overflowed)
