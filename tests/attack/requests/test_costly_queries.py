"""Queries that cost minutes, from clients that go away or ask again: the others are answered, and soon."""

import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.attack.target import Target
from tests.patience import wait_until

pytestmark = pytest.mark.services  # a worker reads the store, and the engine beside it matches

DEADLINE_S = 0.25
GENEROUS_S = 15.0
"""What an answer may take whose deadline is DEADLINE_S, beside threads that compute, on a busy machine."""
ROWS, BATCHES = 1_000, 2
COSTLY = " OR ".join(
    f"body LIKE '%{'_a' * pairs}b%'"  # so many places fit all but the end
    for pairs in range(240, 240 - 48, -1)
)
"""Over all texts, of 8 KB each: 20 minutes where a pattern costs text times pattern, and past a deadline where not."""


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """Answers come soon or not at all."""
    return {"invoke_deadline_s": DEADLINE_S}


@pytest.fixture(scope="module")
def hasty(target: Target) -> Target:
    """Return the service, with texts that are costly to match."""
    for name, column in (("texts", "body"), ("quiet", "x")):
        kind = "string" if column == "body" else "int64"
        columns = [{"name": column, "type": kind}]
        target.ask("PUT", f"/v1/streams/{name}", json={"columns": columns})
    for batch in range(BATCHES):
        rows = [{"body": "a" * 8_000 + str(batch * ROWS + i)} for i in range(ROWS)]
        assert target.ask("POST", "/v1/streams/texts/rows", json=rows).status_code == 200
    assert target.ask("POST", "/v1/streams/quiet/rows", json=[{"x": 1}]).status_code == 200
    return target


def registered(target: Target, sql: str) -> str:
    """Register a query that keeps nothing, and return the path of its answers."""
    answer = target.ask("POST", "/v1/queries", json={"sql": sql, "materialize": "none"})
    assert answer.status_code == 201, answer.text
    return f"/v1/queries/{answer.json()['id']}/results"


def ask_and_go(target: Target, path: str) -> None:
    """Ask for an answer, and close the connection before it can be there."""
    with socket.create_connection(target.address) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {target.address[0]}\r\n\r\n".encode())


def refused_at_its_deadline(target: Target, path: str) -> None:
    """Ask for what costs too much, and see the refusal."""
    begun = time.monotonic()
    answer = target.ask("GET", path)
    assert answer.status_code == 503, answer.text[:200]
    assert answer.json()["code"] == "overloaded"
    assert answer.json()["reason"] == "deadline"
    assert int(answer.headers["retry-after"]) >= 1
    assert time.monotonic() - begun < GENEROUS_S


def test_the_others_are_answered_beside_costly_queries(hasty: Target):
    """Clients ask for what takes minutes, and go; one stays and is refused; the others do not notice for long."""
    costly = registered(hasty, f"SELECT body FROM texts WHERE {COSTLY}")
    cheap = registered(hasty, "SELECT x FROM quiet")
    begun = time.monotonic()
    for _ in range(12):
        ask_and_go(hasty, costly)
    with ThreadPoolExecutor(2) as patient:
        refusals = [patient.submit(refused_at_its_deadline, hasty, costly) for _ in range(2)]
        wait_until(lambda: hasty.ask("GET", cheap).status_code == 200, "another query is answered")
        wait_until(
            lambda: (
                hasty.ask("POST", "/v1/streams/quiet/rows", json=[{"x": 2}]).status_code
                in (200, 202)
            ),
            "rows are taken",
        )
        assert hasty.ask("GET", "/readyz").status_code == 200
        for one in refusals:
            one.result()
    # Four threads answer: those who have gone hold none of them past their deadline.
    assert time.monotonic() - begun < 2 * GENEROUS_S
    wait_until(lambda: hasty.ask("GET", cheap).status_code == 200, "another query is answered")
