"""Standing clauses that each compare an attribute with one value (`sym = 'A'`), indexed by that value.

A hash index leads from the values of a chunk's rows to the clauses that name one of them; no other clause is looked at.
Their other factors are compared row by row.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.table import GONE
from psoup.engine.kernels import pivot
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE
from psoup.engine.kernels.order import RADIX_BITS, Integers
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.factor import IndexedFactor
from psoup.engine.query.values.factor_table import closed_intervals, keys_of
from psoup.engine.results.match_block import Harvest
from psoup.engine.tuples.chunk import Attribute, Chunk, ChunkColumn
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import ColumnType

PIVOTS: Final = frozenset({ColumnType.INT64, ColumnType.FLOAT64, ColumnType.STRING})
"""Types of attributes that may have many values, so that clauses compare them with single ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Pivoted:
    """Clauses of some slots, each of which compares the same attribute with one value.

    Attributes:
        slots: (c,) int32.
        keys: (c,) int64, ordered as the attribute's values are, or object (texts): the value that each clause names.
        sizes: (c,) int32, how many other factors each has, one clause's after the other's.
        ranges: (f, 3) int64: the number of its attribute, where its only interval begins, and where it ends.
    """

    slots: NDArray[np.int32]
    keys: NDArray[Any]
    sizes: NDArray[np.int32]
    ranges: Integers

    def among(self, places: NDArray[Any]) -> "Pivoted":
        """Return the clauses at these places, in their order."""
        begins = np.cumsum(self.sizes) - self.sizes
        sizes = self.sizes[places]
        own = np.cumsum(sizes) - sizes
        factors = np.repeat(begins[places] - own, sizes) + np.arange(int(sizes.sum()))
        return Pivoted(
            slots=self.slots[places],
            keys=self.keys[places],
            sizes=sizes,
            ranges=self.ranges[factors],
        )


