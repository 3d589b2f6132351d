"""Archive holds in the fold: the log waits for them, answers do not, and a restart forgets none."""

from typing import Any

import pytest

from psoup.app.backend.at_hand import AtHand
from psoup.app.fold.trimming import HOLDS_EVERY_S, SWEEP_EVERY_S
from psoup.app.fold.turns import Fold
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.invocation.position.answer import Request
from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.query.bind.binder import bind
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.app.faults import FaultyStore
from tests.app.fold.folding import KEPT_US, numbers, schema
from tests.app.support import START_US
from tests.storage.samples import staged
from tests.world import World

STREAM = StreamId(1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


class Archived:
    """A stream that forgets after KEPT_US, folded a step at a time by engines that come and go."""

    def __init__(self, store: FaultyStore, clock: ManualClock) -> None:
        self.store, self.clock, self.elapsed_s = store, clock, 0.0
        self.world = World(store.plain, clock)
        self.world.declare(schema("s"))
        self.query_id = self.world.register("SELECT a FROM s WHERE a >= 0")
        self.start()

    def start(self) -> None:
        self.fold = Fold(
            self.store,
            at_hand=AtHand(),
            answers=True,
            on_applied=lambda _: None,
            bind=bind,
            elapsed_s=lambda: self.elapsed_s,
        )
        self.fold.restore()

    def run(self) -> None:
        """Let time pass for holds to be looked at; fold, publish and trim all there is."""
        self.elapsed_s += HOLDS_EVERY_S
        while self.fold.turn():
            self.fold.check()
        self.fold.publish()
        self.fold.turn()
        self.fold.check()

    def append(self, value: int) -> Seq:
        """Append a segment of tuples, so that it can be dropped; one of them is shown."""
        values = (value, *[-1] * (SEGMENT_ROWS - 1))
        seq = self.world.append("s", numbers(*values), fold=False).seq
        self.run()
        return seq

    def forget(self) -> None:
        """Let retention drop whatever there is, and the pages of former answers end."""
        for passed_us in (2 * KEPT_US, limits.RETIRED_US, 1):
            self.clock.advance(passed_us)
            self.world.tick(fold=False)
            self.run()

    @property
    def kept(self) -> list[int]:
        """The batches in the log."""
        return list(self.store.plain.log.held_batches(Seq(10_000)))

    def values(self) -> list[Any]:
        """What the query shows."""
        shown: Any = type("Shown", (), {"results": self.fold.results})()
        world = World(self.store.plain)
        world.store, world.engine = shown, self.fold._engine
        return world.page(self.query_id, Request(1_000)).columns[0][1].to_list()


@pytest.fixture
def archived(clock) -> Archived:
    return Archived(FaultyStore(clock), clock)


def test_hold_keeps_batches_that_retention_has_dropped(archived):
    """The answers are what they would be without it; moved on, it lets go what is archived, and no more."""
    log = archived.store.plain.log
    log.hold(STREAM, Seq(2))
    first, second = archived.append(1), archived.append(2)
    archived.forget()
    assert [] == archived.values()
    third = archived.append(3)
    assert ([3], [first, second, third]) == (archived.values(), archived.kept)
    log.hold(STREAM, first)
    archived.run()
    assert [second, third] == archived.kept
    archived.forget()
    log.unhold(STREAM)
    archived.run()
    assert [] == archived.kept


def test_hold_is_kept_over_a_restart(archived):
    """The next engine finds what is gone and held, and lets it go when the hold has moved."""
    log = archived.store.plain.log
    log.hold(STREAM, Seq(0))
    first, second = archived.append(1), archived.append(2)
    archived.forget()
    for _ in range(2):
        archived.start()
        archived.run()
        assert [first, second] == archived.kept
    log.hold(STREAM, first)
    archived.start()
    archived.run()
    assert [second] == archived.kept
    log.hold(STREAM, second)
    archived.run()
    assert [] == archived.kept


def test_dropped_stream_loses_its_hold_and_its_batches(archived):
    """Nobody can archive it any more."""
    archived.store.plain.log.hold(STREAM, Seq(0))
    archived.append(1)
    archived.forget()
    assert 1 == len(archived.kept)
    archived.world.drop("s", [archived.query_id], fold=False)
    archived.run()
    archived.run()
    assert [] == archived.kept


def test_hold_costs_no_call_per_turn(archived):
    """Holds are looked at once in HOLDS_EVERY_S while they keep something, and not at all otherwise."""
    asked: list[float] = []
    archived.store.log.before["holds"] = lambda: asked.append(archived.elapsed_s)
    archived.append(1)
    archived.forget()
    assert [] == asked
    archived.store.plain.log.hold(STREAM, archived.fold.applied)
    archived.append(2)
    archived.forget()
    del asked[:]
    for _ in range(10):
        archived.fold.turn()
    assert len(asked) <= 1
    archived.run()
    archived.run()
    assert len(asked) == len(set(asked)) >= 2


def test_expired_parts_go_although_nobody_stages_any_more(archived, monkeypatch):
    """An idle fold lets the log sweep now and then."""
    log = archived.store.plain.log
    log.stage(staged(1, 1, "s"))
    archived.clock.advance(limits.STAGE_LIFE_S * 1_000_000)
    archived.run()
    assert log.statistics().staged_bytes
    archived.elapsed_s += SWEEP_EVERY_S
    archived.run()
    assert 0 == log.statistics().staged_bytes
