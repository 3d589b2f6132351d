"""JSON values: their kinds, and arrays of the five types."""

import math
from collections.abc import Sequence
from typing import Any, Final

import orjson
import pyarrow as pa

from psoup.engine.limits import FLOAT64_EXACT_INT_MAX
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns import casting
from psoup.pipeline.files.columns.kinds import ColumnSurvey, Kind, ValueProfile
from psoup.pipeline.files.columns.markers import is_marker
from psoup.pipeline.files.columns.readings import Reading
from psoup.pipeline.files.times.candidates import is_compact_day
from psoup.pipeline.files.times.forms import ISO

INT64_MAX: Final = 2**63 - 1


def fold_values(survey: ColumnSurvey, values: Sequence[Any], lines: Sequence[int]) -> None:
    """Fold values of one JSON type, neither strings nor null, at `lines`, into a survey.

    If the values do not fit the column together, halves are folded, which finds the first value that does not fit.
    """
    if survey.kind is Kind.TEXT:
        return
    profile = _profile(survey, values)
    if survey.outcome(profile) is Kind.TEXT and len(values) > 1:
        for value, line in zip(values, lines, strict=True):
            fold_values(survey, [value], [line])
        return
    survey.add(profile, witness=json_text(values[0]), at=lines[0])


def _profile(survey: ColumnSurvey, values: Sequence[Any]) -> ValueProfile:
    match values[0]:
        case bool():
            return ValueProfile(Kind.BOOL)
        case int():
            largest = max(abs(value) for value in values)
            if largest > INT64_MAX:
                return ValueProfile(Kind.TEXT)
            compact = survey.compact and all(map(is_compact_day, values))
            return ValueProfile(Kind.INT, largest=largest, compact=compact)
        case float():
            return ValueProfile(Kind.FLOAT)
        case _:
            return ValueProfile(Kind.TEXT)


def json_text(value: object) -> str:
    """Return a string unchanged, and any other value as JSON text."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def array_of(
    values: Sequence[Any], kind: ColumnType, reading: Reading, nulls: frozenset[str]
) -> pa.Array:
    """Return JSON values as an array of the type; strings in `nulls` are NULL, as are words for NULL unless in text.

    Raises:
        Misfit: the first value that is not of the type.
    """
    if nulls:
        values = [None if isinstance(v, str) and v in nulls else v for v in values]
    if kind is ColumnType.STRING:
        texts = [None if value is None else json_text(value) for value in values]
        return casting.checked_text(pa.array(texts, pa.string()))
    values = [None if is_marker(value) else value for value in values]
    match kind:
        case ColumnType.BOOL:
            _check(values, lambda v: isinstance(v, bool), "expected true or false (bool)")
        case ColumnType.INT64:
            _check(values, _is_int64, "expected an integer (int64)")
        case ColumnType.FLOAT64:
            _check(values, _is_float64, "expected a number that float64 holds (float64)")
        case ColumnType.TIMESTAMP:
            return _timestamps(values, reading)
    return pa.array(values, ARROW_TYPES[kind])


def _timestamps(values: Sequence[Any], reading: Reading) -> pa.Array:
    if reading.form is ISO:
        _check(
            values,
            lambda v: isinstance(v, str),
            "expected an ISO 8601 text (timestamp)",
            hint="If numbers count from 1970, pass --epoch s|ms|us|ns.",
        )
    texts = [None if value is None else json_text(value) for value in values]
    return casting.text_as(pa.array(texts, pa.string()), ColumnType.TIMESTAMP, reading)


def _check(values: Sequence[Any], fits: Any, reason: str, hint: str = "") -> None:  # noqa: ANN401 (a predicate)
    for index, value in enumerate(values):
        if value is not None and not fits(value):
            raise casting.Misfit(index, reason, hint)


def _is_int64(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX


def _is_float64(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, int):
        return abs(value) <= FLOAT64_EXACT_INT_MAX
    return math.isfinite(value)
