"""Coming back for answers: PSoup's figures 7(a) and 7(b) and table 2, in both domains; and counts.

The papers' three policies are psoup's `none` (NoMat), `partial` (PSoup-P) and `complete` (PSoup-C); `auto` is
the default. The window grows over 65,536 stored tuples; peers hold exactly the tuples of the window and need
not cut it out. All of a query's rows are returned, or their number alone.
"""

import functools
from collections.abc import Callable, Iterator, Sequence

from benchmarks.bench import Contender, Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.ways_psoup import Asked
from benchmarks.workloads import (
    CONTINUOUS,
    INTEGER,
    Columns,
    Domain,
    Query,
    equality_queries,
    interval_queries,
    tuples,
)
from psoup.engine.log.operation import Materialize

PREPARED = "DuckDB, prepared"
OWN_TABLES = "DuckDB, a result table per query"
FILTERS = "Polars, filter"
INDEXED = "SQLite, indexed"
SCAN = "NumPy, scan"
PSOUP = {
    Materialize.AUTO: "psoup, auto",
    Materialize.PARTIAL: "psoup, partial",
    Materialize.COMPLETE: "psoup, complete",
    Materialize.NONE: "psoup, none",
}
SHAPES = ("equality", "interval")
"""Of the queries: PSoup figures 7(a) and 7(b)."""
TABLE_WINDOW = 32_768


def contests(size: Size) -> Iterator[Contest]:
    """Yield the figures, the table and the counts."""
    rows, count = size.pick(smoke=5_000, full=65_536), size.pick(smoke=4, full=32)
    windows = {INTEGER: [rows] if size is Size.SMOKE else [128, 1_024, 8_192, rows]}
    windows[CONTINUOUS] = [] if size is Size.SMOKE else [1_024, rows]
    for domain in (INTEGER, CONTINUOUS):
        columns = tuples(domain, rows)
        for what in SHAPES:
            queries = _queries(domain, what, count, columns)
            for window in windows[domain]:
                yield figure_7(domain, what, queries, columns, window=window)
    columns = tuples(INTEGER, rows)
    window = min(TABLE_WINDOW, rows)
    for intervals in (2,) if size is Size.SMOKE else (1, 2, 4):
        yield table_2(columns, intervals, queries=max(2, count // 4), window=window)
    yield counts(columns, interval_queries(INTEGER, count, factors=2, width=0.4))


def figure_7(
    domain: Domain, what: str, queries: Sequence[Query], columns: Columns, *, window: int
) -> Contest:
    """The rows of each query in a window of the newest tuples."""
    place = "whole" if window == len(columns["a"]) else window
    return Contest(
        f"rows-{what}-{domain.name}-{place}",
        f"rows of {what} queries, {domain.name}, window of {window:,}",
        "invocations",
        len(queries),
        _contenders(domain, queries, columns, window=window),
    )


def table_2(columns: Columns, intervals: int, *, queries: int, window: int) -> Contest:
    """The rows of queries of that many intervals, each of 0.4 of the domain."""
    asked = interval_queries(INTEGER, queries, factors=intervals, width=0.4)
    return Contest(
        f"table2-{intervals}",
        f"rows of {intervals} conjoined intervals, window of {window:,}",
        "invocations",
        len(asked),
        _contenders(INTEGER, asked, columns, window=window),
    )


def counts(columns: Columns, queries: Sequence[Query]) -> Contest:
    """The number of rows of each query, the window being all that is stored."""
    window = len(columns["a"])
    contenders = _contenders(INTEGER, queries, columns, window=window, count_only=True)

    def own_tables() -> Way:
        from benchmarks.ways_duckdb import OwnTables

        return OwnTables(INTEGER, queries, columns)

    return Contest(
        "count",
        f"count of two intervals, window of {window:,}",
        "invocations",
        len(queries),
        [*contenders, contender(OWN_TABLES, own_tables, needs="duckdb")],
    )


def _queries(domain: Domain, what: str, count: int, columns: Columns) -> list[Query]:
    if what == "equality":
        return equality_queries(domain, count, near=columns)
    return interval_queries(domain, count)


def _contenders(
    domain: Domain,
    queries: Sequence[Query],
    columns: Columns,
    *,
    window: int,
    count_only: bool = False,
) -> list[Contender]:
    """Return psoup under its policies, `auto` first, and the peers."""
    seen = {name: values[-window:] for name, values in columns.items()}
    first = len(columns["a"]) - window

    def psoup(kept: Materialize) -> Callable[[], Way]:
        return functools.partial(
            Asked,
            domain,
            queries,
            columns,
            window_rows=window,
            materialize=kept,
            count_only=count_only,
            first=first,
        )

    def prepared() -> Way:
        from benchmarks.ways_duckdb import Prepared

        return Prepared(domain, queries, seen, count_only=count_only)

    def filters() -> Way:
        from benchmarks.ways_polars import Filters

        return Filters(queries, seen, count_only=count_only)

    def indexed() -> Way:
        from benchmarks.ways_sqlite import Indexed

        return Indexed(queries, seen, count_only=count_only)

    def scan() -> Way:
        from benchmarks.ways_arrays import NumpyScan

        return NumpyScan(domain, queries, seen, count_only=count_only)

    return [
        *(contender(name, psoup(kept)) for kept, name in PSOUP.items()),
        contender(PREPARED, prepared, needs="duckdb"),
        contender(FILTERS, filters, needs="polars"),
        contender(INDEXED, indexed),
        contender(SCAN, scan),
    ]
