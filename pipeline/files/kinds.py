"""Which of the five types holds every value of a column: a lattice, folded over the whole file.

Each value has a narrowest kind; kinds only ever widen, and every wider one holds what the narrower
held without loss:

    nothing < bool < text      nothing < timestamp < text      nothing < int < float < text

Numbers that begin with a zero (postcodes, account numbers) are text: as a number 00501 is another
value. An integer that a float64 cannot hold exactly turns a column of floats into text.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from engine.limits import FLOAT64_EXACT_INT_MAX
from engine.tuples.schema import ColumnType


class Kind(IntEnum):
    """What values look like."""

    NOTHING = 0
    BOOL = 1
    TIMESTAMP = 2
    INT = 3
    FLOAT = 4
    TEXT = 5


_TYPES: Final = {
    Kind.NOTHING: ColumnType.STRING,
    Kind.BOOL: ColumnType.BOOL,
    Kind.TIMESTAMP: ColumnType.TIMESTAMP,
    Kind.INT: ColumnType.INT64,
    Kind.FLOAT: ColumnType.FLOAT64,
    Kind.TEXT: ColumnType.STRING,
}


def widened(one: Kind, other: Kind) -> Kind:
    """Return the narrowest kind that holds both."""
    if one is other or other is Kind.NOTHING:
        return one
    if one is Kind.NOTHING:
        return other
    if {one, other} == {Kind.INT, Kind.FLOAT}:
        return Kind.FLOAT
    return Kind.TEXT


@dataclass(frozen=True, slots=True)
class InferredColumn:
    """One column as the whole file shows it.

    `nulls` counts its empty cells. `witness` is the value that made it text after others had looked
    narrower, and `note` says so with its line; both empty where none did.
    """

    name: str
    type: ColumnType
    nulls: int
    note: str = ""
    witness: str = ""


@dataclass(slots=True)
class ColumnSurvey:
    """The kind of one column so far. Fed with values in their order; `result` reads it off."""

    name: str
    kind: Kind = Kind.NOTHING
    nulls: int = 0
    largest: int = 0
    """The largest magnitude among the integers."""
    _before: Kind = Kind.NOTHING
    _witness: str = ""
    witness_at: int | None = None
    """Where the value stands that made the column text, in the unit of the reader."""

    def outcome(self, kind: Kind, largest: int) -> Kind:
        """Return what the column would be with values of `kind`, integers up to `largest`."""
        joined = widened(self.kind, kind)
        if joined is Kind.FLOAT and max(largest, self.largest) > FLOAT64_EXACT_INT_MAX:
            return Kind.TEXT
        return joined

    def add(self, kind: Kind, *, largest: int = 0, witness: str, at: int) -> None:
        """Widen by values of `kind`; the first of them is `witness`, which stands at `at`."""
        before = self.kind
        self.kind = self.outcome(kind, largest)
        self.largest = max(largest, self.largest)
        if self.kind is Kind.TEXT and before not in {Kind.NOTHING, Kind.TEXT}:
            self._before = before
            self._witness = witness
            self.witness_at = at

    def result(self, line: int | None) -> InferredColumn:
        """Return the column's type; one without any value is a string. `line` is the witness's."""
        note = ""
        if self._before is not Kind.NOTHING:
            shown = self._witness if len(self._witness) <= 24 else self._witness[:21] + "..."
            note = f"{shown!r} in line {line} is not {_TYPES[self._before]}"
        return InferredColumn(self.name, _TYPES[self.kind], self.nulls, note, self._witness)
