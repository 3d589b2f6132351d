"""Streams as they travel: the declaration a client sends, the description it gets back."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from psoup.app.wire.models.durations import DurationUs, become
from psoup.app.wire.models.warnings import FewWarnings
from psoup.app.wire.scalars import (
    SIZE_FORMS,
    format_duration,
    format_instant,
    parse_size,
)
from psoup.engine import limits
from psoup.engine.data.source import TupleSource
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamSchema,
    check_schema,
)
from psoup.engine.tuples.time_unit import TimeUnit


def _size(given: object) -> object:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, str):
        parsed = parse_size(given)
        if parsed is not None:
            return parsed
    raise ValueError(f"expected {SIZE_FORMS}")


def _type_name(given: object) -> object:
    if isinstance(given, str) and given not in list(ColumnType):
        meant = _TYPES_ELSEWHERE.get(given.casefold().partition("(")[0])
        other = "" if meant is None else f"; what other systems call so is {meant} here"
        raise ValueError(f"expected one of: {', '.join(ColumnType)}{other}")
    return given


_TYPES_ELSEWHERE = {
    **dict.fromkeys(("bigint", "int", "integer", "int32", "long", "smallint"), ColumnType.INT64),
    **dict.fromkeys(
        ("double", "float", "float32", "number", "numeric", "decimal", "real"), ColumnType.FLOAT64
    ),
    **dict.fromkeys(("boolean", "logical"), ColumnType.BOOL),
    **dict.fromkeys(("char", "str", "symbol", "text", "utf8", "varchar"), ColumnType.STRING),
    **dict.fromkeys(("date", "datetime", "time", "timestamptz"), ColumnType.TIMESTAMP),
}
_SIZE_SCHEMA: dict[str, object] = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "examples": ["2GiB"]}],
    "description": SIZE_FORMS,
}
SizeBytes = Annotated[
    int, BeforeValidator(_size), Field(json_schema_extra=lambda s: become(s, _SIZE_SCHEMA))
]


class _Strict(BaseModel):
    """Every member is known and of exactly its type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ColumnBody(_Strict):
    """One column of a declaration."""

    name: str
    type: Annotated[
        Literal["int64", "float64", "bool", "string", "timestamp"], BeforeValidator(_type_name)
    ]
    nullable: bool | None = None
    unit: Literal["s", "ms", "us", "ns"] | None = Field(
        default=None, description="What integers count that are sent for a timestamp; default us."
    )


class RetentionBody(_Strict):
    """How much of a stream is kept; each part given is a bound. Rows and bytes have defaults."""

    time: DurationUs | None = None
    rows: int | None = Field(default=limits.RETENTION_ROWS_DEFAULT)
    bytes: SizeBytes | None = Field(default=limits.RETENTION_BYTES_DEFAULT)


class StreamBody(_Strict):
    """The body of PUT /v1/streams/{name}."""

    columns: list[ColumnBody]
    time: str | None = None
    clock: Literal["high-water", "server"] | None = None
    retention: RetentionBody | None = None
    future: DurationUs = limits.FUTURE_US_DEFAULT


class RetentionPatch(_Strict):
    """The parts of a stream's retention that change; null lifts a bound."""

    time: DurationUs | None = None
    rows: int | None = None
    bytes: SizeBytes | None = None


class StreamPatchBody(_Strict):
    """The body of PATCH /v1/streams/{name}: one change at least."""

    retention: RetentionPatch = RetentionPatch()
    add_columns: list[ColumnBody] = Field(
        default=[],
        min_length=1,
        description="Columns that follow the last one, NULL in the rows there are; one that is there just so stays.",
    )
    widen: dict[str, str] = Field(
        default={},
        description="Types that columns have: another one is refused with `incompatible-change`, a column keeps its type.",
    )


def column_from_body(body: ColumnBody, *, nullable: bool = True) -> ColumnSchema:
    """Return the column a client sent; `nullable` is for one that does not say."""
    unit = None if body.unit is None else TimeUnit(body.unit)
    is_nullable = nullable if body.nullable is None else body.nullable
    return ColumnSchema(body.name, ColumnType(body.type), is_nullable, unit)


