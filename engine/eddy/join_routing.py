"""In which order an entrant visits the other sources of a join. A policy sees counts, never data.

The order never changes an answer, only how many composites are built on the way. Chosen for every entrant anew, for a
whole chunk of tuples at a time.
Source: Madden et al., SIGMOD 2002 (CACQ), 3.3; Babu et al., SIGMOD 2004 (A-Greedy): recomputed instead of repaired.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from psoup.engine.joins.counts import JoinCounts
from psoup.engine.query.join_shape import JoinShape, Step

Route = tuple[Step, ...]

FanOut = Callable[[Step], float]
"""The partners of a row that a step is expected to come to."""
Choice = Callable[[Sequence[Step]], Step]
"""One of several steps."""

GAIN_MIN: Final = 0.8
"""A new route has to cost at most this share of the one in use: measured fan-outs tremble."""


class JoinRouting(Protocol):
    """A route for an entrant."""

    def route(self, shape: JoinShape, fresh: int, counts: JoinCounts, last: Route | None) -> Route:
        """Return steps to all other sources, each from one that is known by then.

        Args:
            shape: what may follow what.
            fresh: the source whose rows enter.
            counts: what earlier entrants of the group came to.
            last: the route of the last entrant from this source.
        """
        ...


class ByFanOut:
    """The step with the fewest partners next; kept until another route is clearly better.

    Ties go to the step from, then to, the source that stands earlier in FROM, so that equal histories route equally.
    """

    def route(self, shape: JoinShape, fresh: int, counts: JoinCounts, last: Route | None) -> Route:
        """Return the greedy route, or the last one where that costs about the same."""

        def fan_out(step: Step) -> float:
            seen = counts.by_step.get(step)
            return 1.0 if seen is None else seen.fan_out

        best = _chosen(
            shape, fresh, lambda steps: min(steps, key=lambda step: (fan_out(step), step))
        )
        if last is not None and cost(best, fan_out) > GAIN_MIN * cost(last, fan_out):
            return last
        return best


class FromOrder:
    """The order of FROM."""

    def route(self, shape: JoinShape, fresh: int, counts: JoinCounts, last: Route | None) -> Route:
        """Return the first step that may follow, each time."""
        del counts, last
        return _chosen(shape, fresh, lambda steps: min(steps, key=lambda step: step[1]))


class Lottery:
    """A draw among the steps that may follow, the fewer partners the more tickets: CACQ's, for experiments."""

    def __init__(self, seed: int) -> None:
        """Begin a sequence of draws; equal seeds draw equally."""
        self._state = seed

    def route(self, shape: JoinShape, fresh: int, counts: JoinCounts, last: Route | None) -> Route:
        """Return a drawn route."""
        del last

        def draw(steps: Sequence[Step]) -> Step:
            tickets = []
            for step in steps:
                seen = counts.by_step.get(step)
                tickets.append(1.0 / (0.1 + (1.0 if seen is None else seen.fan_out)))
            drawn = self._next() * sum(tickets)
            for step, own in zip(steps, tickets, strict=True):
                drawn -= own
                if drawn < 0:
                    return step
            return steps[-1]

        return _chosen(shape, fresh, draw)

    def _next(self) -> float:
        """Return the next number in [0, 1) of a linear congruential sequence (Knuth's MMIX)."""
        self._state = (self._state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        return (self._state >> 11) / 2**53


def cost(route: Route, fan_out: FanOut) -> float:
    """Return how many composites of some of the sources one entering row is expected to become, all steps together.

    Those of all are the same whatever the route: the last step counts nothing.
    """
    total, alive = 0.0, 1.0
    for step in route[:-1]:
        alive *= fan_out(step)
        total += alive
    return total


def _chosen(shape: JoinShape, fresh: int, choose: Choice) -> Route:
    known = {fresh}
    route: list[Step] = []
    while len(known) < shape.count:
        step = choose(shape.steps(known))
        route.append(step)
        known.add(step[1])
    return tuple(route)


def every_route(shape: JoinShape, fresh: int) -> list[Route]:
    """Return all routes from a source, ascending: one of two sources, at most 36 of four."""
    routes: list[Route] = [()]
    for _ in range(shape.count - 1):
        routes = [
            (*route, step)
            for route in routes
            for step in shape.steps({fresh, *(to for _, to in route)})
        ]
    return sorted(routes)
