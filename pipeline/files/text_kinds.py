"""What the cells of a CSV look like: whole arrays of text against one kind after the other."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.files.casting import is_timestamp_text
from pipeline.files.kinds import ColumnSurvey, Kind

_ZERO_FIRST: Final = r"^[+-]?0[0-9xX]"
_INEXACT_INTEGER: Final = r"^[+-]?\d{16,}$"


def look_at_text(survey: ColumnSurvey, array: pa.Array, first_row: int) -> None:
    """Fold an array of text into a column's survey.

    Where the values are not of one kind, halves are looked at one after the other, so that the first
    value that does not fit is found. Cost: O(values), a logarithm more along the way to that one.
    """
    if survey.kind is Kind.TEXT or array.null_count == len(array):
        return
    kind = _kind_of(array, likely=survey.kind)
    largest = _largest(array) if kind is Kind.INT else 0
    if survey.outcome(kind, largest) is Kind.TEXT and len(array) > 1:
        middle = len(array) // 2
        look_at_text(survey, array[:middle], first_row)
        look_at_text(survey, array[middle:], first_row + middle)
        return
    first = pc.index(array.is_valid(), pa.scalar(value=True)).as_py()
    survey.add(kind, largest=largest, witness=array[first].as_py(), at=first_row + first)


def _largest(integers: pa.Array) -> int:
    """Return the largest magnitude among integers written as text."""
    extremes = pc.min_max(integers.cast(pa.int64()))
    return max(abs(int(extremes["min"].as_py())), abs(int(extremes["max"].as_py())))


def _kind_of(array: pa.Array, *, likely: Kind) -> Kind:
    """Return the narrowest kind that holds every value; `likely` is tried first."""
    order = (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIMESTAMP)
    for kind in (likely, *order) if likely in order else order:
        if _holds(kind, array):
            return kind
    return Kind.TEXT


def _holds(kind: Kind, array: pa.Array) -> bool:
    try:
        match kind:
            case Kind.INT:
                array.cast(pa.int64())
            case Kind.FLOAT:
                if not pc.all(pc.is_finite(array.cast(pa.float64()))).as_py():
                    return False
                if pc.any(pc.match_substring_regex(array, _INEXACT_INTEGER)).as_py():
                    return False
            case Kind.BOOL:
                words = pc.utf8_lower(array)
                return bool(pc.all(pc.is_in(words, pa.array(["true", "false", None]))).as_py())
            case Kind.TIMESTAMP:
                return is_timestamp_text(array)
            case _:
                return False
    except pa.ArrowInvalid:
        return False
    return not pc.any(pc.match_substring_regex(array, _ZERO_FIRST)).as_py()
