"""Which pages of composites are kept, what they name, and how many each clause has: what it takes to forget them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.hits import ClauseId


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is known of one page.

    Attributes:
        past_rows: for each source the row past the page's last.
        composites: how many there are.
        clause_ids, counts: which clauses have how many of them.
    """

    past_rows: tuple[int, ...]
    composites: int
    clause_ids: NDArray[np.int64]
    counts: NDArray[np.int32]


class CompositeLedger:
    """The pages of composites that are kept, by group."""

    def __init__(self) -> None:
        """Begin without pages."""
        self._groups: dict[ClauseId, dict[CompositeKey, _Entry]] = {}
        self._composites: dict[ClauseId, int] = {}
        """By group."""

    def __len__(self) -> int:
        """Return the number of pages."""
        return sum(map(len, self._groups.values()))

    def note(self, key: CompositeKey, page: CompositePage) -> None:
        """Account for a page that is kept from now on."""
        block = page.block
        entry = _Entry(page.past_rows, len(page), block.clause_ids, block.counts)
        assert key not in self._groups.get(key[0], {}), "a page is written once"
        self._groups.setdefault(key[0], {})[key] = entry
        self._composites[key[0]] = self._composites.get(key[0], 0) + len(page)

    def over(self, group: ClauseId, bound: int) -> list[ClauseId]:
        """Return the clauses of a group for which more composites are kept than a bound; some may have gone.

        Cost: O(1) while the whole group has no more; then O(entries of its pages).
        """
        if self._composites.get(group, 0) <= bound:
            return []
        held = self.held(group)
        return [clause_id for clause_id, count in held.items() if count > bound]

    def held(self, group: ClauseId) -> dict[ClauseId, int]:
        """Return how many composites are kept for each clause of a group, ascending; for some that have gone too.

        Cost: O(entries of its pages).
        """
        entries = self._groups.get(group, {}).values()
        if not entries:
            return {}
        ids, places = np.unique(
            np.concatenate([entry.clause_ids for entry in entries]), return_inverse=True
        )
        counts = np.zeros(len(ids), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([entry.counts for entry in entries]))
        found = zip(map(ClauseId, ids.tolist()), counts.tolist(), strict=True)
        return dict(found)

    def below(self, group: ClauseId, dropped_rows: Sequence[int]) -> list[CompositeKey]:
        """Forget and return the pages all of whose composites have a part that is not held any more.

        `dropped_rows` are for each source of the group the first row that still is.
        """
        gone = [
            key
            for key, entry in self._groups.get(group, {}).items()
            if any(past <= row for past, row in zip(entry.past_rows, dropped_rows, strict=True))
        ]
        self._forget(gone)
        return gone

    def own(self, group: ClauseId, clause_id: ClauseId, sources: int) -> list[CompositeKey]:
        """Forget and return the pages that a clause has for itself, which has gone."""
        entries = self._groups.get(group, {})
        gone = [key for key in entries if key[1] == sources and key[2] == clause_id]
        self._forget(gone)
        return gone

    def all(self, group: ClauseId) -> list[CompositeKey]:
        """Forget and return all pages of a group that has no clause any more."""
        gone = list(self._groups.get(group, {}))
        self._forget(gone)
        return gone

    def check(self, standing: Mapping[ClauseId, ClauseId]) -> None:
        """Assert that composites are counted, and only of groups that stand: `standing` has the group of clauses."""
        for group, entries in self._groups.items():
            assert entries, "a group without pages is not here"
            assert group in standing.values(), "pages go with the group"
            total = sum(entry.composites for entry in entries.values())
            assert self._composites[group] == total, "composites are counted"
        assert self._composites.keys() == self._groups.keys()

    def _forget(self, keys: Sequence[CompositeKey]) -> None:
        for key in keys:
            group, entries = key[0], self._groups[key[0]]
            self._composites[group] -= entries.pop(key).composites
            if not entries:
                del self._groups[group], self._composites[group]
