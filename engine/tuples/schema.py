"""What a stream is declared to be: its columns, its time, its clock, what it keeps.

A schema is a value: equal schemas are identical declarations. Names are compared exactly.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NewType

from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError
from psoup.engine.tuples.time_unit import TimeUnit

StreamId = NewType("StreamId", int)
"""Seq of the declaration that made the stream: internal, never reused (names may be)."""

STREAM_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
RESERVED_COLUMNS = frozenset({"_id", "_x"})


class ColumnType(StrEnum):
    """The five types, by their name on the wire."""

    INT64 = "int64"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"
    TIMESTAMP = "timestamp"

    @property
    def sql_name(self) -> str:
        """The type's name in SQL."""
        return _SQL_NAMES[self]


_SQL_NAMES = {
    ColumnType.INT64: "BIGINT",
    ColumnType.FLOAT64: "DOUBLE",
    ColumnType.BOOL: "BOOLEAN",
    ColumnType.STRING: "VARCHAR",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}


VALUE_BYTES = {
    ColumnType.INT64: 8,
    ColumnType.FLOAT64: 8,
    ColumnType.TIMESTAMP: 8,
    ColumnType.BOOL: 1,
    ColumnType.STRING: 4,
}
"""What a value counts in `retention.bytes`; a string also its UTF-8, a nullable value one more."""


