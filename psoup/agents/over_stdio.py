"""The server on standard input and output: one host, which has started the process and ends it."""

import asyncio
import contextlib
import os
import signal
import stat
import sys
from typing import Any, Final, Self, cast

from mcp.server.stdio import stdio_server

from psoup.agents.server import make_server
from psoup.client.connections.async_connection import AsyncConnection

MESSAGE_BYTES_MAX: Final = 16 << 20
"""A longer message ends the server."""
_ALONE: Final = "psoup mcp waits for a host on standard input; docs/agents.md says how to add it to one. Ctrl-D ends it."


def serve_stdio(url: str, token: str | None) -> None:
    """Serve until standard input ends, or SIGTERM. Nothing but messages of the protocol goes to standard output.

    `url` and `token` are well-formed. For the main thread.
    """
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_serve(url, token))


async def _serve(url: str, token: str | None) -> None:
    _end_when_asked()
    server = make_server(lambda key: AsyncConnection(url, token=key), token=token)
    if sys.stdin.isatty():
        print(_ALONE, file=sys.stderr)  # noqa: T201 (to who has typed it)
    async with stdio_server(stdin=await _standard_input()) as (messages, answers):
        await server.run(messages, answers, server.create_initialization_options())


def _end_when_asked() -> None:
    """Let the first SIGTERM cancel the present task, and ignore those after it.

    As an exception out of a signal's handler it would strike whichever task runs, and be shown with a traceback.
    """
    loop, task = asyncio.get_running_loop(), cast("asyncio.Task[None]", asyncio.current_task())

    def end() -> None:
        task.cancel()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        loop.remove_signal_handler(signal.SIGTERM)  # for a moment it would end the process
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    loop.add_signal_handler(signal.SIGTERM, end)


async def _standard_input() -> Any:  # noqa: ANN401 (what stdio_server reads lines of)
    """Return standard input as lines that are waited for without a thread; None: it is a file, or a terminal.

    A thread that waits for a line could not be ended, and would keep the process from ending when it is asked to.
    """
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    reader = asyncio.StreamReader(limit=MESSAGE_BYTES_MAX)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return _Lines(reader)


class _Lines:
    """The lines of a stream, until it ends, or until one is too long."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        try:
            line = await self._reader.readline()
        except ValueError:  # longer than the limit
            line = b""
        if not line:
            raise StopAsyncIteration
        return line.decode(errors="replace")
