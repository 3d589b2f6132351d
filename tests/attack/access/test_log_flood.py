"""A client that fails on purpose, as fast as it can: the log stays small, keeps secrets, and says what it left out."""

import contextlib
import hashlib
import json

import pytest

from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.attack.crowd import asked, metric
from tests.attack.target import KINDS, launched
from tests.patience import wait_until

KEY = "hunter2-the-key-of-somebody"
BEARER = f"Authorization: Bearer {KEY}"
MANY = 400


@pytest.fixture(params=KINDS)
def keyed(request, attacked_server, tmp_path):
    """Yield a service with one key."""
    path = tmp_path / "keys"
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    path.write_text(json.dumps({"id": "somebody", "sha256": digest, "scopes": ["read"]}))
    with launched(request.param, attacked_server, tmp_path, keys_file=path) as target:
        yield target


def test_failing_on_purpose_does_not_fill_the_log(keyed):
    """Each failure is a line or is counted, once, wherever it was refused; the lines of a second are bounded."""
    broken = [
        head("GET", f"/v1/queries/q_no/results?page={KEY}", BEARER),
        head("GET", "/v1/streams"),
        b"GET /a?b=%b HTTP/1.1\r\n\r\n" % KEY.encode(),
        b"%b nonsense\r\n\r\n" % KEY.encode(),
    ]
    for number in range(MANY):
        status, _, _ = asked(keyed.address, broken[number % len(broken)])
        assert 400 <= status < 500

    def left_out() -> int:
        return sum(
            one["lines"] for one in keyed.front.events() if one["event"] == "requests-left-out"
        )

    def lines() -> list[dict[str, object]]:
        return [one for one in keyed.front.events() if one["event"] == "request"]

    wait_until(lambda: len(lines()) + left_out() >= MANY, "all are told")
    assert MANY == len(lines()) + left_out()
    assert left_out() == metric(keyed, "psoup_request_lines_left_out_total", key=KEY)
    seconds = [str(one["timestamp"])[:19] for one in lines()]
    # A second of the clock touches two of the budget's.
    assert max(map(seconds.count, seconds)) <= 2 * limits.REQUEST_LINES_PER_ADDRESS_MAX
    assert KEY not in json.dumps(keyed.front.events())


def test_lines_of_requests_are_whole_and_true(keyed):
    """One JSON object each, whatever a client puts into what is logged."""
    request = head("GET", "/v1/%0a%7b%22event%22:%22ended%22%7d", BEARER, "X-Forwarded-For: {}")
    with connected(keyed.address) as connection, contextlib.suppress(ConnectionResetError):
        connection.sendall(request)
        read_answer(connection)
    wait_until(lambda: "%0a%7b" in json.dumps(keyed.front.events()), "it is logged")
    assert "ended" not in {one["event"] for one in keyed.front.events()}
    (line,) = [one for one in keyed.front.events() if one["event"] == "request"]
    assert "127.0.0.1" == line["client"]
