"""New tuples, standing queries: a batch past all of them, in both domains, and one tuple at a time.

PSoup's interval workload (5.2.1) and CACQ's query count (figure 6(a)): few queries, where sharing begins.
What is timed: the batch goes in and its matches are kept. psoup keeps them as PSoup-P does (`partial`),
which is what the peers do; `auto`, the default, leaves dense cheap ones to the invocation and stands beside.
"""

import functools
from collections.abc import Iterator, Sequence

from benchmarks import ways_arrays, ways_duckdb
from benchmarks.bench import Contender, Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.ways_psoup import fed
from benchmarks.workloads import (
    CONTINUOUS,
    INTEGER,
    Columns,
    Domain,
    Query,
    equality_queries,
    inequality_queries,
    interval_queries,
    tuples,
)
from psoup.engine.log.operation import Materialize

PARTIAL = "psoup, partial"
AUTO = "psoup, auto"
BITS = "DuckDB, a bit string of queries per value"
RANGES = "DuckDB, range join"
FILTERS = "NumPy, a filter per query"
EXPRESSIONS = "Polars, an expression per query"
BITSETS = "bitarray, a bitset of queries per value"
SINGLE_PEER_ROWS = 32


def contests(size: Size) -> Iterator[Contest]:
    """Yield the batch in both domains, equalities, one tuple, and the growth with the queries."""
    queries, rows = size.pick(smoke=24, full=4_096), size.pick(smoke=300, full=8_192)
    for domain in (INTEGER, CONTINUOUS):
        yield batch(domain, interval_queries(domain, queries), rows=rows, what="interval")
    if size is Size.FULL:
        equal = equality_queries(INTEGER, queries, near={})
        yield batch(INTEGER, equal, rows=rows, what="equality")
    yield single(interval_queries(INTEGER, queries), rows=size.pick(smoke=40, full=4_096))
    for count in (4,) if size is Size.SMOKE else (1, 5, 20, 50, 500):
        yield query_count(inequality_queries(INTEGER, count), rows=rows)


def batch(domain: Domain, queries: Sequence[Query], *, rows: int, what: str) -> Contest:
    """One batch past all queries."""
    columns = tuples(domain, rows)
    ours = [
        psoup(domain, queries, columns, kept) for kept in (Materialize.PARTIAL, Materialize.AUTO)
    ]
    peers = peers_of(domain, queries, columns)
    ranges = contender(
        RANGES,
        lambda: ways_duckdb.RangeJoin(domain, queries, columns, batch_rows=rows),
        needs="duckdb",
    )
    title = f"ingest {rows:,} {domain.name} past {len(queries):,} {what} queries"
    return Contest(f"ingest-{what}-{domain.name}", title, "tuples", rows, [*ours, *peers, ranges])


def single(queries: Sequence[Query], *, rows: int) -> Contest:
    """Tuples that arrive one by one; peers take the last few of them. The answer is the last one's."""
    columns = tuples(INTEGER, rows)
    few = min(SINGLE_PEER_ROWS, rows // 5)
    last = {name: values[-few:] for name, values in columns.items()}
    feeds = [
        psoup(INTEGER, queries, columns, kept, batch_rows=1)
        for kept in (Materialize.PARTIAL, Materialize.AUTO)
    ]
    bits = contender(
        BITS,
        lambda: ways_duckdb.BitTables(INTEGER, queries, last, batch_rows=1, counted_rows=1),
        count=len(last["a"]),
        needs="duckdb",
    )
    title = f"ingest one tuple at a time past {len(queries):,} interval queries"
    return Contest("ingest-single", title, "tuples", rows, [*feeds, bits])


def query_count(queries: Sequence[Query], *, rows: int) -> Contest:
    """A batch past few queries (CACQ, figure 6(a)): from how many on does sharing pay?"""
    columns = tuples(INTEGER, rows)
    ours = [
        psoup(INTEGER, queries, columns, kept) for kept in (Materialize.PARTIAL, Materialize.AUTO)
    ]
    count = len(queries)
    return Contest(
        f"query-count-{count}",
        f"ingest {rows:,} integers past {count} inequality queries",
        "tuples",
        rows,
        [*ours, *peers_of(INTEGER, queries, columns)],
    )


def psoup(
    domain: Domain,
    queries: Sequence[Query],
    columns: Columns,
    kept: Materialize,
    *,
    batch_rows: int | None = None,
) -> Contender:
    """Return psoup fed with the columns, in one batch where no other size is given."""
    make = functools.partial(
        fed, domain.stream, queries, columns, batch_rows=batch_rows, materialize=kept
    )
    return contender(PARTIAL if kept is Materialize.PARTIAL else AUTO, make)


def peers_of(domain: Domain, queries: Sequence[Query], columns: Columns) -> list[Contender]:
    """Return the peers in their strongest forms; bits per value need a small domain."""
    found = [
        contender(FILTERS, lambda: ways_arrays.NumpyFilters(domain, queries, columns)),
        contender(EXPRESSIONS, lambda: _expressions(queries, columns), needs="polars"),
    ]
    if domain is not INTEGER:
        return found
    rows = len(columns["a"])
    return [
        contender(
            BITS,
            lambda: ways_duckdb.BitTables(domain, queries, columns, batch_rows=rows),
            needs="duckdb",
        ),
        contender(BITSETS, lambda: ways_arrays.Bitsets(domain, queries, columns)),
        *found,
    ]


def _expressions(queries: Sequence[Query], columns: Columns) -> Way:
    from benchmarks.ways_polars import Expressions

    return Expressions(queries, columns)
