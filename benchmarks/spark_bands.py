"""A join by a band of time as a history asks Spark for it: told in buckets, told plainly, and by DuckDB.

Two streams of the same rate; each tuple of the one meets those of the other from two seconds before to one after.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.bench import Contender, Contest, Size
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

SEED = 11
T0 = 1_700_000_000_000_000
NOW = 4 * T0
SCHEMAS = [
    StreamSchema(
        name,
        (
            ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
            ColumnSchema("v", ColumnType.INT64, nullable=False),
        ),
        "ts",
        ClockKind.HIGH_WATER,
    )
    for name in ("a", "b")
]
NEAR = "a.ts BETWEEN b.ts - INTERVAL '2' SECOND AND b.ts + INTERVAL '1' SECOND"
Session = Callable[[], "SparkSession"]


def contests(size: Size, session: Session) -> Iterator[Contest]:
    """Yield a contest that all can finish, and one without the text that compares each tuple with each."""
    count = size.pick(smoke=300, full=30_000)
    ways = Bands(session, count)
    yield Contest(
        "spark-band",
        "pairs by a band of time, by Spark",
        "tuple",
        2 * count,
        [*ways.spark(), ways.duckdb()],
    )
    if size is Size.FULL:
        many = Bands(session, 1_000_000)
        told = [many.spark()[0], many.duckdb()]
        yield Contest(
            "spark-band-many",
            "pairs by a band of time, by Spark, streams of a million",
            "tuple",
            2_000_000,
            told,
        )


class Bands:
    """The tuples, and how their pairs are found."""

    def __init__(self, session: Session, count: int) -> None:
        """Draw `count` tuples a stream, one a second."""
        rng = np.random.default_rng(SEED)
        self._session = session
        self._tables = {schema.name: _drawn(rng, count) for schema in SCHEMAS}

    def spark(self) -> list[Contender]:
        """Return the contenders that are Spark: in buckets, and plainly."""
        return [
            Contender(
                "psoup's text in buckets", lambda: self._views(in_buckets=True), _asked, _summary
            ),
            Contender(
                "psoup's text, plain", lambda: self._views(in_buckets=False), _asked, _summary
            ),
        ]

    def duckdb(self) -> Contender:
        """Return the peer, which finds such pairs by a join of its own for inequalities."""

        def asked(oracle: "duckdb.DuckDBPyConnection") -> tuple[int, int]:
            text = f"SELECT count(*), sum(a._id * 7 + b._id) FROM a JOIN b ON {NEAR}"
            (found,) = oracle.execute(text).fetchall()
            return int(found[0]), int(found[1])

        def opened() -> "duckdb.DuckDBPyConnection":
            import duckdb

            oracle = duckdb.connect()
            for name, table in self._tables.items():
                oracle.register(f"{name}_", table)
                oracle.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_")
            return oracle

        return Contender("DuckDB", opened, asked, _summary, needs="duckdb")

    def _views(self, *, in_buckets: bool) -> tuple["SparkSession", str]:
        from psoup.pipeline.spark.sql.standing_query import agreeing, spark_query

        own = agreeing(self._session())
        for name, table in self._tables.items():
            made = own.createDataFrame(table).cache()
            made.count()  # what Spark reads of Arrow is no part of the join
            made.createOrReplaceTempView(name)
        text = f"SELECT a.v FROM a JOIN b ON {NEAR}"
        asked = spark_query(text, SCHEMAS, now_us=NOW, in_buckets=in_buckets)
        return own, f"SELECT count(*), sum(ids[0] * 7 + ids[1]) FROM ({asked.rows})"


def _drawn(rng: np.random.Generator, count: int) -> pa.Table:
    times = np.sort(rng.integers(0, count * 1_000_000, count)) + T0
    return pa.table(
        {
            "_id": pa.array(np.arange(count)),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "v": pa.array(rng.integers(0, 100, count)),
        }
    )


def _asked(state: tuple["SparkSession", str]) -> tuple[int, int]:
    session, text = state
    (found,) = session.sql(text).collect()
    return int(found[0]), int(found[1])


def _summary(found: tuple[int, int]) -> bytes:
    return repr(found).encode()
