"""New connections are taken in numbers, so that they do not wait behind a loop that is busy."""

import asyncio
import contextlib
import socket

import uvloop

from psoup.app.connection.listening import listen
from psoup.app.connection.server import handles_of
from psoup.app.settings import Settings

CLIENTS = 96
TURNS = 8
SETTLES_S = 0.05
"""What the loop has under way has ended by then: only a warning depends on it."""


async def taken_in(handles: list[socket.socket]) -> int:
    """Return how many of the connections that wait at the listener are made in TURNS turns of the loop."""
    loop = asyncio.get_running_loop()
    made: list[asyncio.BaseTransport] = []

    class Taken(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.append(transport)

    servers = [await loop.create_server(Taken, sock=one) for one in handles]
    for _ in range(TURNS):
        await asyncio.sleep(0)
    count = len(made)
    for server in servers:
        server.close()
    await asyncio.sleep(SETTLES_S)
    for transport in made:
        transport.close()
    await asyncio.sleep(SETTLES_S)
    return count


def waiting(*, with_copies: bool) -> int:
    """Return `taken_in` of a listener at which CLIENTS wait."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(Settings(store="memory://", port=0)))
        for _ in range(CLIENTS):
            stack.enter_context(socket.create_connection(listener.getsockname()[:2]))
        handles = stack.enter_context(handles_of(listener)) if with_copies else [listener]
        return uvloop.run(taken_in(handles))


def test_many_connections_are_taken_in_a_few_turns():
    """With the copies of the listener all that wait are taken at once; with the listener alone, one in a turn."""
    assert CLIENTS == waiting(with_copies=True)
    assert TURNS + 1 >= waiting(with_copies=False), "if not, the copies serve nothing any more"
