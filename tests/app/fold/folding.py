"""What tests of the fold loop share: a loop without the web around it, and a short run of every verb."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from psoup.app.backend.contract import Phase
from psoup.app.fold import due, loop as fold_loop
from psoup.app.fold.loop import FoldLoop
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invoke import invoke
from psoup.engine.limits import SECOND_US
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.patience import WAIT_S
from tests.world import World

KEPT_US = 10 * SECOND_US


def schema(name: str, kept_us: int | None = KEPT_US) -> StreamSchema:
    """Return a stream of one column that keeps its tuples for `kept_us`."""
    columns = (ColumnSchema("a", ColumnType.INT64),)
    return StreamSchema(name, columns, None, ClockKind.SERVER, Retention(time_us=kept_us))


def numbers(*values: int) -> list[dict[str, Any]]:
    """Return one row for each value."""
    return [{"a": value} for value in values]


def quicken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loops look, publish and try again without the waits that spare a real store."""
    monkeypatch.setattr(limits, "PUBLISH_AFTER_S", 0.0)
    monkeypatch.setattr(fold_loop, "IDLE_S", 0.002)
    monkeypatch.setattr(due, "DUE_EVERY_S", 0.002)
    monkeypatch.setattr(due, "OVERDUE_FOR_S", 0.0)
    monkeypatch.setattr(fold_loop, "RETRY_S_FIRST", 0.001)


class Folding:
    """A loop that runs, and how far it has come."""

    def __init__(self, store: Any, *, answers: bool = True, **more: Any) -> None:
        self.store = store
        self._answers = answers
        self._moved = threading.Condition()
        self._applied = Seq(0)
        self.loop = FoldLoop(store=store, answers=answers, on_applied=self._advance, **more)

    def wait(self, seq: int) -> None:
        """Wake the loop and return once `seq` is applied."""
        self.loop.wake()
        self.reach(seq)

    def hand_over(self, world: World, *, life: int | None = None) -> Seq:
        """Hand over what the world has appended last, as who appends does; return its seq. The loop is not told.

        `life` is that in which it was begun, None = the present one.
        """
        hand, one = self.loop.at_hand, world.history[-1]
        assert hand is not None
        stored = Appended(one.seq, one.arrival_us, first_tuple_id=one.first_tuple_id)
        hand.put([one.content], [stored], life=hand.life if life is None else life)
        return one.seq

    def reach(self, seq: int) -> None:
        """Return once `seq` is applied; nobody is told."""
        with self._moved:
            assert self._moved.wait_for(lambda: self._applied >= seq, WAIT_S), "it is applied"

    def settle(self, world: World) -> None:
        """Return at the end of the turn that is going on, and be live."""
        # The second tick is read by a later turn than the one that published the first.
        for _ in range(2):
            self.wait(world.tick(fold=False).seq)
        assert Phase.LIVE is self.loop.phase

    def answer(self, query_id: QueryId) -> list[int]:
        """Return the values a query of one column shows, ascending: from memory, or as it was published."""
        page = invoke(
            self.loop.results if self._answers else self.store.results,
            self.loop.source,
            query_id=query_id,
            request=Request(1_000),
            cache=InvocationCache(BoundQueries()),
        )
        return sorted(v for v in page.columns[0][1].to_list() if isinstance(v, int))

    def _advance(self, seq: Seq) -> None:
        with self._moved:
            self._applied = max(self._applied, seq)
            self._moved.notify_all()


@contextlib.contextmanager
def folding(store: Any, **more: Any) -> Iterator[Folding]:
    """Yield a loop that has recovered; it ends with the block."""
    one = Folding(store, **more)
    one.loop.start()
    try:
        assert one.loop.wait_recovered(WAIT_S)
        yield one
    finally:
        one.loop.stop()


class ShortRun:
    """Every kind of operation, a tick of the loop's own and a restart, over a store that may fail.

    With `at_hand` what is appended is handed over, and a lone row is folded where that is done.
    The clock is that of a memory store; without one no time passes, and there is no tick.
    """

    def __init__(
        self,
        store: Any,
        plain: Any,
        clock: ManualClock | None = None,
        *,
        answers: bool = True,
        at_hand: bool = False,
    ) -> None:
        self.store, self.plain, self.clock, self.answers = store, plain, clock, answers
        self.at_hand, self.taken = at_hand, 0
        """Operations folded out of what was at hand, before the restart."""
        self.world = World(plain, clock)
        self.kept_us = None if clock is None else KEPT_US
        self.expected = [1, 2, 3, 4] if clock is None else [3, 4]
        """What the query shows in the end."""

    def before(self) -> None:
        """Declare, register, append, drop; and let time pass until a tuple has to go."""
        world = self.world
        with folding(self.store, answers=self.answers) as one:
            for name in ("s", "gone"):
                world.declare(schema(name, self.kept_us), fold=False)
                self._fold(one)
                world.append(name, numbers(0, 1, 2), fold=False)
                self._fold(one)
            self.query_id = world.register("SELECT a FROM s WHERE a > 0", fold=False)
            self._fold(one)
            world.drop("gone", fold=False)
            self._fold(one)
            if self.clock is not None:
                self.clock.advance(2 * KEPT_US)
                one.wait(self.plain.log.head() + 1)  # the tick that forgets what `s` holds
            world.append("s", numbers(0, 3), fold=False)
            self._fold(one)
            hand = one.loop.at_hand
            self.taken = 0 if hand is None else hand.statistics().taken

    @contextlib.contextmanager
    def after(self) -> Iterator[Folding]:
        """Start again and append; the loop goes on in the block."""
        with folding(self.store, answers=self.answers) as one:
            self.world.append("s", numbers(4), fold=False)
            self._fold(one)
            yield one

    def outcome(self, one: Folding, fired: threading.Event) -> list[int]:
        """Return what the query shows once the fault has come and gone."""
        assert fired.wait(WAIT_S), "the call that was to fail has come"
        one.settle(self.world)
        return one.answer(self.query_id)

    def check(self) -> None:
        """Assert that the store is sound and the log keeps exactly the batches that are held."""
        log, results = self.plain.log, self.plain.results
        log.check()
        results.check()
        held = [batch.seq for batch in results.checkpoint().batches]
        assert held == list(log.held_batches(log.head()))

    def _fold(self, one: Folding) -> None:
        """Return once what was appended last is applied: out of what is at hand, or from the log."""
        if self.at_hand:
            seq = one.hand_over(self.world)
            one.loop.wake(at_hand=True, lone=True)
            one.reach(seq)
        else:
            one.wait(self.world.history[-1].seq)
