"""Looks at a store that may stand still: one at a time, and nobody waits long for it."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from psoup.app.backend.store_look import Seen, StoreLook
from psoup.engine.errors import OverloadedError
from tests.patience import WAIT_S, wait_until

SOON_S = 0.05


@pytest.fixture
def made() -> Iterator[Callable[..., StoreLook[int]]]:
    """Yield what makes looks that are closed in the end."""
    looks: list[StoreLook[int]] = []

    def make(look: Callable[[], int], *, wait_s: float) -> StoreLook[int]:
        looks.append(StoreLook(look, wait_s=wait_s))
        return looks[-1]

    yield make
    for one in looks:
        one.close()
        one.check()


def test_each_look_is_seen(made):
    """Where the store answers, what is told is the present."""
    numbers = iter((1, 2))
    look = made(lambda: next(numbers), wait_s=WAIT_S)
    assert Seen(1, is_late=False) == look.seen()
    assert Seen(2, is_late=False) == look.seen()
    assert 2 == look.statistics().looks


def test_a_look_that_does_not_end_holds_one_thread_and_nobody(made):
    """Many ask while one look is under way: all are told what was seen before it, and it stays the only one."""
    blocked, held, released = (threading.Event() for _ in range(3))

    def slow() -> int:
        if not blocked.is_set():
            return 1
        held.set()
        assert released.wait(WAIT_S)
        return 2

    look = made(slow, wait_s=SOON_S)
    wait_until(lambda: look.seen() == Seen(1, is_late=False), "a look ends in time")
    before = look.statistics()
    blocked.set()
    with ThreadPoolExecutor(8) as askers:
        found = list(askers.map(lambda _: look.seen(), range(8)))
    assert held.is_set()
    assert {Seen(1, is_late=True)} == set(found)
    assert (before.looks + 1, before.late + 8) == (look.statistics().looks, look.statistics().late)
    released.set()
    wait_until(lambda: look.seen() == Seen(2, is_late=False), "the store goes on")


def test_nothing_was_seen_before_the_first_look_ends(made):
    """Then there is nothing to tell but that it is late."""
    released = threading.Event()
    look = made(lambda: int(released.wait(WAIT_S)), wait_s=0.0)
    assert Seen(None, is_late=True) == look.seen()
    released.set()


def test_what_a_look_raises_is_told(made):
    """Also a time that is over inside the look itself."""

    def fail() -> int:
        raise OverloadedError("too much")

    def time_out() -> int:
        raise TimeoutError("of the store")

    with pytest.raises(OverloadedError):
        made(fail, wait_s=WAIT_S).seen()
    with pytest.raises(TimeoutError, match="of the store"):
        made(time_out, wait_s=WAIT_S).seen()
