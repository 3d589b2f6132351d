"""Groups of a join: counts, sums and a largest value by an attribute of one side, by equality and by inequality.

psoup counts each row as often as it has partners. Beside it stand its way over composites, which it goes where
aggregates need them, and DuckDB, which joins and then groups. Nothing is kept of the joins (`none`). Prices are whole
quarters: nobody rounds their sums, in whatever order.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from benchmarks.bench import Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.workloads_joins import Table, generator, table
from psoup.engine.limits import JOIN_ANSWER_ROWS_MAX

GROUPS: Final = 100
KEYS: Final = (256, 4_096, 65_536)
EQUAL: Final = "r.k = s.k"
BAND: Final = "ABS(r.k - s.k) <= 8"
BAND_KEYS: Final = 4_096
LESS: Final = "r.k < s.k"
ROWS_OF_LESS: Final = 16_384
SELECT: Final = (
    "SELECT r.g, COUNT(*) AS n, SUM(r.a) AS total, SUM(s.p) AS price, MAX(s.p) AS most"
    " FROM r, s WHERE {condition} GROUP BY r.g"
)
PSOUP: Final = "psoup, groups"
COMPOSITES: Final = "psoup, over composites"
DUCKDB: Final = "DuckDB, join and GROUP BY"


def contests(size: Size) -> Iterator[Contest]:
    """Yield equalities by number of keys, a band, and an inequality of which half of all pairs are TRUE."""
    rows = size.pick(smoke=2_000, full=65_536)
    for keys in (500,) if size is Size.SMOKE else KEYS:
        yield grouped(f"equal-{keys}", drawn(rows, keys), EQUAL, f"by {keys:,} keys")
    yield grouped("band", drawn(rows, BAND_KEYS), BAND, f"in a band of 17 of {BAND_KEYS:,} keys")
    rows = size.pick(smoke=500, full=ROWS_OF_LESS)
    yield grouped("less", drawn(rows, BAND_KEYS), LESS, "by an inequality")


def drawn(rows: int, keys: int) -> list[Table]:
    """Return both tables."""
    rng = generator(31, keys)
    whole = rng.integers(0, keys, (2, rows))
    prices = np.round(rng.normal(400, 80, rows)) / 4
    by = rng.integers(0, GROUPS, rows)
    return [
        table("r", k=whole[0], g=by, a=rng.integers(0, 1_000, rows)),
        table("s", k=whole[1], p=prices),
    ]


def grouped(key: str, tables: Sequence[Table], condition: str, how: str) -> Contest:
    """The groups of one join, all tuples being in the window."""
    text, rows = SELECT.format(condition=condition), len(tables[0])
    pairs = _pairs(tables, condition)

    def psoup(*, composites: bool) -> Way:
        from benchmarks.ways_joins import GroupedJoin

        return GroupedJoin(tables, text, composites=composites)

    contenders = [contender(PSOUP, functools.partial(psoup, composites=False))]
    if pairs <= JOIN_ANSWER_ROWS_MAX:
        contenders.append(contender(COMPOSITES, functools.partial(psoup, composites=True)))
    contenders.append(contender(DUCKDB, functools.partial(_duckdb, tables, text), needs="duckdb"))
    return Contest(
        f"joins-grouped-{key}",
        f"groups of {rows:,} by {rows:,} rows {how}, {pairs:,} pairs",
        "invocations",
        1,
        contenders,
    )


def _pairs(tables: Sequence[Table], condition: str) -> int:
    """Return how many pairs satisfy the condition."""
    one, other = tables[0].columns["k"], np.sort(tables[1].columns["k"])
    less, more = {EQUAL: (0, 0), BAND: (8, 8), LESS: (-1, 2**40)}[condition]
    first = np.searchsorted(other, one - less, side="left")
    return int((np.searchsorted(other, one + more, side="right") - first).sum())


def _duckdb(tables: Sequence[Table], text: str) -> Way:
    from benchmarks.ways_joins_duckdb import Groups

    return Groups(tables, f"{text} ORDER BY r.g")
