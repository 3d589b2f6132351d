"""Ways to a sliding average at many instants: psoup's series and its invocations, and SQL over the same rows."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.node import Node
from benchmarks.ways import Way
from benchmarks.workloads import EPOCH_US, SECOND_US
from psoup.engine.invoke import Answer, Request
from psoup.engine.series import Series
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

_BATCH_ROWS = 1 << 16
_SCHEMA = StreamSchema(
    "prices",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("px", ColumnType.FLOAT64),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)


class Prices(NamedTuple):
    """Rows, one a second; the instants that are asked about, and the seconds that each looks back.

    Sums of the prices are whole quarters: nobody rounds them, in whatever order.
    """

    prices: NDArray[np.float64]
    instants: list[int]
    back_s: int

    @staticmethod
    def drawn(rows: int, points: int) -> "Prices":
        """Return rows of a fixed seed; the last instant is that of the last row."""
        prices = np.round(np.random.default_rng(33).normal(400, 80, rows)) / 4
        seconds = np.linspace(rows // 10, rows - 1, points).astype(np.int64)
        return Prices(prices, (EPOCH_US + SECOND_US * seconds).tolist(), rows // 10)


class _Psoup(Way):
    """A node that holds the rows, and the standing query."""

    def __init__(self, some: Prices) -> None:
        """Send the rows and register the query."""
        self._some = some
        self._node = Node(_SCHEMA)
        for batch in self._node.batches({"px": some.prices}, rows=_BATCH_ROWS):
            self._node.ingest(batch)
        window = f"BEGIN (NOW - {some.back_s}) END (NOW)"
        self._query_id = self._node.register_text(f"SELECT AVG(px) AS mean FROM prices {window}")


class OneSeries(_Psoup):
    """All points at once."""

    def run(self, state: None) -> Series:
        """Ask for the series."""
        del state
        return self._node.series(self._query_id, self._some.instants)

    def answer(self, outcome: Series) -> bytes:
        """Return the averages."""
        return _averages([point.columns[0][1].values[0] for point in outcome.points])


class Invocations(_Psoup):
    """One point after the other."""

    def run(self, state: None) -> list[Answer]:
        """Invoke the query at each instant."""
        del state
        return [
            self._node.invoke(self._query_id, Request(limit=1, now_us=now_us))
            for now_us in self._some.instants
        ]

    def answer(self, outcome: list[Answer]) -> bytes:
        """Return the averages."""
        return _averages([answer.columns[0][1].values[0] for answer in outcome])


class _DuckDb(Way):
    """A table in memory, in order of the times, and one of the instants."""

    def __init__(self, some: Prices) -> None:
        """Fill the tables."""
        import duckdb
        import pyarrow as pa

        self._database = duckdb.connect()
        times = EPOCH_US + SECOND_US * np.arange(len(some.prices))
        given = {
            "prices": pa.table({"ts": times, "px": some.prices}),
            "points": pa.table({"now": some.instants}),
        }
        for name, table in given.items():
            self._database.register("given", table)
            self._database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            self._database.unregister("given")
        self._instants = some.instants
        self._back_us = some.back_s * SECOND_US

    def answer(self, outcome: list[tuple[Any, ...]]) -> bytes:
        """Return the averages."""
        return _averages([mean for (mean,) in outcome])

    def _all(self, sql: str) -> list[tuple[Any, ...]]:
        return self._database.execute(sql).fetchall()


class Prepared(_DuckDb):
    """A prepared query for each instant."""

    def run(self, state: None) -> list[tuple[Any, ...]]:
        """Execute it as often as there are points."""
        del state
        sql = "SELECT avg(px) FROM prices WHERE ts BETWEEN ? AND ?"
        found = []
        for now_us in self._instants:
            found += self._database.execute(sql, [now_us - self._back_us, now_us]).fetchall()
        return found


class WindowFunction(_DuckDb):
    """One query: an average over the range before each row, of which the points are some."""

    def run(self, state: None) -> list[tuple[Any, ...]]:
        """Execute it."""
        del state
        return self._all(
            f"""SELECT mean FROM (
                SELECT ts, px, avg(px) OVER (ORDER BY ts RANGE BETWEEN {self._back_us} PRECEDING AND CURRENT ROW) AS mean
                FROM (SELECT ts, px FROM prices UNION ALL SELECT now, NULL FROM points)
            ) WHERE px IS NULL ORDER BY ts"""
        )


class _Polars(Way):
    """A frame in order of the times."""

    def __init__(self, some: Prices) -> None:
        """Make the frame, times as instants."""
        import polars as pl  # type: ignore[import-not-found,unused-ignore]

        times = EPOCH_US + SECOND_US * np.arange(len(some.prices))
        self._frame = pl.DataFrame({"ts": times, "px": some.prices})
        self._instants = pl.Series("ts", some.instants)
        self._back_us = some.back_s * SECOND_US

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the averages."""
        return _averages(outcome)


class Rolling(_Polars):
    """An average over the range before each row, of which the points are some."""

    def run(self, state: None) -> list[Any]:
        """Roll over all rows, and keep those of the instants."""
        del state
        import polars as pl

        means = pl.col("px").rolling_mean_by("ts", f"{self._back_us}i", closed="both")
        rolled = self._frame.select("ts", means.alias("mean"))
        found: list[Any] = rolled.filter(pl.col("ts").is_in(self._instants.implode()))[
            "mean"
        ].to_list()
        return found


class Slices(_Polars):
    """The rows of each point are looked up, and are a slice."""

    def run(self, state: None) -> list[Any]:
        """Look up the ends of all windows at once, then average one slice after the other."""
        del state
        times, prices = self._frame["ts"], self._frame["px"]
        firsts = times.search_sorted(self._instants - self._back_us, side="left")
        pasts = times.search_sorted(self._instants, side="right")
        return [
            prices[first:past].mean()
            for first, past in zip(firsts.to_list(), pasts.to_list(), strict=True)
        ]


def _averages(found: list[Any]) -> bytes:
    return np.array(found, dtype=np.float64).tobytes()
