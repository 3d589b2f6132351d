"""Stores for tests: `memory://` and the embedded server, opened anew or emptied."""

from pathlib import Path
from typing import Literal

from engine.clock import Clock
from storage import open_store
from storage.cluster import ClusterMemory
from storage.folder import FolderLock
from storage.memory import MemoryStore
from storage.redis_store import RedisStore
from storage.server import EmbeddedServer
from storage.store import Durability, Store

StoreKind = Literal["memory", "embedded"]


def open_test_store(kind: StoreKind, tmp_path: Path, clock: Clock) -> Store:
    """Return a store of its own: of this process, or a server on `tmp_path`. Close it.

    `clock` is the time of a memory store; a server has its own.
    """
    url = "memory://" if kind == "memory" else None
    return open_store(url, data=tmp_path / "data", clock=clock)


class SharedServer:
    """One embedded server for many tests, emptied for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FolderLock(folder)
        self._server = EmbeddedServer(folder, Durability.FSYNC)
        self._server.start()
        self.client = self._server.client

    def empty_store(self, tmp_path: Path) -> RedisStore:
        """Forget everything and return a store with a history that has just begun."""
        self.client.fetch_one("FLUSHALL")
        (_made(tmp_path) / "cluster.json").unlink(missing_ok=True)
        return self.store(tmp_path)

    def store(self, tmp_path: Path) -> RedisStore:
        """Return the store as it is, as a psoup with the data folder `tmp_path` opens it."""
        return RedisStore(
            self.client,
            ClusterMemory(_made(tmp_path) / "cluster.json"),
            durability=Durability.FSYNC,
            revive=self._server.start,
            stop=lambda: None,
        )

    def stop(self) -> None:
        self._server.stop()
        self._lock.close()


def memory_store(clock: Clock) -> MemoryStore:
    """Return an empty store of this process."""
    return MemoryStore(clock)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
