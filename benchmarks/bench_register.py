"""New query, old tuples: declaring, registering over stored tuples, one by one and in bulk.

What a registration costs once its text has been read; with its text read it stands beside. psoup keeps the
matches (`partial`), as the peers do: a table of row numbers, a column of booleans.
"""

import functools
from collections.abc import Callable, Iterator, Sequence

from benchmarks import ways_psoup
from benchmarks.bench import Contender, Contest, Size
from benchmarks.node import Node
from benchmarks.ways import Way, contender
from benchmarks.workloads import INTEGER, Columns, Query, interval_queries, tuples
from psoup.engine.log.operation import Materialize

PSOUP = "psoup, partial"
AUTO = "psoup, auto"
TEXT = "psoup, its text read as well"
TABLES = "DuckDB, CREATE TABLE AS SELECT"
MASKS = "Polars, a boolean column"
FILTERS = "NumPy, a boolean column"
BULK_PEER_QUERIES = 64


def contests(size: Size) -> Iterator[Contest]:
    """Yield a declaration, and registrations over few and over many tuples."""
    yield declare()
    rows = size.pick(smoke=5_000, full=65_536)
    yield one_by_one("few", rows=rows, queries=size.pick(smoke=4, full=16))
    if size is Size.FULL:
        yield one_by_one("many", rows=10_000_000, queries=4)
    yield in_bulk(rows=rows, queries=size.pick(smoke=70, full=4_096))


def declare() -> Contest:
    """Declare one stream."""

    def theirs(_: None) -> str:
        import duckdb

        duckdb.connect().execute("CREATE TABLE readings (ts TIMESTAMPTZ, a BIGINT, b BIGINT)")
        return INTEGER.stream.name

    def ours(_: None) -> str:
        Node(INTEGER.stream)
        return INTEGER.stream.name

    contenders = [
        Contender("psoup", lambda: None, ours, str.encode),
        Contender("DuckDB, CREATE TABLE", lambda: None, theirs, str.encode, needs="duckdb"),
    ]
    return Contest("declare", "open an empty engine and declare", "streams", 1, contenders)


def one_by_one(name: str, *, rows: int, queries: int) -> Contest:
    """Queries of two intervals, each of 0.4 of the domain, one after the other over stored tuples."""
    columns = functools.cache(functools.partial(tuples, INTEGER, rows))
    asked = interval_queries(INTEGER, queries, factors=2, width=0.4)
    node = functools.cache(lambda: ways_psoup.stored(INTEGER.stream, columns()))
    return Contest(
        f"register-{name}",
        f"register over {rows:,} stored tuples",
        "queries",
        queries,
        [*_ours(node, asked), *_peers(asked, columns, count=None)],
    )


def in_bulk(*, rows: int, queries: int) -> Contest:
    """Thousands of queries at once; the peers register the first few of them, and the answer is theirs."""
    columns = functools.cache(functools.partial(tuples, INTEGER, rows))
    asked = interval_queries(INTEGER, queries, factors=2, width=0.4)
    first = asked[:BULK_PEER_QUERIES]

    def ours() -> Way:
        node = ways_psoup.stored(INTEGER.stream, columns())
        return ways_psoup.Registering(node, asked, asked=len(first))

    return Contest(
        "register-bulk",
        f"register {queries:,} queries over {rows:,} stored tuples",
        "queries",
        queries,
        [contender(PSOUP, ours), *_peers(first, columns, count=len(first))],
    )


def _ours(node: Callable[[], Node], asked: Sequence[Query]) -> list[Contender]:
    make = ways_psoup.Registering
    return [
        contender(PSOUP, lambda: make(node(), asked)),
        contender(AUTO, lambda: make(node(), asked, materialize=Materialize.AUTO)),
        contender(TEXT, lambda: make(node(), asked, as_text=True)),
    ]


def _peers(
    asked: Sequence[Query], columns: Callable[[], Columns], *, count: int | None
) -> list[Contender]:
    def tables() -> Way:
        from benchmarks.ways_duckdb import CreatingTables

        return CreatingTables(INTEGER, asked, columns())

    def masks() -> Way:
        from benchmarks.ways_polars import Masks

        return Masks(asked, columns())

    def filters() -> Way:
        from benchmarks.ways_arrays import NumpyFilters

        return NumpyFilters(INTEGER, asked, columns())

    return [
        contender(TABLES, tables, count=count, needs="duckdb"),
        contender(MASKS, masks, count=count, needs="polars"),
        contender(FILTERS, filters, count=count),
    ]
