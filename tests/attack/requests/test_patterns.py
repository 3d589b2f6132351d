"""LIKE patterns made to be slow: of `_` and characters in turn, over the longest texts there may be."""

import json
import os
from pathlib import Path

import pytest

from psoup.engine import limits
from tests.attack.target import Target

pytestmark = pytest.mark.services

TEXTS = 1_900
"""Of 8 KiB each, as many as a batch may have: one of them took 7 to 15 ms, all of them 12 s of the engine and more."""
CPU_S = 6.0
"""Of the engine, for such a batch: reading it takes most of what it needs."""
PATTERN = "%" + "_a" * 510 + "b%"
ROWS = "/v1/streams/texts/rows"
SQL = f"SELECT t FROM texts WHERE t LIKE '{PATTERN}'"


@pytest.fixture(scope="module", autouse=True)
def stream(target: Target) -> None:
    """Declare the stream that is sent to."""
    declared = {"columns": [{"name": "t", "type": "string"}]}
    assert target.ask("PUT", "/v1/streams/texts", json=declared).status_code in (200, 201)


def cpu_s(target: Target) -> float:
    """Return the seconds of CPU that the engine has taken."""
    after_name = Path(f"/proc/{target.engine.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def texts(first: int, count: int) -> bytes:
    """Return rows of texts that are all different, and nearly all alike."""
    length = limits.STRING_BYTES_MAX - 8
    rows = [{"t": "a" * length + f"{i:08}"} for i in range(first, first + count)]
    return json.dumps(rows).encode()


def test_hostile_pattern_takes_the_engine_no_longer_than_another(target: Target):
    """Neither as a standing query that rows meet, nor as a new one, of all hits, that meets old rows."""
    register = target.ask("POST", "/v1/queries", json={"sql": SQL})
    assert 201 == register.status_code, register.text
    begun = cpu_s(target)
    headers = {"Content-Type": "application/json"}
    sent = target.ask("POST", ROWS, content=texts(0, TEXTS), headers=headers)
    assert 200 == sent.status_code, sent.text
    assert cpu_s(target) - begun < CPU_S
    begun = cpu_s(target)
    other = {"sql": SQL.replace("b%", "c%"), "materialize": "complete"}
    answer = target.ask("POST", "/v1/queries", json=other)
    assert 201 == answer.status_code, answer.text
    assert cpu_s(target) - begun < CPU_S
    for query in (register, answer):
        found = target.ask("GET", f"/v1/queries/{query.json()['id']}/results")
        assert (200, 0) == (found.status_code, found.json()["count"])


@pytest.mark.slow
def test_many_rows_meet_a_hostile_pattern(target: Target):
    """34 MB of them, for which the engine stood still for 76 s."""
    assert 201 == target.ask("POST", "/v1/queries", json={"sql": SQL}).status_code
    begun = cpu_s(target)
    for first in range(10_000, 14_250, 850):
        body = texts(first, 850)
        sent = target.ask("POST", ROWS, content=body, headers={"Content-Type": "application/json"})
        assert 200 == sent.status_code, sent.text
    assert cpu_s(target) - begun < 3 * CPU_S