def schema_from_body(name: str, body: StreamBody) -> StreamSchema:
    """Return the declaration a client sent, defaults filled in.

    Raises:
        InvalidFieldError: it cannot be kept (`check_schema`).
    """
    kept = body.retention or RetentionBody()
    default_clock = ClockKind.SERVER if body.time is None else ClockKind.HIGH_WATER
    schema = StreamSchema(
        name=name,
        # The time column is what dates a row: it is not nullable unless somebody insists, and
        # that is refused with its reason.
        columns=tuple(column_from_body(c, nullable=c.name != body.time) for c in body.columns),
        time=body.time,
        clock=default_clock if body.clock is None else ClockKind(body.clock),
        retention=Retention(kept.time, kept.rows, kept.bytes),
        future_us=body.future,
    )
    check_schema(schema)
    return schema


class ColumnAnswer(BaseModel):
    """One column of a stream."""

    name: str
    type: str
    nullable: bool
    unit: str | None = Field(
        default=None,
        description="What integers count that are sent for it, where that was declared.",
    )


class RetentionAnswer(BaseModel):
    """What a stream keeps; null = no bound of that kind."""

    time: str | None
    rows: int | None
    bytes: int | None


class StreamAnswer(BaseModel):
    """A stream: its declaration, and what it holds at the applied position."""

    name: str
    columns: list[ColumnAnswer]
    time: str | None
    clock: str
    retention: RetentionAnswer
    future: str
    rows: int
    bytes: int
    oldest: str | None = Field(description="The smallest tuple time that is kept.")
    newest: str | None = Field(description="The largest tuple time seen.")
    complete_from: str | None = Field(
        description="Nothing from then on is forgotten; null: nothing."
    )
    queries: int
    declared: int = Field(description="Position of the declaration: another one, another stream.")
    dropped: int = Field(
        description="So many of the first rows are forgotten for good, and so are their batches but for held ones."
    )
    links: dict[str, str]


class StreamChanged(StreamAnswer):
    """A stream after its declaration, with the position of that."""

    seq: int
    warnings: FewWarnings = None


class StreamList(BaseModel):
    """A page of the list of streams."""

    streams: list[StreamAnswer]
    next: str | None


def definition(schema: StreamSchema) -> dict[str, object]:
    """Return a declaration as a client may send it, defaults filled in."""
    kept = schema.retention
    return {
        "columns": [
            {"name": c.name, "type": c.type.value, "nullable": c.nullable}
            | ({} if c.unit is None else {"unit": c.unit.value})
            for c in schema.columns
        ],
        "time": schema.time,
        "clock": schema.clock.value,
        "retention": {
            "time": None if kept.time_us is None else format_duration(kept.time_us),
            "rows": kept.rows,
            "bytes": kept.bytes,
        },
        "future": format_duration(schema.future_us),
    }


def declaration_warnings(schema: StreamSchema) -> list[dict[str, object]]:
    """Return a warning where a timestamp could date the rows of a stream and does not."""
    found = [column.name for column in schema.columns if column.type is ColumnType.TIMESTAMP]
    if schema.time is not None or not found:
        return []
    detail = (
        f"{found[0]} is a timestamp, and rows are dated by their arrival: windows and retention count from when they "
        f'are sent. To date them by it, declare "time": "{found[0]}"'
    )
    return [{"code": "no-time-column", "detail": detail}]


def differences(declared: StreamSchema, given: StreamSchema) -> list[dict[str, object]]:
    """Return the members in which two declarations differ, as a client would write them."""
    one, other = definition(declared), definition(given)
    return [
        {"member": member, "declared": one[member], "given": other[member]}
        for member in one
        if one[member] != other[member]
    ]


def describe_stream(record: StreamRecord, source: TupleSource) -> dict[str, object]:
    """Return the members of `StreamAnswer`; `source` knows the oldest tuple. Cost: O(segments)."""
    oldest_us = source.oldest(
        record.stream_id,
        floor_row=record.floor_row,
        floor_us=record.floor_us,
        past_row=record.rows,
    )
    path = f"/v1/streams/{record.schema.name}"
    return {
        "name": record.schema.name,
        **definition(record.schema),
        "rows": record.rows - record.floor_row,
        "bytes": record.bytes,
        "oldest": format_instant(oldest_us),
        "newest": format_instant(record.high_water_us),
        "complete_from": format_instant(record.complete_from_us),
        "queries": record.queries,
        "declared": record.stream_id,
        "dropped": record.dropped_row,
        "links": {"self": path, "rows": f"{path}/rows"},
    }
