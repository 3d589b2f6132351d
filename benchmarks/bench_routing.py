"""Routing: does it matter in which order tuples visit the operators, and does psoup find a good one?

CACQ's workloads (figures 8 and 9, tables 3 and 4): nested conjunctions, so that the most selective factor
is asked by all queries of a nest and the least selective by one. Its factors compare an attribute with a
constant; those are indexed here, and one pass of the index serves all. What is left to route are factors that
no index holds, so each is a comparison of two attributes' weighted sum. In one workload selectivities stay as
they are, in the other they are reversed half way. psoup as it is stands first; the rivals inside are psoup
with the best and the worst order of figure 8, fixed. The others evaluate every factor once for every tuple.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Contender, Contest, Figure, Measurement, Size, Survey
from benchmarks.node import Node
from benchmarks.ways import Way, contender, counts_answer
from benchmarks.workloads import SEED, Columns
from psoup.engine.eddy.policy import BySelectivity, Fixed, OperatorCounts, RoutingPolicy
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import QueryId, Rows
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

ATTRIBUTES: Final = ("a", "b", "c", "d", "e")
"""The least selective first, as in table 3 from its end: a canonical text names them in this order."""
SHARES: Final = (0.9, 0.7, 0.5, 0.3, 0.1)
"""Of the tuples that satisfy the factor over each, as in table 3."""
NOISE: Final = "z"
"""The attribute that every factor adds a little of: it makes the sum none of one attribute alone."""
STREAM: Final = StreamSchema(
    name="routed",
    columns=(
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        *(ColumnSchema(name, ColumnType.FLOAT64) for name in (*ATTRIBUTES, NOISE)),
    ),
    time="ts",
    clock=ClockKind.HIGH_WATER,
)
BATCH_ROWS: Final = 8_192
PSOUP: Final = "psoup, by selectivity"
BEST: Final = "psoup, fixed order, best first"
WORST: Final = "psoup, fixed order, worst first"
NUMPY: Final = "NumPy, every factor once"
DUCKDB: Final = "DuckDB, every factor once"
POLARS: Final = "Polars, every factor once"


@dataclass(frozen=True, slots=True)
class Factor:
    """`attribute * weight + z * share > bound`."""

    attribute: str
    weight: float
    share: float
    bound: float

    @property
    def text(self) -> str:
        """Return it as SQL, which psoup and DuckDB read."""
        return f"{self.attribute} * {self.weight} + {NOISE} * {self.share} > {self.bound}"


Nest = Sequence[Factor]
"""Factors, the least selective first. Its queries: the last one, the last two, and so on to all."""


def contests(size: Size) -> Iterator[Measurement]:
    """Yield the workload whose selectivities stay, the one whose selectivities change, and what is evaluated."""
    nests = drawn_nests(size.pick(smoke=2, full=32))
    rows = size.pick(smoke=4 * BATCH_ROWS, full=16 * BATCH_ROWS)
    half = rows // 2
    still, turned = drawn(rows, SHARES), drawn(half, SHARES[::-1])
    changing = {name: np.concatenate([still[name][:half], turned[name]]) for name in still}
    workloads = (
        ("steady", "steady: CACQ figure 8", still),
        ("changing", "reversed half way: CACQ figure 9", changing),
    )
    for key, what, columns in workloads:
        yield routing(key, what, nests, columns)
    for key, what, columns in workloads:
        yield Survey(
            f"routing-entered-{key}",
            f"factors of a nest of five that a tuple enters, {what}",
            functools.partial(entered, key, nests, columns),
        )


def drawn_nests(count: int) -> list[Nest]:
    """Return nests of five factors, no two alike."""
    rng = np.random.default_rng([SEED, 8])
    nests: list[Nest] = []
    for _ in range(count):
        weights, shares = rng.uniform(1.0, 3.0, 5), rng.uniform(0.01, 0.05, 5)
        nests.append(
            [
                Factor(
                    name, round(weight, 4), round(share, 4), round(100 * weight * (1 - passed), 4)
                )
                for name, passed, weight, share in zip(
                    ATTRIBUTES, SHARES, weights.tolist(), shares.tolist(), strict=True
                )
            ]
        )
    return nests


def drawn(rows: int, shares: Sequence[float]) -> dict[str, NDArray[np.float64]]:
    """Return tuples of which about `shares` satisfy a factor over each attribute.

    With SHARES values are uniform in [0, 100), as in the paper; others are bent to it by a power.
    """
    rng = np.random.default_rng([SEED, 9])
    columns = {}
    for name, usual, wanted in zip(ATTRIBUTES, SHARES, shares, strict=True):
        power = math.log(1 - usual) / math.log(1 - wanted)
        columns[name] = 100.0 * rng.random(rows) ** power
    return columns | {NOISE: rng.random(rows) * 10.0}


def routing(key: str, what: str, nests: Sequence[Nest], columns: Columns) -> Contest:
    """All tuples past all nests. The answer is how many satisfy each query."""
    rows, queries = len(columns[NOISE]), sum(map(len, nests))

    def ours(title: str, *, policy: RoutingPolicy | None = None, turned: bool = False) -> Contender:
        make = functools.partial(Routed, nests, columns, policy=policy, turned=turned)
        return contender(title, make)

    def peer(title: str, make: Callable[[Sequence[Nest], Columns], Way], needs: str) -> Contender:
        return contender(title, functools.partial(make, nests, columns), needs=needs)

    return Contest(
        f"routing-{key}",
        f"ingest {rows:,} past {queries:,} queries of factors without an index, {what}",
        "tuples",
        rows,
        [
            ours(PSOUP),
            ours(BEST, policy=Fixed(), turned=True),
            ours(WORST, policy=Fixed()),
            peer(NUMPY, NumpyFactors, ""),
            peer(DUCKDB, DuckFactors, "duckdb"),
            peer(POLARS, PolarsFactors, "polars"),
        ],
    )


def entered(key: str, nests: Sequence[Nest], columns: Columns) -> Sequence[Figure]:
    """Return how many factors of each nest are evaluated for a tuple: 1.16 is the least, 5 the most."""
    figures = []
    for name, title, policy, turned in (
        ("policy", PSOUP, BySelectivity(), False),
        ("best", BEST, Fixed(), True),
        ("worst", WORST, Fixed(), False),
    ):
        watched = Watched(policy)
        way = Routed(nests, columns, policy=watched, turned=turned)
        way.run(way.setup())
        mean = watched.evaluated / (watched.rows * len(nests))
        figures.append(Figure(f"routing-entered-{key}-{name}", title, mean, "factors"))
    return figures


class Watched:
    """A policy that is watched: how many rows, and how many evaluations, its last counts are of."""

    def __init__(self, policy: RoutingPolicy) -> None:
        """Watch this one."""
        self._policy = policy
        self._chunks = self._counted = self.evaluated = 0

    @property
    def rows(self) -> int:
        """Return the rows that are counted: chunks of one batch are ordered by the counts of those before it."""
        return self._counted * CHUNK_ROWS

    def order(self, counts: Sequence[OperatorCounts]) -> Sequence[int]:
        """Return the order of the one watched."""
        evaluated = sum(one.seen for one in counts)
        if evaluated != self.evaluated:
            self.evaluated, self._counted = evaluated, self._chunks
        self._chunks += 1
        return self._policy.order(counts)


class Routed(Way):
    """A node made anew for every run: what a policy has learned is gone."""

    def __init__(
        self,
        nests: Sequence[Nest],
        columns: Columns,
        *,
        policy: RoutingPolicy | None,
        turned: bool,
    ) -> None:
        """Take nests and tuples; the operators are made as queries come, in the nests' order or `turned`."""
        self._nests, self._columns = nests, columns
        self._policy, self._turned = policy, turned

    def setup(self) -> tuple[Node, list[Rows], list[QueryId]]:
        """Register the queries of every nest: the longest first, or last."""
        node = Node(STREAM, policy=self._policy)
        found: list[QueryId] = []
        for nest in self._nests:
            firsts = range(len(nest))
            order = reversed(firsts) if self._turned else firsts
            standing = {first: node.register_text(_sql(nest[first:])) for first in order}
            found += [standing[first] for first in firsts]
        return node, node.batches(self._columns, rows=BATCH_ROWS), found

    def run(
        self, state: tuple[Node, list[Rows], list[QueryId]]
    ) -> tuple[Node, list[Rows], list[QueryId]]:
        """Ingest the tuples."""
        node, batches, _ = state
        for batch in batches:
            node.ingest(batch)
        return state

    def answer(self, outcome: tuple[Node, list[Rows], list[QueryId]]) -> bytes:
        """Return the counts."""
        node, _, query_ids = outcome
        return counts_answer(node.counts(query_ids))


