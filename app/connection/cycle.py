"""One request and its answer on a connection: uvicorn's, which writes a small answer as one piece.

uvicorn takes an answer in two messages, looks at the name and at the value of each header by a pattern, and collects a
head of four pieces a header. Most answers are whole when they begin: those are checked and written at once.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Iterable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from psoup.app.http.edge import CLOSE, WHOLE

_PLAIN: Final = bytes([ord("\t"), *range(0x20, 0x7F), *range(0x80, 0x100)])
"""What a line of a head may hold."""


class AnswerCycle(RequestResponseCycle):
    """uvicorn's cycle; takes a whole answer in one message."""

    async def send(self, message: Any) -> None:  # noqa: ANN401 (as ASGI says, with WHOLE in it or not)
        """Write a message of an answer.

        Raises:
            RuntimeError: headers that are none, or an answer that is not what its head says.
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
        if body and b"\r\ncontent-length: %d\r\n" % len(body) not in head:
            raise RuntimeError("the head of the answer has another length than its body")
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
        lines = [b"%b: %b\r\n" % header for header in headers]
        head = b"".join((STATUS_LINE[status], *lines, b"\r\n"))
        if head.translate(None, _PLAIN) != b"\r\n" * (len(lines) + 2):
            raise RuntimeError("a header of the answer holds what no header may hold")
        return head
