"""What joining costs and finds: of each group as it stands, and of all since the start.

A group's counters go with the group. Their totals only grow, as a counter that is scraped has to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.engine import JoinGroupStatistics


@dataclass(frozen=True, slots=True)
class JoinTotals:
    """Counters of all groups since the start, those that are gone among them; each as in `JoinGroupStatistics`."""

    entrants: int = 0
    fresh_rows: int = 0
    candidates: int = 0
    semijoined: int = 0
    intermediates: int = 0
    results: int = 0
    steps: int = 0

    def plus(self, group: JoinGroupStatistics) -> "JoinTotals":
        """Return the sums with those of one group."""
        return JoinTotals(
            self.entrants + group.entrants,
            self.fresh_rows + group.fresh_rows,
            self.candidates + group.candidates,
            self.semijoined + group.semijoined,
            self.intermediates + group.intermediates,
            self.results + group.results,
            self.steps + group.steps,
        )


@dataclass(frozen=True, slots=True)
class JoinReading:
    """The groups that stand, and the totals with them, as they were noted together."""

    groups: tuple[JoinGroupStatistics, ...] = ()
    totals: JoinTotals = JoinTotals()


NO_JOINS: Final = JoinReading()


class JoinTally:
    """The last reading, and what groups had counted when they were last seen. One thread notes, any reads."""

    def __init__(self) -> None:
        """Begin without groups."""
        self.reading = NO_JOINS
        self._gone = JoinTotals()

    def note(self, groups: Sequence[JoinGroupStatistics]) -> None:
        """Take note of the groups that stand now. Cost: O(groups)."""
        standing = {one.group for one in groups}
        for one in self.reading.groups:
            if one.group not in standing:
                self._gone = self._gone.plus(one)
        self.reading = JoinReading(tuple(groups), self._sum(groups))

    def check(self) -> None:
        """Raise AssertionError if a group is counted twice, or the totals are not theirs. For tests."""
        groups = self.reading.groups
        if len({one.group for one in groups}) < len(groups):
            raise AssertionError("a group is counted once")
        if self._sum(groups) != self.reading.totals:
            raise AssertionError("totals are those of the groups, and of those that are gone")

    def _sum(self, groups: Sequence[JoinGroupStatistics]) -> JoinTotals:
        """Return the totals of these groups and of those that are gone."""
        totals = self._gone
        for one in groups:
            totals = totals.plus(one)
        return totals
