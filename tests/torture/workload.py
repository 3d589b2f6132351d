"""What is sent and asked: streams, rows that say whose they are, queries of every kind."""

import io
import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, Literal

import pyarrow as pa

from psoup.engine.clock import SystemClock
from tests.reference_values import Row

Format = Literal["json", "ndjson", "arrow"]

MEDIA: Final[Mapping[Format, str]] = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
}

WHOSE: Final = [
    {"name": "app", "type": "string", "nullable": False},
    {"name": "version", "type": "int64", "nullable": False},
    {"name": "n", "type": "int64", "nullable": False},
]
"""Every row names its producer, its batch and its place there: a foreign one cannot hide."""

STREAMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "readings": {
        "columns": [
            {"name": "ts", "type": "timestamp", "nullable": False},
            *WHOSE,
            {"name": "room", "type": "int64"},
            {"name": "level", "type": "float64", "nullable": False},
            {"name": "sensor", "type": "string", "nullable": False},
        ],
        "time": "ts",
        "retention": {"rows": 30_000, "bytes": None},
    },
    "arrivals": {
        "columns": [*WHOSE, {"name": "room", "type": "int64"}],
        "retention": {"time": "45s", "rows": None, "bytes": None},
    },
    "orders": {
        "columns": [
            {"name": "ts", "type": "timestamp", "nullable": False},
            *WHOSE,
            {"name": "k", "type": "int64", "nullable": False},
        ],
        "time": "ts",
        "retention": {"rows": 2_000, "bytes": None},
    },
    "fills": {
        "columns": [
            {"name": "ts", "type": "timestamp", "nullable": False},
            *WHOSE,
            {"name": "k", "type": "int64", "nullable": False},
        ],
        "time": "ts",
        "retention": {"time": "2m", "rows": None, "bytes": None},
    },
}
JOINED: Final = frozenset({"orders", "fills"})

SELECTIONS: Final = (
    "SELECT app, version, n, level FROM readings WHERE room = {room} BEGIN (NOW - {s}) END (NOW)",
    (
        "SELECT n, level, app FROM readings WHERE level BETWEEN {low} AND {low} + 1.5"
        " BEGIN (NOW - {s}) END (NOW - 1)"
    ),
    "SELECT ts, app, version, n FROM readings WHERE room IS NULL AND level > {low}",
    "SELECT * FROM readings WHERE sensor = 's{room}' AND n % 5 = 1 BEGIN (NOW - {s}) END (NOW)",
    "SELECT app, version FROM readings WHERE n = 0 AND version % 3 = {third}",
    "SELECT DISTINCT app, room FROM readings WHERE level < {low} BEGIN (NOW - {s}) END (NOW)",
    "SELECT app, version, n FROM arrivals WHERE room = {room} BEGIN (NOW - {s}) END (NOW)",
    "SELECT app, version, n FROM arrivals WHERE n < 2",
    (
        "SELECT app, version, n, level FROM readings WHERE level > {low} AND n < 3 OR room = {room}"
        " BEGIN (NOW - {s}) END (NOW)"
    ),
)
JOINS: Final = (
    (
        "SELECT o.app, o.version, o.n, f.app AS by_app, f.n AS by_n FROM orders AS o, fills AS f"
        " WHERE o.k = f.k BEGIN (NOW - 4) END (NOW)"
    ),
    (
        "SELECT o.k, f.version FROM orders AS o [RANGE 3], fills AS f [RANGE 6]"
        " WHERE o.k = f.k AND o.n < {room}"
    ),
)


DENSE: Final = "SELECT app, version, n FROM readings WHERE level > {low} AND n <> {n} BEGIN (NOW - 30) END (NOW)"
"""Most rows satisfy it: its hits are bitmaps, and many of these make a delta that goes in slices."""


def names(stream: str) -> list[str]:
    """Return the columns of a stream."""
    return [column["name"] for column in STREAMS[stream]["columns"]]


def size(rng: Random, stream: str, rows_max: int, large: float) -> int:
    """Return how many rows a batch is to have: mostly few, `large` of them up to `rows_max`."""
    if stream in JOINED:
        return rng.randint(1, 8)
    if stream == "readings" and rng.random() < large:
        return rng.randint(rows_max // 2, rows_max)
    most = rng.choice([20, 20, 20, 200])
    return rng.randint(1, max(1, min(most, rows_max)))


def rows(rng: Random, stream: str, app: str, version: int, count: int) -> list[Row]:
    """Return `count` rows of a batch, dated around now."""
    now_us = SystemClock().now_us()
    made: list[Row] = []
    for n in range(count):
        row: dict[str, Any] = {"app": app, "version": version, "n": n}
        if stream != "arrivals":
            row["ts"] = now_us - rng.randint(0, 2_000_000)
        if stream in JOINED:
            row["k"] = rng.randint(0, 9)
        else:
            row["room"] = rng.choice([None, *range(10)])
        if stream == "readings":
            row["level"] = rng.randint(0, 80) / 8
            row["sensor"] = f"s{rng.randint(0, 9)}"
        made.append(row)
    return made


def body(made: Sequence[Row], stream: str, how: Format) -> bytes:
    """Return rows as they travel."""
    if how == "json":
        return json.dumps(made).encode()
    if how == "ndjson":
        return "".join(json.dumps(row) + "\n" for row in made).encode()
    kinds = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}
    kinds["timestamp"] = pa.timestamp("us", tz="UTC")
    fields = {column["name"]: kinds[column["type"]] for column in STREAMS[stream]["columns"]}
    arrays = []
    for name, kind in fields.items():
        listed = [row[name] for row in made]
        arrays.append(
            pa.array(listed, pa.int64()).cast(kind) if name == "ts" else pa.array(listed, kind)
        )
    batch = pa.record_batch(arrays, names=list(fields))
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def dense(rng: Random, name: str) -> dict[str, str]:
    """Return a query whose matches are many and kept, and nearly nobody else's."""
    sql = DENSE.format(low=rng.randint(0, 40) / 8, n=rng.randint(0, 1_000_000))
    return {"sql": sql, "materialize": "partial", "name": name}


def query(rng: Random, *, joins: bool = True) -> dict[str, str]:
    """Return `sql` and `materialize` of a query. There are few of them, so that many share a clause."""
    text = rng.choice(JOINS) if joins and rng.random() < 0.15 else rng.choice(SELECTIONS)
    sql = text.format(
        room=rng.randint(0, 9),
        s=rng.choice([2, 10, 30]),
        low=rng.randint(0, 9),
        third=rng.randint(0, 2),
    )
    return {"sql": sql, "materialize": rng.choice(["auto", "auto", "partial", "complete", "none"])}
