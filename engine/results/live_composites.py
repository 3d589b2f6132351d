"""The pages of composite tuples that a process holds, by group.

A group's pages are read together whenever one of its clauses is invoked, in order of their keys.
"""

from collections.abc import Iterable, Mapping

from sortedcontainers import SortedDict

from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.delta import ClauseRecord
from psoup.engine.results.hits import ClauseId

Place = tuple[int, int, int]
"""Entrant, number and page of a composite key."""


class LiveComposites:
    """Pages of composites at the applied position. Whoever shares it among threads guards it."""

    __slots__ = ("_groups", "nbytes")

    def __init__(self, pages: Mapping[CompositeKey, CompositePage]) -> None:
        """Begin with these pages. Cost: O(p log p)."""
        self._groups: dict[ClauseId, SortedDict[Place, CompositePage]] = {}
        self.nbytes = 0
        """Size of the arrays of what is held."""
        self.write(pages)

    def write(self, pages: Mapping[CompositeKey, CompositePage]) -> None:
        """Hold these pages, in place of what had their keys."""
        for (group, *place), page in pages.items():
            held = self._groups.setdefault(group, SortedDict())
            before = held.get(key := (place[0], place[1], place[2]))
            held[key] = page
            self.nbytes += page.nbytes - (0 if before is None else before.nbytes)

    def drop(self, keys: Iterable[CompositeKey]) -> None:
        """Hold these pages no longer; where there is none, nothing changes."""
        for group, entrant, number, page in keys:
            held = self._groups.get(group)
            gone = None if held is None else held.pop((entrant, number, page), None)
            if gone is not None:
                self.nbytes -= gone.nbytes
                if not held:
                    del self._groups[group]

    def of(self, clause: ClauseRecord) -> list[CompositePage]:
        """Return the pages in which a clause may have composites (`ResultsReader.composites`).

        Cost: O(pages returned).
        """
        held = None if clause.join is None else self._groups.get(clause.join.group)
        if held is None:
            return []
        sources, own = len(clause.streams), clause.clause_id
        places = [
            *held.irange(maximum=(sources, 0, 0), inclusive=(True, False)),
            *held.irange((sources, own, 0), (sources, own + 1, 0), inclusive=(True, False)),
        ]
        return [held[place] for place in places]

    def every(self) -> dict[CompositeKey, CompositePage]:
        """Return all pages, ascending by key."""
        return {
            (group, *place): page
            for group in sorted(self._groups)
            for place, page in self._groups[group].items()
        }

    def check(self, clauses: Iterable[ClauseRecord]) -> None:
        """Assert that pages are sound and counted, and that each has clauses standing that it may be of.

        Cost: O(everything), for tests.
        """
        sources: dict[ClauseId, int] = {}
        owners: set[tuple[ClauseId, int]] = set()
        for clause in clauses:
            if clause.join is not None:
                known = sources.setdefault(clause.join.group, len(clause.streams))
                assert known == len(clause.streams), "a group has one FROM list"
                owners.add((clause.join.group, clause.clause_id))
        for (group, entrant, number, _), page in self.every().items():
            page.check()
            assert group in sources, "a page has a clause of its group"
            assert 0 <= entrant <= sources[group]
            assert len(page.rows) == sources[group], "a composite has a part of each stream"
            assert entrant < sources[group] or (group, number) in owners, "a page has its clause"
        assert self.nbytes == sum(page.nbytes for page in self.every().values()), (
            "bytes are counted"
        )
