"""Clients by hand for attacks: many connections at once, and clients that take nothing of what they are sent."""

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from typing import Final

from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import Address
from tests.attack.target import Target
from tests.patience import WAIT_S

WINDOW_BYTES: Final = 4_096
"""What the system takes in for a client that does not read: little, so that the service has to keep the rest."""
DECLARATION: Final = {"columns": [{"name": "a", "type": "string", "nullable": True}]}


@contextlib.contextmanager
def crowd(count: int, make: Callable[[], socket.socket]) -> Iterator[list[socket.socket]]:
    """Yield `count` connections."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(make()) for _ in range(count)]


def unreading(address: Address) -> socket.socket:
    """Return a connection for whose client the system takes next to nothing in."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
    connection.settimeout(WAIT_S)
    connection.connect(address)
    return connection


def asked(address: Address, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return the answer to `request` on a connection of its own; status 0 where there is none."""
    with connected(address) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        try:
            return read_answer(connection)
        except ConnectionResetError:
            return 0, {}, b""


def declare(target: Target, name: str) -> str:
    """Declare a stream with one column of texts, register a query of all its rows, and return its handle."""
    answer = target.ask("PUT", f"/v1/streams/{name}", json=DECLARATION)
    assert answer.status_code in {200, 201}, answer.text
    sql = f"SELECT a FROM {name} BEGIN (NOW - INTERVAL '1' DAY) END (NOW)"
    answer = target.ask("POST", "/v1/queries", json={"sql": sql})
    assert answer.status_code in {200, 201, 202}, answer.text
    return str(answer.json()["id"])


def chunked(path: str, body: bytes, *trailers: str, lines: tuple[str, ...] = ()) -> bytes:
    """Return a POST of one chunk, with trailers behind it."""
    begun = head("POST", path, "Transfer-Encoding: chunked", *lines)
    ended = "".join(f"{trailer}\r\n" for trailer in trailers).encode()
    return begun + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, ended)


def rows(*values: str) -> bytes:
    """Return the body of a batch for a declared stream."""
    return json.dumps([{"a": value} for value in values]).encode()


def metric(target: Target, name: str, *, key: str | None = None) -> float:
    """Return a meter's value; `key` where the service asks for one."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    for line in target.ask("GET", "/metrics", headers=headers).text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.split()[1])
    raise AssertionError(f"there is no meter {name}")
