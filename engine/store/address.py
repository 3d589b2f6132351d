"""The address of a store, read in one place by every process: also by those that load no store.

What is misspelt is refused. A driver that looks for what it knows in a URL connects elsewhere without a word.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from psoup.engine.errors import EngineError

MEMORY: Final = "memory"
UNIX: Final = "unix"
SERVERS: Final = ("redis", "rediss")
SHARED_SCHEMES: Final = (*SERVERS, UNIX)
"""Of stores that several processes can reach."""
PORT_DEFAULT: Final = 6379
PORT_MAX: Final = 65_535
_EXPECTED: Final = (
    "Write memory://, redis://host:6379/0, rediss://host:6379/0 (TLS) or unix:///path/to/socket?db=0; a user's name"
    " stands before an @, its password in the file that store_password_file names."
)
_DATABASE: Final = re.compile(r"[0-9]{1,5}")
_VISIBLE: Final = re.compile(r"[!-~]+")


class StoreUrlError(EngineError):
    """An address is not one of a store. The message never shows a password."""

    code = "store-url"


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A store's address in its parts. Its text and its repr show no password.

    Attributes:
        scheme: `memory`, `unix`, `redis` or `rediss`.
        host, port: of a server's address.
        socket: path of a server's Unix socket.
        database: of the server.
        username, password: of the server's user; None = the server's own default.
    """

    scheme: str
    host: str = ""
    port: int = PORT_DEFAULT
    socket: str = ""
    database: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def is_shared(self) -> bool:
        """Return whether several processes can reach the store."""
        return self.scheme in SHARED_SCHEMES

    def __str__(self) -> str:
        """Return the URL, without a password."""
        user = "" if self.username is None else f"{quote(self.username, safe='')}@"
        if self.scheme == MEMORY:
            return "memory://"
        if self.scheme == UNIX:
            return f"unix://{user}{quote(self.socket)}?db={self.database}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{user}{host}:{self.port}/{self.database}"


def read_store_address(url: str) -> StoreAddress:
    """Return the parts of a store's URL.

    Raises:
        StoreUrlError: it is of no kind that psoup knows, or holds something else than its kind has.
    """
    if not _VISIBLE.fullmatch(url):
        raise _refused("it holds a blank, or a character that no URL has")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:  # its text may hold what stands before an @
        raise _refused("its host or port cannot be; a port is 1 to 65535") from error
    if parts.fragment or url.endswith("#"):
        raise _refused("it holds a #: a password writes it as %23")
    if parts.scheme == MEMORY:
        if url.rstrip("/") != "memory:":
            raise _refused("nothing stands behind memory://")
        return StoreAddress(MEMORY)
    if parts.scheme == UNIX:
        return _of_socket(parts)
    if parts.scheme in SERVERS:
        return _of_server(parts, port)
    raise _refused(f"{parts.scheme!r} is no kind of store" if parts.scheme else "it has no scheme")


def _of_server(parts: SplitResult, port: int | None) -> StoreAddress:
    if not parts.hostname:
        raise _refused("it names no host")
    if port == 0:
        raise _refused("its host or port cannot be; a port is 1 to 65535")
    if parts.query:
        raise _refused(f"{parts.scheme}:// takes no query string")
    database = parts.path.removeprefix("/")
    if database and not _DATABASE.fullmatch(database):
        raise _refused("what stands behind the host is the number of a database")
    return StoreAddress(
        parts.scheme,
        host=parts.hostname,
        port=port or PORT_DEFAULT,
        database=int(database or 0),
        username=_decoded(parts.username),
        password=_decoded(parts.password),
    )


def _of_socket(parts: SplitResult) -> StoreAddress:
    if parts.netloc.rpartition("@")[2] or not parts.path.removeprefix("/"):
        raise _refused("a socket's path begins with a third /")
    options = parse_qsl(parts.query, keep_blank_values=True)
    databases = [value for name, value in options if name == "db"]
    if len(options) != len(databases) or len(databases) > 1:
        raise _refused("unix:// takes one parameter, db")
    database = databases[0] if databases else "0"
    if not _DATABASE.fullmatch(database):
        raise _refused("db is the number of a database")
    return StoreAddress(
        UNIX,
        socket=unquote(parts.path),
        database=int(database),
        username=_decoded(parts.username),
        password=_decoded(parts.password),
    )


def _decoded(given: str | None) -> str | None:
    return unquote(given) if given else None


def _refused(reason: str) -> StoreUrlError:
    return StoreUrlError(f"The store's address cannot be read: {reason}. {_EXPECTED}")
