"""Threads for requests: who waits gives up at the deadline, and what nobody waits for ends and leaves its thread."""

import asyncio
import functools
import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from psoup.app.admission import work_pool
from psoup.app.admission.work_pool import RETRY_AFTER_S, WATCHED_S, WorkPool
from psoup.app.errors import FramingError
from psoup.engine.checkpoint import check_hold, checkpoint
from psoup.engine.errors import NotFoundError, OverloadedError
from tests.patience import WAIT_S, wait_until

SOON_S = 0.05

pytestmark = pytest.mark.anyio


class Endless:
    """Work that goes on from checkpoint to checkpoint until it is ended."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        try:
            while not self.ended.wait(0.001):
                checkpoint()
        finally:
            self.ended.set()


@pytest.fixture
def pool():
    """Yield a pool of one thread."""
    one = WorkPool("test", threads=1, advice="Ask for less.")
    yield one
    one.close()
    one.check()


async def _is_idle(pool: WorkPool) -> None:
    """Return once everything has ended, and is counted."""
    await asyncio.to_thread(wait_until, lambda: not pool.statistics().running, "all has ended")


async def test_waiting_ends_at_the_deadline_though_no_thread_is_free(pool: WorkPool):
    """A turn that does not come is not waited for: the refusal needs no thread."""
    released, held = threading.Event(), threading.Event()

    def hold() -> bool:
        held.set()
        return released.wait(WAIT_S)

    holding = asyncio.ensure_future(pool.run(hold, deadline_s=WAIT_S))
    assert await asyncio.to_thread(held.wait, WAIT_S)
    ran: list[int] = []
    with pytest.raises(OverloadedError, match="not started") as refused:
        await pool.run(lambda: ran.append(1), deadline_s=SOON_S)
    assert "deadline" == refused.value.extras["reason"]
    assert not holding.done()
    released.set()
    assert await holding
    await _is_idle(pool)
    assert [] == ran
    assert 1 == pool.statistics().refused


async def test_work_past_its_deadline_ends_at_a_checkpoint(pool: WorkPool):
    """Who waits is told how to ask for less, and the thread is free for others."""
    endless = Endless()
    with pytest.raises(OverloadedError, match="Ask for less") as refused:
        await pool.run(endless, deadline_s=SOON_S)
    assert refused.value.extras["retry_after_s"] == RETRY_AFTER_S
    assert await asyncio.to_thread(endless.ended.wait, WAIT_S)
    assert 5 == await pool.run(lambda: 5, deadline_s=WAIT_S)
    assert (0, 2, 1, 0) == _counters(pool)


async def test_work_whose_client_has_gone_ends_at_a_checkpoint(pool: WorkPool):
    """Nobody reads the answer: the thread is free long before the deadline."""
    endless, left = Endless(), asyncio.Event()

    async def gone() -> None:
        await left.wait()

    running = asyncio.ensure_future(pool.run(endless, deadline_s=WAIT_S, gone=gone))
    assert await asyncio.to_thread(endless.begun.wait, WAIT_S)
    left.set()
    with pytest.raises(FramingError):
        await running
    assert await asyncio.to_thread(endless.ended.wait, WAIT_S)
    await _is_idle(pool)
    assert (0, 1, 0, 1) == _counters(pool)


async def test_work_whose_waiter_is_cancelled_ends_at_a_checkpoint(pool: WorkPool):
    """So it is where the server ends the request."""
    endless = Endless()
    running = asyncio.ensure_future(pool.run(endless, deadline_s=WAIT_S))
    assert await asyncio.to_thread(endless.begun.wait, WAIT_S)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(endless.ended.wait, WAIT_S)
    await _is_idle(pool)
    assert (0, 1, 0, 1) == _counters(pool)


async def test_work_that_nobody_waits_for_is_let_go_of_before_its_turn(pool: WorkPool):
    """What it holds, a body maybe, is free although the one thread is busy with another piece."""
    released = threading.Event()
    holding = asyncio.ensure_future(
        pool.run(functools.partial(released.wait, WAIT_S), deadline_s=WAIT_S)
    )
    work = Endless()
    held = weakref.ref(work)
    waiting = asyncio.ensure_future(pool.run(work, deadline_s=WAIT_S))
    await asyncio.sleep(0)
    del work
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    del waiting
    await asyncio.sleep(0)  # the event loop hears of it
    gc.collect()
    assert held() is None
    released.set()
    assert await holding


async def test_clients_are_watched_only_where_work_takes_long(pool: WorkPool):
    """Quick work costs no watch; one that is done while it is watched is answered, and its own errors are told."""
    watches: list[int] = []

    async def gone() -> None:
        watches.append(1)
        await asyncio.Event().wait()

    assert 5 == await pool.run(lambda: 5, deadline_s=WAIT_S, gone=gone)
    assert [] == watches
    begun = threading.Event()

    def slow() -> int:
        begun.wait(4 * WATCHED_S)
        return 6

    assert 6 == await pool.run(slow, deadline_s=WAIT_S, gone=gone)
    assert [1] == watches

    def failing() -> int:
        raise NotFoundError("There is none.")

    with pytest.raises(NotFoundError):
        await pool.run(failing, deadline_s=WAIT_S, gone=gone)


async def test_work_that_took_little_is_done_in_the_event_loop_as_far_as_it_takes_no_more(
    pool: WorkPool, monkeypatch
):
    """Under its key, and once it is known; at a checkpoint too late, and before it holds, it goes to a thread again.

    Work that held its thread is not begun in the event loop the next time, however little it took.
    """
    here = threading.current_thread()

    async def thread() -> threading.Thread:
        return await pool.run(threading.current_thread, deadline_s=WAIT_S, key="quick")

    monkeypatch.setattr(work_pool, "QUICK_S", WAIT_S)
    assert [False, True] == [await thread() is here for _ in range(2)]
    assert here is not await pool.run(threading.current_thread, deadline_s=WAIT_S, key="other")
    seen: list[bool] = []

    def changed(look: Callable[[], None]) -> None:
        seen.append(threading.current_thread() is here)
        look()

    monkeypatch.setattr(work_pool, "AT_ONCE_S", -1.0)
    for look in (checkpoint, check_hold, check_hold):
        await pool.run(functools.partial(changed, look), deadline_s=WAIT_S, key="quick")
    assert [True, False, True, False, False] == seen
    await thread()
    monkeypatch.setattr(work_pool, "QUICK_S", -1.0)
    assert [True, False] == [await thread() is here for _ in range(2)]
    await _is_idle(pool)
    assert (0, 9, 0, 0) == _counters(pool)


def _counters(pool: WorkPool) -> tuple[int, int, int, int]:
    counted = pool.statistics()
    return counted.running, counted.done, counted.refused, counted.abandoned
