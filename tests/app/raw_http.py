"""HTTP by hand: bytes on a socket, and one answer read from it."""

import socket

from tests.app.serving import Address
from tests.patience import WAIT_S


def head(method: str, path: str, *lines: str) -> bytes:
    named = ["Host: localhost", "Content-Type: application/json", *lines]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *named, "", ""]).encode()


def connected(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=WAIT_S)


def read_answer(
    connection: socket.socket, *, has_body: bool = True
) -> tuple[int, dict[str, str], bytes]:
    """Return (status, headers, body) of one answer; status 0 where there is none.

    No byte of the next answer is taken. A body that is cut short is returned as far as it came.
    """
    file = connection.makefile("rb", buffering=0)
    line = file.readline()
    if not line:
        return 0, {}, b""
    headers: dict[str, str] = {}
    while (field := file.readline().strip()) != b"":
        name, _, value = field.decode().partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", "0")) if has_body else 0
    body = bytearray()
    while len(body) < length and (piece := file.read(length - len(body))):
        body += piece
    return int(line.split()[1]), headers, bytes(body)
