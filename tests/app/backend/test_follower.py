"""Following an engine from another process: positions, histories, a store that comes and goes, figures."""

import asyncio
import dataclasses
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.contract import Phase
from psoup.app.backend.follower import Follower
from psoup.app.figures.engine import NO_FIGURES, Figures, write_figures
from psoup.engine import limits
from psoup.engine.engine import CachedTuples
from psoup.engine.errors import EngineError
from psoup.engine.results.contract import Gen, Position
from psoup.engine.store.errors import RecoveringError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio

FIRST, SECOND = Gen(1_000), Gen(2_000)


def at(gen: Gen, applied: int, *, head: int | None = None, alive: bool = True) -> Position:
    """Return a position; by default nothing waits."""
    return Position(gen, Seq(applied), Seq(applied if head is None else head), 0, alive)


class Told:
    """A store that stands where a test says, or fails as it says."""

    def __init__(self) -> None:
        self.now: Position | EngineError = RecoveringError("Nobody has begun.")
        self.figures: bytes | None = None
        self.results: Any = None
        self.log: Any = None
        self.looks = 0
        self._moved = threading.Condition()

    def tell(self, now: Position | EngineError) -> None:
        """Stand there from now on; return once it was looked at."""
        with self._moved:
            self.now = now
            self._moved.notify_all()
            looks = self.looks
            assert self._moved.wait_for(lambda: self.looks >= looks + 2, WAIT_S), "it is looked at"

    def position(self) -> Position:
        with self._moved:
            self.looks += 1
            self._moved.notify_all()
            if isinstance(self.now, EngineError):
                raise self.now
            return self.now

    def told(self) -> bytes | None:
        return self.figures

    def wait(self, timeout_s: float) -> None:
        with self._moved:
            self._moved.wait(timeout_s)


@dataclasses.dataclass
class Following:
    """A follower that runs, and what it follows."""

    store: Told
    applied: AppliedPosition
    follower: Follower
    histories: list[str]
    failed: threading.Event

    async def tell(self, now: Position | EngineError) -> None:
        await asyncio.to_thread(self.store.tell, now)

    def phase(self) -> Phase:
        return self.follower.phase


@pytest.fixture
async def following(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Following]:
    """Yield a follower that runs over a store in which nobody has begun."""
    monkeypatch.setattr(limits, "FOLLOW_S", 0.002)
    monkeypatch.setattr(limits, "FIGURES_EVERY_S", 0.0)
    store: Any = Told()
    applied = AppliedPosition(asyncio.get_running_loop())
    histories: list[str] = []
    failed = threading.Event()
    follower = Follower(
        store=store,
        tuples=CachedTuples(store.results, store.log, make_lock=threading.Lock),
        applied=applied,
        on_history=lambda: histories.append("begun"),
        on_failed=failed.set,
    )
    follower.start()
    one = Following(store, applied, follower, histories, failed)
    assert await asyncio.to_thread(follower.wait_recovered, WAIT_S)
    yield one
    await asyncio.to_thread(follower.stop)
    assert Phase.STOPPED is follower.phase
    applied.check()


async def test_follower_is_live_once_an_engine_has_begun(following: Following):
    """Before it is recovering; without an answer, down; the position moves as the store's does."""
    assert Phase.RECOVERING is following.phase()
    await following.tell(StoreUnavailableError("Away."))
    assert Phase.STORE_DOWN is following.phase()
    await following.tell(at(FIRST, 3))
    assert (Phase.LIVE, 3, 1) == (
        following.phase(),
        following.applied.seq,
        len(following.histories),
    )
    waiting = asyncio.create_task(following.applied.wait(Seq(5), timeout_s=WAIT_S))
    await following.tell(at(FIRST, 4, head=5))
    assert not waiting.done()
    await following.tell(at(FIRST, 5))
    assert await waiting
    await following.tell(StoreUnavailableError("Away."))
    assert (Phase.STORE_DOWN, 5) == (following.phase(), following.applied.seq)
    await following.tell(at(FIRST, 6))
    assert (Phase.LIVE, 6, 1) == (
        following.phase(),
        following.applied.seq,
        len(following.histories),
    )
    following.follower.check()
    found = following.follower.statistics()
    assert (FIRST, 6, True, 0) == (found.gen, found.applied, found.engine_alive, found.histories)


