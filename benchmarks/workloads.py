"""What the benchmarks work on: tuples and queries drawn from a fixed seed, the same at every run.

The workload of the papers' experiments: one stream of integers 0..255 and interval queries over two of
its attributes (Chandrasekaran & Franklin 2002, 5.2.1), here with a time that rises by a second a tuple.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.tuples.arrow import arrow_schema
from engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

SEED = 20_020_820
DOMAIN = 256
INTERVAL_WIDTH_MAX = 204
"""Two intervals of 0.4 of the domain on the mean: a tuple satisfies about every sixth query."""
STREAM = StreamSchema(
    name="readings",
    columns=(
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("a", ColumnType.INT64),
        ColumnSchema("b", ColumnType.INT64),
    ),
    time="ts",
    clock=ClockKind.HIGH_WATER,
)
EPOCH_US = 1_700_000_000_000_000
SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class IntervalQuery:
    """`low_a <= a <= high_a AND low_b <= b <= high_b`."""

    low_a: int
    high_a: int
    low_b: int
    high_b: int

    @property
    def where(self) -> str:
        """The WHERE clause, in SQL."""
        return (
            f"a BETWEEN {self.low_a} AND {self.high_a} AND b BETWEEN {self.low_b} AND {self.high_b}"
        )

    def sql(self, *, window_s: int | None = None) -> str:
        """Return the query, with a sliding window of `window_s` seconds where one is given."""
        window = "" if window_s is None else f" BEGIN (NOW - {window_s}) END (NOW)"
        return f"SELECT * FROM {STREAM.name} WHERE {self.where}{window}"


def interval_queries(count: int) -> list[IntervalQuery]:
    """Return `count` queries, no two of them equal but by chance."""
    rng = np.random.default_rng([SEED, 1])
    return [IntervalQuery(*_interval(rng), *_interval(rng)) for _ in range(count)]


def batches(count: int, *, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield `count` batches of `rows` tuples, their times rising throughout."""
    rng = np.random.default_rng([SEED, 2])
    for number in range(count):
        first = number * rows
        times_us = EPOCH_US + SECOND_US * np.arange(first, first + rows, dtype=np.int64)
        arrays = [
            pa.array(times_us).cast(pa.timestamp("us", tz="UTC")),
            pa.array(rng.integers(0, DOMAIN, rows)),
            pa.array(rng.integers(0, DOMAIN, rows)),
        ]
        yield pa.record_batch(arrays, schema=arrow_schema(STREAM))


def _interval(rng: np.random.Generator) -> tuple[int, int]:
    width = int(rng.integers(1, INTERVAL_WIDTH_MAX))
    low = int(rng.integers(0, DOMAIN - width))
    return low, low + width
