"""Standing factors over one attribute, derived into the form in which tuples meet them.

A rank table is made of normal factors and sorted constants, at once and never extended; forgetting a slot
is the one change it takes. Up to a bound in bytes it holds a bit row per rank and a probe is a search and
a gather; past the bound it keeps the intervals and compares ranks: slower, smaller, the same answers.
Source: performance of both forms: the grouped filters of Madden et al., SIGMOD 2002, done by columns.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kernels import bits, compare
from engine.kernels.bits import WORD_BITS, Words, words_of
from engine.query.expression import Value
from engine.query.value_set import Interval, ValueSet
from engine.tuples.batch import Column
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType

CONSTANT_DTYPES: Mapping[ColumnType, Any] = {
    ColumnType.INT64: np.int64,
    ColumnType.FLOAT64: np.float64,
    ColumnType.BOOL: np.uint8,
    ColumnType.TIMESTAMP: np.int64,
}


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Which slots which ranks satisfy; (k,) arrays in order of slots. `null_slots` take NULL."""

    covered: Words
    slots: NDArray[np.int64]
    first: NDArray[np.int64]
    past: NDArray[np.int64]
    null_slots: NDArray[np.int64]


class RankTable:
    """The factors of some slots over one attribute. Slots it does not cover pass."""

    __slots__ = ("_array", "_constants", "_intervals", "_null", "_table")

    def __init__(
        self,
        kind: ColumnType,
        factors: Mapping[Slot, ValueSet],
        constants: Sequence[Value],
        *,
        bytes_max: int,
    ) -> None:
        """Derive the table.

        Args:
            kind: the attribute's type.
            factors: normal value sets by slot.
            constants: ascending, distinct; every end of every interval is among them.
            bytes_max: the largest table of bit rows; past it ranks are compared.

        Cost: O(intervals log constants), and O(constants x slots / 64) for the bit rows.
        """
        self._constants = constants
        self._array = (
            None if kind is ColumnType.STRING else np.array(constants, dtype=CONSTANT_DTYPES[kind])
        )
        self._null = compare.null_rank(len(constants))
        self._intervals = rank_intervals(factors, constants)
        self._table: Words | None = None
        if (self._null + 1) * self._intervals.covered.nbytes <= bytes_max:
            made = self._intervals
            self._table = compare.rank_table(
                constants=len(constants),
                covered=made.covered,
                slots=made.slots,
                first=made.first,
                past=made.past,
                null_slots=made.null_slots,
            )

    @property
    def nbytes(self) -> int:
        """Return the size of the bit rows; 0 where ranks are compared."""
        return 0 if self._table is None else self._table.nbytes

    def narrow(self, column: Column, lineage: Lineage) -> None:
        """Clear slot s of row i wherever s is covered and not satisfied by value i.

        Cost: O(n log c + n w) with bit rows, O(n k) for k intervals without.
        """
        ranks = self.ranks(column)
        if self._table is not None:
            bits.narrow_gathered(lineage.words, self._table, ranks)
            return
        made = self._intervals
        width = len(made.covered)
        lineage.words[:, :width] &= compare.within(
            ranks,
            covered=made.covered,
            slots=made.slots,
            first=made.first,
            past=made.past,
            null_slots=made.null_slots,
            null=self._null,
        )

    def ranks(self, column: Column) -> NDArray[np.int64]:
        """Return each value's rank among the constants, NULL's for NULL."""
        if self._array is None:
            ranks = self._ranks_of_texts(column)
        else:
            ranks = compare.ranks(column.values.astype(self._array.dtype, copy=False), self._array)
        if column.valid is not None:
            ranks[~column.valid] = self._null
        return ranks

    def forget(self, slot: Slot) -> None:
        """Let a covered slot pass from now on. Cost: O(ranks) or O(intervals)."""
        made = self._intervals
        word, bit = divmod(slot, WORD_BITS)
        made.covered[word] &= ~np.uint64(1 << bit)
        kept = made.slots != slot
        self._intervals = RankIntervals(
            made.covered,
            made.slots[kept],
            made.first[kept],
            made.past[kept],
            made.null_slots[made.null_slots != slot],
        )
        if self._table is not None:
            self._table[:, word] |= np.uint64(1 << bit)

    def _ranks_of_texts(self, column: Column) -> NDArray[np.int64]:
        """Rank each distinct text once; texts that no row uses are left out where they are many."""
        assert column.dictionary is not None, "a string column has its dictionary"
        dictionary, codes = column.dictionary, column.values
        if len(dictionary) > len(codes):
            used, codes = np.unique(codes, return_inverse=True)
            texts = [dictionary[code] for code in used.tolist()]
        else:
            # A list of its own: the dictionary of a segment may grow meanwhile.
            texts = list(dictionary)
        known: Sequence[Any] = self._constants
        by_code = np.array(
            [bisect_left(known, text) + bisect_right(known, text) for text in texts], dtype=np.int64
        )
        ranks: NDArray[np.int64] = by_code[codes]
        return ranks


def rank_intervals(factors: Mapping[Slot, ValueSet], constants: Sequence[Value]) -> RankIntervals:
    """Return the factors as intervals of ranks among `constants`, in order of slots."""
    place = {constant: i for i, constant in enumerate(constants)}
    last = compare.null_rank(len(constants))
    ordered = sorted(factors)
    spans = [
        (slot, *_span(interval, place, last))
        for slot in ordered
        for interval in factors[slot].intervals
    ]
    table = np.array(spans, dtype=np.int64).reshape(-1, 3)
    return RankIntervals(
        covered=bits.mask_of(
            np.array(ordered, dtype=np.int64), words_of(1 + max(ordered, default=-1))
        ),
        slots=table[:, 0],
        first=table[:, 1],
        past=table[:, 2],
        null_slots=np.array([s for s in ordered if factors[s].null], dtype=np.int64),
    )


def _span(interval: Interval, place: Mapping[Value, int], last: int) -> tuple[int, int]:
    first, past = 0, last
    if interval.low is not None:
        first = 2 * place[interval.low] + (1 if interval.low_closed else 2)
    if interval.high is not None:
        past = 2 * place[interval.high] + (2 if interval.high_closed else 1)
    return first, past
