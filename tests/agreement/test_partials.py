"""Groups merged of partials are those of reading every row, bit for bit, whatever arrived, was asked or was dropped."""

from dataclasses import fields
from random import Random
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from psoup.engine.aggregates.partials.partial_cache import TOO_MANY_GROUPS, TooManyGroups
from psoup.engine.errors import NowOutOfRangeError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Answer, Request, Since
from psoup.engine.invocation.shaped.partials_ahead import key_ahead, step_ahead
from psoup.engine.invoke import invoke
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SECOND_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.results.contract import Snapshot
from psoup.engine.sources.cached_tuples import CachedTuples
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.engine.aggregates.reference import bits
from tests.strategies import EPOCH_US
from tests.strategies_sql import instant
from tests.world import World

BATCHES, BATCH_ROWS, QUERIES = 11, 9_001, 5
COLUMNS = (
    ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
    ColumnSchema("i", ColumnType.INT64),
    ColumnSchema("f", ColumnType.FLOAT64),
    ColumnSchema("s", ColumnType.STRING),
)
CALLS = [
    "COUNT(*)",
    "COUNT(f)",
    "SUM(f)",
    "SUM(i)",
    "AVG(i)",
    "AVG(f) FILTER (WHERE i > 0)",
    "VAR_POP(i)",
    "STDDEV_SAMP(f)",
    "MIN(s)",
    "MAX(f)",
    "BOOL_OR(f > 1e300)",
    "FIRST(s)",
    "LAST(f)",
    "ARG_MIN(s, f)",
    "ARG_MAX(i, s)",
    "COUNT(DISTINCT s)",
]
KEYS = ["", "", "s", "i % 3", "s, i % 2", "i"]
"""The last one has more groups than partials are kept of."""
WHERE = ["", "WHERE i % 7 <> 0", "WHERE f > 0.5", "WHERE s = 'b'"]


class ReadingRows:
    """Partials that are not kept: every row is read."""

    def partials(self, *_: Any) -> TooManyGroups:
        return TOO_MANY_GROUPS

    def keep(self, *_: Any) -> None:
        raise AssertionError("nothing is made where no partials are kept")


