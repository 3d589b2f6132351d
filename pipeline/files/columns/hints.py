"""The option to pass if a value does not fit its column: the narrowest type that holds the value."""

import re
from typing import Final

from psoup.engine.tuples.schema import ColumnType

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_TOKEN_LENGTH_MAX: Final = 24
"""A longer value is unlikely to be a word for NULL."""


def misfit_hint(column: str, kind: ColumnType, value: str, *, nulls: bool) -> str:
    """Return the option to pass if `value` does not fit a column of type `kind`.

    Args:
        column: name of the column.
        kind: its type.
        value: the text in the file.
        nulls: whether the format has words that mean NULL (`--null`).
    """
    if kind is ColumnType.STRING:
        return f"Pass --skip-columns {column!r} to leave the column out."
    wider = f'"{column} {_wider(kind, value.strip())}" to --types or --schema'
    is_word = _NUMBER.fullmatch(value.strip()) is None and 0 < len(value) <= _TOKEN_LENGTH_MAX
    if nulls and is_word:
        return f"Pass --null {value!r}, or {wider}."
    reason = " An int64 ends at 9,223,372,036,854,775,807." if _is_too_large(kind, value) else ""
    return f"Pass {wider}.{reason}"


def _wider(kind: ColumnType, value: str) -> ColumnType:
    if kind is ColumnType.INT64 and _NUMBER.fullmatch(value) and not _INTEGER.fullmatch(value):
        return ColumnType.FLOAT64
    if kind is ColumnType.BOOL and _INTEGER.fullmatch(value):
        return ColumnType.INT64
    return ColumnType.STRING


def _is_too_large(kind: ColumnType, value: str) -> bool:
    return kind is ColumnType.INT64 and _INTEGER.fullmatch(value.strip()) is not None
