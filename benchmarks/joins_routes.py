"""What is built on the way: JIT's cliques with and without the semi-join, A-Caching's stars under three routings.

JIT: each pair of sources has a column of its own on both, to be equal; of the composites of some sources nearly none
finds an end. The paper's parameters give no output at all, so some are planted: rows that do meet. A-Caching: all
sources are joined on one attribute, the first in FROM has the most partners, and half way the fewest.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.bench import Contest, Figure, Measurement, Size, Survey
from benchmarks.ways import Way, contender
from benchmarks.workloads import Values
from benchmarks.workloads_joins import Table, generator, table, whole
from psoup.engine.eddy.join_routing import ByFanOut, FromOrder, JoinRouting, Lottery
from psoup.engine.limits import CHUNK_ROWS

PLANTED: Final = 16
LOTTERY_SEED: Final = 11
BY_FAN_OUT: Final = "psoup, by fan-out"
IN_ORDER: Final = "psoup, FROM order"
WITHOUT: Final = "psoup, FROM order, no semi-join"
LOTTERY: Final = "psoup, by lottery"
SELECT: Final = "DuckDB, join of the batch"
ROUTINGS: Final[dict[str, Callable[[], JoinRouting]]] = {
    BY_FAN_OUT: ByFanOut,
    IN_ORDER: FromOrder,
    LOTTERY: functools.partial(Lottery, LOTTERY_SEED),
}
JIT_WAYS: Final[dict[str, tuple[Callable[[], JoinRouting], bool]]] = {
    BY_FAN_OUT: (ByFanOut, True),
    IN_ORDER: (FromOrder, True),
    WITHOUT: (FromOrder, False),
}
"""By name: the routing, and whether there is a semi-join."""
HALF_CHUNKS: Final = 8


@dataclass(frozen=True, slots=True)
class Workload:
    """A join of one table, which arrives, with others, which stay."""

    key: str
    title: str
    arriving: Table
    others: Sequence[Table]
    condition: str

    @property
    def names(self) -> list[str]:
        """The tables in FROM order."""
        return [one.name for one in (self.arriving, *self.others)]

    @property
    def select(self) -> str:
        """The query."""
        shown = ", ".join(f"{name}.n AS {name}_n" for name in self.names)
        return f"SELECT {shown} FROM {', '.join(self.names)} WHERE {self.condition}"


def contests(size: Size) -> Iterator[Measurement]:
    """Yield the cliques, the stars, and what is built of either."""
    cliques = [
        clique("bushy", "bushy: six partners in each source", partners=6, rare=1),
        clique("deep", "left-deep: few partners in the last", partners=12, rare=100),
    ]
    halves = size.pick(smoke=1, full=HALF_CHUNKS) * CHUNK_ROWS
    stars = [star(3, (4.0, 0.25), halves), star(4, (4.0, 1.0, 0.25), halves)]
    for one in cliques:
        yield jit(one)
    for one in stars:
        yield a_caching(one)
    for one in cliques:
        for name, (routing, semi_join) in JIT_WAYS.items():
            yield Survey(
                f"joins-jit-{one.key}-built-{name}",
                f"{name}: {one.key}",
                functools.partial(built, one, name, routing, semi_join=semi_join),
            )
    for one in stars:
        for name, routing in ROUTINGS.items():
            yield Survey(
                f"joins-{one.key}-built-{name}",
                f"{name}: {one.key}",
                functools.partial(built, one, name, routing, by_chunk=True),
            )


def clique(key: str, title: str, *, partners: int, rare: int) -> Workload:
    """Return four tables of a chunk each, whose values are drawn so that a row has so many partners in another.

    Values of the last are drawn from `rare` times as many. The first PLANTED rows of all four meet.
    """
    names = "abcd"
    values = CHUNK_ROWS // partners
    rng = generator(12, partners)
    columns: dict[str, dict[str, Values]] = {name: {} for name in names}
    for pair in itertools.combinations(names, 2):
        column = "".join(pair)
        for name in pair:
            most = values * rare if name == names[-1] else values
            columns[name][column] = rng.integers(0, most, CHUNK_ROWS)
        columns[pair[1]][column][:PLANTED] = columns[pair[0]][column][:PLANTED]
    tables = [table(name, **own) for name, own in columns.items()]
    conditions = [
        f"{one}.{one}{other} = {other}.{one}{other}"
        for one, other in itertools.combinations(names, 2)
    ]
    return Workload(key, title, tables[0], tables[1:], " AND ".join(conditions))


def star(count: int, partners: Sequence[float], rows: int) -> Workload:
    """Return a table joined with others on one attribute; a row of it has so many partners in each of them.

    From the row `rows` on, half of all, they have them in the opposite order.
    """
    values = 4_096
    rng = generator(13, count)
    arriving = np.concatenate(
        [rng.integers(0, values, rows), rng.integers(values, 2 * values, rows)]
    )
    tables = [
        table(
            name,
            a=whole(
                np.concatenate([_spread(rng, values, 0, one), _spread(rng, values, values, other)]),
                absent=-1,
            ),
        )
        for name, one, other in zip("stu", partners, partners[::-1], strict=False)
    ]
    return Workload(
        f"star{count}",
        f"star of {count}, multiplicities change",
        table("r", a=arriving),
        tables,
        " AND ".join(f"r.a = {one.name}.a" for one in tables),
    )


def jit(one: Workload) -> Contest:
    """A chunk past the other sources."""

    def psoup(routing: Callable[[], JoinRouting], *, semi_join: bool) -> Way:
        from benchmarks.ways_joins import Arriving

        return Arriving(
            one.arriving, one.others, [one.select], routing=routing(), semi_join=semi_join
        )

    return Contest(
        f"joins-jit-{one.key}",
        f"JIT, {one.title}",
        "tuples",
        len(one.arriving),
        [
            *(
                contender(name, functools.partial(psoup, routing, semi_join=semi_join))
                for name, (routing, semi_join) in JIT_WAYS.items()
            ),
            contender(SELECT, functools.partial(_duckdb, one), needs="duckdb"),
        ],
    )


def a_caching(one: Workload) -> Contest:
    """Chunk after chunk past the other sources, what routings have learned beginning anew with every run."""

    def psoup(routing: Callable[[], JoinRouting]) -> Way:
        from benchmarks.ways_joins import Filling

        return Filling(one.arriving, one.others, one.select, routing=routing)

    return Contest(
        f"joins-{one.key}",
        f"A-Caching, {one.title}",
        "tuples",
        len(one.arriving),
        [
            *(
                contender(name, functools.partial(psoup, routing))
                for name, routing in ROUTINGS.items()
            ),
            contender(SELECT, functools.partial(_duckdb, one), needs="duckdb"),
        ],
    )


def built(
    one: Workload,
    name: str,
    routing: Callable[[], JoinRouting],
    *,
    semi_join: bool = True,
    by_chunk: bool = False,
) -> list[Figure]:
    """Return how many composites of some sources, and of all of them, are built for each tuple that arrives."""
    from benchmarks.ways_joins import Arriving, Fed, Filling

    way: Fed
    if by_chunk:
        way = Filling(one.arriving, one.others, one.select, routing=routing)
    else:
        way = Arriving(
            one.arriving, one.others, [one.select], routing=routing(), semi_join=semi_join
        )
    group = way.joined()
    key = f"joins-{one.key}-built-{name}"
    tuples = len(one.arriving)
    return [
        Figure(
            f"{key}-intermediates",
            "composites of some sources",
            group.intermediates / tuples,
            "a tuple",
        ),
        Figure(f"{key}-results", "composites of all sources", group.results / tuples, "a tuple"),
    ]


def _spread(rng: np.random.Generator, values: int, first: int, partners: float) -> Values:
    """Return values from `first` on, each as often as a row is to have partners, or in that share of all."""
    if partners >= 1:
        every = np.repeat(np.arange(values), int(partners))
    else:
        every = rng.permutation(values)[: int(values * partners)]
    return first + rng.permutation(every)


def _duckdb(one: Workload) -> Way:
    from benchmarks.ways_joins_duckdb import Kept

    arriving, rows = one.arriving.name, len(one.arriving)
    empty = f"CREATE OR REPLACE TABLE hits AS {one.select} AND FALSE"
    batch = f"SELECT * FROM {arriving} WHERE n >= {{}} AND n < {{}}"
    return Kept(
        [one.arriving, *one.others],
        [
            f"INSERT INTO hits WITH {arriving} AS ({batch.format(first, first + CHUNK_ROWS)}) {one.select}"
            for first in range(0, rows, CHUNK_ROWS)
        ],
        ["SELECT count(*) FROM hits"],
        before=[empty],
    )
