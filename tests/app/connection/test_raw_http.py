"""The real server on a socket: framing, heads, slow and endless requests, and that the next one works."""

import contextlib
import dataclasses
import json
import socket
from collections.abc import Iterator

import pytest

from psoup.app.settings import Settings
from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import Address, served

SETTINGS = Settings(
    store="memory://",
    port=0,
    request_s=5.0,
    request_grace_s=0.2,
    request_bytes_per_s_min=limits.MIB,
    connections_per_address=4,
    shutdown_s=5,
)


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    """Yield the address of a server with a stream `s`."""
    with served(SETTINGS) as where:
        body = b'{"columns":[{"name":"a","type":"string"}]}'
        answer = exchange(
            where, head("PUT", "/v1/streams/s", f"Content-Length: {len(body)}") + body
        )
        assert 201 == answer[0]
        yield where


def exchange(address: Address, request: bytes, *, end: bool = False) -> tuple[int, str, bool]:
    """Return (status, code, closes) of the answer to raw bytes, and see that the next request works."""
    with connected(address) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
            if end:
                connection.shutdown(socket.SHUT_WR)
        status, headers, body = read_answer(connection)
    with connected(address) as connection:
        connection.sendall(head("GET", "/healthz"))
        assert 200 == read_answer(connection)[0], "the next request works"
    code = ""
    if status >= 400:
        assert "application/problem+json" == headers["content-type"]
        assert headers["request-id"]
        code = json.loads(body)["code"]
    return status, code, headers.get("connection") == "close"


ROWS = "/v1/streams/s/rows"
FRAMING = {
    "no HTTP at all": b"HELO psoup\r\n\r\n",
    "two lengths": head("POST", ROWS, "Content-Length: 2", "Content-Length: 3") + b"[]",
    "length and chunks": head("POST", ROWS, "Content-Length: 2", "Transfer-Encoding: chunked")
    + b"2\r\n[]\r\n0\r\n\r\n",
    "a length that is none": head("POST", ROWS, "Content-Length: two") + b"[]",
    "a chunk size that is none": head("POST", ROWS, "Transfer-Encoding: chunked") + b"zz\r\n[]\r\n",
    "a control character in a header": head("GET", "/healthz", "X: a\x00b"),
}


@pytest.mark.parametrize("case", FRAMING)
def test_framing_that_is_broken_is_refused_and_closed(address, case):
    """What is not HTTP/1.1 is 400 `framing` in the one shape, and the connection ends."""
    assert (400, "framing", True) == exchange(address, FRAMING[case])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("BREW", (400, "unknown-method", True)),
        ("get", (400, "unknown-method", True)),
        ("GETS", (400, "unknown-method", True)),
        ("G(T", (400, "framing", True)),
        ("PROPFIND", (405, "method", False)),
        ("TRACE", (405, "method", False)),
        ("PATCH", (405, "method", False)),
    ],
)
def test_method_that_is_unknown_is_told_from_one_that_is_not_for_the_path(
    address, method, expected
):
    """One that HTTP does not define is a client's mistake like other bad input, 400, and no failure of the service."""
    request = head(method, "/v1/queries", "Content-Length: 2") + b"{}"
    assert expected == exchange(address, request)


def test_framing_of_a_body_cut_short_is_refused(address):
    """A client that ends before its body does is told so, and nothing is stored."""
    request = head("POST", ROWS, "Content-Length: 100") + b'{"a":'
    assert (400, "framing", True) == exchange(address, request, end=True)


