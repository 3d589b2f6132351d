"""Opens the store at an address: for the engine, which becomes its one writer, or for an API worker."""

import contextlib
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from psoup.engine import limits
from psoup.engine.clock import Clock
from psoup.engine.store.address import MEMORY, UNIX, StoreUrlError, read_store_address
from psoup.engine.store.contract import Durability, Store, WorkerStore
from psoup.engine.store.errors import (
    RecoveringError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.storage.disk import refuse_spent_disk
from psoup.storage.embedded.folder import FolderLock, engine_id, unusable
from psoup.storage.embedded.server import EmbeddedServer
from psoup.storage.memory.store import MemoryStore
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.write_token import StoreHolder
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.store import RedisStore
from psoup.storage.redis.worker import RedisWorkerStore


def open_store(
    url: str | None,
    *,
    data: Path,
    clock: Clock,
    durability: Durability = Durability.FSYNC,
    standby: bool = False,
    lease_s: float = limits.LEASE_S,
    password_file: Path | None = None,
    disk_full_percent: float = limits.DISK_FULL_PERCENT,
    streams_max: int = limits.STREAMS_COUNT_MAX,
) -> Store:
    """Return the store at `url`, verified and taken over: no other engine writes to it.

    Args:
        url: `memory://`; `redis://host:port/db`, `rediss://…` or `unix:///path?db=0` for a server
            the user runs; None = the embedded server, which is started.
        data: folder of the embedded server's files, and of what is remembered of a server of the
            user's own, so that an emptied one is noticed. Made if absent; untouched by `memory://`.
        clock: the time of `memory://`. A server's own clock is the time of what it stores.
        durability: the least level to accept (and to start the embedded server with). EVERYSEC has to
            be asked for; MEMORY is `memory://` alone.
        standby: leave `take_over` to the caller, who waits while another engine has the store.
        lease_s: how long the store stays with an engine that says nothing.
        password_file: of a server's user, as for `RedisClient`; the address has none then.
        disk_full_percent: from where on the disk under a server on this machine is full: the embedded one, or one at a
            unix socket.
        streams_max: no stream is admitted to the log beside so many others. Those that are there stay.

    Raises:
        StoreUrlError: the address is of no known kind, or the password's file cannot be read.
        StoreUnsuitableError: the server cannot keep what is promised, the message says what to set; or
            the folder cannot be used; or, but for a standby, another engine has the store.
        StoreUnavailableError: no answer.
        StoreFullError: the disk of the embedded server's folder is full.
    """
    if url is not None and read_store_address(url).scheme == MEMORY:
        return MemoryStore(clock, streams_max=streams_max)
    try:
        store = _open_in(
            data,
            url,
            password_file,
            durability=durability,
            lease_s=lease_s,
            disk_full_percent=disk_full_percent,
            streams_max=streams_max,
        )
        if not standby:
            _take_over(store)
    except OSError as error:
        raise unusable(data, error) from error
    except StoreUnavailableError:
        if url is None:
            refuse_spent_disk(data)  # which is why its server has ended
        raise
    return store


def open_worker_store(
    url: str,
    *,
    forget: Callable[[], None] = lambda: None,
    password_file: Path | None = None,
    streams_max: int = limits.STREAMS_COUNT_MAX,
) -> WorkerStore:
    """Return the store at `url` as an API worker has it: it appends and reads, and an engine does all else.

    Args:
        url: as for `open_store`; what lies in another process alone.
        forget: called in the thread that first sees another history, before anything of it is answered: what was
            kept of the one before is not true of it. It must not ask the store.
        password_file: as for `open_store`.
        streams_max: likewise.

    Raises:
        StoreUrlError: the address is of no kind that several processes can share.
        StoreUnsuitableError: the store is of another layout, or of an engine of another version. A store that does
            not answer yet, or that no engine has begun, is no error here.
    """
    if not read_store_address(url).is_shared:
        raise StoreUrlError(
            "Several processes share a store at redis://host:6379/0, rediss://host:6379/0 or"
            " unix:///path/to/socket alone: memory:// is inside one process."
        )
    store = RedisWorkerStore(
        url, forget=forget, password_file=password_file, streams_max=streams_max
    )
    try:
        store.position()
    except (RecoveringError, StoreUnavailableError):
        pass  # it may come
    except BaseException:
        store.close()
        raise
    return store


def _open_in(
    data: Path,
    url: str | None,
    password_file: Path | None,
    *,
    durability: Durability,
    lease_s: float,
    disk_full_percent: float,
    streams_max: int,
) -> RedisStore:
    folder = FolderLock(data)
    try:
        if url is None:
            return _open_embedded(
                data,
                folder,
                durability,
                lease_s=lease_s,
                disk_full_percent=disk_full_percent,
                streams_max=streams_max,
            )
        client = RedisClient(url, password_file=password_file)
        is_seen = read_store_address(url).scheme == UNIX  # its disk is one of this machine's
        return _open_remote(
            client,
            _remembered(url, data),
            data,
            folder,
            durability,
            lease_s=lease_s,
            disk_full_percent=disk_full_percent if is_seen else None,
            streams_max=streams_max,
        )
    except BaseException:
        folder.close()
        raise


def _take_over(store: RedisStore) -> None:
    """Take the store over at once; close it where that cannot be."""
    try:
        store.take_over()
    except BaseException:
        with contextlib.suppress(StoreUnavailableError):  # what failed first says more
            store.close()
        raise
    if store.holder is not None:
        store.close()
        raise _held(store.holder)


def _held(held: StoreHolder) -> StoreUnsuitableError:
    return StoreUnsuitableError(
        f"Another engine writes to the store: that of the data folder whose engine.id is {held.owner}."
        f" Stop that one; or, if it is dead, start this one again in {math.ceil(held.seconds)} s, or as"
        " a standby (psoup engine), which waits."
    )


def _open_embedded(
    data: Path,
    folder: FolderLock,
    durability: Durability,
    *,
    lease_s: float,
    disk_full_percent: float,
    streams_max: int,
) -> RedisStore:
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
            server.client,
            known,
            owner=engine_id(data),
            durability=durability,
            revive=server.start,
            stop=stop,
            stops_server=True,
            lease_s=lease_s,
            disk_full_percent=disk_full_percent,
            streams_max=streams_max,
        )
    except BaseException:
        with contextlib.suppress(StoreUnavailableError):  # what failed first says more
            server.stop()
        raise


def _remembered(url: str, data: Path) -> ClusterMemory:
    """Return what is remembered of a server of the user's own: it is kept under its address, whoever asks there."""
    parts = urlsplit(url)
    address = f"{parts.hostname}:{parts.port}{parts.path}?{parts.query}"
    name = hashlib.sha256(address.encode()).hexdigest()[:8]
    return ClusterMemory(data / f"cluster-{name}.json")


def _open_remote(
    client: RedisClient,
    known: ClusterMemory,
    data: Path,
    folder: FolderLock,
    durability: Durability,
    *,
    lease_s: float,
    disk_full_percent: float | None,
    streams_max: int,
) -> RedisStore:
    """Open a server of the user's own."""
    try:
        return RedisStore(
            client,
            known,
            owner=engine_id(data),
            durability=durability,
            revive=lambda: None,
            stop=folder.close,
            lease_s=lease_s,
            disk_full_percent=disk_full_percent,
            streams_max=streams_max,
        )
    except BaseException:
        client.close()
        raise