class PivotTable:
    """Clauses by the value of one attribute. Made at once; only forgets afterwards."""

    __slots__ = (
        "_clauses",
        "_key_texts",
        "_names",
        "_order",
        "_parts",
        "_places",
        "_room",
        "_table",
        "attribute",
        "forgotten",
    )

    def __init__(
        self, attribute: Attribute, parts: Pivoted, attributes: Mapping[Attribute, int]
    ) -> None:
        """Take clauses in any order, whose key is a value of `attribute`. Cost: O(c log c)."""
        self.attribute = attribute
        self.forgotten = 0
        keys, place = np.unique(parts.keys, return_inverse=True)
        by_key = np.argsort(place, kind="stable")
        self._parts = parts = parts.among(by_key)
        clauses = np.zeros((len(by_key) + 1, 2), dtype=np.int32)
        clauses[:-1, 0] = parts.slots
        np.cumsum(parts.sizes, out=clauses[1:, 1])
        self._clauses = pivot.Pivoted(
            edges=np.searchsorted(place[by_key], np.arange(len(keys) + 1)).astype(np.int32),
            clauses=clauses,
            ranges=parts.ranges,
        )
        asked = set(parts.ranges[:, 0].tolist())
        self._names = {name: number for name, number in attributes.items() if number in asked}
        self._key_texts: dict[str, int] | None = None
        self._table = pivot.table_of(np.empty(0, dtype=np.int64))
        if keys.dtype == np.object_:
            self._key_texts = {text: number for number, text in enumerate(keys.tolist())}
        else:
            self._table = pivot.table_of(keys)
        self._places = np.argsort(parts.slots)
        self._order = parts.slots[self._places]
        self._room = CHUNK_ROWS

    @classmethod
    def merged(
        cls, tables: Sequence["PivotTable"], attributes: Mapping[Attribute, int]
    ) -> "PivotTable":
        """Return one table of the clauses of all, whose attribute is the same, without what they have forgotten."""
        parts = [table.parts() for table in tables]
        together = Pivoted(
            slots=np.concatenate([part.slots for part in parts]),
            keys=np.concatenate([part.keys for part in parts]),
            sizes=np.concatenate([part.sizes for part in parts]),
            ranges=np.concatenate([part.ranges for part in parts]),
        )
        return cls(tables[0].attribute, together, attributes)

    def __len__(self) -> int:
        """Return the number of clauses, forgotten ones too."""
        return len(self._order)

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays; of texts only their places."""
        arrays = (*self._clauses, *self._table[:2], self._places, self._order)
        return sum(array.nbytes for array in arrays)

    @property
    def slots(self) -> set[int]:
        """Return the slots whose clauses are here."""
        return set(self._clauses.clauses[:-1, 0].tolist()) - {GONE}

    def asks(self, attribute: Attribute) -> bool:
        """Return whether chunks are asked for this attribute."""
        return attribute == self.attribute or attribute in self._names

    def forget(self, slot: Slot) -> bool:
        """Forget the clause in a slot; return whether it was here. Cost: O(log c)."""
        at = int(np.searchsorted(self._order, np.int32(slot)))
        if at == len(self._order) or self._clauses.clauses[self._places[at], 0] != slot:
            return False
        self._clauses.clauses[self._places[at], 0] = GONE
        self.forgotten += 1
        return True

    @property
    def gone(self) -> NDArray[np.int32]:
        """Return the places whose clauses were forgotten, ascending."""
        return np.flatnonzero(self._clauses.clauses[:-1, 0] == GONE).astype(np.int32)

    def without(self, gone: NDArray[np.int32]) -> "PivotTable":
        """Return the table with these places forgotten; both share everything else, also what matching writes."""
        other = copy.copy(self)
        clauses = self._clauses.clauses.copy()
        clauses[gone, 0] = GONE
        other._clauses = self._clauses._replace(clauses=clauses)  # noqa: SLF001 - of its own class
        other.forgotten = int(np.count_nonzero(clauses[:-1, 0] == GONE))
        return other

    def parts(self) -> Pivoted:
        """Return the parts to make the table of again, without forgotten clauses."""
        return self._parts.among(np.flatnonzero(self._clauses.clauses[:-1, 0] != GONE))

    def match(self, chunk: Chunk, wanted: NDArray[np.uint8], harvest: Harvest) -> None:
        """Add the hits of the clauses in a chunk to the harvest; `wanted` is a Keeping for each slot.

        Cost: O(CHUNK_ROWS), and O(rows x other factors) for each clause whose value occurs.
        """
        edges = self._clauses.edges
        found = self._find(chunk.column(self.attribute))
        either = np.empty((2, CHUNK_ROWS), dtype=np.int32)
        digits = np.empty(1 << RADIX_BITS, dtype=np.int32)
        ordered, some = pivot.by_place(found, len(edges) - 1, either, digits)
        rows = either[ordered, :some]
        asked = np.empty((3, self._room), dtype=np.int32)
        count = pivot.candidates(rows, found, edges, *asked)
        if (
            count > asked.shape[1]
        ):  # more than in any chunk before; another thread may have seen as many
            self._room = 2 * count
            asked = np.empty((3, 2 * count), dtype=np.int32)
            count = pivot.candidates(rows, found, edges, *asked)
        clauses, firsts, pasts = asked[:, :count]
        values = np.empty((max(self._names.values(), default=0) + 1, CHUNK_ROWS), dtype=np.int64)
        null_rows = np.empty((len(values), CHUNK_WORDS), dtype=LITTLE)
        for name, number in self._names.items():
            column = chunk.column(name)
            values[number], null_rows[number] = column.keys, column.null_rows
        at = 0
        while at < count:
            at = pivot.match_candidates(
                self._clauses,
                clauses,
                firsts,
                pasts,
                rows,
                values,
                null_rows,
                wanted,
                harvest.room(),
                at,
            )

    def _find(self, column: ChunkColumn) -> NDArray[np.int32]:
        """Return for each row where its value is among the keys."""
        found = np.empty(CHUNK_ROWS, dtype=np.int32)
        if self._key_texts is None:
            unsettled = np.empty((2, CHUNK_ROWS), dtype=np.int32)
            pivot.find(column.keys, column.null_rows, self._table, found, unsettled)
            return found
        assert column.texts is not None, "texts are asked of texts"
        known = [self._key_texts.get(text, pivot.NOWHERE) for text in column.texts]
        # Behind the last, for NULL: there may be no text at all.
        by_rank = np.array([*known, pivot.NOWHERE], dtype=np.int32)
        valid = column.column.valid
        return by_rank[column.keys if valid is None else np.where(valid, column.keys, len(known))]


def pivoted(
    attribute: Attribute,
    clauses: Mapping[Slot, Sequence[IndexedFactor]],
    attributes: Mapping[Attribute, int],
) -> PivotTable:
    """Return a table of clauses that `asks_one` of the attribute."""
    kind = ColumnType.INT64
    keys: list[Any] = []
    others: list[tuple[int, int, int]] = []
    for factors in clauses.values():
        for factor in factors:
            name = factor.attribute
            if name == attribute:
                kind = factor.type
                keys.append(factor.values.intervals[0].low)
            else:
                others.append((attributes[name], *_key_ends(factor)))
    parts = Pivoted(
        slots=np.fromiter(clauses, np.int32, len(clauses)),
        keys=keys_of(kind, keys),
        sizes=np.fromiter((len(own) - 1 for own in clauses.values()), np.int32, len(clauses)),
        ranges=np.array(others, dtype=np.int64).reshape(-1, 3),
    )
    return PivotTable(attribute, parts, attributes)


def asks_one(factor: IndexedFactor) -> bool:
    """Return whether a factor compares with one value, of an attribute that may have many."""
    if factor.type not in PIVOTS or factor.values.null or len(factor.values.intervals) != 1:
        return False
    interval = factor.values.intervals[0]
    return interval.low is not None and interval.low == interval.high


def pivots_among(factors: Sequence[IndexedFactor]) -> Iterator[IndexedFactor]:
    """Yield those of a clause's factors by whose value it could be found, the others being compared then."""
    for factor in factors:
        if asks_one(factor) and all(is_range(one) for one in factors if one is not factor):
            yield factor


def is_range(factor: IndexedFactor) -> bool:
    """Return whether a factor is one interval of whole numbers, or of what can be compared as such."""
    one = len(factor.values.intervals) == 1 and not factor.values.null
    return one and factor.type is not ColumnType.STRING


def _key_ends(factor: IndexedFactor) -> tuple[int, int]:
    """Return where a range begins and ends, as keys."""
    kind = factor.type
    ((low, high),) = closed_intervals(kind, factor.values)
    first, last = keys_of(kind, [low, high]).tolist()
    return first, last
