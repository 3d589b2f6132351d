"""The join of one clause over stored rows, at an invocation: composites that are not kept are computed.

It needs no lineage and no policy: rows enter from the source that has the fewest, and each step goes on to a source
tied to those before it. Any thread may run it; threads share the key indexes alone.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.contract import ReadableSteM
from psoup.engine.data.join_keys import is_whole
from psoup.engine.data.source import DatedRows, PartneredRows
from psoup.engine.errors import AnswerTooLargeError
from psoup.engine.joins.counts import JoinCounts
from psoup.engine.joins.join import Condition, Join, OverrunError
from psoup.engine.joins.pair_count import pairs_counted
from psoup.engine.joins.side import ClauseSide, Side, lightest
from psoup.engine.limits import JOIN_ANSWER_ROWS_MAX, JOIN_STEPS_MAX
from psoup.engine.query.join_shape import JoinPlan, JoinShape, Step
from psoup.engine.query.values.expression import sources_of
from psoup.engine.tuples.schema import StreamId

SteMs = Callable[[StreamId], ReadableSteM]
"""From a stream to its tuples; PageExpiredError if they are not held any more."""


def joining(stems: SteMs, plan: JoinPlan, spans: Sequence[DatedRows]) -> NDArray[np.int64]:
    """Return the composites that satisfy a clause over several sources: (n, p) rows (`TupleSource.joining`)."""
    join, route, fresh = _prepared(plan, taken_from(stems, plan, spans))
    found: list[NDArray[np.int64]] = []
    count = 0
    try:
        for some in join.run(route, fresh=fresh):
            found.append(some.rows)
            count += some.rows.shape[1]
            if count > JOIN_ANSWER_ROWS_MAX:
                raise _too_large("rows", JOIN_ANSWER_ROWS_MAX)
    except OverrunError:
        raise _too_large("steps", JOIN_STEPS_MAX) from None
    if not found:
        return np.empty((len(spans), 0), dtype=np.int64)
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def joining_count(stems: SteMs, plan: JoinPlan, spans: Sequence[DatedRows]) -> int:
    """Return how many composites `joining` returns (`TupleSource.joining_count`)."""
    sides = taken_from(stems, plan, spans)
    total = None if len(sides) > 2 or plan.across else pairs_counted(plan.shape.tie((0, 1)), *sides)
    if total is not None:
        return total
    join, route, fresh = _prepared(plan, sides)
    try:
        return join.count(route, fresh=fresh)
    except OverrunError:
        raise _too_large("steps", JOIN_STEPS_MAX) from None


def partnered(
    stems: SteMs, plan: JoinPlan, spans: Sequence[DatedRows], source: int | None
) -> PartneredRows | None:
    """Return composites as rows of one source with their partners (`TupleSource.partnered`)."""
    shape = plan.shape
    some = range(shape.count) if source is None else (source,)
    centres = [one for one in some if not plan.across and _told_by_spans(shape, one)]
    if not centres:
        return None
    sides = taken_from(stems, plan, spans)
    fresh = min(centres, key=lambda one: (sides[one].weight, one))
    join = Join(shape, sides, (), JoinCounts(), steps_max=JOIN_STEPS_MAX)
    try:
        return join.partnered(_around(shape, fresh), fresh=fresh)
    except OverrunError:
        raise _too_large("steps", JOIN_STEPS_MAX) from None


def conditions_of(plan: JoinPlan) -> list[Condition]:
    """Return what is asked of composites besides join factors, nothing counted yet."""
    return [Condition(one, sources_of(one)) for one in plan.across]


def taken_from(stems: SteMs, plan: JoinPlan, spans: Sequence[DatedRows]) -> list[ClauseSide]:
    """Return the rows of each source that satisfy what is asked of it alone."""
    return [
        ClauseSide(stems(span.stream_id), side, span)
        for side, span in zip(plan.sides, spans, strict=True)
    ]


def _around(shape: JoinShape, fresh: int) -> list[Step]:
    """Return steps from one source to each of the others."""
    return [(fresh, other) for other in range(shape.count) if other != fresh]


def _told_by_spans(shape: JoinShape, fresh: int) -> bool:
    """Return whether nothing is asked of composites but by keys that tie one source to each of the others.

    Of a band of whole numbers that is not exact the values tell.
    """
    known = {fresh}
    for step in _around(shape, fresh):
        band = shape.tie(step).band
        if shape.checks(step, known) or not (band is None or band.exact or is_whole(band)):
            return False
        known.add(step[1])
    return True


def _prepared(plan: JoinPlan, sides: Sequence[ClauseSide]) -> tuple[Join, tuple[Step, ...], int]:
    """Return the join, its route and the source that enters."""
    fresh = lightest(sides)
    join = Join(plan.shape, sides, conditions_of(plan), JoinCounts(), steps_max=JOIN_STEPS_MAX)
    return join, _by_weight(plan.shape, sides, fresh), fresh


def _by_weight(shape: JoinShape, sides: Sequence[Side], fresh: int) -> tuple[Step, ...]:
    """Return steps to all other sources, those of few rows first."""
    known, route = {fresh}, list[Step]()
    while len(known) < shape.count:
        step = min(shape.steps(known), key=lambda one: (sides[one[1]].weight, one))
        route.append(step)
        known.add(step[1])
    return tuple(route)


def _too_large(what: str, limit: int) -> AnswerTooLargeError:
    return AnswerTooLargeError(
        f"The answer of this join takes more than {limit:,} {what} to find when it is asked for. Ask for a narrower"
        " window, or register the query with factors that leave fewer tuples of each stream.",
        limit=limit,
    )
