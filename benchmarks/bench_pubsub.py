"""Publish and subscribe: equality on an id of 100,000 values AND a range, many queries, batches of three sizes.

The hard case for peers is the small batch: a join builds or scans the side of the queries every time. At full
size 100,000 queries and a million: more than a service lets stand, so they stand in an engine by itself. They
take 3 GB and 80 seconds to register; where the machine has no such memory they are left out.
"""

import functools
import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import node as node_module, process, ways_pubsub as ways
from benchmarks.bench import Contender, Contest, Size
from benchmarks.node import BareNode, Node
from benchmarks.ways import Way, contender
from benchmarks.ways_psoup import Feed
from benchmarks.workloads import ROWS_RETAINED, SEED, Columns, Query, retaining
from psoup.engine.limits import GIB
from psoup.engine.log.operation import Materialize
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

STREAM = StreamSchema(
    name="offers",
    columns=(
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("id", ColumnType.INT64),
        ColumnSchema("price", ColumnType.INT64),
    ),
    time="ts",
    clock=ClockKind.HIGH_WATER,
)
IDS = 100_000
PRICES = 1_000
QUERIES = 100_000
MILLION = 1_000_000
MILLION_BYTES = 8 * GIB
"""A machine with so much memory has room for a million queries beside the peers'."""
BOUND_TOGETHER = 10_000
"""Queries bound beforehand at a time: what is bound is kept twice until it is forgotten."""
ASKED = 500
"""Queries whose counts are compared, and those of the last tuple's id with them."""
PSOUP = "psoup"
DUCKDB = "DuckDB, join"
POLARS = "Polars, join and filter"
SQLITE = "SQLite, tuples, hits and an index of queries"
PROBES = "SQLite, bare probes of that index"
PYTHON = "Python, a dict of lists"
BATCHES = (("single", 1, 2_048), ("small", 1_024, 4_096), ("large", 65_536, 65_536))
"""Name, rows, and tuples of a run."""
SINGLE_PEER_ROWS = 16
SINGLE_INDEX_ROWS = 512


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The queries as arrays: `id = ids[i] AND lows[i] <= price <= highs[i]`; `of` ids there are."""

    ids: NDArray[np.int64]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    of: int

    def query(self, number: int) -> Query:
        """Return one as a query of the workload."""
        one = int(self.ids[number])
        bounds = ("price", int(self.lows[number]), int(self.highs[number]))
        return Query((("id", one, one), bounds))


def contests(size: Size) -> Iterator[Contest]:
    """Yield one contest per number of queries and size of a batch."""
    if size is Size.SMOKE:
        yield from past(60, of=40, batches=(("single", 1, 32), ("large", 64, 64)))
        return
    yield from past(QUERIES, of=IDS, batches=BATCHES)
    if process.machine_bytes() >= MILLION_BYTES:
        yield from past(MILLION, of=IDS, batches=BATCHES, prefix="million-")


def past(
    queries: int, *, of: int, batches: Sequence[tuple[str, int, int]], prefix: str = ""
) -> Iterator[Contest]:
    """Yield the contests past so many queries `of` ids, all on one node; their keys begin with `prefix`."""
    asked = subscriptions(queries, of)
    node = functools.cache(lambda: broker(asked))
    try:
        for name, rows, given in batches:
            yield batch(prefix + name, node, asked, rows=rows, given=given)
    finally:
        gc.unfreeze()


def subscriptions(count: int, ids: int) -> Subscriptions:
    """Draw queries: the id and both ends of the range are uniform."""
    rng = np.random.default_rng([SEED, 5])
    ends = np.sort(rng.integers(0, PRICES, (2, count)), axis=0)
    return Subscriptions(rng.integers(0, ids, count), ends[0], ends[1], ids)


def offers(rows: int, ids: int) -> dict[str, NDArray[np.int64]]:
    """Draw tuples."""
    rng = np.random.default_rng([SEED, 6])
    return {"id": rng.integers(0, ids, rows), "price": rng.integers(0, PRICES, rows)}


def broker(asked: Subscriptions) -> Node:
    """Return a node with all queries standing."""
    node = BareNode(retaining(STREAM, ROWS_RETAINED))
    gc.disable()
    try:
        for number in range(len(asked.ids)):
            node.register(asked.query(number), materialize=Materialize.AUTO)
            if number % BOUND_TOGETHER == BOUND_TOGETHER - 1:
                node_module.forget()
    finally:
        gc.enable()
    gc.freeze()  # millions of objects, none of them garbage: no round is to look at them; `past` undoes it
    return node


def batch(
    name: str, node: Callable[[], Node], asked: Subscriptions, *, rows: int, given: int
) -> Contest:
    """`given` tuples in batches of `rows` past all queries; where they come singly, peers take the last few."""
    columns = offers(given, asked.of)
    few, more = (_last(columns, rows, at_most) for at_most in (SINGLE_PEER_ROWS, SINGLE_INDEX_ROWS))
    of_last = np.flatnonzero(asked.ids == columns["id"][-1])
    sample = np.union1d(np.arange(min(ASKED, len(asked.ids))), of_last)

    def psoup() -> Way:
        one = node()
        shown = [
            one.register(asked.query(number), window_s=rows - 1, materialize=Materialize.AUTO)
            for number in sample.tolist()
        ]
        return Feed(one, shown, columns, batch_rows=rows)

    def peer(title: str, way: type[ways.Matching], of: Columns, needs: str = "") -> Contender:
        make = functools.partial(way, asked, of, sample, batch_rows=rows)
        return contender(title, make, count=len(of["id"]), needs=needs)

    return Contest(
        f"pubsub-{name}",
        f"ingest {rows:,} at a time past {len(asked.ids):,} subscriptions to {asked.of:,} ids",
        "tuples",
        given,
        [
            contender(PSOUP, psoup),
            peer(DUCKDB, ways.DuckJoin, few, "duckdb"),
            peer(POLARS, ways.PolarsJoin, few, "polars"),
            peer(SQLITE, ways.SqliteTables, more),
            peer(PROBES, ways.SqliteProbes, more),
            peer(PYTHON, ways.DictOfLists, more),
        ],
    )


def _last(columns: Columns, rows: int, at_most: int) -> Columns:
    """Return all tuples, or the last few where they come one at a time."""
    return columns if rows > 1 else {name: values[-at_most:] for name, values in columns.items()}
