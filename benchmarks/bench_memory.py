"""What is held: bytes per tuple, per match and per query, as the resident memory of a process of its own.

A result kept densely is one bit per tuple and query, 0.125 bytes. Growth is what counts: buffers are warm
when the measurement begins, and what tuples alone take is measured without queries and taken off.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks import node as node_module, process
from benchmarks.bench import Figure, Size, Survey
from benchmarks.node import Node
from benchmarks.workloads import (
    CONTINUOUS,
    INTEGER,
    Query,
    equality_queries,
    interval_queries,
    tuples,
)
from psoup.engine.limits import QUERIES_COUNT_MAX
from psoup.engine.log.operation import Materialize

DENSE_BYTES = 1 / 8
BATCH_ROWS = 8_192
WARM_ROWS = 65_536


def contests(size: Size) -> Iterator[Survey]:
    """Yield results and queries, where the system tells what a process holds."""
    if not process.is_known():
        return
    queries, rows = size.pick(smoke=16, full=4_096), size.pick(smoke=8_192, full=131_072)
    apart = _called if size is Size.SMOKE else _in_a_process
    yield Survey(
        "memory-results",
        f"memory of the results of {queries:,} queries, partial",
        lambda: results(queries, rows, apart),
    )
    most = size.pick(smoke=16, full=min(16_384, QUERIES_COUNT_MAX))
    yield Survey(
        "memory-queries",
        f"memory of up to {most:,} interval queries, all constants distinct",
        lambda: standing(most, apart),
    )


def results(queries: int, rows: int, apart: Callable[..., float]) -> Sequence[Figure]:
    """Return what results take, dense and sparse."""
    alone = apart(bytes_per_tuple, "none", 0, rows)
    dense, sparse = (
        (apart(bytes_per_tuple, what, queries, rows) - alone)
        / (len(asked_of(what, queries)) * DENSE_BYTES)
        for what in ("interval", "equality")
    )
    return [
        Figure("memory-tuple", "a tuple of four integers and its log entry", alone, "bytes"),
        Figure("memory-dense", "dense results, to a bit per tuple and query", dense, "times"),
        Figure("memory-sparse", "equality results, to a bit per tuple and query", sparse, "times"),
    ]


def standing(most: int, apart: Callable[..., float]) -> Sequence[Figure]:
    """Return what a query takes, and how much more it takes among twice as many."""
    half, whole = (apart(bytes_per_query, count) for count in (most // 2, most))
    return [
        Figure("memory-query", f"a query among {most:,}", whole, "bytes"),
        Figure(
            "memory-growth",
            f"a query among {most:,} beside {most // 2:,}",
            whole / max(half, 1.0),
            "times",
        ),
    ]


def asked_of(what: str, queries: int) -> list[Query]:
    """Return the distinct ones of so many queries: equal ones share their results."""
    if what == "interval":
        asked = interval_queries(INTEGER, queries, factors=2, width=0.6)
    else:
        asked = equality_queries(INTEGER, queries, near={})
    return list({query.where: query for query in asked}.values())


def bytes_per_tuple(what: str, queries: int, rows: int) -> float:
    """Return by how much the process grows for each of `rows` tuples past queries of one kind."""
    node = Node(INTEGER.stream)
    for query in asked_of(what, queries):
        node.register(query, materialize=Materialize.PARTIAL)
    for batch in node.batches(tuples(INTEGER, min(WARM_ROWS, rows)), rows=BATCH_ROWS):
        node.ingest(batch)
    # The bodies are the log's from here on: they are counted once, as they come.
    before = _resident()
    for batch in node.batches(tuples(INTEGER, rows), rows=BATCH_ROWS):
        node.ingest(batch)
    return (_resident() - before) / rows


def bytes_per_query(count: int) -> float:
    """Return by how much the process grows for each query, once tuples have met them all."""
    node = Node(CONTINUOUS.stream)
    (batch,) = node.batches(tuples(CONTINUOUS, BATCH_ROWS), rows=BATCH_ROWS)
    node.ingest(batch)
    node.register(interval_queries(CONTINUOUS, 1)[0])
    before = _resident()
    for query in interval_queries(CONTINUOUS, count):
        node.register(query, materialize=Materialize.NONE)
    node_module.forget()
    (batch,) = node.batches(tuples(CONTINUOUS, BATCH_ROWS), rows=BATCH_ROWS)
    node.ingest(batch)
    return (_resident() - before) / count


def _resident() -> int:
    gc.collect()
    return process.resident_bytes()


def _called(measure: Callable[..., float], *arguments: object) -> float:
    return measure(*arguments)


def _in_a_process(measure: Callable[..., float], *arguments: object) -> float:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return apart.submit(measure, *arguments).result()