def test_framing_of_a_client_that_ends_after_its_request_is_answered(address):
    """Ending the writing side after a whole request is no fault."""
    assert 200 == exchange(address, head("GET", "/healthz"), end=True)[0]


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (head("GET", "/healthz?" + "x" * 3_000), (414, "url-too-long")),
        (b"GET /healthz?" + b"x" * 20_000, (414, "url-too-long")),
        (b"GET /healthz?" + b"x" * 300_000, (414, "url-too-long")),
        (head("GET", "/healthz", "X: " + "y" * 8_300), (431, "headers-too-large")),
        (head("GET", "/healthz", *(f"X{i}: y" for i in range(70))), (431, "headers-too-large")),
        (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 4_000, (431, "headers-too-large")),
        (head("GET", "/healthz", "X: " + "y" * 300_000), (431, "headers-too-large")),
    ],
)
def test_heads_over_a_limit_are_refused(address, request_bytes, expected):
    """Long URLs are 414, large heads 431, whether they end or not."""
    status, code, closes = exchange(address, request_bytes)
    assert (*expected, True) == (status, code, closes)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /healthz HT",
        head("GET", "/healthz")[:-2],
        head("POST", ROWS, "Content-Length: 9") + b"[",
    ],
)
def test_requests_that_do_not_arrive_in_time_are_refused(address, request_bytes):
    """A head or a body that stays away is 408, and the connection ends."""
    assert (408, "request-timeout", True) == exchange(address, request_bytes)


def test_bodies_promised_too_large_are_refused_before_they_are_read(address):
    """A Content-Length over the limit is 413 at once: the body is not waited for."""
    request = head("POST", ROWS, f"Content-Length: {limits.BODY_INGEST_BYTES_MAX + 1}")
    assert (413, "body-too-large", True) == exchange(address, request)


def test_bodies_sent_too_large_still_hear_the_answer(address):
    """A client that sends its body to the end before it reads gets the 413 all the same."""
    size = limits.BODY_INGEST_BYTES_MAX + limits.MIB
    request = head("POST", ROWS, f"Content-Length: {size}") + b"x" * size
    assert (413, "body-too-large", True) == exchange(address, request)


def test_bodies_of_endless_chunks_are_refused(address):
    """A chunked body without an end is 413 when it is over the limit."""
    chunk = b"100000\r\n" + b" " * limits.MIB + b"\r\n"
    request = head("POST", ROWS, "Transfer-Encoding: chunked") + 34 * chunk
    assert (413, "body-too-large", True) == exchange(address, request)


def test_admission_comes_before_the_body(address):
    """A client that waits for `100 Continue` is told 404 without sending its body."""
    request = head("POST", "/v1/streams/nope/rows", "Content-Length: 9", "Expect: 100-continue")
    assert (404, "not-found", True) == exchange(address, request)


def test_refusals_of_small_requests_keep_the_connection(address):
    """An ordinary refusal leaves the connection usable, also where its body was not looked at."""
    with connected(address) as connection:
        for _ in range(3):
            request = head("POST", "/v1/streams/nope/rows", "Content-Length: 2") + b"[]"
            connection.sendall(request)
            assert 404 == read_answer(connection)[0]


def test_head_is_a_get_without_its_body(address):
    """HEAD answers what GET would, with its length and no body."""
    with connected(address) as connection:
        connection.sendall(head("HEAD", "/healthz"))
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("bounds", "count_loopback", "refusal"),
    [
        ({"connections_per_address": 4}, True, (429, "rate-limited")),
        ({"connections": 4}, False, (503, "overloaded")),
    ],
    ids=["of one address", "in all"],
)
def test_connections_are_bounded(bounds, count_loopback, refusal):
    """Who opens one too many is told so and turned away; when one ends, there is room."""
    settings = dataclasses.replace(SETTINGS, keep_alive_s=60, **bounds)
    with (
        served(settings, count_loopback=count_loopback) as where,
        contextlib.ExitStack() as open_ones,
    ):
        kept = [open_ones.enter_context(connected(where)) for _ in range(4)]
        for connection in kept:
            connection.sendall(head("GET", "/healthz"))
            assert 200 == read_answer(connection)[0]
        with connected(where) as one_more:
            status, headers, body = read_answer(one_more)
        assert refusal == (status, json.loads(body)["code"])
        assert headers["retry-after"]
        kept[0].sendall(head("GET", "/healthz", "Connection: close"))
        assert 200 == read_answer(kept[0])[0]
        assert b"" == kept[0].recv(1), "the server has let go of it"
        with connected(where) as another:
            another.sendall(head("GET", "/healthz"))
            assert 200 == read_answer(another)[0]
