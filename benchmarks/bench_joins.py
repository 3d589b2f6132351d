"""Joins: the papers' experiments, what joins of groups share, and what pairs and counts cost, beside DuckDB and others.

In parts: inequalities (PSoup figure 8, goal 10), hybrid structs (PSoup figure 11), stocks and articles (CACQ figures 11
and 12), what is built on the way (JIT, A-Caching), groups of queries, equi-joins, GROUP BY. `Arriving` of
`ways_joins.py` is the way of most: a chunk that arrives past stored rows and standing queries, and what it finds is
kept (`partial`); peers keep theirs in tables.
"""

from collections.abc import Iterator

from benchmarks import (
    joins_composite,
    joins_equal,
    joins_grouped,
    joins_inequality,
    joins_routes,
    joins_sharing,
    joins_stocks,
)
from benchmarks.bench import Measurement, Size

PARTS = (
    joins_inequality,
    joins_composite,
    joins_stocks,
    joins_routes,
    joins_sharing,
    joins_equal,
    joins_grouped,
)


def contests(size: Size) -> Iterator[Measurement]:
    """Yield all parts."""
    for part in PARTS:
        yield from part.contests(size)
