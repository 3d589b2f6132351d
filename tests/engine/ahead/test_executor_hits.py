"""Executors compute the hits that the engine would compute, bit for bit; the engine computes all others itself."""

import sys
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from psoup.engine import limits
from psoup.engine.ahead import broadcasts
from psoup.engine.ahead.executor_hits import ExecutorHits
from psoup.engine.clauses import grouped_filter
from psoup.engine.engine import Engine
from psoup.engine.log.operation import QueryId
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from tests.agreement.joins.world import stream, tuples
from tests.engine.ahead.programs import (
    KEYS,
    ExecutorsHere,
    deltas_of,
    plain,
    program,
    rows_of,
)
from tests.strategies import EPOCH_US
from tests.world import World

SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]


@pytest.fixture(params=[False, True], ids=["as-it-is", "many-tables"])
def _tables(request, monkeypatch):
    """Let the index have tables of all kinds although clauses are few, and each be sent apart."""
    if request.param:
        monkeypatch.setattr(grouped_filter, "RECENT_SLOTS_MAX", 6)
        monkeypatch.setattr(grouped_filter, "PIVOT_VALUES_MIN", 3)
        monkeypatch.setattr(broadcasts, "INLINE_BYTES_MAX", 0)


def reader(history):
    """Return what reads old bodies of a log."""
    return lambda seqs: [history[seq - 1] for seq in seqs]


@pytest.mark.usefixtures("_tables")
@pytest.mark.parametrize("damaged", [False, True], ids=["sound", "damaged"])
@pytest.mark.parametrize("seed", SEEDS)
def test_executor_hits_deltas_are_the_engines_own_bit_for_bit(seed, damaged, monkeypatch):
    """Random programs, in turns of any length, with queries that come and go and bodies that are none."""
    history = program(seed, 60, damaged=damaged)
    monkeypatch.setattr(limits, "SCALED_SCAN_ROWS_MIN", 1)
    monkeypatch.setattr(limits, "SCALED_SCAN_EXPRESSIONS_MIN", 1)
    executors = ExecutorsHere()
    ahead = ExecutorHits(executors, elapsed_s=Clock(), pairs_min=0, read_at=reader(history))
    alone = deltas_of(history, Engine(), Random(seed))
    engine = Engine(precomputed=ahead)
    settled = deltas_of(history, engine, Random(seed + 1))
    ahead.check()
    for own, found in zip(alone, settled, strict=True):
        assert plain(own) == plain(found)
    assert executors.chunks >= 5, "the case is the one it claims to be"
    assert executors.scans >= 1, "old tuples are scanned"
    assert damaged or ahead.statistics().chunks > executors.chunks, "and taken"
    ahead.close()
    assert all(sent.destroyed for sent in executors.sent)


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.at_s = 0.0

    def __call__(self) -> float:
        """Return what time it is."""
        return self.at_s


@pytest.mark.parametrize("seed", SEEDS)
def test_executor_hits_with_executors_that_fail_loses_and_doubles_nothing(seed):
    """The engine computes again whatever a failed job had computed."""
    history = program(seed, 60)
    clock = Clock()
    reasons: list[str] = []
    executors = ExecutorsHere(failing=Random(seed))
    ahead = ExecutorHits(executors, pairs_min=0, on_failed=reasons.append, elapsed_s=clock)
    engine = Engine(precomputed=ahead)
    found = []
    for operation in history:
        clock.at_s += limits.SCALED_RETRY_S / 2
        engine.expect([operation])
        found.append(engine.apply(operation))
        ahead.check()
    alone = deltas_of(history, Engine(), Random(seed))
    assert [plain(own) for own in alone] == [plain(one) for one in found]
    counted = ahead.statistics()
    assert counted.failed == len(reasons) > 0
    assert counted.chunks == executors.chunks > 0, "what was found is taken, each once"


def test_executor_hits_after_a_failure_leaves_executors_alone_for_a_while():
    """One attempt in SCALED_RETRY_S: a session that is gone does not hold up every turn."""
    history = program(1, 60)
    clock = Clock()
    executors = ExecutorsHere(failing=AlwaysLow())
    ahead = ExecutorHits(executors, pairs_min=0, elapsed_s=clock)
    deltas_of(history, Engine(precomputed=ahead), Random(1))
    counted = ahead.statistics()
    assert (1, 1, 0, True) == (counted.jobs, counted.failed, counted.chunks, counted.waiting)
    clock.at_s = limits.SCALED_RETRY_S
    assert not ahead.statistics().waiting