class NumpyFactors(Way):
    """Each factor over the whole batch, ANDed along its nest: a row of booleans per query."""

    def __init__(self, nests: Sequence[Nest], columns: Columns) -> None:
        """Make room for what is found."""
        self._nests, self._columns = nests, columns
        rows = len(columns[NOISE])
        self._found = np.empty((sum(map(len, nests)), rows), dtype=np.bool_)
        self._one, self._other = np.empty((2, rows))

    def run(self, state: None) -> NDArray[np.bool_]:
        """Evaluate the most selective factor first: it is a query by itself."""
        columns, one, other, found = self._columns, self._one, self._other, self._found
        past = 0
        for nest in self._nests:
            first, past = past, past + len(nest)
            for place in reversed(range(len(nest))):
                factor, row = nest[place], found[first + place]
                np.multiply(columns[factor.attribute], factor.weight, out=one)
                np.multiply(columns[NOISE], factor.share, out=other)
                one += other
                np.greater(one, factor.bound, out=row)
                if first + place + 1 < past:
                    row &= found[first + place + 1]
        return found

    def answer(self, outcome: NDArray[np.bool_]) -> bytes:
        """Return the counts."""
        return counts_answer(outcome.sum(axis=1))


class DuckFactors(Way):
    """One statement: each factor a column of a subquery, each query an AND of these, stored as booleans."""

    def __init__(self, nests: Sequence[Nest], columns: Columns) -> None:
        """Write the statement."""
        import duckdb
        import pyarrow as pa

        self._database = duckdb.connect()
        self._database.register("arrived", pa.table(dict(columns)))
        factors, queries = [], []
        for number, nest in enumerate(nests):
            factors += [f"({one.text}) AS f{number}_{place}" for place, one in enumerate(nest)]
            names = [f"f{number}_{place}" for place in range(len(nest))]
            queries += [
                f"{' AND '.join(names[first:])} AS q{number}_{first}" for first in range(len(nest))
            ]
        self._statement = (
            f"CREATE OR REPLACE TABLE hits AS SELECT {', '.join(queries)}"
            f" FROM (SELECT {', '.join(factors)} FROM arrived)"
        )

    def run(self, state: None) -> None:
        """Match, and store what matched."""
        self._database.execute(self._statement)

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        found = self._database.execute("SELECT count_if(COLUMNS(*)) FROM hits").fetchone()
        assert found is not None, "an aggregate has a row"
        return counts_answer(found)


