"""Work in the event loop: only what a thread has just done, about the same state, quickly, and no longer than then."""

import asyncio
import threading
import time

import pytest

from psoup.app.admission import repeated_work
from psoup.app.admission.repeated_work import RepeatedWork, Same
from psoup.app.admission.work_pool import WorkPool
from psoup.engine.checkpoint import checkpoint
from psoup.engine.errors import NotFoundError
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio
SAME = Same("key", 1)


class Work:
    """Passes so many checkpoints; notes the threads that it was begun and ended in."""

    def __init__(self, checkpoints: int = 1) -> None:
        self.checkpoints = checkpoints
        self.begun: list[threading.Thread] = []
        self.ended: list[threading.Thread] = []

    def __call__(self) -> int:
        self.begun.append(threading.current_thread())
        for _ in range(self.checkpoints):
            checkpoint()
        self.ended.append(threading.current_thread())
        return self.checkpoints


@pytest.fixture
def patient(monkeypatch):
    """Let work that is short by itself count as short on a machine that has much to do."""
    monkeypatch.setattr(repeated_work, "SHORT_S", WAIT_S)


@pytest.fixture
def repeated():
    """Yield what repeats work, over a pool of one thread."""
    pool = WorkPool("test", threads=1)
    one = RepeatedWork(pool, known_max=2)
    yield one
    one.check()
    pool.close()


async def in_loop(repeated: RepeatedWork, work: Work, same: Same | None) -> bool:
    """Return whether the event loop itself ended the work."""
    await repeated.run(work, same=same, deadline_s=WAIT_S)
    return work.ended[-1] is threading.current_thread()


async def test_work_is_repeated_where_its_state_is_the_same(repeated, patient):
    """A thread does it first; then the event loop, until the state is another one."""
    work = Work()
    assert [False, True, True] == [await in_loop(repeated, work, SAME) for _ in range(3)]
    later = Same(SAME.key, 2)
    assert [False, True] == [await in_loop(repeated, work, later) for _ in range(2)]
    assert (1, 3, 0) == (
        repeated.statistics().known,
        repeated.statistics().at_once,
        repeated.statistics().given_up,
    )


async def test_other_work_is_not_repeated(repeated, patient):
    """What nothing is known of, and what nobody calls the same."""
    assert not await in_loop(repeated, Work(), SAME)
    assert not await in_loop(repeated, Work(), Same("other", 1))
    assert [False, False] == [await in_loop(repeated, Work(), None) for _ in range(2)]


async def test_long_work_is_never_repeated(repeated):
    """A thread does it each time, however often it is asked for."""

    class Long(Work):
        def __call__(self) -> int:
            time.sleep(repeated_work.SHORT_S * 2)
            return super().__call__()

    work = Long()
    assert [False] * 3 == [await in_loop(repeated, work, SAME) for _ in range(3)]


async def test_work_that_has_more_to_do_than_before_goes_to_a_thread(repeated, patient):
    """It ends at the first checkpoint beyond those it passed, before the piece behind that."""
    work = Work(checkpoints=2)
    assert not await in_loop(repeated, work, SAME)
    assert await in_loop(repeated, work, SAME)
    work.checkpoints = 3  # as where what it remembered was forgotten
    begun, ended = len(work.begun), len(work.ended)
    assert not await in_loop(repeated, work, SAME)
    here = threading.current_thread()
    assert here is work.begun[begun]
    assert here not in work.ended[ended:]
    assert 1 == repeated.statistics().given_up


async def test_errors_of_repeated_work_are_the_callers(repeated, patient):
    """In the event loop as in a thread."""
    work = Work()
    await in_loop(repeated, work, SAME)

    def refuse() -> None:
        raise NotFoundError("It is gone.")

    with pytest.raises(NotFoundError):
        await repeated.run(refuse, same=SAME, deadline_s=WAIT_S)


async def test_the_latest_work_is_known(repeated, patient):
    """Of more than can be known, what was asked for longest ago is forgotten."""
    for key in "abc":
        await in_loop(repeated, Work(), Same(key, 1))
    assert 2 == repeated.statistics().known
    assert await in_loop(repeated, Work(), Same("c", 1))
    assert not await in_loop(repeated, Work(), Same("a", 1))


async def test_the_event_loop_goes_on_while_a_thread_works(repeated):
    """What is not known never holds others up."""
    released = threading.Event()
    waiting = asyncio.ensure_future(
        repeated.run(lambda: released.wait(WAIT_S), same=SAME, deadline_s=WAIT_S)
    )
    await asyncio.sleep(0)
    released.set()
    assert await waiting
