"""Cost and results of joins: of each present join group, and in total since the start.

The counters of a group disappear with it. The totals keep them, so that they only grow, as scraped counters must.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.engine import JoinGroupStatistics


@dataclass(frozen=True, slots=True)
class JoinTotals:
    """Sums over all groups since the start, with those that are gone; fields as in `JoinGroupStatistics`."""

    entrants: int = 0
    fresh_rows: int = 0
    candidates: int = 0
    semijoined: int = 0
    intermediates: int = 0
    results: int = 0
    steps: int = 0

    def plus(self, group: JoinGroupStatistics) -> "JoinTotals":
        """Return these sums plus the counters of `group`."""
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
    """The present groups, and the totals at the same moment."""

    groups: tuple[JoinGroupStatistics, ...] = ()
    totals: JoinTotals = JoinTotals()


NO_JOINS: Final = JoinReading()


class JoinTally:
    """The last reading, and the sums of groups that are gone. One thread notes, any thread reads."""

    def __init__(self) -> None:
        """Begin without groups."""
        self.reading = NO_JOINS
        self._gone = JoinTotals()

    def note(self, groups: Sequence[JoinGroupStatistics]) -> None:
        """Read the present groups. Cost: O(groups)."""
        present = {group.group for group in groups}
        for group in self.reading.groups:
            if group.group not in present:
                self._gone = self._gone.plus(group)
        self.reading = JoinReading(tuple(groups), self._sum(groups))

    def check(self) -> None:
        """Raise AssertionError if a group is counted twice, or the totals are not theirs. For tests."""
        groups = self.reading.groups
        if len({group.group for group in groups}) < len(groups):
            raise AssertionError("a group is counted once")
        if self._sum(groups) != self.reading.totals:
            raise AssertionError("totals are those of the groups, and of those that are gone")

    def _sum(self, groups: Sequence[JoinGroupStatistics]) -> JoinTotals:
        """Return the sums of these groups and of those that are gone."""
        totals = self._gone
        for group in groups:
            totals = totals.plus(group)
        return totals