class PolarsFactors(Way):
    """One lazy select: each factor a column, each query an AND of these."""

    def __init__(self, nests: Sequence[Nest], columns: Columns) -> None:
        """Make the expressions."""
        import polars as pl  # type: ignore[import-not-found,unused-ignore]

        frame = pl.DataFrame(dict(columns)).lazy()
        factors, queries = [], []
        for number, nest in enumerate(nests):
            for place, one in enumerate(nest):
                total = pl.col(one.attribute) * one.weight + pl.col(NOISE) * one.share
                factors.append((total > one.bound).alias(f"f{number}_{place}"))
            names = [f"f{number}_{place}" for place in range(len(nest))]
            queries += [
                functools.reduce(lambda x, y: x & y, map(pl.col, names[first:])).alias(
                    f"q{number}_{first}"
                )
                for first in range(len(nest))
            ]
        self._plan = frame.select(factors).select(queries)

    def run(self, state: None) -> Any:  # noqa: ANN401 (a frame of a package that may be absent)
        """Evaluate all columns at once."""
        return self._plan.collect()

    def answer(self, outcome: Any) -> bytes:  # noqa: ANN401
        """Return the counts."""
        return counts_answer([int(column.sum()) for column in outcome.get_columns()])


def _sql(factors: Sequence[Factor]) -> str:
    where = " AND ".join(factor.text for factor in factors)
    return f"SELECT ts FROM {STREAM.name} WHERE {where}"
