"""uvicorn, run as psoup runs it: its own protocol, no access log, no server banner, a graceful end."""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import structlog
import uvicorn
from starlette.types import ASGIApp

from psoup.app.admission.connections import ConnectionAdmission
from psoup.app.connection.handshakes import TlsListener
from psoup.app.connection.heads import head_allowance_s
from psoup.app.connection.lingering import LINGER_S
from psoup.app.connection.listening import url_of
from psoup.app.connection.protocol import BoundedProtocol
from psoup.app.connection.tls import Certificate
from psoup.app.http.front import FRONT, Front
from psoup.app.settings import Settings

_TAKEN_AT_ONCE: Final = 32
_LOG = structlog.get_logger("psoup.server")


@dataclass(frozen=True)
class Connections:
    """Makes the connections of a process. It travels to workers; what it makes does not.

    Attributes:
        count_loopback: local connections are counted by address as well.
    """

    settings: Settings
    count_loopback: bool = False

    @property
    def by_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.settings.tls_cert_file is not None

    def __call__(self, **given: Any) -> BoundedProtocol:  # noqa: ANN401 (what uvicorn gives)
        """Return the protocol of a connection that uvicorn has accepted, and does not encrypt."""
        if self.by_tls:
            raise RuntimeError("connections that are to be encrypted are accepted by TlsListener")
        return self._protocol(**given)

    def tls_listener(self, listener: socket.socket, **given: Any) -> TlsListener:  # noqa: ANN401
        """Begin to accept connections that are encrypted; `given` as uvicorn gives it to the others."""
        return TlsListener(
            listener,
            lambda entry: self._protocol(entry=entry, **given),
            self._protocol.admission,
            Certificate(self.settings).context,
        )

    @cached_property
    def _protocol(self) -> type[BoundedProtocol]:
        return connection_class(self.settings, count_loopback=self.count_loopback)


class WorkerServer(uvicorn.Server):
    """A uvicorn server that accepts connections itself where they are encrypted."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        """Run what `config`, made by `configuration` with these `connections`, says."""
        super().__init__(config)
        self.connections = connections

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening at `sockets`; of copies of one socket the first is enough for TLS."""
        if not sockets or not self.connections.by_tls:
            await super().startup(sockets)
            return
        await super().startup([])
        listener = self.connections.tls_listener(
            sockets[0],
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        self.servers.append(listener)  # type: ignore[arg-type] # of a server it is closed and waited for alone

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End gracefully. After a second Ctrl-C wait for no request, but let the application end in order all the same.

        Requests that wait for a change are answered now.
        An idle client of TLS that does not see the end of its connection is waited for a little.
        """
        front: Front | None = self.lifespan.state.get(FRONT)
        for end in () if front is None else front.before_end:
            end()
        if self.connections.by_tls:
            loop = asyncio.get_running_loop()
            for one in self.server_state.connections:
                cycle: Any = getattr(one, "cycle", None)  # before the first request there is none
                if cycle is None or cycle.response_complete:
                    loop.call_later(LINGER_S, one.transport.abort)
        await super().shutdown(sockets)
        if self.force_exit:  # of which uvicorn does not tell the application
            await self.lifespan.shutdown()


class Server(WorkerServer):
    """The server of a process that listens by itself: it says where once it does."""

    def __init__(
        self,
        config: uvicorn.Config,
        connections: Connections,
        note: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        """Listen nowhere yet. `note` is called when it does, and returns what else is to be logged then."""
        super().__init__(config, connections)
        self._note = note

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and log the address."""
        await super().startup(sockets)
        if self.started and sockets:
            url = url_of(sockets[0], tls=self.connections.by_tls)
            _LOG.info("listening", url=url, **self._note())


def make_server(
    app: ASGIApp,
    settings: Settings,
    *,
    count_loopback: bool = False,
    note: Callable[[], Mapping[str, object]] = dict,
) -> Server:
    """Return a server for `app`; nothing listens yet. `note` is as for `Server`."""
    connections = Connections(settings, count_loopback=count_loopback)
    return Server(configuration(app, settings, connections), connections, note)


def configuration(
    app: Any,  # noqa: ANN401 (an application, or with `factory` what makes one)
    settings: Settings,
    connections: Connections,
    **more: Any,  # noqa: ANN401 (as uvicorn takes it)
) -> uvicorn.Config:
    """Return how uvicorn is to run `app`, over `connections`; it knows nothing of TLS."""
    return uvicorn.Config(
        app,
        http=connections,  # type: ignore[arg-type] # called as a class would be
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=settings.shutdown_s,
        **more,
    )


@contextmanager
def handles_of(listener: socket.socket) -> Iterator[list[socket.socket]]:
    """Hand `listener` and copies of it out, for uvicorn to listen at all of them; close the copies.

    The event loop takes one connection from each in a turn (libuv since 1.45). A turn under load answers hundreds
    of requests: with one handle new connections would wait for seconds, until the system dropped them.
    """
    with ExitStack() as copies:
        yield [
            listener,
            *(copies.enter_context(listener.dup()) for _ in range(_TAKEN_AT_ONCE - 1)),
        ]


def connection_class(settings: Settings, *, count_loopback: bool) -> type[BoundedProtocol]:
    """Return the protocol for these settings; `count_loopback` counts local connections by address as well."""
    members = {
        "settings": settings,
        "head_s": head_allowance_s(settings),
        "admission": ConnectionAdmission(settings, count_loopback=count_loopback),
    }
    return type("Protocol", (BoundedProtocol,), members)
