"""LIKE patterns made to be slow: of `_` and characters in turn, over the longest texts there may be."""

import json
import time

import pytest

from engine import limits
from tests.attack.target import Target

TEXTS = 1_200
"""Of 8 KiB each: one of them took 15 ms, all of them more than the deadline of a batch."""
PATTERN = "%" + "_a" * 510 + "b%"
ROWS = "/v1/streams/texts/rows"
SQL = f"SELECT t FROM texts WHERE t LIKE '{PATTERN}'"


@pytest.fixture(scope="module", autouse=True)
def stream(target: Target) -> None:
    """Declare the stream that is sent to."""
    declared = {"columns": [{"name": "t", "type": "string"}]}
    assert target.ask("PUT", "/v1/streams/texts", json=declared).status_code in (200, 201)


def texts(first: int, count: int) -> bytes:
    """Return rows of texts that are all different, and nearly all alike."""
    length = limits.STRING_BYTES_MAX - 8
    rows = [{"t": "a" * length + f"{i:08}"} for i in range(first, first + count)]
    return json.dumps(rows).encode()


def test_rows_meet_a_hostile_pattern_before_their_deadline(target: Target):
    """They are applied, not only committed: 200. The same texts are old ones to a query that asks for all hits."""
    register = target.ask("POST", "/v1/queries", json={"sql": SQL})
    assert 201 == register.status_code, register.text
    headers = {"Content-Type": "application/json"}
    sent = target.ask("POST", ROWS, content=texts(0, TEXTS), headers=headers)
    assert 200 == sent.status_code, sent.text
    other = {"sql": SQL.replace("b%", "c%"), "materialize": "complete"}
    begun = time.monotonic()
    answer = target.ask("POST", "/v1/queries", json=other)
    assert 201 == answer.status_code, answer.text
    assert time.monotonic() - begun < limits.REGISTER_DEADLINE_S
    for query in (register, answer):
        found = target.ask("GET", f"/v1/queries/{query.json()['id']}/results")
        assert (200, 0) == (found.status_code, found.json()["count"])


@pytest.mark.slow
def test_many_rows_meet_a_hostile_pattern(target: Target):
    """34 MB of them, for which the engine stood still for 76 s: each batch is applied before its deadline."""
    assert 201 == target.ask("POST", "/v1/queries", json={"sql": SQL}).status_code
    for first in range(10_000, 14_250, 850):
        body = texts(first, 850)
        sent = target.ask("POST", ROWS, content=body, headers={"Content-Type": "application/json"})
        assert 200 == sent.status_code, sent.text
