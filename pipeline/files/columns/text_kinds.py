"""What texts look like: whole arrays against one kind after the other."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from psoup.pipeline.files.columns.casting import numerals
from psoup.pipeline.files.columns.kinds import ColumnSurvey, Kind, ValueProfile
from psoup.pipeline.files.columns.readings import asked_form
from psoup.pipeline.files.options import ReadOptions
from psoup.pipeline.files.times.candidates import (
    CANDIDATES,
    forms_of,
    is_compact,
    joined_candidates,
)
from psoup.pipeline.files.times.forms import TimeForm

ALL_KINDS: Final = (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIMESTAMP)
"""What a cell of a CSV may be. A string of JSON is a timestamp or text: numbers are written without quotes there."""
_ZERO_FIRST: Final = r"^[+-]?0[0-9xX]"
_INEXACT_INTEGER: Final = r"^[+-]?\d{16,}$"


class TextProfiler:
    """Looks at texts as one file writes them."""

    def __init__(
        self,
        kinds: Sequence[Kind] = ALL_KINDS,
        forms: Sequence[TimeForm] = CANDIDATES,
        *,
        decimal_comma: bool = False,
    ) -> None:
        """Look for `kinds`, and for times written as one of `forms`."""
        self._kinds = tuple(kinds)
        self._forms = tuple(forms)
        self._decimal_comma = decimal_comma

    def fold(self, survey: ColumnSurvey, array: pa.Array, places: Sequence[int]) -> None:
        """Fold an array of text without markers, standing at `places`, into a column's survey.

        Where the values are not of one kind, halves are looked at one after the other, so that the first
        value that does not fit is found. Cost: O(values), a logarithm more along the way to that one.
        """
        if survey.kind is Kind.TEXT or array.null_count == len(array):
            return
        profile = self._profile(survey, array)
        if survey.outcome(profile) is Kind.TEXT and len(array) > 1:
            middle = len(array) // 2
            self.fold(survey, array[:middle], places[:middle])
            self.fold(survey, array[middle:], places[middle:])
            return
        first = pc.index(array.is_valid(), pa.scalar(value=True)).as_py()
        survey.add(profile, witness=array[first].as_py(), at=places[first])

    def _profile(self, survey: ColumnSurvey, array: pa.Array) -> ValueProfile:
        """Return how every value looks, by the narrowest kind that holds them; the survey's own is tried first."""
        likely = survey.kind
        for kind in (likely, *self._kinds) if likely in self._kinds else self._kinds:
            if kind is Kind.TIMESTAMP:
                if found := forms_of(array, survey.forms or self._forms):
                    return ValueProfile(kind, forms=found)
            elif self._holds(kind, array):
                if kind is not Kind.INT:
                    return ValueProfile(kind)
                compact = survey.compact and is_compact(array)
                return ValueProfile(kind, largest=_largest(array), compact=compact)
        return ValueProfile(Kind.TEXT)

    def _holds(self, kind: Kind, array: pa.Array) -> bool:
        try:
            match kind:
                case Kind.INT:
                    array.cast(pa.int64())
                case Kind.FLOAT:
                    floats = numerals(array, decimal_comma=self._decimal_comma).cast(pa.float64())
                    if not pc.all(pc.is_finite(floats)).as_py():
                        return False
                    if pc.any(pc.match_substring_regex(array, _INEXACT_INTEGER)).as_py():
                        return False
                case _:
                    words = pc.utf8_lower(array)
                    return bool(pc.all(pc.is_in(words, pa.array(["true", "false", None]))).as_py())
        except pa.ArrowInvalid:
            return False
        return not pc.any(pc.match_substring_regex(array, _ZERO_FIRST)).as_py()


def profiler_for(
    options: ReadOptions, column: str, kinds: Sequence[Kind] = ALL_KINDS
) -> TextProfiler:
    """Return how a column's texts are looked at: for the form of times that is asked for, if any, else for `kinds`."""
    asked = asked_form(options, column)
    if asked is not None:
        return TextProfiler((Kind.TIMESTAMP,), (asked,))
    if options.time_parts and column == options.time:
        return TextProfiler((Kind.TIMESTAMP,), joined_candidates(len(options.time_parts)))
    return TextProfiler(kinds, decimal_comma=options.decimal_comma)


def _largest(integers: pa.Array) -> int:
    """Return the largest magnitude among integers written as text."""
    extremes = pc.min_max(integers.cast(pa.int64()))
    return max(abs(int(extremes["min"].as_py())), abs(int(extremes["max"].as_py())))
