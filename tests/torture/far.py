"""A store that is far away: between psoup and its server, what the server says takes a while longer to arrive."""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

CHUNK_BYTES: Final = 2**16


class FarStore:
    """A Unix socket that leads to another one."""

    def __init__(self, path: Path, server: Path, delay_s: float) -> None:
        """Listen at `path` once opened; answers of `server` arrive `delay_s` later, in order, as many as it gives."""
        self._path = path
        self._server = server
        self._delay_s = delay_s
        self._listener: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        """To psoup, one for each connection."""

    @property
    def url(self) -> str:
        """Return the address, as psoup takes it."""
        return f"unix://{self._path}?db=0"

    async def open(self) -> None:
        """Begin to listen. The server need not run yet."""
        self._listener = await asyncio.start_unix_server(self._carry, self._path)

    async def close(self) -> None:
        """Stop listening, and cut all connections."""
        assert self._listener is not None
        self._listener.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _carry(self, near: asyncio.StreamReader, to_near: asyncio.StreamWriter) -> None:
        self._writers.add(to_near)
        try:
            far, to_far = await asyncio.open_unix_connection(self._server)
            passing = [
                asyncio.create_task(_passed(near, to_far, 0.0)),
                asyncio.create_task(_passed(far, to_near, self._delay_s)),
            ]
            # Where one side has ended, the other has nobody to talk to.
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
            for task in passing:
                task.cancel()
            await asyncio.gather(*passing, return_exceptions=True)
            to_far.close()
        except OSError:
            pass  # the server is away: psoup sees a connection that ends
        finally:
            to_near.close()
            self._writers.remove(to_near)


async def _passed(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, delay_s: float
) -> None:
    """Pass all bytes on, each `delay_s` after it came, until `source` ends."""
    loop = asyncio.get_running_loop()
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def receive() -> None:
        data = b"to come"
        while data:
            data = b""
            with contextlib.suppress(OSError):
                data = await source.read(CHUNK_BYTES)
            under_way.put_nowait((loop.time() + delay_s, data))

    receiving = asyncio.create_task(receive())
    try:
        while True:
            due_s, data = await under_way.get()
            await asyncio.sleep(due_s - loop.time())
            if not data:
                return
            target.write(data)
            await target.drain()
    finally:
        receiving.cancel()
