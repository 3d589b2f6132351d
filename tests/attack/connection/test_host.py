"""The one header that every request has: which host it means. And what a log says of requests that are none."""

import json

import pytest

from tests.attack.crowd import asked
from tests.attack.target import Target
from tests.patience import wait_until


@pytest.mark.parametrize(
    "lines",
    [b"", b"Host: psoup\r\nHost: psoup\r\n", b"Host: psoup\r\nhost: other\r\n"],
    ids=["missing", "twice", "two"],
)
def test_requests_without_one_host_are_refused(target: Target, lines: bytes):
    """400 `framing`, before anything else is looked at; the connection ends."""
    for method in (b"GET", b"DELETE", b"OPTIONS"):
        request = method + b" /v1/streams HTTP/1.1\r\n" + lines + b"\r\n"
        status, headers, body = asked(target.address, request)
        assert (400, "close") == (status, headers.get("connection"))
        assert "framing" == json.loads(body)["code"]


def test_old_clients_need_none(target: Target):
    """HTTP/1.0 knows no Host, and two of them are still one too many."""
    assert 200 == asked(target.address, b"GET /healthz HTTP/1.0\r\n\r\n")[0]
    two = b"GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"
    assert 400 == asked(target.address, two)[0]


def test_requests_that_are_none_stand_in_the_log_as_everything_else(target: Target):
    """One JSON object, with its level and its time, and nothing of what was sent."""

    def logged() -> list[dict[str, object]]:
        assert 400 == asked(target.address, b"SECRET nonsense\r\n\r\n")[0]
        return [one for one in target.front.events() if one["event"] == "request"]

    wait_until(lambda: "path" not in (logged() or [{"path": ""}])[-1], "it is logged")
    line = logged()[-1]
    assert ("info", 400, "framing") == (line["level"], line["status"], line["code"])
    assert line["timestamp"]
    assert "SECRET" not in json.dumps(target.front.events())
    assert "Invalid HTTP" not in json.dumps(target.front.events())
