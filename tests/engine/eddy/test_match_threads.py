"""Threads that settle chunks change no delta: the same hits, and the same error where one thread would raise it."""

from collections.abc import Callable
from random import Random

import pytest

from psoup.app.fold.match_threads import match_threads
from psoup.engine import limits
from psoup.engine.clauses import grouped_filter
from psoup.engine.eddy import match_threads as settling
from psoup.engine.eddy.policy import OperatorCounts
from psoup.engine.eddy.settling import settle
from psoup.engine.engine import Engine, MatchThreads
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, Operation
from tests.agreement.joins.world import stream, tuples
from tests.engine.ahead.programs import KEYS, deltas_of, plain, program
from tests.strategies import EPOCH_US
from tests.world import World

CHUNKS = 6


def history(*conditions: str, chunks: int = CHUNKS) -> list[Operation]:
    """Return a log: a stream, queries, and one batch of whole chunks."""
    world = World()
    world.declare(stream("r"), fold=False)
    for condition in conditions:
        sql = f"SELECT n FROM r WHERE {condition}"
        world.register(sql, materialize=Materialize.PARTIAL, fold=False)
    rows = tuples(0, chunks * CHUNK_ROWS, keys=KEYS, seed=1, first_us=EPOCH_US, step_us=9)
    world.append_table("r", rows)
    return world.history


def folded(operations: list[Operation], threads: MatchThreads | None = None) -> Engine:
    """Return an engine that has applied these operations."""
    engine = Engine(match_threads=threads)
    for operation in operations:
        engine.apply(operation)
    return engine


def counts(engine: Engine) -> list[OperatorCounts]:
    """Return what each operator has seen and left."""
    by_stream = engine._eddy._operators.values()
    return [operator.counts() for by_step in by_stream for operator in by_step.values()]


class Late:
    """Threads none of which gets a core until the fold waits for them: then calls are withdrawn, or made."""

    count = 2

    def __init__(self, *, withdrawn: bool) -> None:
        """Withdraw calls that have not begun, as is promised, or make them late."""
        self._withdrawn = withdrawn
        self.begun: list[int] = []

    def begin(self, work: Callable[[int], None], calls: int) -> Callable[[], None]:
        """Note how many calls are asked for."""
        self.begun.append(calls)

        def wait() -> None:
            for number in range(0 if self._withdrawn else calls):
                work(number)

        return wait


def test_threads_deltas_are_those_of_one_thread_bit_for_bit(monkeypatch):
    """A random program with all policies, queries that come and go, damaged bodies, and tables of every kind."""
    monkeypatch.setattr(limits, "MATCH_THREADS_PAIRS_MIN", 0)
    monkeypatch.setattr(grouped_filter, "RECENT_SLOTS_MAX", 6)
    monkeypatch.setattr(grouped_filter, "PIVOT_VALUES_MIN", 3)
    operations = program(3, 60, damaged=True)
    one = Engine()
    expected = [plain(delta) for delta in deltas_of(operations, one, Random(1))]
    alone = one.statistics().eddy
    assert 0 == alone.shared_out == alone.scratch_bytes
    for count in (2, 3):
        with match_threads(count) as threads:
            engine = Engine(match_threads=threads)
            shared = deltas_of(operations, engine, Random(count))
        engine.check()
        assert expected == [plain(delta) for delta in shared]
        counted = engine.statistics().eddy
        assert counted.shared_out >= 10, "the case is the one it claims to be"
        assert (alone.blocks, alone.matched) == (counted.blocks, counted.matched)
        assert counts(one) == counts(engine)


def test_operators_of_a_first_batch_are_ordered_by_its_first_chunk_on_any_number_of_threads(
    monkeypatch,
):
    """The one that lets nearly all through was made first: it sees a chunk, then only what the other has left."""
    monkeypatch.setattr(limits, "MATCH_THREADS_PAIRS_MIN", 0)
    operations = history("k > 3 AND k * 2 + i > -9 AND k * 3 + i < 20")
    alone = counts(folded(operations))
    assert alone[0].seen < alone[1].seen // 2
    for count in (2, 3):
        with match_threads(count) as threads:
            engine = folded(operations, threads)
        assert CHUNKS - 1 == engine.statistics().eddy.shared_out
        assert alone == counts(engine)


@pytest.mark.parametrize("withdrawn", [False, True])
def test_threads_that_get_no_core_leave_all_chunks_to_the_fold(withdrawn, monkeypatch):
    """The fold waits for nobody who has not begun; who begins late finds nothing left."""
    monkeypatch.setattr(limits, "MATCH_THREADS_PAIRS_MIN", 0)
    operations = history("k > 3", "k * 2 + i > 9")
    threads = Late(withdrawn=withdrawn)
    engine = folded(operations, threads)
    assert [2] == threads.begun
    assert (CHUNKS, CHUNKS) == (
        engine.statistics().eddy.shared_out,
        engine.statistics().eddy.blocks,
    )


def test_threads_raise_what_one_thread_would_raise_first(monkeypatch):
    """Chunks 2 and 4 fail: the error of chunk 2 comes out, whichever thread had it; then the threads work on."""
    monkeypatch.setattr(limits, "MATCH_THREADS_PAIRS_MIN", 0)
    operations = history("k > 3")

    def failing(chunk, *given, **more):
        if chunk.number in {2, 4}:
            raise MemoryError(f"chunk {chunk.number}")
        return settle(chunk, *given, **more)

    with match_threads(3) as threads:
        for used in (None, threads):
            monkeypatch.setattr(settling, "settle", failing)
            with pytest.raises(MemoryError, match="chunk 2"):
                folded(operations, used)
            monkeypatch.setattr(settling, "settle", settle)
            assert CHUNKS == folded(operations, used).statistics().eddy.blocks


def test_threads_are_not_asked_for_little_work():
    """One chunk, or few clauses: handing over would take longer than it saves."""
    threads = Late(withdrawn=True)
    folded(history("k > 3"), threads)
    assert [] == threads.begun
    conditions = [f"n > {low}" for low in range(300)]
    folded(history(*conditions, chunks=1), threads)
    assert [] == threads.begun


def test_threads_let_go_of_memory_that_a_chunk_with_many_hits_has_left(monkeypatch):
    """What all threads together write into is counted, and bounded between two batches."""
    monkeypatch.setattr(limits, "MATCH_THREADS_PAIRS_MIN", 0)
    operations = history("k > 3", "g > 2.5")
    kept = folded(operations, Late(withdrawn=True)).statistics().eddy.scratch_bytes
    monkeypatch.setattr(limits, "MATCH_SCRATCH_BYTES_MAX", kept - 1)
    bounded = folded(operations, Late(withdrawn=True)).statistics().eddy.scratch_bytes
    assert 0 < bounded < kept
