"""Stores for tests: `memory://` and the embedded server, opened anew or emptied."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any, Literal

import pytest

from psoup.engine.clock import Clock
from psoup.engine.store.contract import Durability, Store
from psoup.storage.embedded.folder import FolderLock, engine_id
from psoup.storage.embedded.server import EmbeddedServer
from psoup.storage.memory.store import MemoryStore
from psoup.storage.opening import open_store
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.store import RedisStore

StoreKind = Literal["memory", "embedded"]
ALL_ACCESS = ("default", "on", "nopass", "~*", "&*", "+@all")
"""What whoever reaches a server's socket may do: everything, and so change its settings."""


def open_test_store(kind: StoreKind, tmp_path: Path, clock: Clock) -> Store:
    """Return a store of its own: of this process, or a server on `tmp_path`. Close it.

    `clock` is the time of a memory store; a server has its own.
    """
    url = "memory://" if kind == "memory" else None
    return open_store(url, data=tmp_path / "data", clock=clock)


class SharedServer:
    """One server for many tests, emptied for each; of an executable of its own where one is given.

    It is run as the embedded one is, but for its settings, which can be changed as those of a server at an address.
    """

    def __init__(self, folder: Path, executable: Path | None = None) -> None:
        self.folder = folder
        self._lock = FolderLock(folder)
        self._server = EmbeddedServer(folder, Durability.FSYNC)
        if executable is not None:
            self._server._executable = executable
        self._server._access = ALL_ACCESS
        self._server.start()
        self.url = f"unix://{folder / 'run' / 'psoup.sock'}?db=0"
        self.client = self._server.client

    def empty_store(self, tmp_path: Path, **options: Any) -> RedisStore:
        """Forget everything and return a store with a history that has just begun. Options: of `RedisStore`."""
        self.client.fetch_one("FLUSHALL")
        (_made(tmp_path) / "cluster.json").unlink(missing_ok=True)
        return self.store(tmp_path, **options)

    def store(self, tmp_path: Path, **options: Any) -> RedisStore:
        """Return the store as it is, as a psoup with the data folder `tmp_path` opens it. Options: of `RedisStore`."""
        store = self.standby(tmp_path, **options)
        assert store.take_over() == 0.0
        return store

    def standby(self, tmp_path: Path, **options: Any) -> RedisStore:
        """Return the store as a psoup with the data folder `tmp_path` has it before it takes it over."""
        known = ClusterMemory(_made(tmp_path) / "cluster.json")
        given: dict[str, Any] = {
            "owner": engine_id(tmp_path),
            "durability": Durability.FSYNC,
            "revive": self._server.start,
            "stop": lambda: None,
        }
        return RedisStore(self.client, known, **given | options)

    def say(self, *fields: object) -> None:
        """Let META say otherwise."""
        self.client.fetch_one("HSET", "{ps}:m", *map(str, fields))

    @property
    def files(self) -> Path:
        """The folder of the server's append-only file."""
        return self.folder / "appendonlydir"

    def kill(self) -> None:
        """Kill the server; return when it is dead. `start` starts another on its files."""
        os.kill(int(self.client.info("server")["process_id"]), signal.SIGKILL)
        assert self._server._process is not None
        self._server._process.wait()

    def start(self) -> None:
        """Start the server again, as it was started first, and no more: psoup has still to open the store."""
        self._server.start()

    def stop(self) -> None:
        self._server.stop()
        self._lock.close()


def redis_executable() -> Path:
    """Return a redis-server; the test that asks is skipped where the machine has none."""
    found = shutil.which("redis-server") or shutil.which("redis-server", path="/usr/bin")
    if found is None:
        pytest.skip("this machine has no redis-server")
    return Path(found)


def memory_store(clock: Clock) -> MemoryStore:
    """Return an empty store of this process."""
    return MemoryStore(clock)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
