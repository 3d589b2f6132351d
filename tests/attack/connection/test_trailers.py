"""Trailers, the fields behind a chunked body: a head that has ended is not changed by them, and they are bounded."""

import contextlib
import json
from collections.abc import Mapping
from typing import Final

import pytest

from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.attack.crowd import asked, chunked, declare, rows
from tests.attack.target import Target

SENT_BYTES: Final = 24 * limits.MIB
"""Of trailers by each of CONNECTIONS."""
CONNECTIONS: Final = 4
GROWTH_BYTES_MAX: Final = 48 * limits.MIB


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """The default ones, in a service of its own: what others have freed would hide what this one takes."""
    return {}


@pytest.fixture(scope="module", autouse=True)
def stream(target: Target) -> str:
    """Declare the stream that is sent to."""
    return declare(target, "trailed")


@pytest.mark.parametrize(
    "trailer",
    [
        "Content-Encoding: gzip",
        "Psoup-Txn-App: a",
        "Psoup-Txn-Version: x",
        "Content-Type: text/plain",
        "Expect: 100-continue",
        "Host: elsewhere",
    ],
)
def test_trailers_have_no_effect(target: Target, trailer: str):
    """The batch is stored as if they had not been sent, and the connection goes on."""
    with connected(target.address) as connection:
        for _ in range(2):
            connection.sendall(chunked("/v1/streams/trailed/rows", rows("x"), trailer))
            status, headers, body = read_answer(connection)
            assert (200, None) == (status, headers.get("connection")), body
            assert not json.loads(body)["duplicate"]


@pytest.mark.parametrize("trailer", ["Content-Length: 3", "Transfer-Encoding: gzip"])
def test_trailers_that_frame_a_body_are_no_http(target: Target, trailer: str):
    """400 `framing`: whatever else reads this message may read it otherwise."""
    status, _, body = asked(target.address, chunked("/v1/streams/trailed/rows", rows("x"), trailer))
    assert (400, "framing") == (status, json.loads(body)["code"])


@pytest.mark.parametrize(
    "trailers",
    [b"X: y\r\n" * 10_000, b"X: " + b"y" * 10_000_000, b"X" * 1_000_000, b"X: y\r\n" * 100],
    ids=["many", "one without end", "a name without end", "more than headers may be"],
)
def test_trailers_past_the_bounds_of_a_head_are_refused(target: Target, trailers: bytes):
    """431, and the connection ends."""
    request = chunked("/v1/streams/trailed/rows", rows("x"))[:-2] + trailers
    status, headers, body = asked(target.address, request)
    assert (431, "close") == (status, headers.get("connection")), body
    assert "headers-too-large" == json.loads(body)["code"]


def test_memory_stays_whatever_trailers_are_sent(target: Target):
    """Also where they come in pieces that look harmless."""
    before = target.memory_bytes()
    piece = b"Some-Name: and a value\r\n" * 2_000
    begun = head("POST", "/v1/streams/trailed/rows", "Transfer-Encoding: chunked") + b"0\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            connection = stack.enter_context(connected(target.address))
            connection.sendall(begun)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for _ in range(SENT_BYTES // len(piece)):
                    connection.sendall(piece)
        assert target.memory_bytes() - before < GROWTH_BYTES_MAX
