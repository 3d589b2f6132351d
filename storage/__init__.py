"""Stores behind the two contracts of the engine: the Log and the Results Structure."""

import contextlib
import hashlib
from pathlib import Path
from urllib.parse import urlsplit

from engine.clock import Clock
from storage.cluster import ClusterMemory
from storage.errors import StoreUnavailableError, StoreUrlError
from storage.folder import FolderLock, unusable
from storage.memory import MemoryStore
from storage.redis_client import RedisClient
from storage.redis_store import RedisStore
from storage.server import EmbeddedServer
from storage.store import Durability, Store, StoreHealth

__all__ = ["Durability", "Store", "StoreHealth", "open_store"]

SCHEMES = ("memory", "redis", "rediss", "unix")


def open_store(
    url: str | None,
    *,
    data: Path,
    clock: Clock,
    durability: Durability = Durability.FSYNC,
) -> Store:
    """Return the store at `url`, verified and ready.

    Args:
        url: `memory://`; `redis://host:port/db`, `rediss://…` or `unix:///path?db=0` for a server
            the user runs; None = the embedded server, which is started.
        data: folder of the embedded server's files, and of what is remembered of a server of the
            user's own, so that an emptied one is noticed. Made if absent; untouched by `memory://`.
        clock: the time of `memory://`. A server's own clock is the time of what it stores.
        durability: the least level to accept (and to start the embedded server with). EVERYSEC has to
            be asked for; MEMORY is `memory://` alone.

    Raises:
        StoreUrlError: the address is of no known kind.
        StoreUnsuitableError: the server cannot keep what is promised, the message says what to set; or
            the folder cannot be used.
        StoreUnavailableError: no answer.
    """
    scheme = "" if url is None else urlsplit(url).scheme
    if url is not None and scheme not in SCHEMES:
        raise StoreUrlError(
            f"'{scheme}' is no kind of store. Write memory://, redis://host:6379/0,"
            " rediss://host:6379/0 or unix:///path/to/socket, or no address for the embedded server."
        )
    if scheme == "memory":
        return MemoryStore(clock)
    try:
        return _open_in(data, url, durability)
    except OSError as error:
        raise unusable(data, error) from error


def _open_in(data: Path, url: str | None, durability: Durability) -> Store:
    folder = FolderLock(data)
    try:
        if url is None:
            return _open_embedded(data, folder, durability)
        return _open_remote(url, data, folder, durability)
    except BaseException:
        folder.close()
        raise


def _open_embedded(data: Path, folder: FolderLock, durability: Durability) -> RedisStore:
    known = ClusterMemory(data / "cluster.json")
    server = EmbeddedServer(data, durability)

    def stop() -> None:
        try:
            server.stop()
        finally:
            folder.close()

    server.start()  # which leaves none behind if it fails
    try:
        return RedisStore(
            server.client, known, durability=durability, revive=server.start, stop=stop
        )
    except BaseException:
        with contextlib.suppress(StoreUnavailableError):  # what failed first says more
            server.stop()
        raise


def _open_remote(url: str, data: Path, folder: FolderLock, durability: Durability) -> RedisStore:
    """Open a server of the user's own; what is remembered of it is kept under its address."""
    parts = urlsplit(url)
    address = f"{parts.hostname}:{parts.port}{parts.path}?{parts.query}"
    name = hashlib.sha256(address.encode()).hexdigest()[:8]
    known = ClusterMemory(data / f"cluster-{name}.json")
    client = RedisClient(url)
    try:
        return RedisStore(
            client, known, durability=durability, revive=lambda: None, stop=folder.close
        )
    except BaseException:
        client.close()
        raise