async def test_follower_answers_from_nothing_it_has_passed(following: Following):
    """A store that stands behind what was told is not live, until it has come so far again."""
    await following.tell(at(FIRST, 7))
    await following.tell(at(FIRST, 6, head=7))
    assert (Phase.RECOVERING, 7) == (following.phase(), following.applied.seq)
    await following.tell(at(FIRST, 7))
    assert Phase.LIVE is following.phase()


async def test_another_history_confirms_nothing_of_the_one_before(following: Following):
    """Who waits for a number of the lost history is told no, though the number is applied in the new one."""
    await following.tell(at(FIRST, 7))
    since = following.applied.mark()
    waiting = asyncio.create_task(following.applied.wait(Seq(9), timeout_s=WAIT_S, since=since))
    await asyncio.sleep(0)
    await following.tell(at(SECOND, 9))
    assert not await waiting
    assert (9, 2) == (following.applied.seq, len(following.histories))
    assert not following.applied.shows(Seq(9), since=since)
    assert not await following.applied.wait(Seq(9), timeout_s=WAIT_S, since=since)
    assert await following.applied.wait(Seq(9), timeout_s=WAIT_S)
    assert 1 == following.follower.statistics().histories


async def test_another_history_may_begin_before_the_position(following: Following):
    """It is followed from where it stands: what it has lost is not shown."""
    await following.tell(at(FIRST, 7))
    since = following.applied.mark()
    await following.tell(at(SECOND, 4))
    assert (Phase.LIVE, 4) == (following.phase(), following.applied.seq)
    assert not following.applied.shows(Seq(4), since=since)
    following.follower.check()


async def test_number_before_the_mark_is_of_a_history_not_seen_yet(following: Following):
    """What was appended after a look lies behind it, or in another history: then nothing is known of it."""
    await following.tell(at(FIRST, 7))
    since = following.applied.mark()
    assert not await following.applied.wait(Seq(5), timeout_s=WAIT_S, since=since)
    assert await following.applied.wait(Seq(5), timeout_s=WAIT_S, since=since.of_any_age())


async def test_nobody_waits_long_while_there_is_no_engine(following: Following, monkeypatch):
    """What would be waited for whole deadlines is given up soon; with an engine it is waited for."""
    monkeypatch.setattr("psoup.app.backend.applied.UNMOVED_WAIT_S", 0.01)
    await following.tell(at(FIRST, 1, head=2, alive=False))
    assert Phase.LIVE is following.phase()
    assert not following.follower.statistics().engine_alive
    assert not await following.applied.wait(Seq(2), timeout_s=10 * WAIT_S)
    await following.tell(at(FIRST, 1, head=2))
    waiting = asyncio.create_task(following.applied.wait(Seq(2), timeout_s=WAIT_S))
    await following.tell(at(FIRST, 2))
    assert await waiting


async def test_figures_are_the_engines_at_the_position_of_the_store(following: Following):
    """What it told last stays while it is away; what nobody can read is nothing."""
    assert NO_FIGURES == following.follower.figures()
    told = Figures(applied=3, published=2, operations=9, tuples=70)
    following.store.figures = write_figures(told)
    await following.tell(at(FIRST, 4))
    expected = dataclasses.replace(told, applied=4, published=4)
    assert expected == following.follower.figures()
    await following.tell(StoreUnavailableError("Away."))
    assert expected == following.follower.figures()
    following.store.figures = b'{"operations": "many"}'
    await following.tell(at(FIRST, 5))
    assert dataclasses.replace(NO_FIGURES, applied=5, published=5) == following.follower.figures()


async def test_follower_says_so_when_it_cannot_go_on(following: Following):
    """What no store raises ends the thread, is not taken for a store that is away, and is told to who can help."""
    await following.tell(StoreUnavailableError("Away."))
    assert not following.failed.is_set()
    following.store.now = None  # type: ignore[assignment]
    assert await asyncio.to_thread(following.failed.wait, WAIT_S)
    assert Phase.FAILED is following.phase()
    following.follower._phase = Phase.STOPPED
