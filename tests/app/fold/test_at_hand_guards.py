"""What a thread that has appended may not fold: beside a loop that recovers, is fenced, has failed or has ended."""

import threading
from dataclasses import replace

from psoup.app.backend.contract import Phase
from psoup.app.fold import loop as fold_loop
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.engine import Engine
from psoup.engine.store.errors import FencedError, StoreUnavailableError
from tests.app.faults import FaultyStore
from tests.app.fold.folding import Folding, folding, numbers, quicken, schema
from tests.app.support import START_US
from tests.patience import WAIT_S, wait_until
from tests.world import World


def test_nothing_is_folded_before_the_state_is_read_back(monkeypatch):
    """Rows that are handed over before a start, and while it reads the log, are there once, in their order."""
    quicken(monkeypatch)
    store = FaultyStore(ManualClock(START_US))
    world = World(store.plain)
    world.declare(schema("s", None), fold=False)
    query_id = world.register("SELECT a FROM s", fold=False)
    one = Folding(store)
    world.append("s", numbers(1), fold=False)
    one.hand_over(world)
    assert not one.loop._fold.turn_here()
    with store.waiting("log", "read") as reading:
        one.loop.start()
        assert reading.wait(WAIT_S)
        world.append("s", numbers(2), fold=False)
        one.hand_over(world)
        one.loop.wake(at_hand=True, lone=True)
        assert (Phase.RECOVERING, 0) == (one.loop.phase, one.loop.figures().applied)
    one.reach(4)
    assert [1, 2] == one.answer(query_id)
    one.settle(world)
    one.loop.stop()
    one.loop.check()


def test_a_fold_that_another_engine_has_taken_over_from_is_closed_at_once(one):
    """The lease's thread closes it, before the loop finds out; nothing opens it again."""
    one.until_it_rests()
    loop, resting = one.loop, one.loop._wake
    loop._wake = threading.Event()  # another than the loop waits for
    loop._end_fenced(FencedError("another"))
    one.append(1)
    assert not loop._fold.turn_here()
    loop._open()
    assert not loop._fold.turn_here()
    assert [] == one.shown()
    resting.set()


def test_a_fold_that_has_ended_takes_no_rows(one):
    """They are in the log, for the next start."""
    one.loop.stop()
    one.append(1)
    one.loop.wake(at_hand=True, lone=True)
    assert [] == one.shown()


def test_what_is_left_is_published_when_nobody_folds(one):
    """At the end of the loop as well, a thread that is at a turn is waited for."""
    held = list[bool]()
    one.folding.store.results.before["publish"] = lambda: held.append(
        one.loop._fold.turning.locked()
    )
    one.append(1)
    one.loop.wake(at_hand=True, lone=True)
    one.loop.stop()
    assert held
    assert all(held)


def test_nothing_is_folded_behind_a_turn_that_failed(one, monkeypatch):
    """Also before the loop has found out: what was half done is not known."""
    one.until_it_rests()
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "apply", lambda *_: 1 / 0)
        one.append(1)
        assert not one.loop._fold.turn_here()
    assert not one.loop._fold.turn_here()
    assert [] == one.shown()


def test_what_was_confirmed_while_the_store_came_back_is_read_from_it(one, monkeypatch):
    """A store that died meanwhile may have lost it, and have given its seq to something else since."""
    one.append(1, handed=False)
    one.folding.wait(3)
    one.until_it_rests()
    monkeypatch.setattr(fold_loop, "RETRY_S_FIRST", 0.01)
    store, fold = one.folding.store, one.loop._fold
    lost = one.world.history[-1]

    def confirm() -> None:
        """Hand over a row that the log has lost: another one has its seq there."""
        if one.world.history[-1] is lost:
            one.append(2, handed=False)
            kept = one.world.history[-1]
            one.world.history[-1] = replace(kept, content=lost.content)
            one.folding.hand_over(one.world)

    store.token.before["reopen"] = confirm
    with store.failing("log", "read", StoreUnavailableError("away")) as again:
        one.loop.wake()
        assert again.wait(WAIT_S)
    wait_until(lambda: fold.is_open, "the store is back")
    one.folding.wait(4)
    assert [1, 2] == one.shown()


def test_the_loop_is_told_of_what_is_not_at_hand(one):
    """By whoever appends, and by itself where it has read as much as it reads at once."""
    one.until_it_rests()
    with one.loop._fold.turning:
        assert one.loop._fold.has_all
        one.loop.wake()
        assert not one.loop._fold.has_all


def test_a_log_that_holds_more_than_a_turn_is_read_on_at_once(one, monkeypatch):
    """Not after a rest."""
    monkeypatch.setattr(limits, "FOLD_OPERATIONS_MAX", 1)
    for value in range(3):
        one.append(value, handed=False)
    one.loop.wake()
    one.folding.reach(5)
    assert [0, 1, 2] == one.shown()


def test_as_much_is_folded_at_once_as_takes_little(one):
    """The rest is the loop's, which is told."""
    one.until_it_rests()
    most = limits.FOLD_AT_ONCE_OPERATIONS_MAX
    for value in range(most + 1):
        one.append(value)
    assert not one.loop._fold.turn_here()
    assert list(range(most)) == one.shown()
    one.loop.wake(at_hand=True, lone=True)
    assert list(range(most + 1)) == one.shown()


def test_only_who_is_alone_folds(one, monkeypatch):
    """A thread that has another group to carry tells the loop."""
    one.until_it_rests()
    threads = list[threading.Thread]()
    apply = Engine.apply

    def noted(engine, operation):
        threads.append(threading.current_thread())
        return apply(engine, operation)

    monkeypatch.setattr(Engine, "apply", noted)
    one.append(1)
    one.loop.wake(at_hand=True)
    one.folding.reach(3)
    one.until_it_rests()
    one.append(2)
    one.loop.wake(at_hand=True, lone=True)
    assert [one.loop._thread, threading.current_thread()] == threads


def test_a_thread_waits_for_nobody_to_fold(one):
    """Whoever holds the fold is told instead."""
    one.until_it_rests()
    with one.loop._fold.turning:
        one.append(1)
        one.loop.wake(at_hand=True, lone=True)
        assert [] == one.shown()
    one.folding.reach(3)
    assert [1] == one.shown()


def test_rows_that_were_folded_and_not_published_are_folded_again_at_the_next_start(one):
    """From the log, to the same answer: an engine that dies behind them has told nobody more than the log has."""
    one.until_it_rests()
    for value in (1, 2):
        one.append(value)
        one.loop.wake(at_hand=True, lone=True)
    shown = one.loop.results.checkpoint()
    with one.folding.store.failing("results", "publish", StoreUnavailableError("away")):
        one.loop.stop()
    assert one.loop.figures().published < one.loop.figures().applied
    with folding(one.folding.store) as next_one:
        assert [1, 2] == next_one.answer(one.query_id)
        assert shown == next_one.loop.results.checkpoint()
