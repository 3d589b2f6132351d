"""A sliding average at a thousand instants: one series, as many queries, window functions, and slices of a frame."""

from collections.abc import Iterator
from functools import cache

from benchmarks import ways_series as ways
from benchmarks.bench import Contest, Size
from benchmarks.ways import contender

SERIES = "psoup: one series"
INVOKED = "psoup: an invocation a point"
PREPARED = "DuckDB: a prepared query a point"
ROLLING = "Polars: its rolling mean"
SLICES = "Polars: a slice a point"
FUNCTION = "DuckDB: its window function"


def contests(size: Size) -> Iterator[Contest]:
    """Yield one contest: as many points as a chart is wide, each over a tenth of the rows."""
    rows, points = size.pick(smoke=5_000, full=1 << 20), size.pick(smoke=20, full=1_000)
    some = cache(lambda: ways.Prices.drawn(rows, points))
    yield Contest(
        "series",
        f"average over {rows // 10:,} of {rows:,} rows at {points:,} instants",
        "points",
        points,
        [
            contender(SERIES, lambda: ways.OneSeries(some())),
            contender(INVOKED, lambda: ways.Invocations(some())),
            contender(FUNCTION, lambda: ways.WindowFunction(some()), needs="duckdb"),
            contender(PREPARED, lambda: ways.Prepared(some()), needs="duckdb"),
            contender(ROLLING, lambda: ways.Rolling(some()), needs="polars"),
            contender(SLICES, lambda: ways.Slices(some()), needs="polars"),
        ],
    )
