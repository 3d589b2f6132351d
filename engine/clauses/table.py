"""Standing clauses as arrays, one after the other: the form in which a chunk of tuples meets them.

A table is made at once; afterwards clauses are only forgotten in it. The bounds of its factors stand beside it, by
attribute, each once and in order. A chunk locates these bounds; the intervals of all clauses refer to them by number.
"""

import copy
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.match import Clauses
from psoup.engine.kernels.order import Integers
from psoup.engine.query.values.factor_table import Factors, joined
from psoup.engine.query.values.value_set import INT64_MAX
from psoup.engine.tuples.chunk import Attribute, ChunkColumn
from psoup.engine.tuples.lineage import Slot

GONE: Final = -1
"""The slot of a clause that was forgotten."""


class Bounds:
    """What the intervals of a table over one attribute begin and end with, each once, numbered on.

    Attributes:
        first: the number of the first one: first those where intervals begin, then those where they end, and
            one for intervals of texts without an end.
    """

    __slots__ = ("_edges", "_highs", "_lows", "_texts", "first")

    def __init__(self, first: int, lows: NDArray[Any], highs: NDArray[Any]) -> None:
        """Take both ascending, without doubles."""
        self.first = first
        self._lows, self._highs = lows, highs
        self._edges: tuple[Integers, NDArray[np.int32]] | None = None
        self._texts: tuple[list[str], list[str]] | None = None
        if lows.dtype == np.object_:
            self._texts = lows.tolist(), highs.tolist()

    def __len__(self) -> int:
        """Return how many numbers they have."""
        return len(self._lows) + len(self._highs) + 1

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays; of texts only their places."""
        edges = 0 if self._edges is None else sum(array.nbytes for array in self._edges)
        return self._lows.nbytes + self._highs.nbytes + edges

    def keys(self, column: ChunkColumn) -> tuple[Integers, Integers, bool]:
        """Return low and high ends of the intervals as keys of the column, and whether the high ends are inclusive.

        Cost: O(1), for texts O(d log c) for d distinct ones in the column.
        """
        if self._texts is None:
            return self._lows, self._highs, True
        assert column.texts is not None, "texts are asked of texts"
        lows, highs = (_ranks(column.texts, known) for known in self._texts)
        return lows, highs, False

    @property
    def edges(self) -> tuple[Integers, NDArray[np.int32]]:
        """Return the keys that values are compared with, ascending, each once, and for each bound which of them it is.

        Of bounds of numbers alone. A high end is inside: its edge is the key behind it. INT64_MAX as a high end has
        none, nor has the last bound; theirs is how many edges there are. Cost: O(b log b), once.
        """
        if self._edges is None:
            ends = self._highs[self._highs < INT64_MAX] + 1
            edges = np.union1d(self._lows, ends)
            numbers = np.full(len(self), len(edges), dtype=np.int32)
            bounds = np.concatenate((self._lows, ends))
            numbers[: len(bounds)] = np.searchsorted(edges, bounds)
            self._edges = edges, numbers
        return self._edges

    def lows_at(self, numbers: NDArray[np.int32]) -> NDArray[Any]:
        """Return the low ends of the intervals with these numbers."""
        return self._lows[numbers - self.first]

    def highs_at(self, numbers: NDArray[np.int32]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the high ends of the intervals with these numbers, and which of them have one."""
        places = numbers - self.first - len(self._lows)
        bounded = places < len(self._highs)
        if not len(self._highs):
            return np.full(len(numbers), "", dtype=self._highs.dtype), bounded
        return self._highs[np.where(bounded, places, 0)], bounded


