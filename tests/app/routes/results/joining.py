"""What tests of joins over HTTP share: made-up flights and weather, and DuckDB over the very rows that streams hold."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from psoup.engine.limits import SECOND_US
from tests.app.support import START_US, Api

HOUR_US = 3_600 * SECOND_US
FLIGHTS = {
    "columns": [
        {"name": "ts", "type": "timestamp"},
        {"name": "carrier", "type": "string"},
        {"name": "flight", "type": "int64"},
        {"name": "origin", "type": "string"},
        {"name": "hour", "type": "timestamp"},
        {"name": "dep_delay", "type": "float64"},
    ],
    "time": "ts",
    "future": "30d",
}
WEATHER = {
    "columns": [
        {"name": "ts", "type": "timestamp"},
        {"name": "origin", "type": "string"},
        {"name": "hour", "type": "timestamp"},
        {"name": "visib", "type": "float64"},
    ],
    "time": "ts",
    "future": "30d",
}
SELECTED = (
    "SELECT f.carrier, f.flight, w.visib FROM flights AS f, weather AS w"
    " WHERE f.origin = w.origin AND f.hour = w.hour AND f.dep_delay > 60 AND w.visib < 2"
)
SQL = f"{SELECTED} BEGIN (NOW - INTERVAL '6' HOUR) END (NOW)"
PAGE_ROWS = 100_000
Row = dict[str, Any]


async def declare(api: Api) -> None:
    """Declare both streams."""
    assert 201 == (await api.declare("flights", **FLIGHTS)).status_code
    assert 201 == (await api.declare("weather", **WEATHER)).status_code


def flights(count: int, *, hours: int, seed: int = 1) -> list[Row]:
    """Return flights of so many hours, not quite in order; delays, origins and hours are NULL now and then."""
    rng = np.random.default_rng(seed)
    rows = []
    for number, at in enumerate(np.sort(rng.integers(0, hours * HOUR_US, count)).tolist()):
        late = int(rng.integers(0, HOUR_US)) if rng.random() < 0.1 else 0
        rows.append(
            {
                "ts": START_US + max(0, at - late),
                "carrier": ["AA", "B6", 'U"A'][number % 3],
                "flight": number,
                "origin": [None, "EWR", "JFK", "LGA"][int(rng.integers(0, 4))],
                "hour": None if rng.random() < 0.05 else START_US + at // HOUR_US * HOUR_US,
                "dep_delay": None if rng.random() < 0.05 else float(rng.integers(0, 200)),
            }
        )
    return rows


def weather(count: int, *, hours: int, seed: int = 2) -> list[Row]:
    """Return observations of so many hours, several of one hour and origin among them."""
    rng = np.random.default_rng(seed)
    return [
        {
            "ts": START_US + at,
            "origin": [None, "EWR", "JFK", "LGA"][int(rng.integers(0, 4))],
            "hour": START_US + at // HOUR_US * HOUR_US,
            "visib": None if rng.random() < 0.05 else float(rng.integers(0, 40)) / 10,
        }
        for at in np.sort(rng.integers(0, hours * HOUR_US, count)).tolist()
    ]


def batches(rows: Sequence[Row], parts: int) -> list[list[Row]]:
    """Return the rows in so many batches that follow each other."""
    ends = [len(rows) * i // parts for i in range(parts + 1)]
    return [list(rows[a:b]) for a, b in itertools.pairwise(ends)]


async def held(api: Api, name: str) -> list[Row]:
    """Return what a stream holds, with `_id`, as a query over it alone answers."""
    query_id = await api.register(f"SELECT * FROM {name}")
    body = await api.results(query_id, limit=PAGE_ROWS)
    assert 204 == (await api.send("DELETE", f"/v1/queries/{query_id}")).status_code
    assert None is body["next"]
    rows: list[Row] = body["rows"]
    return rows


@contextlib.contextmanager
def database(**streams: Sequence[Row]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database with a table for each stream: its columns, and `id`, the tuple id.

    Rows are as `held` returns them; instants become timestamps.
    """
    with duckdb.connect() as connection:
        for name, rows in streams.items():
            plain = [{k: v for k, v in row.items() if k not in ("_id", "_x")} for row in rows]
            table = pa.Table.from_pylist(
                [{"id": int(row["_id"]), **one} for row, one in zip(rows, plain, strict=True)]
            )
            connection.register("given", table)
            instants = [one for one in ("ts", "hour") if one in table.column_names]
            casts = ", ".join(f"CAST({one} AS TIMESTAMP) AS {one}" for one in instants)
            connection.execute(f"CREATE TABLE {name} AS SELECT * REPLACE ({casts}) FROM given")
            connection.unregister("given")
        yield connection


def instant_sql(column: str) -> str:
    """Return SQL that writes a timestamp as answers do."""
    return f"strftime({column}, '%Y-%m-%dT%H:%M:%S.%fZ')"
