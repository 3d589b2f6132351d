"""What `psoup mcp` does: chooses the transport, and with HTTP who may send requests."""

from collections.abc import Sequence

from psoup.agents.over_http import PATH, serve_http
from psoup.agents.over_stdio import serve_stdio
from psoup.app.connection.listening import listen, url_of
from psoup.app.errors import ListenError
from psoup.app.hosts import is_loopback
from psoup.app.operate.interrupts import Terminated
from psoup.app.settings import Settings
from psoup.client.connections.address import checked_token, checked_url
from psoup.client.errors import DefinitionError

HOST_DEFAULT = "127.0.0.1"


def serve(http: str | None, names: Sequence[str], *, url: str, token: str | None) -> None:
    """Serve until the process is asked to end, or its standard input ends.

    Raises:
        AddressError: `url` or `token` is malformed.
        DefinitionError: `http` is no address, or strangers could use the service, or read keys on their way.
        ServiceUnreachableError: as `serve_http`.
    """
    checked_url(url)
    checked_token(token or "")
    wrong = [name for name in names if not name or set(name) & set("/:*")]
    if wrong:
        raise DefinitionError(
            f"--allow-host is {wrong[0]!r}: expected a name or an address without scheme and port, as in agents.example.com."
        )
    try:
        if http is not None:
            _over_http(http, names, url=url, token=token)
        elif names:
            raise DefinitionError("--allow-host is given without --http.")
        else:
            serve_stdio(url, token)
    except Terminated:
        return  # a supervisor, or the host, ends the process: nothing is left to be done


def address(text: str) -> tuple[str, int]:
    """Return host and port of `[HOST:]PORT`. Raises DefinitionError."""
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdecimal()) or int(port) > 65_535 or (separator and not host):
        raise DefinitionError(
            f"--http is {text!r}: expected a port, or a host and a port, as in 8765 or 127.0.0.1:8765."
        )
    return host or HOST_DEFAULT, int(port)


def _over_http(http: str, names: Sequence[str], *, url: str, token: str | None) -> None:
    host, port = address(http)
    if not names and not is_loopback(host):
        raise DefinitionError(
            f"--http is {http!r}, reachable from elsewhere, and keys would travel there unencrypted: listen on loopback"
            " behind a proxy that ends TLS, or name the proxy's host with --allow-host."
        )
    try:
        listener = listen(Settings(host=host, port=port))
    except ListenError as error:
        raise DefinitionError(error.detail) from error
    with listener:
        print(f"psoup mcp listens at {url_of(listener, tls=False)}{PATH}", flush=True)
        serve_http(url, token, listener, names)
