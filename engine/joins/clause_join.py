"""The join of one clause over stored rows, at an invocation: composites that are not kept are computed.

It needs no lineage and no policy: rows enter from the source that has the fewest, and each step goes on to a source
tied to those before it. Any thread may run it; threads share the key indexes alone.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.contract import ReadableSteM
from psoup.engine.data.source import DatedRows
from psoup.engine.errors import AnswerTooLargeError
from psoup.engine.joins.counts import JoinCounts
from psoup.engine.joins.join import Condition, Join, OverrunError
from psoup.engine.joins.pair_count import pairs_counted
from psoup.engine.joins.side import ClauseSide, Side, lightest
from psoup.engine.limits import JOIN_ANSWER_ROWS_MAX, JOIN_STEPS_MAX
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinShape, Step, across, shape_of, sides_of
from psoup.engine.query.values.expression import sources_of
from psoup.engine.tuples.schema import StreamId

PLANS_KEPT_MAX: Final = 1_000
"""Clauses whose plans are known: those that are invoked again and again."""

SteMs = Callable[[StreamId], ReadableSteM]
"""From a stream to its tuples; PageExpiredError if they are not held any more."""


def joining(
    stems: SteMs, clause: StandingQueryClause, spans: Sequence[DatedRows]
) -> NDArray[np.int64]:
    """Return the composites that satisfy a clause over several sources: (n, p) rows (`TupleSource.joining`)."""
    plan = plan_of(clause)
    join, route, fresh = _prepared(plan, plan.taken_from(stems, spans))
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


def joining_count(stems: SteMs, clause: StandingQueryClause, spans: Sequence[DatedRows]) -> int:
    """Return how many composites `joining` returns (`TupleSource.joining_count`)."""
    plan = plan_of(clause)
    sides = plan.taken_from(stems, spans)
    total = None if len(sides) > 2 or plan.across else pairs_counted(plan.shape.tie((0, 1)), *sides)
    if total is not None:
        return total
    join, route, fresh = _prepared(plan, sides)
    try:
        return join.count(route, fresh=fresh)
    except OverrunError:
        raise _too_large("steps", JOIN_STEPS_MAX) from None


class Plan:
    """The plan by which one clause is joined, computed once.

    Attributes:
        clause: over several sources.
        shape: what ties these.
        sides: by source, the clause of the conditions on this source alone.
        across: conditions over several sources besides.
    """

    __slots__ = ("across", "clause", "shape", "sides")

    def __init__(self, clause: StandingQueryClause) -> None:
        """Work it out."""
        self.clause = clause
        self.shape = shape_of(clause)
        self.sides = sides_of(clause)
        self.across = across(clause)

    def conditions(self) -> list[Condition]:
        """Return the conditions on composites besides join factors, with counters at 0."""
        return [Condition(one, sources_of(one)) for one in self.across]

    def taken_from(self, stems: SteMs, spans: Sequence[DatedRows]) -> list[ClauseSide]:
        """Return the rows of each source that satisfy the conditions on this source alone."""
        return [
            ClauseSide(stems(span.stream_id), side, span)
            for side, span in zip(self.sides, spans, strict=True)
        ]


_KNOWN: dict[tuple[str, tuple[StreamId, ...]], Plan] = {}
"""Plans by the clause's text and streams. Where a log begins anew its streams may have the numbers of older ones."""


def plan_of(clause: StandingQueryClause) -> Plan:
    """Return the plan of a clause; of equal ones mostly the same. Any thread."""
    key = clause.text, tuple(source.stream_id for source in clause.sources)
    known = _KNOWN.get(key)
    if known is not None and known.clause == clause:
        return known
    if len(_KNOWN) >= PLANS_KEPT_MAX:
        _KNOWN.clear()
    made = _KNOWN[key] = Plan(clause)
    return made


def _prepared(plan: Plan, sides: Sequence[ClauseSide]) -> tuple[Join, tuple[Step, ...], int]:
    """Return the join, its route and the source that enters."""
    fresh = lightest(sides)
    join = Join(plan.shape, sides, plan.conditions(), JoinCounts(), steps_max=JOIN_STEPS_MAX)
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
