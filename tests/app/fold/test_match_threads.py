"""Threads for matching: as many as were asked for, started when they are needed, ended with the context."""

import os
import threading
from collections.abc import Callable

import pytest

from psoup.app.fold import match_threads as module
from psoup.app.fold.match_threads import match_threads
from psoup.engine import limits
from psoup.engine.limits import CHUNK_ROWS
from tests.app.fold.folding import folding, numbers, schema
from tests.patience import WAIT_S
from tests.world import World


def running() -> list[str]:
    """Return the names of such threads that run."""
    return [one.name for one in threading.enumerate() if one.name.startswith("psoup-settle")]


def test_threads_begin_with_their_first_work_and_end_with_the_context():
    """Three that match are the fold's and two others; none runs before there is work, nor afterwards."""
    met = threading.Barrier(3, timeout=WAIT_S)
    called: list[int] = []

    def work(number: int) -> None:
        called.append(number)
        met.wait()

    with match_threads(3) as threads:
        assert threads is not None
        assert ([], 2) == (running(), threads.count)
        wait = threads.begin(work, 2)
        met.wait()
        wait()
        assert ([0, 1], 2) == (sorted(called), len(running()))
    assert [] == running()


def test_wait_for_threads_withdraws_calls_that_have_not_begun():
    """A call that no thread has taken yet is not made any more; one that was taken is waited for."""
    begun, go_on = threading.Event(), threading.Event()
    called: list[int] = []

    def work(number: int) -> None:
        called.append(number)
        begun.set()
        assert go_on.wait(WAIT_S)

    with match_threads(2) as threads:
        assert threads is not None
        first = threads.begin(work, 1)
        assert begun.wait(WAIT_S)
        threads.begin(work, 1)()
        go_on.set()
        first()
    assert [0] == called


@pytest.mark.parametrize("startable", [0, 1])
def test_threads_that_cannot_be_started_leave_their_calls_to_others(startable, monkeypatch):
    """Of two threads none or one starts: as many calls are made, and no other at a later batch, when both can."""
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def refusing(thread: threading.Thread) -> None:
        if len(started) == startable:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    met = threading.Barrier(3, timeout=WAIT_S)
    called: list[int] = []
    begun = threading.Event()

    def note(number: int) -> None:
        called.append(number)
        begun.set()

    def meet(number: int) -> None:
        del number
        met.wait()

    with match_threads(3) as threads:
        assert threads is not None
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refusing)
            wait = threads.begin(note, 2)
            assert not startable or begun.wait(WAIT_S)
            wait()
        wait = threads.begin(meet, 2)
        met.wait()
        wait()
    assert list(range(startable)) == called


def test_threads_begin_nothing_after_their_end():
    """Whoever asks too late settles all chunks itself."""
    called: list[int] = []
    with match_threads(3) as threads:
        assert threads is not None
    threads.begin(called.append, 2)()
    assert ([], []) == (called, running())


@pytest.mark.parametrize(
    ("asked", "cores", "count"), [(0, 1, None), (0, 2, None), (0, 4, 2), (1, 8, None), (2, 1, 1)]
)
def test_threads_are_as_many_as_asked_for_or_as_cores_allow(asked, cores, count, monkeypatch):
    """0 leaves a core to what else the process does; without one to spare, or with 1, the fold matches alone."""
    monkeypatch.setattr(module, "cores", lambda: cores)
    with match_threads(asked) as threads:
        assert count == (None if threads is None else threads.count)


@pytest.mark.parametrize(
    ("told", "count"),
    [("max 100000", 3), ("200000 100000", 2), ("50000 100000", 1), ("900000 100000", 3), ("?", 3)],
)
def test_cores_are_no_more_than_the_quota_of_a_container_fills(told, count, monkeypatch, tmp_path):
    """Threads beyond the quota would only bring nearer the moment at which the whole process stands still."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert 3 == module.cores(tmp_path), "no quota"
    (tmp_path / "cpu.max").write_text(f"{told}\n", encoding="ascii")
    assert count == module.cores(tmp_path)


def test_fold_loop_shares_chunks_out_among_the_threads_it_is_given(monkeypatch):
    """A batch of two chunks, folded by a loop that began over a store with a query: one call for the other chunk."""
    monkeypatch.setattr(limits, "MATCH_THREADS_PAIRS_MIN", 0)
    world = World()
    world.declare(schema("s"))
    query = world.register("SELECT a FROM s WHERE a > 8000")
    threads = Noted()
    with folding(world.store, match_threads=threads) as fold:
        fold.wait(world.append("s", numbers(*range(2 * CHUNK_ROWS)), fold=False).seq)
        assert (191, [1]) == (len(fold.answer(query)), threads.begun)


class Noted:
    """A thread that gets no core; it notes how many calls are asked for."""

    count = 1

    def __init__(self) -> None:
        """Begin with none."""
        self.begun: list[int] = []

    def begin(self, work: Callable[[int], None], calls: int) -> Callable[[], None]:
        """Note the calls, which are withdrawn."""
        del work
        self.begun.append(calls)
        return lambda: None
