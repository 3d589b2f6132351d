"""All who append at once: threads that hand over and fold, others that do not, and a store that fails."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.engine import Engine
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Content, Operation, QueryId, Register, Remove, Rows, Tick
from psoup.engine.store.errors import RecoveringError, StoreUnavailableError
from psoup.engine.tuples.arrow import decode_batch, encode_batch
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.app.faults import FaultyStore
from tests.app.fold.folding import Folding, folding, numbers, quicken, schema
from tests.app.support import START_US
from tests.patience import WAIT_S
from tests.world import World, record_batch

EACH = 60
"""Calls of one thread."""
KEPT_ROWS = 40


class Crowd:
    """Threads that append to two streams, one of which keeps all of its rows and one a few; all of it is noted."""

    def __init__(self, store: FaultyStore, one: Folding) -> None:
        self.store, self.loop = store, one.loop
        self.world = World(store.plain)
        few = (ColumnSchema("a", ColumnType.INT64),)
        self.schemas = [
            schema("s", None),
            StreamSchema("few", few, None, ClockKind.SERVER, Retention(rows=KEPT_ROWS)),
        ]
        for declared in self.schemas:
            self.world.declare(declared, fold=False)
        self.queries = [
            self.world.register(f"SELECT a FROM {declared.name}", fold=False)
            for declared in self.schemas
        ]
        self.stored = list(self.world.history)
        self._noting = threading.Lock()

    def rows(self, stream: int, *values: int) -> Rows:
        declared = self.schemas[stream]
        body = encode_batch(record_batch(declared, numbers(*values)))
        stream_id, _ = self.world.streams[declared.name]
        return Rows(stream_id, declared.name, len(values), body)

    def append(self, *contents: Content) -> list[Appended]:
        """Append, and note what was stored as the log dates it."""
        outcomes = self.store.log.append_many(contents)
        assert all(isinstance(appended, Appended) for appended in outcomes)
        with self._noting:
            self.stored += [
                Operation(appended.seq, appended.arrival_us, appended.first_tuple_id, content)
                for content, appended in zip(contents, outcomes, strict=True)
            ]
        return list(outcomes)

    def lone(self, values: range) -> None:
        """Append rows one by one, hand each over, and fold it where it was appended if that is possible."""
        hand, chance = self.loop.at_hand, Random(values.start)
        assert hand is not None
        for value in values:
            content, life = self.rows(value % 2, value), hand.life
            outcomes = self.append(content)
            if chance.random() < 0.1:  # its answer came too late, say
                self.loop.wake()
                continue
            at_hand = hand.put([content], outcomes, life=life)
            self.loop.wake(at_hand=at_hand, lone=at_hand)

    def bulk(self, values: range) -> None:
        """Append batches in groups as a busy appender does, with queries that come and go between."""
        hand = self.loop.at_hand
        assert hand is not None
        for first in range(values.start, values.stop, 10):
            sql, stream_id = f"SELECT a FROM s WHERE a > {first}", self.world.streams["s"][0]
            register = Register(QueryId(f"q_{first:022d}"), sql, {"s": stream_id})
            contents: list[Content] = [
                self.rows(0, *range(first, first + 5)),
                register,
                self.rows(1, *range(first + 5, first + 10)),
                Remove(register.query_id),
            ]
            life = hand.life
            outcomes = self.append(*contents)
            self.loop.wake(at_hand=hand.put(contents, outcomes, life=life))

    def elsewhere(self, values: range) -> None:
        """Append as another process does: the loop is not told, and ticks come between."""
        for value in values:
            self.append(self.rows(value % 2, value), Tick())

    def values(self, name: str) -> list[int]:
        """Return the values of all rows that a stream was sent, in the order of the log."""
        _, declared = self.world.streams[name]
        batches = [
            decode_batch(declared, operation.content.body)
            for operation in sorted(self.stored, key=lambda one: one.seq)
            if isinstance(operation.content, Rows) and operation.content.name == name
        ]
        return [value for batch in batches for value in batch.column(0).to_pylist()]

    def interfere(self) -> None:
        """Let the store go away a few times."""
        for contract, method, error in (
            ("log", "read", StoreUnavailableError("away")),
            ("results", "publish", RecoveringError("restarted")),
            ("log", "read", RecoveringError("restarted")),
        ):
            with self.store.failing(contract, method, error) as again:
                self.loop.wake()
                assert again.wait(WAIT_S)


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[Operation]:
    """Return the operations that engines apply from now on."""
    operations: list[Operation] = []
    apply = Engine.apply

    def noted(engine: Engine, operation: Operation) -> object:
        operations.append(operation)
        return apply(engine, operation)

    monkeypatch.setattr(Engine, "apply", noted)
    return operations


def test_every_operation_is_applied_once_in_the_order_of_the_log(monkeypatch, applied):
    """Whoever appends it and whoever folds it, as the log has it: what is at hand is no other operation."""
    quicken(monkeypatch)
    monkeypatch.setattr(limits, "PUBLISH_AFTER_S", 0.005)
    clock = ManualClock(START_US)
    store = FaultyStore(clock)
    with folding(store) as one:
        assert one.loop.at_hand is not None
        crowd = Crowd(store, one)
        jobs: list[Callable[[], None]] = [
            lambda: crowd.lone(range(EACH)),
            lambda: crowd.lone(range(1_000, 1_000 + EACH)),
            lambda: crowd.bulk(range(2_000, 2_000 + 5 * EACH)),
            lambda: crowd.elsewhere(range(3_000, 3_000 + EACH)),
            crowd.interfere,
        ]
        with ThreadPoolExecutor(len(jobs)) as threads:
            for ended in [threads.submit(job) for job in jobs]:
                ended.result(WAIT_S)
        fresh = itertools.count(9_000)
        while not one.loop._fold.turns_here:  # the threads may have met a busy loop each time
            value = next(fresh)
            crowd.lone(range(value, value + 1))
        one.wait(store.plain.log.head())
        shown = [one.answer(query_id) for query_id in crowd.queries]
        taken = one.loop.at_hand.statistics().taken
        one.settle(crowd.world)
        one.loop.check()
        one.loop.at_hand.check()
    assert taken > 0, "the case is the one it claims to be"
    stored = {operation.seq: operation for operation in crowd.stored}
    by_seq = {operation.seq: operation for operation in applied}
    assert list(range(1, len(applied) + 1)) == [operation.seq for operation in applied]
    assert stored == {seq: by_seq[seq] for seq in stored}
    all_kept, last_kept = (crowd.values(name) for name in ("s", "few"))
    assert [sorted(all_kept), sorted(last_kept[-KEPT_ROWS:])] == shown
