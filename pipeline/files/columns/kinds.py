"""The type that holds every value of a column: a lattice of kinds, folded over the whole file.

Each value has a narrowest kind. Kinds only widen, and a wider kind holds all values of a narrower one without loss:

    nothing < bool < text      nothing < timestamp < text      nothing < int < float < text

Numbers that begin with a zero (postcodes, account numbers) are text, because 00501 is not the number 501. An integer
that float64 cannot hold exactly turns a column of floats into text. A column holds times as long as one format reads
all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.limits import FLOAT64_EXACT_INT_MAX
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.counted_times import CountedTimes
from psoup.pipeline.files.columns.readings import Reading
from psoup.pipeline.files.times.forms import TimeForm


class Kind(IntEnum):
    """The kind of values, as their texts look."""

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
    """Return the narrowest kind that holds the values of both."""
    if one is other or other is Kind.NOTHING:
        return one
    if one is Kind.NOTHING:
        return other
    if {one, other} == {Kind.INT, Kind.FLOAT}:
        return Kind.FLOAT
    return Kind.TEXT


@dataclass(frozen=True, slots=True)
class InferredColumn:
    """A column of one file or of several files, with its inferred or given type.

    `nulls` counts empty cells, `markers` the words for NULL, which are values in a text column. `witness` is the value
    that made the column text after narrower values; `note` names its line, or the format of the column's times.
    """

    name: str
    type: ColumnType
    nulls: int
    kind: Kind = Kind.NOTHING
    """The kind from which the type was inferred; NOTHING: the column has no value."""
    largest: int = 0
    """The largest magnitude of its integers."""
    note: str = ""
    witness: str = ""
    markers: Mapping[str, int] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)
    sample: str = ""
    """A value from which the format of its times was inferred; empty: the options give the format."""
    warning: str = ""
    """A sentence about an open decision, and the option that decides it."""
    misfits: bool = False
    """Whether a timestamp column has values that are no times; reading the file finds them."""
    ambiguous: tuple[TimeForm, ...] = ()
    """The formats of its times, if several are possible."""
    empty_texts: bool = False
    """Whether a value is the empty text, which is a value of a text column and NULL in others."""
    counted: CountedTimes | None = None
    """Its times, if the file writes them as numbers."""


@dataclass(frozen=True, slots=True)
class ValueProfile:
    """The profile of some values of a column.

    Attributes:
        kind: the narrowest kind that holds all of them.
        largest: the largest magnitude of integers.
        compact: whether all integers are dates like 20180101.
        forms: the formats of times that read all of them.
    """

    kind: Kind
    largest: int = 0
    compact: bool = False
    forms: tuple[TimeForm, ...] = ()


@dataclass(slots=True)
class ColumnSurvey:
    """The kind of one column so far, given its values in order."""

    name: str
    kind: Kind = Kind.NOTHING
    nulls: int = 0
    """Empty cells."""
    markers: dict[str, int] = field(default_factory=dict)
    """Number of occurrences of each word for NULL; these do not influence the kind."""
    largest: int = 0
    """The largest magnitude of the integers."""
    compact: bool = True
    """Whether all integers so far are dates like 20180101."""
    forms: tuple[TimeForm, ...] = ()
    """The formats of times that read all values so far, or all before the witness."""
    sample: str = ""
    """The longest value from which the kind was inferred."""
    before: Kind = Kind.NOTHING
    """The kind of the column before it became text; NOTHING: it was never narrower."""
    witness: str = ""
    """The value that made the column text."""
    witness_at: int | None = None
    """Position of the witness, in the reader's unit."""
    empty_texts: bool = False
    """Whether a value so far is the empty text."""
    counted: CountedTimes | None = None
    """The values so far, if numbers are to be read as times."""

    def outcome(self, profile: ValueProfile) -> Kind:
        """Return the kind of the column with values of this profile."""
        joined = widened(self.kind, profile.kind)
        if joined is Kind.FLOAT and max(profile.largest, self.largest) > FLOAT64_EXACT_INT_MAX:
            return Kind.TEXT
        if joined is Kind.TIMESTAMP and not self._common(profile):
            return Kind.TEXT
        return joined

    def add(self, profile: ValueProfile, *, witness: str, at: int) -> None:
        """Add values of this profile; the first of them is `witness`, at position `at`."""
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

    def look_for_empty(self, texts: pa.Array) -> None:
        """Note whether one of these texts, as the file has them, is empty."""
        self.empty_texts = self.empty_texts or bool(pc.any(pc.equal(texts, "")).as_py())

    @property
    def counts_times(self) -> bool:
        """Whether numbers are times in the column, of which each fits into 64 bits."""
        return self.counted is not None and self.kind is not Kind.TEXT

    def count_times(self, values: pa.Array) -> None:
        """Add numbers, or texts, to the times of the column, if it counts them."""
        if self.counted is not None and self.counts_times:
            self.counted = self.counted.plus(values)

    def _common(self, profile: ValueProfile) -> tuple[TimeForm, ...]:
        """Return the formats that read the values so far and those of this profile."""
        if self.kind is Kind.NOTHING:
            return profile.forms
        return tuple(form for form in self.forms if form in profile.forms)
