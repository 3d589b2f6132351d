"""What to pass for a value that does not fit its column: the type that holds it, before the one that holds anything."""

import re
from typing import Final

from psoup.engine.tuples.schema import ColumnType

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_TOKEN_LENGTH_MAX: Final = 24
"""A longer value is hardly a word for NULL."""


def misfit_hint(column: str, kind: ColumnType, value: str, *, nulls: bool) -> str:
    """Return what to pass where `value`, as it stands in the file, does not fit a column of type `kind`.

    Args:
        column: its name.
        kind: its type.
        value: as text.
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