class ClauseTable:
    """The clauses of some slots, in order of slots.

    Attributes:
        clauses: for the kernel; their names are their slots.
        bounds: by attribute.
        bounds_count: how many numbers the bounds of all attributes have.
    """

    __slots__ = ("_names", "_order", "bounds", "bounds_count", "clauses", "forgotten")

    def __init__(
        self,
        slots: NDArray[np.int32],
        open_slots: NDArray[np.bool_],
        factors: Mapping[Attribute, Factors],
        attributes: Mapping[Attribute, int],
    ) -> None:
        """Take clauses in any order.

        Args:
            slots: (c,) of the clauses.
            open_slots: (c,) whether a clause has other factors as well.
            factors: by attribute, of these slots.
            attributes: the number of each attribute.

        Cost: O(k log k) for k intervals.
        """
        by_slot = np.argsort(slots)
        self._order = slots[by_slot]
        self._names = {attributes[name]: name for name in factors}
        self.forgotten = 0
        self.bounds: dict[Attribute, Bounds] = {}
        self.bounds_count = 0
        lows, highs = [], []
        for name, part in factors.items():
            low_at, high_at = self._add_bounds(name, part)
            lows.append(low_at)
            highs.append(high_at)
        parts = list(factors.values())
        owners = _together([part.slots for part in parts], np.int32)
        sizes = _together([part.sizes for part in parts], np.int32)
        numbers = [np.full(len(p.slots), attributes[name]) for name, p in factors.items()]
        order = np.argsort(owners, kind="stable")
        begins = (np.cumsum(sizes) - sizes)[order]
        intervals = _edges(sizes[order])
        places = np.repeat(begins - intervals[:-1], sizes[order]) + np.arange(intervals[-1])
        edges = np.searchsorted(owners[order], self._order)
        self.clauses = Clauses(
            names=self._order.copy(),
            open=open_slots[by_slot],
            factors=np.append(edges, len(owners)).astype(np.int32),
            attributes=_together(numbers, np.int32)[order],
            nulls=_together([part.nulls for part in parts], np.bool_)[order],
            intervals=intervals,
            lows=_together(lows, np.int32)[places],
            highs=_together(highs, np.int32)[places],
        )

    @classmethod
    def merged(
        cls, tables: Sequence["ClauseTable"], attributes: Mapping[Attribute, int]
    ) -> "ClauseTable":
        """Return one table of the clauses of all, without what they have forgotten.

        Attributes that have no number any more are left out: no clause asks for them.
        """
        parts = [table.parts() for table in tables]
        by_name: dict[Attribute, list[Factors]] = {}
        for _, _, factors in parts:
            for name, part in factors.items():
                if name in attributes:
                    by_name.setdefault(name, []).append(part)
        return cls(
            np.concatenate([slots for slots, _, _ in parts]),
            np.concatenate([open_slots for _, open_slots, _ in parts]),
            {name: joined(some) for name, some in by_name.items()},
            attributes,
        )

    def __len__(self) -> int:
        """Return the number of clauses, forgotten ones too."""
        return len(self._order)

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays; of texts only their places."""
        own = sum(array.nbytes for array in self.clauses) + self._order.nbytes
        return own + sum(bounds.nbytes for bounds in self.bounds.values())

    @property
    def slots(self) -> set[int]:
        """Return the slots whose clauses are here."""
        return set(self.clauses.names.tolist()) - {GONE}

    def asks(self, attribute: Attribute) -> bool:
        """Return whether chunks are asked for this attribute."""
        return attribute in self.bounds

    def forget(self, slot: Slot) -> bool:
        """Forget the clause in a slot; return whether it was here. Cost: O(log c)."""
        at = int(np.searchsorted(self._order, np.int32(slot)))
        if at == len(self._order) or self.clauses.names[at] != slot:
            return False
        self.clauses.names[at] = GONE
        self.forgotten += 1
        return True

    @property
    def gone(self) -> NDArray[np.int32]:
        """Return the places whose clauses were forgotten, ascending."""
        return np.flatnonzero(self.clauses.names == GONE).astype(np.int32)

    def without(self, gone: NDArray[np.int32]) -> "ClauseTable":
        """Return the table with these places forgotten; it shares everything but that with this one."""
        other = copy.copy(self)
        names = self.clauses.names.copy()
        names[gone] = GONE
        other.clauses = self.clauses._replace(names=names)
        other.forgotten = int(np.count_nonzero(names == GONE))
        return other

    def parts(self) -> tuple[NDArray[np.int32], NDArray[np.bool_], dict[Attribute, Factors]]:
        """Return the parts to make the table of again, without forgotten clauses: slots, open ones, factors."""
        clauses = self.clauses
        kept = clauses.names != GONE
        counts = np.diff(clauses.factors)
        owners, standing = np.repeat(self._order, counts), np.repeat(kept, counts)
        found: dict[Attribute, Factors] = {}
        for number, name in self._names.items():
            whose = standing & (clauses.attributes == number)
            found[name] = self._factors(self.bounds[name], owners, whose)
        return self._order[kept], clauses.open[kept], found

    def _factors(
        self, bounds: Bounds, owners: NDArray[np.int32], whose: NDArray[np.bool_]
    ) -> Factors:
        clauses = self.clauses
        sizes = np.diff(clauses.intervals)
        intervals = np.repeat(whose, sizes)
        highs, bounded = bounds.highs_at(clauses.highs[intervals])
        return Factors(
            slots=owners[whose],
            sizes=sizes[whose],
            nulls=clauses.nulls[whose],
            lows=bounds.lows_at(clauses.lows[intervals]),
            highs=highs,
            bounded=bounded,
        )

    def _add_bounds(
        self, name: Attribute, part: Factors
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Number the bounds of an attribute; return the numbers of each interval's two."""
        first = self.bounds_count
        lows, low_at = np.unique(part.lows, return_inverse=True)
        highs, high_at = np.unique(part.highs[part.bounded], return_inverse=True)
        bounds = self.bounds[name] = Bounds(first, lows, highs)
        self.bounds_count += len(bounds)
        ends = np.full(len(part.highs), first + len(bounds) - 1, dtype=np.int32)
        ends[part.bounded] = high_at + first + len(lows)
        return (low_at + first).astype(np.int32), ends


def _ranks(texts: Sequence[str], known: list[str]) -> Integers:
    """Return for each of the ascending `known` how many of the ascending `texts` lie below it."""
    passed = np.array([bisect_right(known, text) for text in texts], dtype=np.int64)
    below = np.bincount(passed, minlength=len(known) + 1)
    return np.cumsum(below)[: len(known)]


def _edges(sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    edges = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=edges[1:])
    return edges


def _together(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.empty(0, dtype=dtype)
