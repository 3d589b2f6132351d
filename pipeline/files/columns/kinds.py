"""Which of the five types holds every value of a column: a lattice, folded over the whole file.

Each value has a narrowest kind; kinds only ever widen, and every wider one holds what the narrower
held without loss:

    nothing < bool < text      nothing < timestamp < text      nothing < int < float < text

Numbers that begin with a zero (postcodes, account numbers) are text: as a number 00501 is another
value. An integer that a float64 cannot hold exactly turns a column of floats into text. Times stay times
as long as one way of writing them reads them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from psoup.engine.limits import FLOAT64_EXACT_INT_MAX
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.readings import Reading
from psoup.pipeline.files.times.forms import TimeForm


class Kind(IntEnum):
    """What values look like."""

    NOTHING = 0
    BOOL = 1
    TIMESTAMP = 2
    INT = 3
    FLOAT = 4
    TEXT = 5


KINDS: Final = {
    ColumnType.BOOL: Kind.BOOL,
    ColumnType.TIMESTAMP: Kind.TIMESTAMP,
    ColumnType.INT64: Kind.INT,
    ColumnType.FLOAT64: Kind.FLOAT,
    ColumnType.STRING: Kind.TEXT,
}
TYPES: Final = {Kind.NOTHING: ColumnType.STRING} | {kind: name for name, kind in KINDS.items()}


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
    """One column as a file shows it, or several together, or as it was asked for.

    `nulls` counts its empty cells, `markers` the words for nothing: NULL but in text. `witness` is the value that made
    it text after others had looked narrower; `note` says so with its line, or how its times are read.
    """

    name: str
    type: ColumnType
    nulls: int
    kind: Kind = Kind.NOTHING
    """What the type was told by; NOTHING where there is no value."""
    largest: int = 0
    """The largest magnitude among its integers."""
    note: str = ""
    witness: str = ""
    markers: Mapping[str, int] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)
    sample: str = ""
    """A value that told how its times are read; empty where the options say it."""
    warning: str = ""
    """A sentence about what was not decided, and which option decides it."""
    misfits: bool = False
    """Whether it is a timestamp with values that are none: to be found by reading it."""
    ambiguous: tuple[TimeForm, ...] = ()
    """The ways of reading its times, where there are several."""


@dataclass(frozen=True, slots=True)
class ValueProfile:
    """What some values of a column look like together.

    `largest` is the largest magnitude among integers, `compact` whether all of these are dates like 20180101,
    `forms` are the ways of writing times that read every one of them.
    """

    kind: Kind
    largest: int = 0
    compact: bool = False
    forms: tuple[TimeForm, ...] = ()


@dataclass(slots=True)
class ColumnSurvey:
    """The kind of one column so far, fed with values in their order."""

    name: str
    kind: Kind = Kind.NOTHING
    nulls: int = 0
    """Empty cells."""
    markers: dict[str, int] = field(default_factory=dict)
    """How often each word for nothing was seen; none of them counts for the kind."""
    largest: int = 0
    """The largest magnitude among the integers."""
    compact: bool = True
    """Whether all integers so far are dates like 20180101."""
    forms: tuple[TimeForm, ...] = ()
    """The ways of writing times that read all values so far, or all before the witness."""
    sample: str = ""
    """The longest of the values that the kind was told by."""
    before: Kind = Kind.NOTHING
    """What the column was before it became text; NOTHING where it was never narrower."""
    witness: str = ""
    """The value that made it text then."""
    witness_at: int | None = None
    """Where the witness stands, in the unit of the reader."""

    def outcome(self, profile: ValueProfile) -> Kind:
        """Return what the column would be with values that look so."""
        joined = widened(self.kind, profile.kind)
        if joined is Kind.FLOAT and max(profile.largest, self.largest) > FLOAT64_EXACT_INT_MAX:
            return Kind.TEXT
        if joined is Kind.TIMESTAMP and not self._common(profile):
            return Kind.TEXT
        return joined

    def add(self, profile: ValueProfile, *, witness: str, at: int) -> None:
        """Widen by values that look so; the first of them is `witness`, which stands at `at`."""
        before, forms = self.kind, self._common(profile)
        self.kind = self.outcome(profile)
        if self.kind is Kind.TEXT and before is not Kind.TEXT:
            self.witness = witness
            if before is not Kind.NOTHING:
                self.before = before
                self.witness_at = at
            return
        self.largest = max(profile.largest, self.largest)
        self.compact = self.compact and profile.compact
        self.forms = forms
        if len(witness) > len(self.sample):
            self.sample = witness

    def _common(self, profile: ValueProfile) -> tuple[TimeForm, ...]:
        """Return the forms that read the values so far and those that look so."""
        if self.kind is Kind.NOTHING:
            return profile.forms
        return tuple(form for form in self.forms if form in profile.forms)
