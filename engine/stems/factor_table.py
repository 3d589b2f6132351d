"""Standing factors over one attribute, as arrays: the form in which a chunk of tuples meets them.

A factor is a union of closed intervals `[low, high]`: an open end of a DOUBLE becomes its neighbour, that of a
text the text with U+0000 behind it, which nothing lies between. So a factor table is as large as its
intervals are many, whatever their constants: nothing in it grows with constants times slots.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import Words
from engine.kernels.narrow import narrow
from engine.kernels.order import prefixes
from engine.query.value_set import INT64_MAX, INT64_MIN, Interval, ValueSet
from engine.tuples.chunk import ChunkColumn
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType

GONE = -1
"""The slot of a factor that was forgotten."""

Ends = tuple[Any, Any]


class FactorTable:
    """The factors of some slots over one attribute, in order of slots.

    Attributes:
        slots: (f,) int32, ascending but for those that are GONE.
        edges: (f + 1,) int32: factor i has the intervals `[edges[i], edges[i + 1])`.
        lows: (k,) int64, float64 or object (texts): where each interval begins.
        highs: (k,) where it ends; for texts the first text behind it.
        bounded: (k,) bool, False where there is no end above; always True but for texts.
        nulls: (f,) bool, whether NULL satisfies the factor.
    """

    __slots__ = (
        "_buffer",
        "_high_at",
        "_high_bounds",
        "_low_at",
        "_low_bounds",
        "_order",
        "_prepared",
        "bounded",
        "edges",
        "highs",
        "lows",
        "nulls",
        "slots",
    )

    def __init__(
        self,
        *,
        slots: NDArray[np.int32],
        sizes: NDArray[np.int64],
        lows: NDArray[Any],
        highs: NDArray[Any],
        bounded: NDArray[np.bool_],
        nulls: NDArray[np.bool_],
    ) -> None:
        """Take factors in any order; `sizes` says how many intervals each has. Cost: O(k log k)."""
        order = np.argsort(slots, kind="stable")
        begins = np.cumsum(sizes) - sizes
        sizes, begins = sizes[order], begins[order]
        self.edges = np.zeros(len(slots) + 1, dtype=np.int32)
        np.cumsum(sizes, out=self.edges[1:])
        places = np.repeat(begins - self.edges[:-1], sizes) + np.arange(len(lows))
        self.slots, self.nulls = slots[order], nulls[order]
        self._order = self.slots.copy()
        self.lows, self.highs, self.bounded = lows[places], highs[places], bounded[places]
        self._low_bounds, self._low_at = np.unique(self.lows, return_inverse=True)
        self._high_at = np.full(len(highs), -1, dtype=np.int64)
        self._high_bounds, at = np.unique(self.highs[self.bounded], return_inverse=True)
        self._high_at[self.bounded] = at
        self._buffer: Words | None = None
        self._prepared: tuple[ChunkColumn, Any] | None = None

    @classmethod
    def of(cls, kind: ColumnType, factors: Mapping[Slot, ValueSet]) -> "FactorTable":
        """Return the table of normal value sets of an attribute of type `kind`, by slot."""
        ends = [pair for values in factors.values() for pair in closed_intervals(kind, values)]
        highs = [high for _, high in ends]
        dtype = interval_dtype(kind)
        sizes = [len(values.intervals) for values in factors.values()]
        return cls(
            slots=np.fromiter(factors, np.int32, len(factors)),
            sizes=np.array(sizes, dtype=np.int64),
            lows=_array([low for low, _ in ends], dtype),
            highs=_array(["" if high is None else high for high in highs], dtype),
            bounded=np.array([high is not None for high in highs], dtype=np.bool_),
            nulls=np.array([values.null for values in factors.values()], dtype=np.bool_),
        )

    def joined(self, other: "FactorTable") -> "FactorTable":
        """Return one table of the factors of both, without those that are gone."""
        kept = self.slots != GONE
        sizes = np.diff(self.edges)
        intervals = np.repeat(kept, sizes)
        all_sizes = np.concatenate((sizes[kept], np.diff(other.edges)))
        return FactorTable(
            slots=np.concatenate((self.slots[kept], other.slots)),
            sizes=all_sizes.astype(np.int64),
            lows=np.concatenate((self.lows[intervals], other.lows)),
            highs=np.concatenate((self.highs[intervals], other.highs)),
            bounded=np.concatenate((self.bounded[intervals], other.bounded)),
            nulls=np.concatenate((self.nulls[kept], other.nulls)),
        )

    def __len__(self) -> int:
        """Return the number of factors, forgotten ones too."""
        return len(self.slots)

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays; of texts only their places."""
        arrays = (self.slots, self.edges, self.lows, self.highs, self.bounded, self.nulls)
        bounds = (self._low_bounds, self._low_at, self._high_bounds, self._high_at, self._order)
        return sum(array.nbytes for array in (*arrays, *bounds))

    def forget(self, slot: Slot) -> None:
        """Let a slot that has a factor here pass from now on. Cost: O(log f)."""
        at = int(np.searchsorted(self._order, np.int32(slot)))
        assert self.slots[at] == slot, "a slot that is settled has a factor"
        self.slots[at] = GONE

    def narrow(self, column: ChunkColumn, lineage: Lineage) -> None:
        """Clear slot s of row i wherever s has a factor that value i does not satisfy.

        Cost: O(factors of the lineage's slots x CHUNK_WORDS), and the places of all bounds once a chunk.
        """
        bitmaps, low, high = self._places(column)
        ends = np.array([lineage.first_slot, lineage.first_slot + len(lineage)], dtype=np.int32)
        begin, past = np.searchsorted(self._order, ends)
        narrow(
            lineage.words,
            lineage.alive,
            lineage.first_slot,
            self.slots[begin:past],
            self.edges[begin : past + 1],
            low,
            high,
            self.nulls[begin:past],
            bitmaps,
            column.null_rows,
        )

    def _places(self, column: ChunkColumn) -> tuple[Words, NDArray[np.int32], NDArray[np.int32]]:
        """Return the bitmaps that the intervals are read off, and which two each interval takes.

        Kept for the chunk last asked about: all tiles of slots ask about one chunk after the other.
        """
        if self._prepared is None or self._prepared[0] is not column:
            texts = self.lows.dtype == np.object_
            below = column.below(self._low_bounds)
            behind = column.below if texts else column.up_to
            past = np.append(behind(self._high_bounds), np.int32(len(column.order)))
            bitmaps, low, high = prefixes(column.order, below, past, self._buffer)
            if self._buffer is None or len(self._buffer) < len(bitmaps):
                self._buffer = bitmaps
            self._prepared = column, (bitmaps, low[self._low_at], high[self._high_at])
        found: tuple[Words, NDArray[np.int32], NDArray[np.int32]] = self._prepared[1]
        return found


