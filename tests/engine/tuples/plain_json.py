"""Rows of JSON read with Python's own parser and calendar, one value after the other: what plain bodies say.

Nothing is shared with the engine but the declarations.
"""

import json
import re
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from psoup.engine.tuples.schema import ColumnType

RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:[Zz]|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RefusedError(Exception):
    """The body says nothing that a stream holds."""


def columns_of(body, schema, form):
    """Return the values by column, ints and floats as themselves, instants as microseconds.

    Raises:
        RefusedError, ValueError: it is not JSON, has another shape, or a value does not fit.
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise RefusedError
    if form == "COLUMNS":
        return _by_column(_loads(body), schema)
    if form == "LINES":
        rows = [_loads(line) for line in body.split(b"\n") if line.strip()]
    else:
        rows = _loads(body)
        rows = rows if isinstance(rows, list) else [rows]
    known = {column.name for column in schema.columns}
    for row in rows:
        if not isinstance(row, dict) or not row.keys() <= known:
            raise RefusedError
    return [[_value(c, row.get(c.name)) for row in rows] for c in schema.columns]


def _by_column(members, schema):
    known = {column.name for column in schema.columns}
    if not isinstance(members, dict) or not members.keys() <= known:
        raise RefusedError
    if any(not isinstance(values, list) for values in members.values()):
        raise RefusedError
    lengths = {len(values) for values in members.values()} or {0}
    if len(lengths) > 1 or any(not c.nullable and c.name not in members for c in schema.columns):
        raise RefusedError
    missing = [None] * lengths.pop()
    return [[_value(c, one) for one in members.get(c.name, missing)] for c in schema.columns]


def _loads(text):
    return json.loads(
        text.decode(),
        object_pairs_hook=_object,
        parse_int=_literal(int),
        parse_float=_literal(float),
        parse_constant=_literal(str),
    )


def _object(pairs):
    if len(dict(pairs)) < len(pairs):
        raise RefusedError
    return dict(pairs)


def _literal(kind):
    def read(text):
        if len(text) > 32 or kind is str:
            raise RefusedError
        return kind(text)

    return read


def _value(column, value):
    if value is None and column.nullable:
        return None
    fits, read = READERS[column.type]
    if type(value) not in fits:
        raise RefusedError
    return read(value)


def _int64(value):
    return _bounded(value, -(2**63), 2**63 - 1)


def _float64(value):
    if type(value) is int:
        return float(_bounded(value, -(2**53), 2**53))
    return _bounded(value, -sys.float_info.max, sys.float_info.max)


def _text(value):
    if "\0" in value or len(value.encode()) > 8_192:
        raise RefusedError
    return value


def _instant(value):
    if type(value) is int:
        first, last = ((end - EPOCH) // timedelta(microseconds=1) for end in (FIRST, LAST))
        return _bounded(value, first, last)
    match = RFC3339.fullmatch(value)
    if match is None:
        raise RefusedError
    *clock, fraction, sign, hours, minutes = match.groups()
    year, month, day, hour, minute, second = map(int, clock)
    us = int((fraction or "0").ljust(6, "0"))
    whole = datetime(year, month, day, hour, minute, second, us, tzinfo=UTC)
    offset = timedelta(0)
    if sign:
        offset = timezone(timedelta(hours=int(hours), minutes=int(minutes))).utcoffset(None)
        if int(minutes) > 59:
            raise RefusedError
    us = (whole - EPOCH - (-offset if sign == "-" else offset)) // timedelta(microseconds=1)
    return _instant(us)


def _bounded(value, low, high):
    if not low <= value <= high:
        raise RefusedError
    return value


READERS: dict[ColumnType, tuple[set[type], Any]] = {
    ColumnType.INT64: ({int}, _int64),
    ColumnType.FLOAT64: ({int, float}, _float64),
    ColumnType.BOOL: ({bool}, bool),
    ColumnType.STRING: ({str}, _text),
    ColumnType.TIMESTAMP: ({int, str}, _instant),
}
