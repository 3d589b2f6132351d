"""uvicorn's protocol and its cycle of a request and its answer, where psoup's do less or hold less.

A connection has a parser only while bytes may come for it: thousands of requests wait for minutes. And a small answer
is written as one piece. uvicorn takes it in two messages, looks at the name and at the value of each header by a
pattern, and collects a head of four pieces a header. Most answers are whole when they begin: those are checked and
written at once.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import unquote

from httptools import HttpRequestParser, parse_url
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from psoup.app.connection.signals import Signal
from psoup.app.http.edge import CLOSE, WHOLE

_PLAIN: Final = bytes([ord("\t"), *range(0x20, 0x7F), *range(0x80, 0x100)])
"""What a line of a head may hold."""
_BODILESS: Final = (204, 304)
"""Statuses of answers that end with their head: it needs no length."""


class ParsingProtocol(HttpToolsProtocol):
    """uvicorn's protocol; its parser, a kilobyte with its callbacks, can be released between two requests."""

    __slots__ = ("fed",)
    fed: bytes
    """The bytes that the parser is given just now."""

    def release_parser(self) -> None:
        """Release the parser, which must have no part of a request that is still to be parsed."""
        self.parser = None  # type: ignore[assignment] # as after the end of the connection

    def data_received(self, data: bytes) -> None:
        """Parse `data`, with a parser that is made as uvicorn makes it where the last one was released."""
        parser: Any = self.parser
        if parser is None:
            self.parser = HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.fed = data
        super().data_received(data)
        self.fed = b""

    def begin_request(self, extensions: dict[str, object]) -> None:
        """Have the application answer the request whose head is there, as uvicorn does, with an `AnswerCycle`."""
        parser, scope, version = self.parser, self.scope, self.parser.get_http_version()
        target = parse_url(self.url)
        path = target.path.decode("ascii")
        scope["method"], scope["http_version"] = parser.get_method().decode("ascii"), version
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"], scope["query_string"] = target.path, target.query or b""
        scope["extensions"] = extensions  # type: ignore[typeddict-item]
        self.cycle = AnswerCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=Signal(),  # type: ignore[arg-type] # as far as it is used
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        self._start_asgi_task(self.cycle, self.app)


class AnswerCycle(RequestResponseCycle):
    """uvicorn's cycle; takes a whole answer in one message."""

    async def send(self, message: Any) -> None:  # noqa: ANN401 (as ASGI says, with WHOLE in it or not)
        """Write a message of an answer.

        Raises:
            RuntimeError: a header holds a control character, or the head does not tell the length of the body.
        """
        body = message.get(WHOLE)
        if body is None or self.response_started:
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        self.response_started = True
        self.waiting_for_100_continue = False
        head = self._head(message["status"], message["headers"])
        has_length = b"\r\ncontent-length: %d\r\n" % len(body) in head
        if not has_length and (body or message["status"] not in _BODILESS):
            raise RuntimeError("the head of the answer does not tell the length of its body")
        self.transport.write(head + body)
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _head(self, status: int, given: Iterable[tuple[bytes, bytes]]) -> bytes:
        headers = [*self.default_headers, *given]
        if CLOSE in headers:
            self.keep_alive = False
        elif not self.keep_alive:
            headers.append(CLOSE)
        lines = [*[b": ".join(header) for header in headers], b"\r\n"]
        head = STATUS_LINE[status] + b"\r\n".join(lines)
        if head.translate(None, _PLAIN) != b"\r\n" * (len(headers) + 2):
            raise RuntimeError("a header of the answer holds a control character")
        return head
