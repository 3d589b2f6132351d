"""Refusals that a connection writes by itself, in front of the application: problem bodies in the one shape."""

import secrets
from collections.abc import Sequence
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from app.middleware.edge import EXPOSED_HEADERS
from app.problems import problem_response
from engine.errors import EngineError

Headers = Sequence[tuple[bytes, bytes]]
_EXPOSED: Final = ", ".join(EXPOSED_HEADERS).encode()


def refusal(
    error: EngineError, *, shared_with: bytes | None, closes: bool, with_body: bool
) -> bytes:
    """Return the whole answer to a request that is refused with `error`.

    Args:
        error: what is wrong.
        shared_with: the origin of pages that may read the answer.
        closes: the connection ends with it.
        with_body: False for a HEAD.
    """
    instance = secrets.token_hex(8)
    response = problem_response(error, instance=instance)
    head = [STATUS_LINE[response.status_code]]
    for name, value in response.raw_headers:
        if name != b"connection":
            head += [name, b": ", value, b"\r\n"]
    head += [b"request-id: ", instance.encode(), b"\r\nx-content-type-options: nosniff\r\n"]
    if shared_with is not None:
        head += [b"access-control-allow-origin: ", shared_with, b"\r\nvary: origin\r\n"]
        head += [b"access-control-expose-headers: ", _EXPOSED, b"\r\n"]
    head.append(b"connection: close\r\n\r\n" if closes else b"\r\n")
    return b"".join(head) + (bytes(response.body) if with_body else b"")


def origin_of(headers: Headers, allowed: Sequence[str]) -> bytes | None:
    """Return the origin of the page that asks, if pages of its origin may see answers."""
    for name, value in headers:
        if name == b"origin" and value.decode("latin-1") in allowed:
            return value
    return None
