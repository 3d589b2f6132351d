"""The server over streamable HTTP: any number of hosts, and nothing kept of any of them.

Without sessions: each request stands for itself, so that processes may come and go, and any of several may answer.
"""

import socket
from collections.abc import Sequence
from typing import Final

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from psoup.agents.server import Context, make_server
from psoup.client.connections.async_connection import AsyncConnection
from psoup.client.connections.connection import Connection
from psoup.client.connections.operations import described
from psoup.client.errors import DefinitionError, ServiceProblem

PATH: Final = "/mcp"
CALLS_MAX: Final = 96
"""Calls at the same time, fewer than the connections that the client may have open; further ones are answered 503."""
GRACE_S: Final = 1
"""Calls that are under way when the process is asked to end have so long."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_BEARER: Final = "bearer "


def serve_http(url: str, token: str | None, listener: socket.socket, names: Sequence[str]) -> None:
    """Serve on a listening socket until the process is asked to end.

    With names of its own, others than the users of this machine can reach it, through a proxy or directly. Then each
    request has to bring a key of the service, as `Authorization: Bearer`: the server's own is not lent to strangers.

    Args:
        url: of the service, well-formed.
        token: the server's own key, for requests that bring none; well-formed.
        listener: listens.
        names: hosts that requests may name, besides loopback's.

    Raises:
        DefinitionError: there are names, and the service asks nobody for a key.
        ServiceUnreachableError: there are names, and whether the service asks for keys cannot be found out.
    """
    if names:
        _require_keys(url)
    server = make_server(
        lambda key: AsyncConnection(url, token=key),
        token=None if names else token,
        key_of=_key_of,
    )
    config = uvicorn.Config(
        make_app(server, names),
        log_level="warning",
        limit_concurrency=CALLS_MAX,
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listener])


def make_app(server: Server[AsyncConnection], names: Sequence[str]) -> ASGIApp:
    """Return the ASGI application: it answers under its own names alone, and asks strangers for a key.

    Whether a key is in force the service decides.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=security(names)
    )
    return _Door(app, needs_key=bool(names))


def security(names: Sequence[str]) -> TransportSecuritySettings:
    """Return which hosts and origins are answered: a page that rebinds a name of its own to this machine is not."""
    hosts = [host for name in dict.fromkeys((*_LOOPBACK, *names)) for host in (name, f"{name}:*")]
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
    )


def bearer(header: str | None) -> str | None:
    """Return the key in an Authorization header; None: there is none."""
    if header is None or not header.lower().startswith(_BEARER):
        return None
    return header[len(_BEARER) :].strip() or None


def _key_of(context: Context) -> str | None:
    request = context.request
    return bearer(request.headers.get("authorization")) if isinstance(request, Request) else None


def _require_keys(url: str) -> None:
    """Raise DefinitionError if the service asks nobody for a key."""
    with Connection(url) as service:
        try:
            service.run(described("/v1/limits"))
        except ServiceProblem as problem:
            if problem.problem == "unauthenticated":
                return
            raise
    raise DefinitionError(
        f"The service at {url} asks nobody for a key, and this server would let others than the users of this machine"
        " use it: start the service with --keys-file, or listen on loopback without --allow-host."
    )


class _Door:
    """Answers what is no call by itself: another method than POST, and a call without a key where one is needed."""

    def __init__(self, app: ASGIApp, *, needs_key: bool) -> None:
        self._app = app
        self._needs_key = needs_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        if request.method != "POST":  # a GET would wait for ever for what is never sent
            return PlainTextResponse(
                "POST a message.\n", status_code=405, headers={"Allow": "POST"}
            )
        if self._needs_key and bearer(request.headers.get("authorization")) is None:
            return PlainTextResponse(
                "Each call brings a key of the service: Authorization: Bearer <key>.\n",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
        return None
