"""Worlds of three streams with whole chunks, and joins over them that answer with some thousand rows.

The twin says what of each stream an invocation looks at, DuckDB what matches among that.
"""

from collections import Counter
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.oracle_duckdb import DuckDbOracle
from tests.reference import Answer, AnswerRow, Asked, Reference
from tests.strategies import EPOCH_US
from tests.world import World

COLUMNS = (
    ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
    ColumnSchema("n", ColumnType.INT64, nullable=False),
    ColumnSchema("k", ColumnType.INT64),
    ColumnSchema("g", ColumnType.FLOAT64),
    ColumnSchema("w", ColumnType.STRING),
    ColumnSchema("i", ColumnType.INT64),
    ColumnSchema("b", ColumnType.BOOL),
)
NAMES = ("r", "s", "t")
SMALL_COUNT = 8
"""Values of `i`."""


def stream(name: str, **kept: int) -> StreamSchema:
    """Return the declaration of one of the streams."""
    return StreamSchema(name, COLUMNS, "ts", ClockKind.HIGH_WATER, Retention(**kept))


def tuples(
    first: int, count: int, *, keys: int, seed: int, first_us: int, step_us: int
) -> pa.Table:
    """Return rows numbered from `first` in `n`: few NULLs, `k` and `g` and `w` of one of `keys` values.

    Times rise by `step_us`, from `first_us` on, in some disorder and often equal.
    """
    rng = np.random.default_rng((seed, first))
    fields = arrow_schema(stream("r"))
    times = first_us + np.arange(count) * step_us - rng.integers(0, 3, count) * SECOND_US
    words = np.array([f"{'é' * (key % 3)}{key}" for key in range(keys)])

    def nullable(cells: np.ndarray) -> pa.Array:
        return pa.array(cells, mask=rng.random(count) < 0.03)

    cells = [
        pa.array(times // 500_000 * 500_000).cast(fields.field("ts").type),
        pa.array(np.arange(first, first + count)),
        nullable(rng.integers(0, keys, count)),
        nullable(rng.integers(0, 2 * keys, count) / 2 * np.where(rng.random(count) < 0.01, -1, 1)),
        nullable(words[rng.integers(0, keys, count)].astype(object)),
        nullable(rng.integers(0, SMALL_COUNT, count)),
        nullable(rng.random(count) < 0.5),
    ]
    return pa.table(cells, schema=fields)


@dataclass(frozen=True, slots=True)
class Join:
    """A join: its text without windows, BEGIN-END, and seconds of RANGE by the entry of FROM they follow."""

    select: str
    window: str = ""
    ranges: tuple[tuple[str, int], ...] = ()

    @property
    def sql(self) -> str:
        """The whole text."""
        text = self.select
        for entry, seconds in self.ranges:
            name, _, alias = entry.partition(" ")
            text = text.replace(entry, f"{name} [RANGE {seconds}] {alias}".strip(), 1)
        return f"{text} {self.window}".strip()


def drawn_join(rng: Random) -> str:
    """Return a join of two to four streams that psoup takes and that finds some thousand rows, about."""
    count = rng.choice([2, 2, 2, 3, 3, 4])
    conditions = []
    for place in range(1, count):
        pair = (rng.randrange(place), place)
        conditions.append(_held(rng, *(f"x{at}" for at in rng.sample(pair, 2))))
    for place in range(count):
        if rng.random() < 0.3:
            shapes = ["{}.i < 6", "{}.b", "NOT {}.b", "{}.i <> 2", "{}.g >= 50", "{}.w LIKE '%1%'"]
            conditions.append(rng.choice(shapes).format(f"x{place}"))
    one, other = (f"x{place}" for place in rng.sample(range(count), 2))
    conditions += rng.sample(
        [
            f"({one}.b OR {other}.i < 4)",
            f"{one}.i <> {other}.i",
            f"{one}.i + 1 >= {other}.i",
            f"{one}.n <= {other}.n",
            f"({one}.b) IS NOT TRUE",
            f"{one}.i % 3 = {other}.i % 3",
            f"{one}.b = {other}.b",
        ],
        k=rng.choice([0, 0, 1, 2]),
    )
    listed = ", ".join(f"x{place}.n AS n{place}" for place in range(count))
    sources = ", ".join(f"{rng.choice(NAMES)} AS x{place}" for place in range(count))
    rng.shuffle(conditions)
    return f"SELECT {listed} FROM {sources} WHERE {' AND '.join(conditions)}"


def _held(rng: Random, one: str, other: str) -> str:
    """Return what holds two streams together; each tuple meets few of the other."""
    shapes = ["{0}.k = {1}.k"] * 3 + [
        "{0}.w = {1}.w",
        "{0}.g = {1}.g",
        "{0}.k = {1}.g",
        "{0}.k * 2 = {1}.k + 1",
        "{0}.n = {1}.n",
        "{0}.n BETWEEN {1}.n - 1 AND {1}.n + 1",
        "ABS({0}.k - {1}.k) <= 1",
        "{0}.g > {1}.g - 0.5 AND {0}.g < {1}.g + 0.75",
        "{0}.k BETWEEN {1}.g AND {1}.g + 1",
        "{0}.ts = {1}.ts AND {0}.k < {1}.k + 50 AND {0}.k > {1}.k - 50",
        "{0}.ts BETWEEN {1}.ts AND {1}.ts + INTERVAL '1' SECOND AND {0}.i = {1}.i AND {0}.k > 5000",
    ]
    return rng.choice(shapes).format(one, other)


class JoinWorld:
    """Three streams, the twin behind them, and DuckDB beside it."""

    def __init__(self, oracle: DuckDbOracle, *, keys: int, seed: int, **kept: int) -> None:
        self.world = World()
        self.reference = Reference()
        self.oracle, self.keys, self.rng = oracle, keys, Random(seed)
        self.seed = seed
        for name in NAMES:
            self.world.declare(stream(name, **(kept if name == "r" else {})))
        self.rows = dict.fromkeys(NAMES, 0)
        self.next_us = dict.fromkeys(NAMES, EPOCH_US)
        self.step_us = 10_000
        self._times: dict[int, int] = {}
        self._loaded: dict[str, tuple[object, ...]] = {}
        """Where a stream stood when DuckDB took it: only one of the worlds over one database settles."""

    def send(self, name: str, count: int) -> None:
        """Append so many rows to a stream."""
        table = tuples(
            self.rows[name],
            count,
            keys=self.keys,
            seed=self.seed + NAMES.index(name),
            first_us=self.next_us[name],
            step_us=self.step_us,
        )
        self.world.append_table(name, table)
        self.rows[name] += count
        self.next_us[name] += count * self.step_us

    def register(self, join: Join, *policies: Materialize) -> list[QueryId]:
        """Register a join under each of these policies."""
        return [self.world.register(join.sql, materialize=policy) for policy in policies]

    def settle(self) -> None:
        """Bring the twin to the world's position, and DuckDB to what retention has kept of each stream."""
        for operation in self.world.history[self.reference.seq :]:
            self.reference.apply(operation)
        for name in NAMES:
            stream_id, schema = self.world.streams[name]
            stream = self.reference.streams[stream_id]
            stands = stream_id, len(stream.tuples), stream.floor_row, stream.floor_us
            if self._loaded.get(name) == stands:
                continue
            self._loaded[name] = stands
            kept = stream.retained()
            times_us = [one.time_us for one in kept]
            ids = [one.tuple_id for one in kept]
            self._times.update(zip(ids, times_us, strict=True))
            self.oracle.load(schema, [one.values for one in kept], tuple_ids=ids, times_us=times_us)

    def compare(self, join: Join, handles: list[QueryId], *, back_us: int = 0) -> int:
        """Assert that all handles answer alike and as the oracles do, at NOW or before it; return how many rows."""
        newest_us = self.reference.now_us(handles[0], self.world.clock.now_us())
        assert newest_us is not None
        at_us = newest_us - back_us if back_us else None
        expected = self.expected(join, handles[0], at_us)
        for query_id in handles:
            answer = self.world.invoke(query_id, at_us=at_us, limit=100_000)
            if "SELECT DISTINCT" in join.select:
                shown = Counter(values for _, _, values in answer.rows)
                assert Counter(values for _, _, values in expected.rows) == shown, join.sql
            else:
                assert expected == answer, join.sql
        return len(expected.rows)

    def expected(self, join: Join, query_id: QueryId, at_us: int | None) -> Answer:
        """Return what the oracles answer; of a SELECT DISTINCT the values alone."""
        asked = self.reference.ask(query_id, server_now_us=self.world.clock.now_us(), at_us=at_us)
        assert asked is not None
        rows: list[AnswerRow]
        spans = [
            (begin_us, asked.now_us if end_us is None else min(end_us, asked.now_us))
            for begin_us, end_us in asked.spans
        ]
        if "SELECT DISTINCT" in join.select:
            found = self.oracle.distinct_join(join.select, spans)
            rows = [("", None, values) for values in found]
        else:
            rows = [
                ("-".join(map(str, ids)), self._leaves_us(asked, ids), values)
                for ids, _, values in self.oracle.join(join.select, spans)
            ]
        begin_us, end_us = asked.bound.window.bind(asked.now_us)
        complete_us = asked.complete_from_us
        seq = self.reference.seq
        return Answer(seq, asked.now_us, begin_us, end_us, complete_us, tuple(rows))

    def _leaves_us(self, asked: Asked, ids: tuple[int, ...]) -> int | None:
        leaving_us = [
            self._times[tuple_id] + window.begin.us + 1
            for tuple_id, window in zip(ids, asked.windows, strict=True)
            if window.begin is not None and window.begin.moving
        ]
        return min(leaving_us, default=None)
