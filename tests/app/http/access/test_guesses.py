"""Wrong keys: how many an address may send, how they are forgotten, and whose they are."""

import dataclasses

import pytest

from psoup.app.errors import RateLimitedError
from psoup.app.http.access.guesses import Guesses, client_address
from psoup.engine import limits
from tests.app.support import SETTINGS

MOST = limits.AUTHENTICATION_FAILURES_MAX


class Time:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def over(guesses: Guesses, address: str) -> int:
    """Return for how many seconds an address is over its limit; 0 = it is not."""
    try:
        guesses.refuse_over(address)
    except RateLimitedError as refused:
        seconds = refused.extras["retry_after_s"]
        assert isinstance(seconds, int)
        return seconds
    return 0


def test_guesses_are_bounded_in_any_minute():
    """As many as the limit; one more whenever the oldest of them is a minute old."""
    time = Time()
    guesses = Guesses(monotonic_s=time)
    for count in range(MOST):
        assert 0 == over(guesses, "192.0.2.1"), count
        guesses.failed("192.0.2.1")
        time.now_s += 1.0
    assert limits.AUTHENTICATION_FAILURES_S - MOST == over(guesses, "192.0.2.1")
    assert 0 == over(guesses, "192.0.2.2")
    time.now_s = limits.AUTHENTICATION_FAILURES_S
    assert 0 == over(guesses, "192.0.2.1")
    guesses.failed("192.0.2.1")
    assert 1 == over(guesses, "192.0.2.1")
    guesses.check()
    assert (1, MOST + 1, 2) == dataclasses.astuple(guesses.statistics())


def test_guesses_of_many_addresses_take_bounded_memory(monkeypatch):
    """The address longest without a wrong key is forgotten first."""
    monkeypatch.setattr(limits, "AUTHENTICATION_ADDRESSES_MAX", 3)
    guesses = Guesses(monotonic_s=Time())
    for name in "abcad":
        guesses.failed(name * 1_000)
    guesses.check()
    assert ["c", "a", "d"] == [name[0] for name in guesses._failures]
    assert 64 == max(map(len, guesses._failures))


def test_guesses_of_several_processes_share_the_limit():
    """Each of three has its part, each of a hundred one."""
    for processes, most in ((3, MOST // 3), (100, 1)):
        guesses = Guesses(processes=processes, monotonic_s=Time())
        for _ in range(most):
            assert 0 == over(guesses, "a")
            guesses.failed("a")
        assert over(guesses, "a")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8:0:0:ffff::", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_guesses_are_counted_by_client(one, other, same):
    """A client of IPv6 has a whole /64; an address of IPv4 is the same in both forms."""
    guesses = Guesses(processes=MOST, monotonic_s=Time())
    guesses.failed(one)
    assert same == bool(over(guesses, other))


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "expected"),
    [
        (False, ["192.0.2.1"], "10.0.0.1"),
        (True, [], "10.0.0.1"),
        (True, ["192.0.2.1"], "192.0.2.1"),
        (True, ["198.51.100.1, 192.0.2.1"], "192.0.2.1"),
        (True, ["192.0.2.1", "192.0.2.2 "], "192.0.2.2"),
        (True, ["192.0.2.1:4711"], "192.0.2.1"),
        (True, ["[2001:db8::1]:4711"], "2001:db8::1"),
        (True, ["2001:db8::1"], "2001:db8::1"),
        (True, [","], "10.0.0.1"),
    ],
)
def test_client_is_whom_the_proxy_names_last(behind_proxy, forwarded, expected):
    """What a client says of itself stands before what the proxy adds; without a proxy it is not looked at."""
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"client": ("10.0.0.1", 1), "headers": headers}
    settings = dataclasses.replace(SETTINGS, behind_proxy=behind_proxy)
    assert expected == client_address(settings)(scope)
