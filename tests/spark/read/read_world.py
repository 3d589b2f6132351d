"""Rows that the tests of reading share: two streams with every type and NULLs, as psoup and as Spark hold them."""

import datetime as dt
from typing import Any

import pyarrow as pa

from psoup.client.calls import ARROW_STREAM, PsoupClient

NOON = dt.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=dt.UTC)
TIMESTAMP = pa.timestamp("us", tz="UTC")
FLIGHTS = pa.schema(
    [
        pa.field("ts", TIMESTAMP, nullable=False),
        pa.field("carrier", pa.string()),
        pa.field("origin", pa.string()),
        pa.field("delay", pa.float64()),
        pa.field("flight", pa.int64()),
        pa.field("late", pa.bool_()),
        pa.field("landed", TIMESTAMP),
    ]
)
WEATHER = pa.schema(
    [
        pa.field("ts", TIMESTAMP, nullable=False),
        pa.field("station", pa.string()),
        pa.field("visib", pa.float64()),
    ]
)
CARRIERS = ("AA", "ü", "", "it's", "50%_\\", None)
TYPES = {
    pa.int64(): "int64",
    pa.float64(): "float64",
    pa.bool_(): "bool",
    pa.string(): "string",
    TIMESTAMP: "timestamp",
}


def flights(first: int, past: int) -> pa.Table:
    """Return the flights of these numbers."""
    rows = [
        {
            "ts": NOON + dt.timedelta(seconds=number),
            "carrier": CARRIERS[number % 6],
            "origin": None if number % 7 == 0 else f"A{number % 5}",
            "delay": (None, -0.0, 0.0, 0.5, -1.5, 1e308, 5e-324)[number % 7],
            "flight": (None, 2**63 - 1, -(2**63))[number % 3] if number % 11 == 0 else number,
            "late": (None, True, False)[number % 3],
            "landed": None if number % 4 == 0 else NOON + dt.timedelta(microseconds=number),
        }
        for number in range(first, past)
    ]
    return pa.Table.from_pylist(rows, schema=FLIGHTS)


def weather() -> pa.Table:
    """Return the weather of some stations, NULLs among them."""
    rows = [
        {"ts": NOON, "station": station, "visib": visib}
        for station, visib in [("A1", 0.5), ("A1", 3.0), ("A2", None), ("A9", 1.0), (None, 2.0)]
    ]
    return pa.Table.from_pylist(rows, schema=WEATHER)


def declare(service: PsoupClient, stream: str, schema: pa.Schema, **members: object) -> None:
    """Declare a stream of these columns, dated by `ts` unless it is said otherwise."""
    columns = [
        {"name": field.name, "type": TYPES[field.type], "nullable": field.nullable}
        for field in schema
    ]
    service.declare(stream, {"columns": columns, "time": "ts", **members})


def append(service: PsoupClient, stream: str, table: pa.Table) -> int:
    """Append the rows as one batch; return its position."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = sink.getvalue().to_pybytes()
    return int(service.append(stream, body, content_type=ARROW_STREAM)["seq"])


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a DataFrame or of some record batches, in an order of their own: a bag to compare."""
    batches = found.toArrow().to_batches() if hasattr(found, "toArrow") else list(found)
    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=repr)