def test_executor_hits_scan_that_fails_is_counted_and_the_engine_scans_itself(monkeypatch):
    """A failure of executors is none of the errors that damaged batches raise, which the engine meets again."""
    monkeypatch.setattr(limits, "SCALED_SCAN_ROWS_MIN", 1)
    monkeypatch.setattr(limits, "SCALED_SCAN_EXPRESSIONS_MIN", 1)
    history = program(1, 60)
    reasons: list[str] = []
    ahead = ExecutorHits(
        ExecutorsHere(failing=AlwaysLow()),
        elapsed_s=Clock(),
        read_at=reader(history),
        on_failed=reasons.append,
        pairs_min=sys.maxsize,
    )
    hits = deltas_of(history, Engine(precomputed=ahead), Random(1))
    alone = deltas_of(history, Engine(), Random(1))
    assert [plain(own) for own in alone] == [plain(delta) for delta in hits]
    counted = ahead.statistics()
    assert ["The executors are gone."] == reasons
    assert (0, 1, True) == (counted.jobs, counted.failed, counted.waiting)


class AlwaysLow(Random):
    """Chance that is always against one."""

    def random(self) -> float:
        """Return 0."""
        return 0.0


def test_executor_hits_leaves_what_is_not_worth_a_job_to_the_engine():
    """Below `pairs_min` nothing is sent anywhere."""
    executors = ExecutorsHere()
    ahead = ExecutorHits(executors, elapsed_s=Clock())
    deltas_of(program(1, 60), Engine(precomputed=ahead), Random(1))
    assert (0, [], 0) == (ahead.statistics().jobs, executors.sent, ahead.statistics().chunks)


def test_executor_hits_sends_large_tables_once_and_small_ones_with_each_version(monkeypatch):
    """What is settled stays with the executors as long as it is what tuples meet; the version before it goes."""
    monkeypatch.setattr(grouped_filter, "RECENT_SLOTS_MAX", 40)
    monkeypatch.setattr(broadcasts, "INLINE_BYTES_MAX", 4_000)
    executors = ExecutorsHere()
    ahead = ExecutorHits(executors, elapsed_s=Clock(), pairs_min=0)
    world = World()
    engine = Engine(precomputed=ahead)

    def fold():
        operations = world.history[engine.applied :]
        engine.expect(operations)
        for operation in operations:
            engine.apply(operation)

    world.declare(stream("r"), fold=False)
    for low in range(200):
        world.register(f"SELECT n FROM r WHERE n >= {low} AND g < {low}", fold=False)
    late = []
    for step in range(4):
        batch = tuples(step * 8_192, 8_192, keys=KEYS, seed=1, first_us=EPOCH_US, step_us=9)
        world.append_content(rows_of(world.streams["r"][0], "r", batch), fold=False)
        fold()
        world.remove(QueryId(f"q_{step + 1:022d}"), fold=False)
        late.append(world.register(f"SELECT n FROM r WHERE n < {step}", fold=False))
    sizes = [len(sent.pickled) for sent in executors.sent]
    counted = ahead._broadcasts.statistics()
    assert (4, 1, 1) == (counted.versions, counted.tables, counted.held)
    assert [False, True, True, True, False] == [sent.destroyed for sent in executors.sent]
    assert all(size < sizes[0] / 2 for size in sizes[2:]), "a version is less than the tables"
    ahead.close()
    assert all(sent.destroyed for sent in executors.sent)


def test_executor_hits_of_a_stream_that_gets_a_column_are_the_engines_own():
    """Executors get a version that has it: chunks of bodies of before and after, clauses that stood and new ones."""
    executors = ExecutorsHere()
    ahead = ExecutorHits(executors, elapsed_s=Clock(), pairs_min=0)
    world, narrow = World(), stream("r")
    wide = replace(narrow, columns=(*narrow.columns, ColumnSchema("more", ColumnType.INT64)))
    world.declare(narrow, fold=False)
    world.register("SELECT n FROM r WHERE n % 3 = 1", fold=False)
    for step in range(4):
        batch = tuples(step * 6_000, 6_000, keys=KEYS, seed=1, first_us=EPOCH_US, step_us=9)
        if step == 1:
            world.alter(wide, fold=False)
        if step == 3:
            world.register("SELECT n FROM r WHERE more + 0 < 5 OR more IS NULL", fold=False)
        if step % 2:
            batch = batch.append_column("more", pa.array([i % 9 for i in range(6_000)]))
        world.append_content(rows_of(world.streams["r"][0], "r", batch), fold=False)
    alone = deltas_of(world.history, Engine(), Random(1))
    settled = deltas_of(world.history, Engine(precomputed=ahead), Random(1))
    ahead.check()
    for own, found in zip(alone, settled, strict=True):
        assert plain(own) == plain(found)
    assert 5 == executors.chunks == ahead.statistics().chunks
    ahead.close()
