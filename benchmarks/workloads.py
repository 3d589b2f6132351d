"""What the benchmarks work on: tuples and queries drawn from a fixed seed, the same at every run.

The workload of the papers' experiments (Chandrasekaran & Franklin 2002, 5.2.1): four attributes, queries
that are conjunctions of one to four factors, each an interval or an equality on an attribute of its own.
In two domains. INTEGER is the papers': values 0..255, and a constant is a multiple of 32 with probability
0.2. CONTINUOUS is what the papers do not try: floats, and no constant twice. Time rises by a second a tuple.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema

SEED = 20_020_820
EPOCH_US = 1_700_000_000_000_000
SECOND_US = 1_000_000
ATTRIBUTES = ("a", "b", "c", "d")
ROWS_RETAINED = 65_536
"""Of streams that take batch after batch, so that every round finds the same state."""

Value = int | float
Values = NDArray[np.generic]
Columns = Mapping[str, Values]
"""Tuples without their times: attribute to (n,) values."""


@dataclass(frozen=True, slots=True)
class Query:
    """A conjunction: `low <= attribute <= high` for each attribute it names. None = no bound."""

    bounds: tuple[tuple[str, Value | None, Value | None], ...]

    @property
    def where(self) -> str:
        """The WHERE clause in psoup's canonical form, which every peer reads as well; "" = every tuple."""
        factors: list[str] = []
        for name, low, high in self.bounds:
            if low is not None and low == high:
                factors.append(f"{name} = {low}")
                continue
            factors += [] if high is None else [f"{name} <= {high}"]
            factors += [] if low is None else [f"{name} >= {low}"]
        return " AND ".join(factors)


@dataclass(frozen=True, slots=True)
class Domain:
    """Where values and constants come from, and how peers store them."""

    name: str
    stream: StreamSchema
    sql_type: str
    lowest: Value
    highest: Value
    draw: Callable[[np.random.Generator, int], Values]
    constant: Callable[[np.random.Generator], Value]


def _stream(name: str, kind: ColumnType) -> StreamSchema:
    time = ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False)
    attributes = [ColumnSchema(attribute, kind) for attribute in ATTRIBUTES]
    return StreamSchema(name, (time, *attributes), "ts", ClockKind.HIGH_WATER)


def _paper_constant(rng: np.random.Generator) -> int:
    if rng.random() < 0.2:
        return int(rng.integers(0, 8)) * 32
    return int(rng.integers(0, 256))


INTEGER = Domain(
    name="integers",
    stream=_stream("readings", ColumnType.INT64),
    sql_type="UTINYINT",
    lowest=0,
    highest=255,
    draw=lambda rng, count: rng.integers(0, 256, count).astype(np.uint8),
    constant=_paper_constant,
)
CONTINUOUS = Domain(
    name="continuous",
    stream=_stream("levels", ColumnType.FLOAT64),
    sql_type="DOUBLE",
    lowest=0.0,
    highest=256.0,
    draw=lambda rng, count: rng.random(count) * 256.0,
    constant=lambda rng: float(rng.random() * 256.0),
)
DOMAINS = (INTEGER, CONTINUOUS)


def retaining(schema: StreamSchema, rows: int) -> StreamSchema:
    """Return the declaration with a bound on its rows."""
    return replace(schema, retention=Retention(rows=rows))


def tuples(domain: Domain, count: int) -> dict[str, Values]:
    """Return `count` tuples; fewer of them are the first of more."""
    return {
        name: domain.draw(np.random.default_rng([SEED, 2, number]), count)
        for number, name in enumerate(ATTRIBUTES)
    }


def record_batch(schema: StreamSchema, columns: Columns, *, first: int = 0) -> pa.RecordBatch:
    """Return the tuples as the stream's Arrow batch; tuple i is dated `first + i` seconds."""
    exact = arrow_schema(schema)
    count = len(next(iter(columns.values())))
    times_us = EPOCH_US + SECOND_US * np.arange(first, first + count, dtype=np.int64)
    arrays = [pa.array(times_us).cast(exact.field("ts").type)]
    arrays += [pa.array(columns[name]).cast(exact.field(name).type) for name in exact.names[1:]]
    return pa.record_batch(arrays, schema=exact)


def interval_queries(
    domain: Domain, count: int, *, factors: int | None = None, width: float | None = None
) -> list[Query]:
    """Return queries of intervals: two inequalities on one attribute.

    Args:
        domain: of the constants.
        count: how many.
        factors: attributes each query names; None = one to four of them.
        width: of the intervals, as a part of the domain; None = uniform, as in the paper.
    """
    rng = np.random.default_rng([SEED, 1])
    kind = type(domain.lowest)
    values = domain.highest - domain.lowest + (1 if kind is int else 0)

    def interval() -> tuple[Value, Value]:
        if width is None:
            low, wide = domain.constant(rng), kind(rng.random() * values)
        else:
            wide = kind(width * values)
            low = kind(rng.random() * (values - wide))
        return low, min(low + wide, domain.highest)

    return [
        Query(tuple((name, *interval()) for name in _chosen(rng, factors))) for _ in range(count)
    ]


def equality_queries(domain: Domain, count: int, *, near: Columns) -> list[Query]:
    """Return queries of one to four equalities.

    In the continuous domain a constant that no tuple has would match nothing: there each query takes
    its constants from one of the last `count` tuples of `near`.
    """
    rng = np.random.default_rng([SEED, 3])
    queries = []
    for number in range(1, count + 1):
        constants = {
            name: domain.constant(rng) if domain is INTEGER else float(near[name][-number])
            for name in _chosen(rng, None)
        }
        queries.append(Query(tuple((name, value, value) for name, value in constants.items())))
    return queries


def inequality_queries(domain: Domain, count: int) -> list[Query]:
    """Return queries of one to four inequalities, one on an attribute, either way round."""
    rng = np.random.default_rng([SEED, 4])

    def side() -> tuple[Value | None, Value | None]:
        constant = domain.constant(rng)
        return (constant, None) if rng.random() < 0.5 else (None, constant)

    return [Query(tuple((name, *side()) for name in _chosen(rng, None))) for _ in range(count)]


def arrays_of(domain: Domain, queries: Sequence[Query]) -> tuple[Values, Values]:
    """Return lows and highs, each (attributes, queries), with the domain's ends where there is no bound."""
    kind = np.uint8 if domain is INTEGER else np.float64
    lows = np.full((len(ATTRIBUTES), len(queries)), domain.lowest, dtype=kind)
    highs = np.full((len(ATTRIBUTES), len(queries)), domain.highest, dtype=kind)
    for number, query in enumerate(queries):
        for name, low, high in query.bounds:
            place = ATTRIBUTES.index(name)
            if low is not None:
                lows[place, number] = low
            if high is not None:
                highs[place, number] = high
    return lows, highs


def slices(columns: Columns, *, rows: int) -> Iterator[dict[str, Values]]:
    """Yield the tuples in batches of `rows`."""
    count = len(next(iter(columns.values())))
    for first in range(0, count, rows):
        yield {name: values[first : first + rows] for name, values in columns.items()}


def _chosen(rng: np.random.Generator, factors: int | None) -> list[str]:
    """Return the attributes a query names, in their order."""
    wanted = int(rng.integers(1, len(ATTRIBUTES) + 1)) if factors is None else factors
    places = sorted(rng.permutation(len(ATTRIBUTES))[:wanted].tolist())
    return [ATTRIBUTES[place] for place in places]