class ClockKind(StrEnum):
    """What NOW is for a stream: its largest tuple time, or the server's clock."""

    HIGH_WATER = "high-water"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class ColumnSchema:
    """One column: its name, its type, whether NULL is allowed.

    `unit` is what integers count that are sent for a timestamp; None = microseconds. Values are kept in
    microseconds all the same.
    """

    name: str
    type: ColumnType
    nullable: bool = True
    unit: TimeUnit | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of a stream is kept; each part given is a bound. None = no bound of that kind."""

    time_us: int | None = None
    rows: int | None = limits.RETENTION_ROWS_DEFAULT
    bytes: int | None = limits.RETENTION_BYTES_DEFAULT


@dataclass(frozen=True, slots=True)
class StreamSchema:
    """A stream's declaration.

    `time` names the timestamp column that dates a tuple; None = its arrival time. `clock` says what
    NOW is. Rows dated more than `future_us` past the server's clock are refused at the door.

    `added` says how many of the last columns the stream was given while it held tuples: they are NULL in rows of
    before. Where one of them is NULL a row counts, and is told from others, as if the column were not there. It is
    no part of what is declared, so that a stream declared wide at once and one that became so compare as equal.
    """

    name: str
    columns: tuple[ColumnSchema, ...]
    time: str | None
    clock: ClockKind
    retention: Retention = Retention()
    future_us: int = limits.FUTURE_US_DEFAULT
    added: int = field(default=0, compare=False)

    def column(self, name: str) -> ColumnSchema | None:
        """Return the column of exactly this name, or None."""
        return next((column for column in self.columns if column.name == name), None)

    @property
    def row_bytes(self) -> int:
        """What a row counts in `retention.bytes`, the UTF-8 of its strings and its values of added columns aside."""
        first = self.columns[: len(self.columns) - self.added]
        return sum(VALUE_BYTES[column.type] + column.nullable for column in first)

    def of_first(self, count: int) -> "StreamSchema":
        """Return the declaration as it was with its first `count` columns; the others are added ones."""
        later = len(self.columns) - count
        assert 0 <= later <= self.added, "columns of the first declaration never went"
        return replace(self, columns=self.columns[:count], added=self.added - later)

    @property
    def time_index(self) -> int | None:
        """Position of the time column, or None where tuples are dated by their arrival."""
        if self.time is None:
            return None
        return next(i for i, column in enumerate(self.columns) if column.name == self.time)


def check_schema(schema: StreamSchema) -> None:
    """Refuse a declaration that cannot be kept.

    Raises:
        InvalidFieldError: names out of their pattern or twice, a time column that is missing or not
            a timestamp, a clock that needs a time column, bounds out of range. All at once.
    """
    found = [*_name_errors(schema), *_time_errors(schema), *_bound_errors(schema)]
    if found:
        raise InvalidFieldError(
            f"The stream's declaration has members that cannot be; the first: {found[0][1]}.",
            errors=found,
        )


def altered(declared: StreamSchema, given: StreamSchema) -> StreamSchema | None:
    """Return what a stream declared one way is, once it is declared the other way while it holds tuples.

    Retention may be another one, and nullable columns may follow the last one. None = `given` differs in more.
    """
    count = len(declared.columns)
    first, later = given.columns[:count], given.columns[count:]
    may_differ = replace(declared, retention=given.retention, columns=given.columns)
    if may_differ != given or first != declared.columns or not all(c.nullable for c in later):
        return None
    return replace(given, added=declared.added + len(later))


def _name_errors(schema: StreamSchema) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if not STREAM_NAME.fullmatch(schema.name):
        found.append(("/name", "a stream's name is a letter or _ and up to 63 letters, digits, _"))
    if not 1 <= len(schema.columns) <= limits.COLUMNS_COUNT_MAX:
        found.append(("/columns", f"a stream has 1 to {limits.COLUMNS_COUNT_MAX} columns"))
    return [*found, *column_errors(schema.columns, "/columns")]


def column_errors(columns: Sequence[ColumnSchema], pointer: str) -> list[tuple[str, str]]:
    """Return (pointer, reason) of what columns that stand together cannot be; `pointer` is that of their list."""
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    for i, column in enumerate(columns):
        where = f"{pointer}/{i}/name"
        if (
            not 1 <= len(column.name) <= limits.COLUMN_NAME_LENGTH_MAX
            or not column.name.isprintable()
        ):
            found.append((where, f"1 to {limits.COLUMN_NAME_LENGTH_MAX} printable characters"))
        elif column.name in RESERVED_COLUMNS:
            found.append((where, "_id and _x are psoup's own members of a result row"))
        elif column.name in seen:
            found.append((where, "two columns have this name"))
        seen.add(column.name)
        if column.unit is not None and column.type is not ColumnType.TIMESTAMP:
            found.append((f"{pointer}/{i}/unit", "only a timestamp is counted in a unit"))
    return found


def _time_errors(schema: StreamSchema) -> list[tuple[str, str]]:
    if schema.time is None:
        if schema.clock is ClockKind.HIGH_WATER:
            return [("/clock", "high-water needs a time column; without one the clock is server")]
        return []
    column = schema.column(schema.time)
    if column is None:
        return [("/time", "names no column of this stream")]
    if column.type is not ColumnType.TIMESTAMP:
        return [("/time", f"the time column has to be a timestamp, this one is {column.type}")]
    if column.nullable:
        return [("/time", "the time column cannot be nullable")]
    return []


def _bound_errors(schema: StreamSchema) -> list[tuple[str, str]]:
    kept = schema.retention
    ceilings: Mapping[str, tuple[int | None, int]] = {
        "/retention/time": (kept.time_us, limits.RETENTION_TIME_US_MAX),
        "/retention/rows": (kept.rows, limits.RETENTION_ROWS_MAX),
        "/retention/bytes": (kept.bytes, limits.RETENTION_BYTES_MAX),
    }
    found = [
        (pointer, f"1 to {most}")
        for pointer, (given, most) in ceilings.items()
        if given is not None and not 1 <= given <= most
    ]
    if not 0 <= schema.future_us <= limits.FUTURE_US_MAX:
        found.append(("/future", f"0 to {limits.FUTURE_US_MAX} microseconds"))
    return found


def schema_to_dict(schema: StreamSchema) -> dict[str, object]:
    """Return the declaration as plain JSON values, for the log; `schema_from_dict` reads it back."""
    return {
        "name": schema.name,
        # A unit is written only where there is one: declarations without stay what they were.
        "columns": [
            [c.name, c.type.value, c.nullable, *([] if c.unit is None else [c.unit.value])]
            for c in schema.columns
        ],
        "time": schema.time,
        "clock": schema.clock.value,
        "retention": [schema.retention.time_us, schema.retention.rows, schema.retention.bytes],
        "future_us": schema.future_us,
    }


def schema_from_dict(value: Mapping[str, object]) -> StreamSchema:
    """Return the declaration that `schema_to_dict` wrote. Trusts its input: it was ours."""
    columns = value["columns"]
    retention = value["retention"]
    future_us = value["future_us"]
    time = value["time"]
    assert isinstance(columns, list)
    assert isinstance(retention, list)
    assert isinstance(future_us, int)
    assert time is None or isinstance(time, str)
    return StreamSchema(
        name=str(value["name"]),
        columns=tuple(
            ColumnSchema(n, ColumnType(t), bool(nullable), *map(TimeUnit, unit))
            for n, t, nullable, *unit in columns
        ),
        time=time,
        clock=ClockKind(str(value["clock"])),
        retention=Retention(*retention),
        future_us=future_us,
    )
