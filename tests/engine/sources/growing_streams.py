"""A world of two streams that grow at random, and cached tuples beside the engine's that are asked for the same."""

import threading
from random import Random

import numpy as np
import pyarrow as pa

from psoup.engine.data.source import DatedRows
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SEGMENT_ROWS, TUPLES_CACHE_BYTES_MAX
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.sources.cached_tuples import CachedTuples
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamSchema,
)
from tests.world import World

SCHEMA = StreamSchema(
    "r",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("i", ColumnType.INT64),
        ColumnSchema("f", ColumnType.FLOAT64),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("k", ColumnType.INT64, nullable=False),
    ),
    "ts",
    ClockKind.SERVER,
    Retention(rows=4 * SEGMENT_ROWS, bytes=None),
)
UNDATED = StreamSchema("s", SCHEMA.columns[1:], None, ClockKind.SERVER, Retention())
NAMES = ("ts", "i", "f", "t", "k")
SIZES = (1, 7, 500, 6_000, 70_000, 2 * SEGMENT_ROWS + 9)
CLAUSES = (
    "SELECT k FROM r",
    "SELECT k FROM r WHERE k > 45000",
    "SELECT k FROM r WHERE t = 'text 3' AND i IS NULL",
    "SELECT k FROM r WHERE i + k > 9000 AND f < 0.5",
    "SELECT k FROM r WHERE t >= 'text 9' OR t LIKE '%15%'",
    "SELECT k FROM r WHERE UPPER(t) IN ('TEXT 3', 'TEXT 19') AND LENGTH(t) > 6 AND RIGHT(t, 1) <> '3'",
)
JOINS = (
    "SELECT r.k FROM r, s WHERE r.k = s.k AND r.i = 3",
    "SELECT r.k FROM r, s WHERE r.k = s.k AND r.k > 40000 AND s.i > 1 AND r.f + s.f > 0.2",
    "SELECT a.k FROM r a, r b, s WHERE a.k = b.k AND b.t = s.t AND a.i = 1 AND b.i = 2 AND b.k < 9000",
)


