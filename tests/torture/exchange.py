"""One HTTP exchange at a time over a socket of our own, which can be cut at any byte of it.

Nothing is repeated and nothing is hidden: an answer has arrived whole, or the exchange is broken, or nobody
answered by the deadline. Bytes left over from one answer would be read as the next one.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

ANSWER_S: Final = 40.0
"""Every answer has arrived by then: the longest deadline of the service is 30 s."""
BODY_BYTES_MAX: Final = 64 * 1024 * 1024


class BrokenError(Exception):
    """The connection ended before a whole answer had arrived: what was asked for may have happened."""


class SilentError(Exception):
    """Nobody answered in ANSWER_S: that is a failure of the service."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Return the problem's code, empty where it is none."""
        if self.headers.get("content-type") != "application/problem+json":
            return ""
        return str(self.json().get("code", ""))


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the client lets go of the connection: after so many bytes sent, or received."""

    sent: int | None = None
    received: int | None = None


class Connection:
    """A kept-alive connection, opened when it is needed. One exchange at a time."""

    def __init__(self, host: str, port: int) -> None:
        """Do not connect yet."""
        self._host = host
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        cut: Cut | None = None,
    ) -> Answer:
        """Return the answer to one request.

        Raises:
            BrokenError: the connection could not be made, ended, or was `cut` by us.
            SilentError: no answer in time.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._exchanged(self._request(method, target, body, headers), cut)
        except TimeoutError as error:
            self.close()
            raise SilentError(f"{method} {target}: no answer in {ANSWER_S} s") from error
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            self.close()
            raise BrokenError(f"{method} {target}: {error!r}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Reset the connection: what is still under way on it is nobody's any more."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    def _request(
        self, method: str, target: str, body: bytes, headers: Mapping[str, str] | None
    ) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host}:{self._port}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if method in {"POST", "PUT"}:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def _exchanged(self, request: bytes, cut: Cut | None) -> Answer:
        if self._writer is None or self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(
                self._host, self._port, limit=BODY_BYTES_MAX
            )
        sent = len(request) if cut is None or cut.sent is None else min(cut.sent, len(request))
        self._writer.write(request[:sent])
        await self._writer.drain()
        if cut is not None:
            if cut.received is not None:
                await self._reader.read(max(1, cut.received))
            raise BrokenPipeError("cut by the client")
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ")[1])
        pairs = (line.split(":", 1) for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        body = b"" if status == 204 else await self._body(headers)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, headers, body)

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        assert self._reader is not None
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        parts: list[bytes] = []
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            part = await self._reader.readexactly(size + 2)
            if size == 0:
                return b"".join(parts)
            parts.append(part[:-2])
