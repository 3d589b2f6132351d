"""PSoup's figure 11: hybrid structs probe a stream as composite tuples, all at once, or separately, one by one.

`(R.a op1 c1) AND (R.a op2 S.b) AND (S.b op3 c2)`. A hybrid struct is a query whose first part a tuple of R satisfies; a
thousand of them are a thousand queries with one fresh tuple, or a thousand tuples with one query. op2 is shared by
all, op3 each query's own. psoup's unit is a chunk: rows of it that are no hybrids have NULL, and meet the queries.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.bench import Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.workloads_joins import Table, first_rows, generator, table
from psoup.engine.limits import CHUNK_ROWS

VALUES: Final = 256
FRESH: Final = 100
"""The value of the one tuple."""
COMPOSITE: Final = "psoup, composite"
SEPARATE: Final = "psoup, separate"
SELECT: Final = "DuckDB, join with the hybrids"


@dataclass(frozen=True, slots=True)
class Mix:
    """Operators by role: shared by all queries, and each one's own."""

    key: str
    shared: str
    individual: str


MIXES: Final = (
    Mix("equal", "=", "<="),
    Mix("individual", "<", "="),
    Mix("inequal", "<", "<="),
)


@dataclass(frozen=True, slots=True)
class Hybrids:
    """What probes S: so many rows of R, NULL behind them, and the constants c1 and c2 of each query."""

    title: str
    rows: int
    r: Table
    constants: Sequence[tuple[int, int]]


def contests(size: Size) -> Iterator[Contest]:
    """Yield each mix, for many queries and for many tuples."""
    many = size.pick(smoke=20, full=1_000)
    s = table("s", b=generator(4).integers(0, VALUES, CHUNK_ROWS))
    for mix in MIXES[: size.pick(smoke=1, full=3)]:
        yield probe(mix, "queries", of_queries(many), s)
        yield probe(mix, "tuples", of_tuples(many), s)


def of_queries(many: int) -> Hybrids:
    """Return many queries, no two alike, which one tuple satisfies."""
    rng = generator(5)
    drawn = rng.permutation(FRESH * VALUES)[:many]
    constants = [(int(one) // VALUES, int(one) % VALUES) for one in drawn]
    fresh = first_rows(rng.integers(FRESH, FRESH + 1, 1), 1, of=CHUNK_ROWS)
    return Hybrids(f"{many:,} queries, one tuple", 1, table("r", a=fresh), constants)


def of_tuples(many: int) -> Hybrids:
    """Return many tuples, which all satisfy one query."""
    values = first_rows(generator(6).integers(0, VALUES, many), many, of=CHUNK_ROWS)
    return Hybrids(f"{many:,} tuples, one query", many, table("r", a=values), [(0, VALUES // 2)])


def probe(mix: Mix, key: str, hybrids: Hybrids, s: Table) -> Contest:
    """S probed by all hybrids; the answer is the count of each query."""
    texts = [
        f"SELECT r.n AS r_n, s.n AS s_n FROM r, s WHERE r.a >= {c1}"
        f" AND r.a {mix.shared} s.b AND s.b {mix.individual} {c2}"
        for c1, c2 in hybrids.constants
    ]

    def composite() -> Way:
        from benchmarks.ways_joins import Arriving

        return Arriving(hybrids.r, [s], texts)

    def separate() -> Way:
        from benchmarks.ways_joins import Pairs

        spans = [[(row, row + 1), (0, len(s))] for row in range(hybrids.rows)]
        return Pairs([hybrids.r, s], texts, spans=spans, counted=True)

    return Contest(
        f"joins-figure11-{mix.key}-{key}",
        f"PSoup figure 11, shared {mix.shared}, own {mix.individual}: {hybrids.title}",
        "hybrids",
        max(hybrids.rows, len(texts)),
        [
            contender(COMPOSITE, composite),
            contender(SEPARATE, separate),
            contender(SELECT, functools.partial(_duckdb, mix, hybrids, s), needs="duckdb"),
        ],
    )


def _duckdb(mix: Mix, hybrids: Hybrids, s: Table) -> Way:
    import numpy as np

    from benchmarks.ways_joins_duckdb import Kept

    constants = np.array(hybrids.constants)
    probe = f"h.a {mix.shared} s.b AND s.b {mix.individual} h.c2"
    queries = table("queries", c1=constants[:, 0], c2=constants[:, 1])
    return Kept(
        [hybrids.r, s, queries],
        [
            f"CREATE OR REPLACE TABLE hits AS SELECT h.q, h.n AS r_n, s.n AS s_n FROM hybrids h JOIN s ON {probe}"
        ],
        "SELECT q FROM hits",
        once=[
            "CREATE TABLE hybrids AS SELECT q.n AS q, q.c2, r.n, r.a FROM r JOIN queries q ON r.a >= q.c1"
        ],
        queries=len(constants),
    )
