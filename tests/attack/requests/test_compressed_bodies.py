"""Compressed bodies of which each byte costs much: of empty members and frames, from clients that do not wait."""

import gzip
import struct

import pytest
import zstandard

from psoup.engine import limits
from tests.app.raw_http import connected, head
from tests.app.support import STREAM
from tests.attack.target import Target
from tests.patience import WAIT_S

ROWS = "/v1/streams/packed/rows"
EMPTY_FRAME = zstandard.ZstdCompressor().compress(b"")
SKIPPED_FRAME = struct.pack("<II", 0x184D2A50, 0)
ROW = b'{"ts":5,"px":1.5}'
BYTES = 8 * limits.MIB


def filled(member: bytes, rest: bytes) -> bytes:
    """Return a body of some 8 MB: a member again and again, and `rest`."""
    return member * (BYTES // len(member)) + rest


BOMBS = {
    "gzip": ("gzip", lambda: filled(gzip.compress(b""), gzip.compress(ROW))),
    "zstd": ("zstd", lambda: filled(EMPTY_FRAME, EMPTY_FRAME)),
    "zstd skipped": ("zstd", lambda: filled(SKIPPED_FRAME, EMPTY_FRAME)),
}


@pytest.fixture(scope="module", autouse=True)
def stream(target: Target) -> None:
    """Declare the stream that is sent to."""
    assert target.ask("PUT", "/v1/streams/packed", json=STREAM).status_code in (200, 201)


def send(target: Target, path: str, body: bytes, encoding: str) -> tuple[int, str]:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    answer = target.ask("POST", path, content=body, headers=headers)
    return answer.status_code, answer.json().get("code", "")


@pytest.mark.parametrize("bomb", BOMBS)
def test_body_of_empty_members_is_refused(target: Target, bomb):
    """It is 413 once there are too many of them; decoding them all took 103 s of CPU. Control bodies likewise."""
    encoding, make = BOMBS[bomb]
    assert (413, "body-too-large") == send(target, ROWS, make(), encoding)
    small = make()[: limits.BODY_OTHER_BYTES_MAX]
    status, _ = send(target, "/v1/queries", small, encoding)
    assert 400 <= status < 500


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_body_of_as_many_members_as_allowed_is_taken(target: Target, encoding):
    """Rows may come in many members, as gzip in blocks and files put together have them."""
    pack = gzip.compress if encoding == "gzip" else zstandard.ZstdCompressor().compress
    body = pack(b"[") + pack(b"") * (limits.BODY_MEMBERS_MAX - 3) + pack(ROW) + pack(b"]")
    assert 200 == send(target, ROWS, body, encoding)[0]
    assert 413 == send(target, ROWS, pack(b"") + body, encoding)[0]


def test_bombs_of_clients_that_have_gone_hold_nobody_up(target: Target):
    """Six of them, and the state of the service, its figures and a small compressed batch are answered soon."""
    body = filled(gzip.compress(b""), gzip.compress(ROW))
    for _ in range(6):
        with connected(target.address) as gone:
            gone.sendall(
                head("POST", ROWS, "Content-Encoding: gzip", f"Content-Length: {len(body)}")
            )
            gone.sendall(body)
    for path in ("/readyz", "/metrics"):
        assert 200 == target.ask("GET", path, timeout=WAIT_S / 2).status_code
    assert 200 == send(target, ROWS, gzip.compress(ROW), "gzip")[0]
