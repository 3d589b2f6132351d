"""The address that a process answers at: taken first of all, since it may be in use, and named in what is said of it.

Loads neither the web side nor the engine.
"""

import socket
from typing import Final

from psoup.app.connection.tls import tls_context
from psoup.app.errors import ListenError
from psoup.app.settings import Settings

_BACKLOG: Final = 2_048
"""Connections that the system makes and keeps until they are taken; as many as uvicorn asks for again."""


def listen(settings: Settings) -> socket.socket:
    """Return a listening socket at the settings' address; port 0 lets the system choose.

    Raises:
        SettingError: the files of TLS cannot be; nothing listens.
        ListenError: the system does not let this process listen at the address.
    """
    if settings.tls_cert_file is not None:
        tls_context(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ListenError(settings.host, settings.port, error) from error


def url_of(listener: socket.socket, *, tls: bool) -> str:
    """Return the address that a listening socket answers at."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