class Program:
    """A stream, and queries over it that are asked through partials and without them."""

    def __init__(self, seed: int) -> None:
        self.rng, self.numbers = Random(seed), np.random.default_rng(seed)
        rows = self.rng.choice([None, SEGMENT_ROWS // 2])
        schema = StreamSchema("t", COLUMNS, "ts", ClockKind.HIGH_WATER, Retention(rows=rows))
        self.world, self.given = World(), 0
        self.world.declare(schema)
        self.schema = schema
        self.queries: list[QueryId] = [
            self.world.register(self._sql(), materialize=self.rng.choice(list(Materialize)))
            for _ in range(QUERIES)
        ]
        self.stands: dict[QueryId, Since | None] = {}
        self.merged = self.ahead = 0
        self.reading = InvocationCache(BoundQueries())
        self.reading.partials = ReadingRows()  # type: ignore[assignment]

    def _sql(self) -> str:
        rng, keys = self.rng, self.rng.choice(KEYS)
        listed = [f"{key} AS k{place}" for place, key in enumerate(keys.split(", ")) if key]
        calls = CALLS if rng.random() < 0.2 else CALLS[:-1]
        listed += [f"{call} AS v{place}" for place, call in enumerate(rng.sample(calls, 4))]
        where, grouped = rng.choice(WHERE), f"GROUP BY {keys}" if keys else ""
        behind = rng.choice(["", "", "", "HAVING COUNT(*) > 900", "ORDER BY v0 DESC LIMIT 3"])
        landmark = instant(EPOCH_US + rng.randrange(40) * SECOND_US)
        window = rng.choice(
            [
                "",
                f"BEGIN (NOW - {rng.choice([3, 20, 45])}) END (NOW)",
                "BEGIN (NOW - 40) END (NOW - 9)",
                f"BEGIN (TIMESTAMP '{landmark}') END (NOW)",
                f"BEGIN (TIMESTAMP '{instant(EPOCH_US)}') END (TIMESTAMP '{landmark}')",
            ]
        )
        return f"SELECT {', '.join(listed)} FROM t {where} {grouped} {behind} {window}"

    def send(self) -> None:
        """Append a batch: a millisecond a tuple, about, some late by half a minute, and a few of the future."""
        numbers, count = self.numbers, self.rng.choice([BATCH_ROWS, 77])
        times = EPOCH_US + 1_000 * np.arange(self.given, self.given + count)
        moved = numbers.choice([0, 0, 0, -SECOND_US], count)
        if self.rng.random() < 0.4:
            moved[:40] = -30 * SECOND_US
        floats = numbers.choice([0.0, -0.0, 1e308, -1e308, 5e-324, 0.1, 7.25], count)
        columns = {
            "ts": pa.array(times + moved, pa.int64()),
            "i": pa.array(numbers.choice([0, -(2**63), 2**63 - 1, *range(12)], count)),
            "f": pa.array(floats, mask=numbers.random(count) < 0.2),
            "s": pa.array([None, "a", "b", "ccc"]).take(pa.array(numbers.integers(0, 4, count))),
        }
        if self.rng.random() < 0.3:
            columns["i"] = pa.array(numbers.integers(0, 10**6, count))
        self.given += count
        self.world.append_table("t", pa.table(columns).cast(arrow_schema(self.schema)))
        self.world.clock.advance(RETIRED_US // 2)

    def make_ahead(self) -> None:
        """Make partials ahead of some of the queries that want them, a step or all of them."""
        world, results = self.world, self.world.store.results
        asked: dict[object, list[Snapshot]] = {}
        for query_id in self.queries:
            snapshot = results.snapshot(query_id)
            asked.setdefault(key_ahead(snapshot, world.cache), []).append(snapshot)
        for key, snapshots in asked.items():
            while key is not None and self.rng.random() < 0.8:
                done = step_ahead(snapshots, results, world.engine.source, world.cache)
                self.ahead += not done.refused_bytes
                if not done.more:
                    break

    def restart(self) -> None:
        """Lose the engine, or what invocations have kept, or neither."""
        how = self.rng.random()
        if how < 0.1:
            self.world.lose_engine()
        elif how < 0.2:
            self.world.cache = InvocationCache(BoundQueries())

    def compare(self) -> None:
        """Ask each query twice: as it stands now, since an earlier answer, and at an instant of the past."""
        store = self.world.store
        source: Any = self.world.engine.source
        if self.rng.random() < 0.4:
            source = CachedTuples(store.results, store.log, make_lock=Lock)
        for query_id in self.queries:
            past_us = EPOCH_US + self.rng.randrange(self.given) * 1_000
            limit = self.rng.choice([3, 1_000])
            for request in (
                Request(limit),
                Request(limit, since=self.stands.get(query_id)),
                Request(limit, now_us=past_us),
            ):
                answers = []
                for cache in (self.world.cache, self.reading):
                    try:
                        answers.append(
                            invoke(
                                store.results,
                                source,
                                query_id=query_id,
                                request=request,
                                cache=cache,
                            )
                        )
                    except NowOutOfRangeError:
                        break
                if len(answers) == 2:
                    merged, read = answers
                    assert told(read) == told(merged)
                    if request.now_us is None and self.rng.random() < 0.5:
                        self.stands[query_id] = merged.stands or self.stands.get(query_id)
        self.world.cache.check()
        kept = self.world.cache.partials.statistics()
        self.merged += kept.asked.entries + kept.ahead.entries


def told(answer: Answer) -> dict[str, Any]:
    """Return all that an answer says, so that two are equal iff their bits are."""
    names = [field.name for field in fields(answer) if field.name != "snapshot"]
    found = {name: getattr(answer, name) for name in names}
    for name in ("tuple_ids", "leaves_us", "removed", "keep", "row_ids"):
        found[name] = None if found[name] is None else found[name].tolist()
    found["columns"] = [(name, bits(column.to_list())) for name, column in answer.columns]
    return found


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
def test_answers_differential_through_partials_are_those_of_all_rows(seed):
    """All kinds of windows and policies, FILTER, NULLs, overflow, late rows, retention, restarts and workers."""
    program = Program(seed)
    for _ in range(BATCHES):
        program.send()
        program.restart()
        program.make_ahead()
        program.compare()
    assert program.merged > 0
    assert program.given > 3 * CHUNK_ROWS


def test_partials_are_kept_for_queries_of_one_condition_and_grouping():
    """Whatever their windows and their order: they are one set. A grouping of its own has its own."""
    program = Program(0)
    for _ in range(3):
        program.send()
    cache = program.world.cache = InvocationCache(BoundQueries())
    grouped = "SELECT s, SUM(f) AS v FROM t GROUP BY s"
    for text, entries in (
        (f"{grouped} BEGIN (NOW - 15) END (NOW)", 1),
        (f"{grouped} ORDER BY v LIMIT 2", 1),
        (grouped.replace("SUM", "AVG"), 1),
        (grouped.replace("SUM", "MAX"), 2),
        (f"{grouped} HAVING COUNT(*) > 1", 3),
    ):
        query_id = program.world.register(text, materialize=Materialize.PARTIAL)
        program.world.page(query_id, Request(10))
        assert entries == cache.partials.statistics().asked.entries, text


def test_nothing_is_kept_of_a_condition_that_keeps_nothing():
    """`none` evaluates the query at every invocation."""
    program = Program(0)
    program.send()
    program.world.cache = InvocationCache(BoundQueries())
    query_id = program.world.register("SELECT COUNT(*) FROM t", materialize=Materialize.NONE)
    program.world.page(query_id, Request(10))
    assert 0 == program.world.cache.partials.statistics().asked.entries
