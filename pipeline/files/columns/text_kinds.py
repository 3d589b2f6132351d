"""The kinds of texts: whole arrays are tried against one kind after another."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from psoup.pipeline.files.columns.casting import numerals
from psoup.pipeline.files.columns.kinds import ColumnSurvey, Kind, ValueProfile
from psoup.pipeline.files.columns.readings import given_form
from psoup.pipeline.files.options import ReadOptions
from psoup.pipeline.files.times.candidates import (
    CANDIDATES,
    forms_of,
    is_compact,
    joined_candidates,
)
from psoup.pipeline.files.times.forms import TimeForm

ALL_KINDS: Final = (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIMESTAMP)
"""Kinds of a cell of a CSV. A string of JSON is a timestamp or text, because JSON writes numbers without quotes."""
_ZERO_FIRST: Final = r"^[+-]?0[0-9xX]"
_INEXACT_INTEGER: Final = r"^[+-]?\d{16,}$"


class TextProfiler:
    """Profiles the texts of a column."""

    def __init__(
        self,
        kinds: Sequence[Kind] = ALL_KINDS,
        forms: Sequence[TimeForm] = CANDIDATES,
        *,
        decimal_comma: bool = False,
    ) -> None:
        """Try `kinds`, and for times the formats `forms`."""
        self._kinds = tuple(kinds)
        self._forms = tuple(forms)
        self._decimal_comma = decimal_comma

    def fold(self, survey: ColumnSurvey, array: pa.Array, places: Sequence[int]) -> None:
        """Fold an array of text without markers, at positions `places`, into a column's survey.

        If the values are of several kinds, the halves are folded one after the other, which finds the first value that
        does not fit. Cost: O(values), times a logarithm on the way to that value.
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
        """Return the profile of the values, by the narrowest kind that holds all; the survey's kind is tried first."""
        likely = survey.kind
        for kind in (likely, *self._kinds) if likely in self._kinds else self._kinds:
            if kind is Kind.TIMESTAMP:
                if forms := forms_of(array, survey.forms or self._forms):
                    return ValueProfile(kind, forms=forms)
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
    """Return the profiler of a column's texts: for the format of times in the options, else for `kinds`."""
    given = given_form(options, column)
    if given is not None:
        return TextProfiler((Kind.TIMESTAMP,), (given,))
    if options.time_parts and column == options.time:
        return TextProfiler((Kind.TIMESTAMP,), joined_candidates(len(options.time_parts)))
    return TextProfiler(kinds, decimal_comma=options.decimal_comma)


def _largest(integers: pa.Array) -> int:
    """Return the largest magnitude of integers written as text."""
    extremes = pc.min_max(integers.cast(pa.int64()))
    return max(abs(int(extremes["min"].as_py())), abs(int(extremes["max"].as_py())))
