"""Head and body of a small answer are written as one piece, and nothing else waits for that."""

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from psoup.app.connection.parsing import AnswerCycle
from psoup.app.http.edge import WHOLE
from tests.app.serving import served
from tests.app.support import SETTINGS
from tests.patience import WAIT_S

pytestmark = pytest.mark.services


def answered(*sent: bytes) -> bytes:
    """Return all that the service answers to these bytes, with which the client ends its side."""
    with served(SETTINGS) as address, socket.create_connection(address, WAIT_S) as client:
        for part in sent:
            client.sendall(part)
        client.shutdown(socket.SHUT_WR)
        found = b""
        while part := client.recv(1 << 16):
            found += part
        return found


def test_a_small_answer_is_whole_and_a_head_has_no_body():
    """The two are answered alike, but for the body."""
    whole = answered(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert whole.startswith(b"HTTP/1.1 200")
    assert whole.endswith(b'\r\n\r\n{"status":"ok"}')
    head = answered(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert head.endswith(b"\r\n\r\n")


def test_a_refusal_is_not_held_back_while_a_body_is_discarded():
    """A request that is refused waits for its small body; where that never becomes whole, the client is told."""
    head = b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"
    refused = answered(head, b"half")
    assert refused.startswith(b"HTTP/1.1 400")
    assert b'"code":"framing"' in refused


def written(
    *headers: tuple[bytes, bytes], status: int = 200, body: bytes = b"{}", keep_alive: bool = True
) -> list[bytes | None]:
    """Return what a cycle writes of a whole answer, None = it closes; RuntimeError where it does not write it."""
    done: list[bytes | None] = []
    transport: Any = SimpleNamespace(write=done.append, close=lambda: done.append(None))
    cycle = AnswerCycle(
        scope={"method": "GET"},  # type: ignore[typeddict-item] # all that is looked at
        transport=transport,
        flow=SimpleNamespace(write_paused=False),  # type: ignore[arg-type]
        logger=None,  # type: ignore[arg-type]
        access_logger=None,  # type: ignore[arg-type]
        access_log=False,
        default_headers=[(b"date", b"now")],
        message_event=SimpleNamespace(set=lambda: None),  # type: ignore[arg-type]
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )
    message = {"type": "http.response.start", "status": status, "headers": headers, WHOLE: body}
    try:
        asyncio.run(cycle.send(message))
    finally:
        assert done or not cycle.response_complete
    return done


@pytest.mark.parametrize("keep_alive", [True, False])
def test_a_whole_answer_is_one_write(keep_alive):
    """Head and body; the connection closes where it is not kept, and says so once."""
    close = b"" if keep_alive else b"connection: close\r\n"
    expected = b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: 2\r\n%b\r\n{}" % close
    length = (b"content-length", b"2")
    end = [] if keep_alive else [None]
    assert [expected, *end] == written(length, keep_alive=keep_alive)
    if not keep_alive:
        assert [expected, None] == written(length, (b"connection", b"close"))


@pytest.mark.parametrize(
    "value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\0", b"\x7f", b"\r\n"]
)
def test_a_header_that_is_more_than_one_is_not_written(value):
    """No value begins a line of its own, whatever it is made of."""
    with pytest.raises(RuntimeError):
        written((b"content-length", b"2"), (b"x", value))


def test_an_answer_of_another_length_than_its_head_says_is_not_written():
    """The client would take the rest for the next answer, or wait for it."""
    for headers in ([(b"content-length", b"3")], []):
        for body in (b"{}", b""):
            with pytest.raises(RuntimeError):
                written(*headers, body=body)
    for status in (204, 304):
        assert 1 == len(written(status=status, body=b""))
