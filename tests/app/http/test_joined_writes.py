"""Head and body of a small answer are written as one piece, and nothing else waits for that."""

import socket

import pytest

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
