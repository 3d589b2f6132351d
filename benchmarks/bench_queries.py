"""What a tuple costs by the number of standing queries: from one to a million, a chunk past all of them.

The same workload at every number, PSoup's intervals (5.2.1). A contender is left out where a chunk would take it more
than SECONDS_MAX, or its share of 4 GiB of memory would not do; the text and the picture say of whom. A million queries
take psoup 3 GB and a minute to register, in an engine by itself: a service lets fewer stand. There hits of several
chunks have no room beside the queries, so psoup is as by default (`auto`), and peers take the last rows of the chunk.
"""

import gc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks import node as node_module, ways_arrays, ways_duckdb
from benchmarks.bench import Contender, Contest, Size, again
from benchmarks.bench_ingest import (
    AUTO,
    BITS,
    BITSETS,
    EXPRESSIONS,
    FILTERS,
    PARTIAL,
    RANGES,
    peers_of,
    psoup,
)
from benchmarks.node import BareNode
from benchmarks.ways import contender, left_out
from benchmarks.ways_psoup import Feed
from benchmarks.workloads import (
    INTEGER,
    ROWS_RETAINED,
    Columns,
    interval_queries,
    retaining,
    tuples,
)
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
SECONDS_MAX = 3
TOO_LONG = f"more than {SECONDS_MAX} s a chunk"
MILLION = 1_000_000
MILLION_PEER_ROWS = 512
ASKED = 500
"""Queries of the million whose counts are compared."""
BOUND_TOGETHER = 10_000
"""Queries bound beforehand at a time: what is bound is kept twice until it is forgotten."""


def contests(size: Size) -> Iterator[Contest]:
    """Yield the chunk past each number of queries."""
    for count in FEW if size is Size.SMOKE else NUMBERS:
        times = min(TIMES_MAX, max(1, QUERIES_PER_RUN // count))
        yield past(count, rows=size.pick(smoke=300, full=CHUNK_ROWS), times=times)
    many = size.pick(smoke=600, full=MILLION)
    try:
        yield far(many, rows=CHUNK_ROWS, peer_rows=size.pick(smoke=16, full=MILLION_PEER_ROWS))
    finally:
        gc.unfreeze()


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
                left_out(one.name, TOO_LONG)
                if count > ONE_BY_ONE_MAX and one.name in ONE_BY_ONE
                else _repeated(one, rows, times)
                for one in [*peers_of(INTEGER, queries, columns), ranges]
            ),
        ],
    )


def far(count: int, *, rows: int, peer_rows: int) -> Contest:
    """A chunk past very many queries; peers take the last of its tuples, to which the answers are."""
    columns = tuples(INTEGER, rows)
    last = {name: values[-peer_rows:] for name, values in columns.items()}

    def bits() -> ways_duckdb.BitTables:
        queries = interval_queries(INTEGER, count)
        return ways_duckdb.BitTables(INTEGER, queries, last, batch_rows=peer_rows, asked=ASKED)

    def bitsets() -> ways_arrays.Bitsets:
        return ways_arrays.Bitsets(INTEGER, interval_queries(INTEGER, count), last, asked=ASKED)

    return Contest(
        f"queries-{count}",
        f"ingest {rows:,} integers past {count:,} interval queries, a chunk",
        "tuples",
        rows,
        [
            contender(AUTO, lambda: _crowd(count, columns, window_s=peer_rows - 1)),
            contender(BITS, bits, count=peer_rows, needs="duckdb"),
            contender(BITSETS, bitsets, count=peer_rows),
            left_out(PARTIAL, "its hits of six chunks and the queries, more than 4 GiB"),
            left_out(FILTERS, "a byte a row and query, 4 GiB"),
            *(left_out(name, TOO_LONG) for name in ONE_BY_ONE),
        ],
    )


def _crowd(count: int, columns: Columns, *, window_s: int) -> Feed:
    """Return a feed of one chunk past so many queries, of which the first are asked."""
    node = BareNode(retaining(INTEGER.stream, ROWS_RETAINED))
    query_ids = []
    gc.disable()
    try:
        for number, query in enumerate(interval_queries(INTEGER, count)):
            query_ids.append(node.register(query, window_s=window_s, materialize=Materialize.AUTO))
            if number % BOUND_TOGETHER == BOUND_TOGETHER - 1:
                node_module.forget()
    finally:
        gc.enable()
    gc.freeze()  # millions of objects, none of them garbage: no round is to look at them; `contests` undoes it
    return Feed(node, query_ids[:ASKED], columns, batch_rows=len(columns["a"]))


def _repeated(one: Contender, rows: int, times: int) -> Contender:
    """Return a peer of a run of `times` chunks. DuckDB takes one of them, which takes milliseconds."""
    return replace(one, count=rows) if one.needs == "duckdb" else again(one, times)
