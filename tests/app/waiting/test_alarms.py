"""One timer for each distinct instant; it rings when that has come by the clock that counts."""

from collections.abc import Collection

from psoup.app.waiting.alarms import Alarms
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId
from tests.app.waiting.fakes import FakeTime, Q, R

HOUR_US = 3_600 * SECOND_US


def made(time: FakeTime, *, behind_us: int = 0) -> tuple[Alarms, list[list[QueryId]]]:
    """Return alarms on a clock that is behind the timers' by so much, and what has rung."""
    rung: list[list[QueryId]] = []

    def ring(queries: Collection[QueryId]) -> None:
        rung.append(list(queries))

    return Alarms(time.call_later, lambda: time.now_us() - behind_us, ring), rung


def test_queries_of_one_instant_share_a_timer():
    """They ring together, once."""
    time = FakeTime()
    alarms, rung = made(time)
    alarms.set(Q, SECOND_US)
    alarms.set(R, SECOND_US)
    alarms.check()
    assert (1, 2) == (alarms.statistics().timers, alarms.statistics().queries)
    time.pass_s(1)
    assert [[Q, R]] == rung
    alarms.check()
    assert (0, 0, 1) == (time.left, alarms.statistics().queries, alarms.statistics().rung)


def test_an_instant_that_is_moved_rings_only_where_it_was_moved_to():
    """Sooner, later, never; and the timer of the instant of before is no more."""
    time = FakeTime()
    alarms, rung = made(time)
    alarms.set(Q, 5 * SECOND_US)
    alarms.set(Q, 2 * SECOND_US)
    alarms.set(R, 3 * SECOND_US)
    alarms.set(R, None)
    alarms.check()
    assert 1 == time.left
    time.pass_s(10)
    assert [[Q]] == rung


def test_it_does_not_ring_before_the_stores_clock_says_so():
    """That clock may be behind: it is waited for, without asking all the time."""
    time = FakeTime()
    alarms, rung = made(time, behind_us=SECOND_US // 2)
    alarms.set(Q, SECOND_US)
    time.pass_s(1.4)
    assert [] == rung
    time.pass_s(0.2)
    assert [[Q]] == rung


def test_an_instant_far_ahead_is_reached_in_steps():
    """Clocks drift apart: the timer is set anew each hour."""
    time = FakeTime()
    alarms, rung = made(time)
    alarms.set(Q, 30 * HOUR_US)
    time.pass_s(30 * 3_600 - 1)
    assert [] == rung
    time.pass_s(1)
    assert [[Q]] == rung


def test_closing_cancels_all():
    """Nothing rings any more."""
    time = FakeTime()
    alarms, rung = made(time)
    alarms.set(Q, SECOND_US)
    alarms.close()
    alarms.check()
    time.pass_s(5)
    assert [] == rung