class Growing:
    """A world of two streams, the tuples of which come at random, dated about in order."""

    def __init__(self, seed: int, bytes_max: int = TUPLES_CACHE_BYTES_MAX, **retained) -> None:
        self.rng = Random(seed)
        self.draws = np.random.default_rng(seed)
        self.world = World()
        self.at_us = self.world.clock.now_us()
        self.world.declare(SCHEMA)
        self.world.declare(UNDATED)
        store = self.world.store
        self.cached = CachedTuples(
            store.results, store.log, make_lock=threading.Lock, bytes_max=bytes_max
        )

    @property
    def stored(self):
        return self.world.engine.source

    def send(self, name: str, count: int) -> None:
        """Append a batch."""
        draws, schema = self.draws, self.world.streams[name][1]
        texts = np.array([f"text {n}" for n in range(200)], dtype=object)
        values = {
            "ts": self.at_us + np.arange(count) * 10 + draws.integers(0, 40_000, count),
            "i": pa.array(draws.integers(0, 5, count), mask=draws.random(count) < 0.2),
            "f": draws.random(count),
            "t": pa.array(
                texts[draws.integers(0, self.rng.choice([2, 200]), count)],
                pa.string(),
                mask=draws.random(count) < 0.1,
            ),
            "k": draws.integers(0, 50_000, count),
        }
        if not count:
            self.world.append(name, [])
            return
        self.at_us += count * 10
        arrow = arrow_schema(schema)
        arrays = [
            pa.array(values[one.name], pa.int64() if one.name == "ts" else None).cast(one.type)
            for one in arrow
        ]
        self.world.append_table(name, pa.Table.from_arrays(arrays, schema=arrow))

    def grow(self) -> None:
        """Let tuples come, time pass, or nothing happen."""
        what = self.rng.randrange(6)
        if what < 3:
            self.send("r", self.rng.choice(SIZES))
        elif what == 3:
            self.send("s", self.rng.choice((1, 40, 5_000)))
        elif what == 4:
            self.world.clock.advance(RETIRED_US)
            self.world.tick()

    def record(self, name: str):
        return self.world.store.results.stream(name)

    def range_of(self, name: str) -> tuple[int, int]:
        """Return rows that are held, at least one."""
        record = self.record(name)
        edges = [*range(record.dropped_row, record.rows, CHUNK_ROWS), record.rows]
        some = [self.rng.randint(record.dropped_row, record.rows) for _ in range(2)]
        one, other = (self.rng.choice(self.rng.choice([edges, some])) for _ in range(2))
        return (min(one, other), max(one, other)) if one != other else (edges[0], edges[-1])

    def instants(self) -> tuple[int | None, int]:
        """Return a span of time."""
        begin_us, end_us = sorted(self.at_us - self.rng.randrange(-10, 4_000_000) for _ in range(2))
        return self.rng.choice([None, begin_us]), end_us

    def compare(self) -> None:
        """Ask both for anything."""
        asked = [self.reach, self.oldest, self.matching, self.read, self.join]
        self.rng.choice(asked)()

    def reach(self) -> None:
        stream_id, _ = self.world.streams["r"]
        (first, past), (begin_us, end_us) = self.range_of("r"), self.instants()
        runs = self.cached.reach(stream_id, first, past, begin_us, end_us)
        times = self.stored.times(stream_id, np.arange(first, past))
        dated = times <= end_us
        if begin_us is not None:
            dated &= times >= begin_us
        reached, behind = np.zeros(past - first, dtype=np.bool_), first
        for run_first, run_past, inside in runs:
            assert behind <= run_first < run_past <= past, "runs ascend"
            behind = run_past
            reached[run_first - first : run_past - first] = True
            assert not inside or dated[run_first - first : run_past - first].all()
        assert not (dated & ~reached).any(), "no row is missed"

    def oldest(self) -> None:
        name = self.rng.choice("rs")
        stream_id, _ = self.world.streams[name]
        record = self.record(name)
        floor_row, past_row = self.range_of(name)
        asked = {
            "floor_row": self.rng.choice([record.floor_row, floor_row]),
            "floor_us": self.instants()[0],
            "past_row": self.rng.choice([record.rows, past_row]),
        }
        assert self.stored.oldest(stream_id, **asked) == self.cached.oldest(stream_id, **asked)

    def matching(self) -> None:
        clause = bind(self.rng.choice(CLAUSES), self.world.streams).clause
        stream_id, _ = self.world.streams["r"]
        asked = stream_id, clause, *self.range_of("r")
        assert np.array_equal(self.stored.matching(*asked), self.cached.matching(*asked))

    def read(self) -> None:
        name = self.rng.choice("rs")
        stream_id, schema = self.world.streams[name]
        first, past = self.range_of(name)
        count = self.rng.choice([0, 1, 30, 3_000])
        rows = self.draws.integers(first, past, count)
        rows = np.sort(rows) if self.rng.random() < 0.7 else rows
        names = [one.name for one in schema.columns if self.rng.random() < 0.6]
        assert np.array_equal(
            self.stored.times(stream_id, rows), self.cached.times(stream_id, rows)
        )
        expected = self.stored.tuples(stream_id, names, rows)
        found = self.cached.tuples(stream_id, names, rows)
        assert np.array_equal(expected.times, found.times)
        assert np.array_equal(expected.tuple_ids, found.tuple_ids)
        for one in names:
            assert expected.columns[one].to_list() == found.columns[one].to_list()

    def join(self) -> None:
        clause = bind(self.rng.choice(JOINS), self.world.streams).clause
        spans = []
        for source in clause.sources:
            first, past = self.range_of(source.stream)
            begin_us, end_us = self.instants() if source.stream == "r" else (None, 2**62)
            spans.append(DatedRows(source.stream_id, first, past, begin_us, end_us))
        plan = JoinPlan(clause)
        expected = self.stored.joining(plan, spans)
        found = self.cached.joining(plan, spans)
        assert set(zip(*expected.tolist(), strict=True)) == set(zip(*found.tolist(), strict=True))
        assert expected.shape[1] == found.shape[1], "each once"
        assert expected.shape[1] == self.cached.joining_count(plan, spans)


def begun(seed, **asked) -> Growing:
    made = Growing(seed, **asked)
    for name, count in (("r", 40_000), ("s", 300), ("r", 0), ("r", 100_000)):
        made.send(name, count)
    return made
