"""What a tuple costs by the number of standing queries: from one to 100,000, a chunk past all of them.

The same workload at every number, PSoup's intervals (5.2.1). A peer that takes each query by itself is left out where
a round of it would take minutes.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks import ways_duckdb
from benchmarks.bench import Contender, Contest, Size, again
from benchmarks.bench_ingest import EXPRESSIONS, RANGES, peers_of, psoup
from benchmarks.ways import contender
from benchmarks.workloads import INTEGER, interval_queries, tuples
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize

NUMBERS = (1, 10, 100, 1_000, 10_000, 100_000)
TIMES_MAX, QUERIES_PER_RUN = 16, 40_000
"""A run is a segment of chunks: one alone past few queries is over in half a millisecond, most of which is what the
contender before it has left in the caches, and a stream goes on. Past many queries fewer chunks take long enough."""
FEW = (1, 2, 5, 24)
"""At smoke size."""
ONE_BY_ONE_MAX = 10_000
"""Queries, of the peers named in `ONE_BY_ONE`."""
ONE_BY_ONE = (EXPRESSIONS, RANGES)


def contests(size: Size) -> Iterator[Contest]:
    """Yield the chunk past each number of queries."""
    for count in FEW if size is Size.SMOKE else NUMBERS:
        times = min(TIMES_MAX, max(1, QUERIES_PER_RUN // count))
        yield past(count, rows=size.pick(smoke=300, full=CHUNK_ROWS), times=times)


def past(count: int, *, rows: int, times: int) -> Contest:
    """A chunk past `count` queries, its matches kept, `times` times."""
    queries, columns = interval_queries(INTEGER, count), tuples(INTEGER, rows)
    repeated = {name: np.tile(values, times) for name, values in columns.items()}
    ours = [
        psoup(INTEGER, queries, repeated, kept, batch_rows=rows)
        for kept in (Materialize.PARTIAL, Materialize.AUTO)
    ]
    ranges = contender(
        RANGES,
        lambda: ways_duckdb.RangeJoin(INTEGER, queries, columns, batch_rows=rows),
        needs="duckdb",
    )
    return Contest(
        f"queries-{count}",
        f"ingest {rows:,} integers past {count:,} interval queries, a chunk",
        "tuples",
        times * rows,
        [
            *ours,
            *(
                _repeated(one, rows, times)
                for one in [*peers_of(INTEGER, queries, columns), ranges]
                if count <= ONE_BY_ONE_MAX or one.name not in ONE_BY_ONE
            ),
        ],
    )


def _repeated(one: Contender, rows: int, times: int) -> Contender:
    """Return a peer of a run of `times` chunks. DuckDB takes one of them, which takes milliseconds."""
    return replace(one, count=rows) if one.needs == "duckdb" else again(one, times)
