"""The server on standard input and output: one host, which has started the process and ends it."""

import asyncio

from mcp.server.stdio import stdio_server

from psoup.agents.server import make_server
from psoup.client.async_connection import AsyncConnection


def serve_stdio(url: str, token: str | None) -> None:
    """Serve until standard input ends. Nothing but messages of the protocol goes to standard output.

    Raises:
        AddressError: `url` or `token` is malformed.
    """
    asyncio.run(_serve(url, token))


async def _serve(url: str, token: str | None) -> None:
    server = make_server(lambda key: AsyncConnection(url, token=key), token=token)
    async with stdio_server() as (messages, answers):
        await server.run(messages, answers, server.create_initialization_options())