def interval_dtype(kind: ColumnType) -> type[np.generic]:
    """Return the dtype in which intervals over an attribute of this type are kept."""
    if kind is ColumnType.FLOAT64:
        return np.float64
    return np.object_ if kind is ColumnType.STRING else np.int64


def closed_intervals(kind: ColumnType, values: ValueSet) -> Iterator[Ends]:
    """Yield (low, high) of each interval, both ends inside; for texts (low, the first text behind or None)."""
    for interval in values.intervals:
        if kind is ColumnType.STRING:
            yield _text_ends(interval)
        elif kind is ColumnType.FLOAT64:
            yield _float_ends(interval)
        else:
            low, high = interval.low, interval.high
            yield (
                INT64_MIN if low is None else int(low),
                INT64_MAX if high is None else int(high),
            )


def _float_ends(interval: Interval) -> Ends:
    low = -math.inf if interval.low is None else float(interval.low)
    high = math.inf if interval.high is None else float(interval.high)
    if not interval.low_closed:
        low = math.nextafter(low, math.inf)
    if not interval.high_closed:
        high = math.nextafter(high, -math.inf)
    return low, high


def _text_ends(interval: Interval) -> Ends:
    low = "" if interval.low is None else str(interval.low)
    if interval.low is not None and not interval.low_closed:
        low += "\0"
    if interval.high is None:
        return low, None
    return low, str(interval.high) + ("\0" if interval.high_closed else "")


def _array(values: list[Any], dtype: type[np.generic]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=dtype)
    made[:] = values
    return made
