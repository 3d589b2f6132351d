"""Clients that ask for large answers and do not read them: what is kept for them is bounded, in bytes and time."""

import contextlib
from collections.abc import Mapping
from typing import Final

import pytest

from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.attack.crowd import crowd, declare, metric, rows, unreading
from tests.attack.target import Target
from tests.patience import wait_until

STALL_S: Final = 3.0
ROWS: Final = 1_900
"""Of 8 KiB each: an answer of 15 MB."""
ROWS_OF_A_BATCH: Final = 400
JSON: Final = {"Content-Type": "application/json"}
CLIENTS: Final = 40
GROWTH_BYTES_MAX: Final = limits.ANSWERS_UNSENT_BYTES_MAX + 160 * limits.MIB
"""With what evaluating one answer takes, and the store's client."""


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """Clients have a few seconds."""
    return {"answer_stall_s": STALL_S}


@pytest.fixture(scope="module")
def large(target: Target) -> tuple[Target, bytes]:
    """Return the service, and a request for 15 MB."""
    query = declare(target, "wide")
    for first in range(0, ROWS, ROWS_OF_A_BATCH):
        numbers = range(first, min(first + ROWS_OF_A_BATCH, ROWS))
        body = rows(*(f"{number:08}" * 1_000 for number in numbers))
        answer = target.ask("POST", "/v1/streams/wide/rows", content=body, headers=JSON)
        assert 200 == answer.status_code, answer.text
    request_bytes = head("GET", f"/v1/queries/{query}/results?limit={ROWS}")
    with connected(target.address) as connection:  # everything is in memory from here on
        connection.sendall(request_bytes)
        status, _, body = read_answer(connection)
        assert 200 == status
        assert len(body) > 15_000_000
    return target, request_bytes


def test_answers_nobody_reads_are_bounded_and_given_up(large: tuple[Target, bytes]):
    """Memory stays inside the bound for all, small requests are answered, and the connections end."""
    target, request = large
    before = target.memory_bytes()
    with crowd(CLIENTS, lambda: unreading(target.address)) as attackers:
        for one in attackers:
            one.sendall(request)
        highest, ended = before, 0
        assert 200 == target.ask("GET", "/v1/streams").status_code

        def all_ended() -> bool:
            nonlocal highest
            highest = max(highest, target.memory_bytes())
            return metric(target, "psoup_connections_stalled_total") >= 1 and (
                metric(target, "psoup_answers_unsent_bytes") == 0
            )

        wait_until(all_ended, "they are given up")
        assert highest - before < GROWTH_BYTES_MAX
        for one in attackers:
            with contextlib.suppress(ConnectionResetError):
                status, headers, body = read_answer(one)
                if status == 503:
                    assert headers["retry-after"]
                    continue
                assert len(body) < int(headers["content-length"])
            ended += 1
        assert ended
    with connected(target.address) as connection:
        connection.sendall(request)
        assert 200 == read_answer(connection)[0], "a client that reads is answered afterwards"


def test_slow_clients_that_go_on_reading_get_their_answer(large: tuple[Target, bytes]):
    """Over more time than a stall may last, in steps."""
    target, request = large
    with unreading(target.address) as connection:
        connection.sendall(request)
        status, headers, body = read_answer(connection)
    assert (200, int(headers["content-length"])) == (status, len(body))
