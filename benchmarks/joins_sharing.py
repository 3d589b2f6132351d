"""What many join queries share: a group is joined once, however many queries are in it.

Queries of ten groups (each joins by a key of its own) and of one. In one workload each asks for an interval on either
side, as the papers draw them: the more queries, the more pairs some query wants, nine times as many for a hundred as
for one. In the other each has a bound on one side, so that there are twice as many. What is timed is a chunk that
arrives and meets them all, with what is kept of it.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from benchmarks.bench import Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.workloads_joins import Table, generator, table
from psoup.engine.limits import CHUNK_ROWS

GROUPS: Final = 10
FEW: Final = "psoup, one query of each group"
PSOUP: Final = "psoup, one join of a group"
DUCKDB: Final = "DuckDB, a join for each group"
ASKED_MOST: Final = 10
"""Queries of one group that the answer is of: to ask a thousand takes longer than what is timed."""
STORED_CHUNKS: Final = 4
PARTNERS: Final = 4
IN_ONE: Final = (1, 10, 100, 1_000)


class Asked(NamedTuple):
    """A query: the number of its key, and the least and most of r.a and s.b."""

    key: int
    least_a: int
    most_a: int
    least_b: int
    most_b: int

    @property
    def text(self) -> str:
        """The query."""
        a, b = (self.least_a, self.most_a), (self.least_b, self.most_b)
        return (
            f"SELECT r.n AS r_n, s.n AS s_n FROM r, s WHERE r.k{self.key} = s.k{self.key}"
            f"{_between('r.a', *a)}{_between('s.b', *b)}"
        )


def contests(size: Size) -> Iterator[Contest]:
    """Yield many queries beside few in the same groups, and one group that grows."""
    rows = size.pick(smoke=1, full=STORED_CHUNKS) * CHUNK_ROWS
    r, s = drawn(0, CHUNK_ROWS, rows // PARTNERS), drawn(1, rows, rows // PARTNERS)
    many = size.pick(smoke=40, full=1_000)
    for key, title, queries in (
        ("both", "intervals on both sides", drawn_queries(many, GROUPS)),
        ("one", "a bound on one side", one_sided(many, GROUPS)),
    ):
        yield shared(key, title, r, s, queries)
    for count in (3,) if size is Size.SMOKE else IN_ONE:
        yield in_one(r, s, drawn_queries(count, 1))


def drawn(place: int, rows: int, values: int) -> Table:
    """Return a table with a key for each group, so that a row has some partners by each, and two attributes."""
    rng = generator(14, place)
    keys = {f"k{number}": rng.integers(0, values, rows) for number in range(GROUPS)}
    return table("rs"[place], **keys, **{"ab"[place]: rng.integers(0, 256, rows)})


def drawn_queries(count: int, groups: int) -> list[Asked]:
    """Return queries; those of one number modulo `groups` are of one group."""
    rng = generator(15)
    found: list[Asked] = []
    for number in range(count):
        first, other = rng.integers(0, 256, (2, 2)).tolist()
        found.append(Asked(number % groups, *sorted(first), *sorted(other)))
    return found


def one_sided(count: int, groups: int) -> list[Asked]:
    """Return queries that take every row of s, and those of r from some value on."""
    lows = generator(18).permuted(np.tile(np.arange(256), (groups, 1)), axis=1)
    return [
        Asked(number % groups, int(lows[number % groups, number // groups]), 255, 0, 255)
        for number in range(count)
    ]


def shared(key: str, title: str, r: Table, s: Table, queries: Sequence[Asked]) -> Contest:
    """A chunk past many queries, and past one of each group; the answer is that of these."""
    few = GROUPS
    return Contest(
        f"joins-sharing-{key}",
        f"{len(queries):,} queries in {few} groups, {title}",
        "tuples",
        len(r),
        [
            contender(PSOUP, functools.partial(_psoup, r, s, queries, few)),
            contender(FEW, functools.partial(_psoup, r, s, queries[:few], few)),
            contender(DUCKDB, functools.partial(_duckdb, r, s, queries, few), needs="duckdb"),
        ],
    )


def in_one(r: Table, s: Table, queries: Sequence[Asked]) -> Contest:
    """A chunk past a group of so many queries."""
    count, asked = len(queries), min(len(queries), ASKED_MOST)
    return Contest(
        f"joins-group-{count}",
        f"one group of {count:,} join queries",
        "tuples",
        len(r),
        [
            contender(PSOUP, functools.partial(_psoup, r, s, queries, asked)),
            contender(DUCKDB, functools.partial(_duckdb, r, s, queries, asked), needs="duckdb"),
        ],
    )


def _psoup(r: Table, s: Table, queries: Sequence[Asked], asked: int) -> Way:
    from benchmarks.ways_joins import Arriving

    return Arriving(r, [s], [query.text for query in queries], asked=asked)


def _between(name: str, low: int, high: int) -> str:
    """Return a further condition; "" where every value is inside."""
    return "" if (low, high) == (0, 255) else f" AND {name} BETWEEN {low} AND {high}"


def _duckdb(r: Table, s: Table, queries: Sequence[Asked], asked: int) -> Way:
    from benchmarks.ways_joins_duckdb import Kept

    given = np.array(queries)
    bounds = table("queries", **dict(zip(Asked._fields, given.T, strict=True)))
    groups = sorted({query.key for query in queries})
    return Kept(
        [r, s, bounds],
        [
            f"INSERT INTO hits SELECT q.n, r.n, s.n FROM r JOIN s ON r.k{key} = s.k{key}"
            f" JOIN queries q ON q.key = {key} AND r.a BETWEEN q.least_a AND q.most_a"
            " AND s.b BETWEEN q.least_b AND q.most_b"
            for key in groups
        ],
        f"SELECT q FROM hits WHERE q < {asked}",
        before=["CREATE OR REPLACE TABLE hits (q BIGINT, r_n BIGINT, s_n BIGINT)"],
        queries=asked,
    )
