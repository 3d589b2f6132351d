"""Log lines of requests: which get one, what it says, and that none holds what is secret."""

import dataclasses
import hashlib
import json
import socket
import struct
from collections.abc import Iterator, MutableMapping
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from psoup.app.http.edge import PROBLEM_CODE, REQUEST_ID
from psoup.app.http.request_log import KEY_ID, RequestLog, shown_path
from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import Address, served_application
from tests.app.support import SETTINGS, STREAM
from tests.patience import WAIT_S, wait_until

KEY = "a key that nobody may see"
RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: a connection that is closed is reset, and its server knows at once."""
Lines = list[MutableMapping[str, Any]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Yield what is logged, as it is."""
    with capture_logs() as found:
        yield found


@pytest.fixture
def keyed(tmp_path):
    """Return settings with one key, of id `ops`."""
    path = tmp_path / "keys"
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    path.write_text(json.dumps({"id": "ops", "sha256": digest, "scopes": ["read", "admin"]}))
    return dataclasses.replace(SETTINGS, keys_file=path)


def requests(lines: Lines) -> Lines:
    return [one for one in lines if one["event"] == "request"]


def answer(address: Address, request: bytes) -> tuple[int, dict[str, str]]:
    """Return status and headers of the answer to raw bytes; the client ends its side behind them."""
    with connected(address) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        status, headers, _ = read_answer(connection)
    return status, headers


def scope(**members: Any) -> dict[str, Any]:
    """Return the scope of a request that has passed through the application."""
    return {
        "method": "GET",
        "path": "/v1/streams",
        "headers": [],
        "client": ("192.0.2.1", 1),
        "state": {},
        REQUEST_ID: "0123",
        **members,
    }


def test_requests_that_fail_have_a_line_and_others_none(lines, keyed):
    """A line says who asked for what, how it ended, and under which id the client knows it; no secret is in it."""
    bearer = f"Authorization: Bearer {KEY}"
    with served_application(keyed) as (address, _):
        assert 200 == answer(address, head("GET", "/v1/streams", bearer))[0]
        assert 401 == answer(address, head("GET", "/v1/streams"))[0]
        wrong = head("GET", "/v1/queries/q_no/results?page=SECRET", bearer)
        status, headers = answer(address, wrong)
        assert 404 == status
        wait_until(lambda: len(requests(lines)) == 2, "both are logged")
    unknown, missing = requests(lines)
    assert ("unauthenticated", 401, None) == (
        unknown["code"],
        unknown["status"],
        unknown.get("key"),
    )
    assert missing.pop("ms") >= 0
    assert missing.pop("bytes") == int(headers["content-length"])
    assert missing == {
        "event": "request",
        "log_level": "info",
        "client": "127.0.0.1",
        "request_id": headers["request-id"],
        "method": "GET",
        "path": "/v1/queries/q_no/results",
        "status": 404,
        "code": "not-found",
        "key": "ops",
    }
    assert not [one for one in lines if KEY in str(one) or "SECRET" in str(one)]


def test_access_log_has_a_line_for_each_request(lines):
    """Those that end well too, a HEAD without bytes; and however many of them fail."""
    settings = dataclasses.replace(SETTINGS, access_log=True)
    with served_application(settings) as (address, _):
        for request in (
            head("GET", "/healthz"),
            head("HEAD", "/healthz"),
            head("GET", "/v1/streams"),
        ):
            assert 200 == answer(address, request)[0]
        for _ in range(30):
            assert 404 == answer(address, head("GET", "/nothing"))[0]
        wait_until(lambda: len(requests(lines)) == 33, "all are logged")
    assert [200] * 3 + [404] * 30 == [one["status"] for one in requests(lines)]
    get, without_body, _ = requests(lines)[:3]
    assert ("HEAD", 0) == (without_body["method"], without_body["bytes"])
    assert get["bytes"] > 0


