"""Requests that are nearly HTTP: a bounded, seeded fuzzer of heads, bodies and pipelines.

Whatever arrives, it is answered or refused with 4xx, and the connection ends; nothing hangs, nothing grows, and a
client beside it is answered rightly.
"""

import contextlib
import re
import socket
from collections.abc import Mapping
from random import Random
from typing import Final

import pytest

from psoup.engine import limits
from tests.app.raw_http import connected, head
from tests.attack.crowd import chunked, declare, rows
from tests.attack.target import Target

SEED: Final = 19
GROWTH_BYTES_MAX: Final = 96 * limits.MIB
LOOKED_AT_EVERY: Final = 50
PATH: Final = "/v1/streams/fuzzed/rows"
BODY: Final = rows("x", "y")
WHOLE: Final = (
    head("GET", "/healthz"),
    head("HEAD", "/v1/streams/fuzzed"),
    head("GET", "/v1/streams?limit=3", "Accept: */*", "Connection: keep-alive"),
    head("OPTIONS", "/v1/streams", "Origin: http://a.example"),
    head("POST", PATH, f"Content-Length: {len(BODY)}") + BODY,
    head("POST", PATH, f"Content-Length: {len(BODY)}", "Expect: 100-continue") + BODY,
    chunked(PATH, BODY, "X-Sum: 1", "Authorization: Bearer x"),
    chunked(PATH, BODY, lines=("Content-Encoding: gzip",)),
    head("GET", "/healthz", "Connection: upgrade", "Upgrade: h2c"),
    b"GET /healthz HTTP/1.0\r\n\r\n",
)
TOKENS: Final = (
    *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b" ", b"\t", b":", b",", b"\xff", b"%00", b"../"),
    *(
        b"Content-Length: 5\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 99999999999999999999\r\n",
    ),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Host: b\r\n"),
    *(
        b"0\r\n\r\n",
        b"ffffffffffffffff\r\n",
        b"-1\r\n",
        b"1;ext=\r\na\r\n",
        b"HTTP/1.0",
        b"HTTP/2.0",
    ),
    *(
        b"CONNECT a:1 HTTP/1.1\r\n",
        b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        b" folded\r\n",
    ),
    *(b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"x" * 9_000, b"X: y\r\n" * 70),
)
STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """The default ones, in a service of its own: what others have freed would hide what this one takes."""
    return {}


def mutated(rng: Random) -> bytes:
    """Return some requests, one behind the other, changed here and there."""
    data = bytearray(b"".join(rng.choices(WHOLE, k=rng.choice((1, 1, 1, 2, 5)))))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        past = min(len(data), at + rng.choice((1, 2, 8, 40)))
        kind = rng.randrange(5)
        if kind == 0:
            data[at:past] = b""
        elif kind == 1:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 2:
            data[at:past] = rng.choice(TOKENS)
        elif kind == 3:
            data[at:past] = rng.randbytes(past - at)
        else:
            data[at:at] = data[at:past]
    return bytes(data)


def statuses(target: Target, rng: Random, data: bytes) -> list[int]:
    """Return the statuses that `data` is answered with, in pieces of some size, up to the connection's end."""
    cut = rng.choice((1 << 20, 1 << 20, 100, 7))
    with connected(target.address) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, OSError):
            for at in range(0, len(data), cut):
                connection.sendall(data[at : at + cut])
            connection.shutdown(socket.SHUT_WR)
        answer = bytearray()
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                answer += piece
    return [int(status) for status in STATUS.findall(answer)]


@pytest.mark.parametrize(
    "count", [400, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.timeout(1_800)])]
)
def test_whatever_arrives_is_answered_or_refused(target: Target, count: int):
    """No 5xx, no hang, no growth; and the client beside it finds exactly the rows that it has sent."""
    rng = Random(SEED + count)
    declare(target, "fuzzed")
    stream = f"beside{count}"
    query = declare(target, stream)
    before, seen, sent = target.memory_bytes(), set[int](), 0
    for number in range(count):
        data = mutated(rng)
        found = statuses(target, rng, data)
        assert all(status < 500 for status in found), (found, data)
        seen |= set(found)
        if number % LOOKED_AT_EVERY == 0:
            sent += 1
            stored = target.ask("POST", f"/v1/streams/{stream}/rows", json=[{"a": str(sent)}])
            assert 200 == stored.status_code
            answer = target.ask("GET", f"/v1/queries/{query}/results").json()
            assert sent == answer["count"], answer
    assert {200, 400} <= seen
    assert target.memory_bytes() - before < GROWTH_BYTES_MAX
