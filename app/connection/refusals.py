"""Refusals that a connection writes itself, before the application: problem bodies as of any other error."""

import re
from typing import Any, Final, Protocol

from httptools import HttpParserInvalidMethodError
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from psoup.app.errors import FramingError, UnknownMethodError
from psoup.app.http.edge import Headers
from psoup.app.http.problems import problem_response
from psoup.app.http.request_log import RequestHead
from psoup.engine.errors import EngineError

_REQUEST_LINE: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+ [^ \r\n]+ HTTP/1\.[01]\r?\n")
"""Of any method (RFC 9112, 3)."""


class Parser(Protocol):
    """What `heard_of` needs of uvicorn's parser."""

    def get_method(self) -> bytes:
        """Return the method; meaningless before the target has begun."""
        ...


def refusal(
    error: EngineError,
    request_id: str,
    *,
    shown: Headers,
    closes: bool,
    with_body: bool,
) -> bytes:
    """Return the whole answer to a request that is refused with `error`.

    Args:
        error: why.
        request_id: of the answer.
        shown: headers by which a web page may read the answer.
        closes: the connection is closed after it.
        with_body: False for a HEAD.
    """
    response = problem_response(error, instance=request_id)
    head = [STATUS_LINE[response.status_code]]
    for name, value in (*response.raw_headers, *shown):
        if name != b"connection":
            head += [name, b": ", value, b"\r\n"]
    head += [b"request-id: ", request_id.encode(), b"\r\nx-content-type-options: nosniff\r\n"]
    head.append(b"connection: close\r\n\r\n" if closes else b"\r\n")
    return b"".join(head) + (bytes(response.body) if with_body else b"")


def unparsable(error: BaseException | None, fed: bytes) -> EngineError:
    """Return the refusal of bytes that the parser does not take.

    Args:
        error: what the parser raised.
        fed: the bytes that it was given then. An unknown method is told from what is no HTTP where they begin with the
            whole request line.
    """
    if isinstance(error, HttpParserInvalidMethodError) and _REQUEST_LINE.match(fed):
        return UnknownMethodError()
    return FramingError("The request is not well-formed HTTP/1.1.")


def heard_of(
    scope: Any,  # noqa: ANN401 (uvicorn's, None before the first request)
    parser: Parser,
    url: bytes,
    *,
    is_running: bool,
) -> RequestHead | None:
    """Return the part of a refused request that has arrived, None where nothing has.

    Args:
        scope: of the last request that has begun.
        parser: of its head.
        url: the part of its URL that has arrived.
        is_running: the application is working on it.
    """
    # A scope has a method once the application has its request, which may be answered already.
    if scope is None or ("method" in scope and not is_running):
        return None
    # By then its parser may have been released.
    method = scope["method"].encode("ascii") if "method" in scope else parser.get_method()
    return RequestHead(scope, method, url)
