"""Requests that take a place for long and need next to nothing: they do not keep those out that work."""

import json
import select
import socket
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.attack.crowd import asked, crowd, declare, rows
from tests.attack.target import Target
from tests.patience import wait_until

SLOW: Final = 2 * limits.REQUESTS_IN_FLIGHT_MAX
OTHERS: Final = 50
STEP: Final = limits.REQUESTS_IN_FLIGHT_MAX // 2
"""More that begin to wait at once may find no place to begin."""
FAR_SEQ: Final = 999_999_999
STREAM: Final = "slow"


@pytest.fixture(scope="module")
def query(target: Target) -> str:
    """Return the handle of a query over a stream."""
    return declare(target, STREAM)


def holds_body(_: str) -> bytes:
    """Return a request whose body is promised and does not come."""
    return head("POST", f"/v1/streams/{STREAM}/rows", "Content-Length: 31000") + b'[{"a":"'


def waits_for_seq(query: str) -> bytes:
    """Return a request that waits for an operation that nobody sends."""
    return head("GET", f"/v1/queries/{query}/results?min_seq={FAR_SEQ}")


@pytest.mark.parametrize("make", [holds_body, waits_for_seq])
def test_slow_requests_leave_the_places_of_others(
    target: Target, query: str, make: Callable[[str], bytes]
):
    """While they last, every other request is answered: one that reads, one that stores, one that waits in vain."""
    with crowd(SLOW, lambda: connected(target.address)) as attackers:
        for one in attackers:
            one.sendall(make(query))
        wait_until(lambda: begun(target, attackers) >= SLOW, "they are under way, or were answered")
        body = rows("x")
        batch = head("POST", f"/v1/streams/{STREAM}/rows", f"Content-Length: {len(body)}") + body
        answer = head("GET", f"/v1/queries/{query}/results")
        statuses = [
            asked(target.address, batch if number % 5 == 0 else answer)[0]
            for number in range(OTHERS)
        ]
        for number, status in enumerate(statuses):
            # What was stored may show later than its sender waits, on a busy machine.
            assert status == 200 or (status == 202 and number % 5 == 0), statuses


def begun(target: Target, attackers: Sequence[socket.socket]) -> int:
    """Return how many requests are read, wait or are worked on, or were answered on these connections."""
    use = target.ask("GET", "/v1/limits").json()["use"]
    kinds = ("requests_in_flight_max", "requests_reading_max", "requests_waiting_max")
    return sum(int(use.get(kind, 0)) for kind in kinds) + sum(map(readable, attackers))


def test_waiting_past_all_places_is_answered_at_once(target: Target, query: str):
    """Who finds no place to wait is told that it is not there yet, and the others wait on."""
    with crowd(limits.REQUESTS_WAITING_MAX, lambda: connected(target.address)) as attackers:
        for first in range(0, len(attackers), STEP):
            for one in attackers[first : first + STEP]:
                one.sendall(waits_for_seq(query))
            wait_until(lambda: begun(target, attackers) >= first + STEP, "they wait, or were told")  # noqa: B023
        wait_until(lambda: any(map(readable, attackers)), "one is told")
        told = next(one for one in attackers if readable(one))
        status, headers, body = read_answer(told)
        assert (503, "not-yet-visible") == (status, json.loads(body)["code"])
        assert headers["retry-after"]


def readable(connection: socket.socket) -> bool:
    """Return whether there is something to read, without waiting for it, and leave it there."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    if not waiting.poll(0):
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except ConnectionError:
        return False
