"""The lease's thread: it renews, goes on while the store is away, and ends where another engine has taken over."""

import itertools
import threading
import time

import pytest
from structlog.testing import capture_logs

from psoup.app.fold.lease import RENEWAL_FAILED, Lease, LeaseStatistics
from psoup.engine.store.errors import FencedError, RecoveringError, StoreUnavailableError
from tests.patience import WAIT_S

LEASE_S = 0.005
"""Renewed every millisecond."""


def never(*_: object) -> None:
    """What is not to be called."""
    pytest.fail("it was called")


class Renewals:
    """Counts calls, raises the errors it is given one after the other, and tells of the n-th call."""

    def __init__(self, *errors: Exception | None, told_at: int) -> None:
        self._errors = iter(errors)
        self._calls = itertools.count(1)
        self._told_at = told_at
        self.told = threading.Event()
        self.calls = 0

    def __call__(self) -> None:
        self.calls = next(self._calls)
        if self.calls == self._told_at:
            self.told.set()
        error = next(self._errors, None)
        if error is not None:
            raise error


def test_lease_is_renewed_until_it_is_stopped():
    """Again and again, and never after `stop`, which may come twice."""
    renewals = Renewals(told_at=3)
    lease = Lease(renewals, lease_s=LEASE_S, on_fenced=never, elapsed_s=time.monotonic)
    lease.start(time.monotonic())
    assert renewals.told.wait(WAIT_S)
    lease.stop()
    lease.stop()
    lease.check()
    calls = renewals.calls
    assert LeaseStatistics(calls, 0) == lease.statistics()
    assert not lease._thread.is_alive()


def test_lease_is_renewed_on_after_an_error_that_is_none_of_the_store():
    """What was raised is logged once however often it comes, and once that it is over."""
    bug = ValueError("not a number")
    renewals = Renewals(bug, bug, None, told_at=4)
    lease = Lease(renewals, lease_s=LEASE_S, on_fenced=never, elapsed_s=time.monotonic)
    with capture_logs() as logged:
        lease.start(time.monotonic())
        assert renewals.told.wait(WAIT_S)
        lease.stop()
    assert [RENEWAL_FAILED, f"{RENEWAL_FAILED}-over"] == [one["event"] for one in logged]
    assert 2 == lease.statistics().failures
    assert lease.statistics().renewals >= 2


def test_lease_that_is_never_renewed_again_lasts_no_longer():
    """Whatever a renewal raises: the engine sees that another one may have been let in."""
    now_s = [0.0]
    renewals = Renewals(*[ValueError("not a number")] * 1_000, told_at=2)
    lease = Lease(renewals, lease_s=LEASE_S, on_fenced=never, elapsed_s=lambda: now_s[0])
    with capture_logs():
        lease.start(0.0)
        assert renewals.told.wait(WAIT_S)
        lasted = [lease.lasts]
        now_s[0] = LEASE_S
        lasted.append(lease.lasts)
        lease.stop()
    assert [True, False] == lasted


def test_lease_that_was_never_started_stops():
    """An engine that ends before it has taken a store has nothing to renew."""
    lease = Lease(never, lease_s=LEASE_S, on_fenced=never, elapsed_s=time.monotonic)
    lease.stop()
    lease.check()
    assert LeaseStatistics(0, 0) == lease.statistics()


def test_lease_goes_on_while_the_store_is_away():
    """Whatever it answers but `fenced`, it is asked again."""
    errors = (
        StoreUnavailableError("away"),
        RecoveringError("loads"),
        None,
        RecoveringError("again"),
    )
    renewals = Renewals(*errors, told_at=6)
    lease = Lease(renewals, lease_s=LEASE_S, on_fenced=never, elapsed_s=time.monotonic)
    lease.start(time.monotonic())
    assert renewals.told.wait(WAIT_S)
    lease.stop()
    assert LeaseStatistics(renewals.calls - 3, 3) == lease.statistics()


def test_lease_tells_at_once_that_another_engine_has_taken_over():
    """Told once, with the store's words; then nothing is renewed any more."""
    refusal = FencedError("another")
    renewals = Renewals(None, refusal, told_at=2)
    told: list[Exception] = []
    lease = Lease(renewals, lease_s=LEASE_S, on_fenced=told.append, elapsed_s=time.monotonic)
    lease.start(time.monotonic())
    lease._thread.join(WAIT_S)
    assert ([refusal], 2, False) == (told, renewals.calls, lease._thread.is_alive())
    lease.stop()


def test_lease_lasts_from_when_its_last_renewal_was_asked_for():
    """A process that was stopped for longer finds so out by its own clock, before it has asked anybody."""
    clock_s, renewed, away = [100.0], threading.Event(), StoreUnavailableError("away")

    def renew() -> None:
        if renewed.is_set():
            raise away
        renewed.set()

    lease = Lease(renew, lease_s=LEASE_S, on_fenced=never, elapsed_s=lambda: clock_s[0])
    assert lease.lasts, "nothing is leased"
    lease.start(clock_s[0] - LEASE_S)
    assert renewed.wait(WAIT_S)
    while lease.statistics().failures == 0:
        time.sleep(0.001)
    before = lease.lasts
    clock_s[0] += 2 * LEASE_S
    assert (True, False) == (before, lease.lasts), (
        "failing to renew does not end it before its time"
    )
    lease.stop()


def test_check_finds_a_lease_that_outlives_its_end():
    """Its invariant can fail."""
    held, reached = threading.Event(), threading.Event()

    def renew() -> None:
        reached.set()
        assert held.wait(WAIT_S)

    lease = Lease(renew, lease_s=LEASE_S, on_fenced=never, elapsed_s=time.monotonic)
    lease.start(time.monotonic())
    assert reached.wait(WAIT_S)
    lease._stopping.set()
    with pytest.raises(AssertionError, match="renewed no more"):
        lease.check()
    held.set()
    lease.stop()
