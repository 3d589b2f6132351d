"""uvicorn, run as psoup runs it: its own protocol, no access log, no server banner, a graceful end."""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import gc
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import structlog
import uvicorn
from starlette.types import ASGIApp

from app.errors import SettingError
from app.protocol import protocol_class
from app.settings import Settings

_BACKLOG: Final = 2_048
"""Connections that the system makes and keeps until they are taken; as many as uvicorn asks for again."""
_TAKEN_AT_ONCE: Final = 32
_NEW_OBJECTS_PER_LOOK: Final = 50_000
_LOG = structlog.get_logger("psoup.server")


class Server(uvicorn.Server):
    """A uvicorn server that says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and log the address."""
        await super().startup(sockets)
        if self.started and sockets:
            _LOG.info("listening", url=url_of(sockets[0], tls=self.config.is_ssl))


def pace_collector() -> None:
    """Let Python look for cycles of garbage more rarely, in the whole process.

    Standing queries are many small objects that live long and hang in no cycles: looking at them again and
    again took almost half the time of a bulk registration. What requests leave behind goes by counting.
    """
    gc.set_threshold(_NEW_OBJECTS_PER_LOOK, 50, 100)


def make_server(app: ASGIApp, settings: Settings, *, count_loopback: bool = False) -> Server:
    """Return a server for `app`; nothing listens yet."""
    protocol = protocol_class(settings, count_loopback=count_loopback)
    return Server(configuration(app, settings, protocol))


def configuration(
    app: Any,  # noqa: ANN401 (an application, or with `factory` what makes one)
    settings: Settings,
    protocol: Any,  # noqa: ANN401 (a class, or what makes connections)
    **more: Any,  # noqa: ANN401 (as uvicorn takes it)
) -> uvicorn.Config:
    """Return how uvicorn is to run `app`, whose connections `protocol` makes."""
    if settings.tls_cert_file is not None:
        more["ssl_context_factory"] = TlsContext(settings)
    return uvicorn.Config(
        app,
        http=protocol,
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


@dataclass(frozen=True, slots=True)
class TlsContext:
    """Makes a process's TLS context where it listens: settings travel to workers, contexts cannot."""

    settings: Settings

    def __call__(self, *_: object) -> ssl.SSLContext:
        """Return the context; uvicorn's own making of one is left out. Raises what `tls_context` does."""
        return tls_context(self.settings)


def tls_context(settings: Settings) -> ssl.SSLContext:
    """Return how connections are encrypted: TLS 1.2 or newer, with the certificate of the settings.

    Raises:
        SettingError: one of the two files is missing or cannot be read, or they do not belong together.
    """
    certificate, key = settings.tls_cert_file, settings.tls_key_file
    if certificate is None or key is None:
        raise SettingError("TLS takes both tls_cert_file and tls_key_file: one of them is missing.")
    for name, path in (("tls_cert_file", certificate), ("tls_key_file", key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise SettingError(f"{name} {path} cannot be read: {error.strerror}.") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a password OpenSSL would ask the terminal for one.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise SettingError(
            f"tls_cert_file {certificate} and tls_key_file {key} are not a certificate and its private key:"
            " both are PEM, the key has no passphrase and is the certificate's."
        ) from error
    return context


def url_of(listener: socket.socket, *, tls: bool) -> str:
    """Return the address that a listening socket answers at."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def listen(settings: Settings) -> socket.socket:
    """Return a listening socket at the settings' address; port 0 lets the system choose.

    Raises:
        SettingError: the files of TLS cannot be; nothing listens.
        OSError: the address cannot be listened on.
    """
    if settings.tls_cert_file is not None:
        tls_context(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
