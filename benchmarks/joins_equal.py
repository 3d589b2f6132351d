"""An equi-join probe: a chunk that arrives past many stored rows, by a key of few or many values.

psoup meets a hundred queries of one group and keeps what each finds; beside it stand bare joins, which know of no
query: that of psoup for one that is not kept, as it is done when somebody asks, and those of DuckDB and Polars.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.bench import Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.workloads_joins import Table, generator, table
from psoup.engine.limits import CHUNK_ROWS

KEYS: Final = (256, 4_096, 65_536)
QUERIES: Final = 100
ASKED: Final = 10
"""Queries that the answer is of: to ask all takes longer than what is timed."""
PSOUP: Final = "psoup, 100 queries, kept"
BARE: Final = "psoup, a bare join"
DUCKDB: Final = "DuckDB, a bare join, kept"
POLARS: Final = "Polars, a bare join"


def contests(size: Size) -> Iterator[Contest]:
    """Yield the probe by number of keys."""
    rows = size.pick(smoke=CHUNK_ROWS, full=65_536)
    queries = intervals(size.pick(smoke=5, full=QUERIES))
    for keys in (1_000,) if size is Size.SMOKE else KEYS:
        yield probe(drawn("r", CHUNK_ROWS, keys), drawn("s", rows, keys), queries, keys=keys)


def drawn(name: str, rows: int, keys: int) -> Table:
    """Return a table of a key and an attribute."""
    rng = generator(16, keys, ord(name))
    return table(name, k=rng.integers(0, keys, rows), a=rng.integers(0, 256, rows))


def intervals(count: int) -> list[tuple[int, int]]:
    """Return intervals of half the attribute's values at most: each query is to have no more than a million pairs."""
    rng = generator(17)
    found = []
    for _ in range(count):
        width = int(rng.integers(0, 128))
        low = int(rng.integers(0, 256 - width))
        found.append((low, low + width))
    return found


def probe(r: Table, s: Table, bounds: Sequence[tuple[int, int]], *, keys: int) -> Contest:
    """The pairs of a chunk with all that is stored; the answer is how many each of the first queries has."""
    import numpy as np

    partners = np.bincount(s.columns["k"], minlength=keys)
    pairs = int(partners[r.columns["k"]].sum())
    asked = bounds[:ASKED]
    select = "SELECT r.n AS r_n, s.n AS s_n FROM r, s WHERE r.k = s.k"

    def kept() -> Way:
        from benchmarks.ways_joins import Arriving

        texts = [f"{select} AND r.a BETWEEN {low} AND {high}" for low, high in bounds]
        return Arriving(r, [s], texts, asked=ASKED)

    def bare() -> Way:
        from benchmarks.ways_joins import BarePairs

        return BarePairs([r, s], select, asked)

    def polars() -> Way:
        from benchmarks.ways_joins_polars import HashJoin

        return HashJoin(r, s, "k", asked)

    return Contest(
        f"joins-equal-{keys}",
        f"a chunk past {len(s):,} rows by {keys:,} keys, {pairs:,} pairs",
        "candidate pairs",
        pairs,
        [
            contender(PSOUP, kept),
            contender(BARE, bare),
            contender(DUCKDB, functools.partial(_duckdb, r, s, asked), needs="duckdb"),
            contender(POLARS, polars, needs="polars"),
        ],
    )


def _duckdb(r: Table, s: Table, bounds: Sequence[tuple[int, int]]) -> Way:
    from benchmarks.ways_joins_duckdb import Kept

    return Kept(
        [r, s],
        [
            "CREATE OR REPLACE TABLE hits AS SELECT r.n AS r_n, s.n AS s_n, r.a FROM r JOIN s ON r.k = s.k"
        ],
        [f"SELECT count(*) FROM hits WHERE a BETWEEN {low} AND {high}" for low, high in bounds],
    )