ROWS = "/v1/streams/s/rows"
CHUNKED = head("POST", ROWS, "Transfer-Encoding: chunked")
REFUSED = {
    "no HTTP": (b"SECRET nonsense\r\n\r\n", 400, "framing", None),
    "no host": (b"GET /a?key=SECRET HTTP/1.1\r\n\r\n", 400, "framing", "/a"),
    "cut off": (b"GET /a?key=SECRET HTTP/1.1\r\nHost:", 400, "framing", None),
    "a chunk that is none": (CHUNKED + b"SECRET\r\n", 400, "framing", ROWS),
    "userinfo": (b"GET http://SECRET:SECRET@h/b HTTP/1.1\r\n\r\n", 400, "framing", "/b"),
    "an unknown method": (head("BREW", "/?SECRET"), 400, "unknown-method", None),
    "a long URL": (head("GET", "/" + "x" * 3_000 + "?SECRET"), 414, "url-too-long", None),
    "a large head": (head("GET", "/c", "X: " + "SECRET" * 4_000), 431, "headers-too-large", "/c"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_requests_that_the_connection_refuses_have_one_line(lines, name):
    """Once each, as the client's mistake, with the path as far as it is known, and under the id of the answer."""
    request, status, code, path = REFUSED[name]
    with served_application(SETTINGS) as (address, _):
        given = answer(address, request)
        assert status == given[0]
        assert 404 == answer(address, head("GET", "/the-last"))[0]
        wait_until(lambda: "/the-last" in str(lines), "the last one is logged")
    found, _ = requests(lines)
    assert ("info", status, code) == (found["log_level"], found["status"], found["code"])
    assert given[1]["request-id"] == found["request_id"]
    assert path in (None, found.get("path"))
    assert "SECRET" not in str(lines)


def test_connections_that_are_too_many_have_a_line_without_a_request(lines):
    """Nothing was asked yet: the line says whose connection it was, and why it was refused."""
    settings = dataclasses.replace(SETTINGS, connections_per_address=1)
    with served_application(settings, count_loopback=True) as (address, _):
        with connected(address) as first, connected(address) as second:
            first.sendall(head("GET", "/healthz"))
            assert 200 == read_answer(first)[0]
            assert 429 == read_answer(second)[0]
        wait_until(lambda: bool(requests(lines)), "it is logged")
    found = requests(lines)[0]
    assert ("127.0.0.1", 429, "rate-limited") == (found["client"], found["status"], found["code"])
    assert not {"method", "path", "ms"} & set(found)


def test_requests_without_a_place_have_one_line_each(lines, monkeypatch):
    """The service owes them, so they are warnings; with a body on its way or without."""
    with served_application(SETTINGS) as (address, app):
        slots = app.state.context.front.slots
        monkeypatch.setattr(slots, "expect", lambda *_, **__: False)
        assert 503 == answer(address, head("GET", "/v1/streams"))[0]
        assert 503 == answer(address, head("POST", ROWS, "Content-Length: 2") + b"[]")[0]
        wait_until(lambda: len(requests(lines)) == 2, "both are logged")
    assert [("GET", "/v1/streams"), ("POST", ROWS)] == [
        (one["method"], one["path"]) for one in requests(lines)
    ]
    assert [("warning", 503, "overloaded")] * 2 == [
        (one["log_level"], one["status"], one["code"]) for one in requests(lines)
    ]


def test_a_line_names_no_request_that_was_answered_before(lines, monkeypatch):
    """Behind one that found no place, and has its line, only ends of lines come: nothing of another request."""
    request = head("POST", ROWS, "Content-Length: 2") + b"[]"
    with served_application(SETTINGS) as (address, app), connected(address) as connection:
        monkeypatch.setattr(app.state.context.front.slots, "expect", lambda *_, **__: False)
        connection.sendall(request)
        assert 503 == read_answer(connection)[0]
        connection.sendall(b"\r\n" * limits.BLANK_BYTES_MAX)
        assert 400 == read_answer(connection)[0]
        wait_until(lambda: len(requests(lines)) == 2, "both are logged")
    assert [(503, ROWS), (400, None)] == [
        (one["status"], one.get("path")) for one in requests(lines)
    ]


@pytest.mark.parametrize(
    ("begun", "path"),
    [
        (b"GET /a?key=SECRET HTTP/1.1\r\nHost: SEC", "/a"),
        (head("POST", ROWS, "Content-Length: 9") + b"[", ROWS),
    ],
    ids=["head", "body"],
)
def test_requests_that_come_too_slowly_have_one_line(lines, begun, path):
    """By the connection or by the application: whoever has waited for the rest says so, once."""
    settings = dataclasses.replace(SETTINGS, request_s=1.0, request_grace_s=1.0)
    with served_application(settings) as (address, _):
        url = "http://{}:{}/v1/streams/s".format(*address)
        assert 201 == httpx2.put(url, json=STREAM, timeout=WAIT_S).status_code
        with connected(address) as connection:
            connection.sendall(begun)
            assert 408 == read_answer(connection)[0]
        assert 404 == answer(address, head("GET", "/the-last"))[0]
        wait_until(lambda: "/the-last" in str(lines), "the last one is logged")
    found, _ = requests(lines)
    assert (408, "request-timeout", path) == (found["status"], found["code"], found["path"])
    assert "SEC" not in str(lines)


def test_requests_whose_client_has_gone_are_aborted(lines):
    """Nobody has seen a status, so the line has none."""
    settings = dataclasses.replace(SETTINGS, invoke_deadline_s=2.0)
    with served_application(settings) as (address, app):
        url = "http://{}:{}/v1".format(*address)
        assert 201 == httpx2.put(f"{url}/streams/trades", json=STREAM, timeout=WAIT_S).status_code
        sql = {"sql": "SELECT * FROM trades"}
        handle = httpx2.post(f"{url}/queries", json=sql, timeout=WAIT_S).json()["id"]
        path = f"/v1/queries/{handle}/results"
        with connected(address) as connection:
            connection.sendall(head("GET", f"{path}?min_seq=1000"))
            slots = app.state.context.front.slots
            wait_until(lambda: slots.statistics().waiting == 1, "it waits for the position")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        wait_until(lambda: bool(requests(lines)), "it is logged")
    (found,) = requests(lines)
    assert (path, True) == (found["path"], found["aborted"])
    assert "status" not in found


@pytest.mark.parametrize(
    ("status", "seconds", "level"),
    [
        (200, 0.99, None),
        (200, 1.0, "warning"),
        (404, 0.1, "info"),
        (404, 2.0, "warning"),
        (500, 0.1, "warning"),
        (503, 0.1, "warning"),
        (0, 0.1, "info"),
    ],
)
def test_requests_that_are_slow_or_failed_here_are_warnings(lines, status, seconds, level):
    """A client's mistake is information; what the service owes is a warning; the rest has no line."""
    RequestLog(SETTINGS).ended(scope(), status, 10, seconds)
    assert ([] if level is None else [level]) == [one["log_level"] for one in lines]


def test_requests_for_readiness_say_nothing_while_it_is_missing(lines):
    """It is asked for each second; that it is missing, and why, has a line of its own."""
    log = RequestLog(SETTINGS)
    log.ended(scope(path="/readyz"), 503, 10, 0.1)
    assert [] == lines
    log.ended(scope(path="/readyz"), 401, 10, 0.1)
    assert [401] == [one["status"] for one in lines]


def test_requests_are_traced_and_named_by_what_cannot_forge_a_line(lines):
    """A trace is taken where it is one; path and forwarded address lose what begins lines or sets colours."""
    trace = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    settings = dataclasses.replace(SETTINGS, behind_proxy=True)
    log = RequestLog(settings)
    forged = "\x1b[31m\nevent=ended " + "x" * 100
    headers = [(b"traceparent", trace), (b"x-forwarded-for", forged.encode())]
    log.ended(
        scope(headers=headers, path=f"/{forged}", raw_path=f"/{forged}".encode()), 404, 1, 0.1
    )
    headers = [(b"traceparent", trace + b"\n{}"), (b"x-forwarded-for", b"192.0.2.7")]
    state = {KEY_ID: "ops", PROBLEM_CODE: "not-found"}
    log.ended(scope(headers=headers, state=state), 404, 1, 0.1)
    first, second = lines
    assert "4bf92f3577b34da6a3ce929d0e0e4736" == first["trace_id"]
    assert len(first["client"]) <= 3 * limits.LOGGED_ADDRESS_BYTES_MAX
    for value in (first["client"], first["path"]):
        assert value.isascii()
        assert value.isprintable()
        assert " " not in value
    assert ("192.0.2.7", None) == (second["client"], second.get("trace_id"))
    assert ("ops", "not-found") == (second["key"], second["code"])


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/a/b?c=d", "/a/b"),
        (b"/a#b", "/a"),
        (b"http://user:password@host/a?b", "/a"),
        (b"http://user:password@host", ""),
        (b"user:password@host:443", ""),
        (b"*", ""),
        (b"/" + b"x" * 300, "/" + "x" * (limits.LOGGED_PATH_BYTES_MAX - 1) + "..."),
        ("/ä\x7f\x00 ".encode(), "/%C3%A4%7F%00%20"),
        (b"/%1b%0a", "/%1b%0a"),
    ],
)
def test_paths_are_shown_without_what_is_secret(target, path):
    """The path alone, as it was sent, cut, with nothing that a terminal acts on."""
    assert path == shown_path(target)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_lines_over_the_budget_are_told_together(lines, anyio_backend):
    """At the end, as here, or a second after the first of them; those of the service apart from the clients'."""
    log = RequestLog(SETTINGS, monotonic_s=lambda: 0.0)
    for status, times in ((404, 30), (503, 8)):
        for _ in range(times):
            log.ended(scope(), status, 1, 0.1)
    log.check()
    most = limits.REQUEST_LINES_PER_ADDRESS_MAX
    assert [404] * most + [503] * most == [one["status"] for one in requests(lines)]
    log.close()
    told = [one for one in lines if one["event"] == "requests-left-out"]
    assert [("warning", 8 - most), ("info", 30 - most)] == [
        (one["log_level"], one["lines"]) for one in told
    ]
    assert {"192.0.2.1"} == {one["most_from"] for one in told}
    assert 38 - 2 * most == log.statistics().left_out
