"""Fixtures: each contract test runs over every kind of store."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.log.contract import Log
from psoup.engine.store.contract import Store
from psoup.storage.inspection import inspect_store
from psoup.storage.memory.store import MemoryStore
from psoup.storage.opening import open_worker_store
from psoup.storage.redis.store import RedisStore
from psoup.storage.redis.worker import RedisWorkerStore
from tests.patience import wait_until
from tests.storage.samples import declare
from tests.stores import SharedServer, redis_executable

START_US = 1_700_000_000_000_000


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """One server for all tests of a session."""
    shared = SharedServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """A Redis of the machine's own, 7.0 in Debian: the oldest that psoup takes, not the wheel's Valkey."""
    shared = SharedServer(tmp_path_factory.mktemp("redis"), redis_executable())
    yield shared
    shared.stop()


@pytest.fixture(params=["valkey", "redis"])
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharedServer]:
    """A server of the test's own, to kill: that of the wheel, and the oldest Redis."""
    executable = redis_executable() if request.param == "redis" else None
    server = SharedServer(tmp_path / "server", executable)
    yield server
    server.stop()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


@pytest.fixture
def memory_store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def embedded_store(server: SharedServer, tmp_path) -> RedisStore:
    return server.empty_store(tmp_path)


@pytest.fixture
def redis_store(redis_server: SharedServer, tmp_path) -> RedisStore:
    return redis_server.empty_store(tmp_path)


@pytest.fixture(
    params=[
        "memory",
        pytest.param("embedded", marks=pytest.mark.redis),
        pytest.param("redis", marks=pytest.mark.redis),
    ]
)
def store(request: pytest.FixtureRequest) -> Store:
    """Every kind of store, empty."""
    found: Store = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture
def log(store: Store) -> Iterator[Log]:
    """The log of each kind of store, with streams 1 `a` and 2 `b`, as it has to be at the end as well."""
    store.log.append(declare("a"))
    store.log.append(declare("b"))
    yield store.log
    store.log.check()


@pytest.fixture
def worker(server: SharedServer, store: RedisStore) -> Iterator[RedisWorkerStore]:
    """The store of a module that has the embedded one, as a worker has it."""
    opened = open_worker_store(server.url)
    assert isinstance(opened, RedisWorkerStore)
    yield opened
    opened.check()
    opened.close()


@pytest.fixture
def faults(server: SharedServer, tmp_path: Path) -> Callable[[], list[str]]:
    """What an inspection finds in the structure of the session's server, whenever it is called."""

    def found() -> list[str]:
        with contextlib.closing(inspect_store(server.url, data=tmp_path)) as inspection:
            return [fault.detail for fault in inspection.structure()]

    return found


def rewrites(server):
    """Return whether the server writes its file anew, as it does once it has a file again."""
    told = server.client.info("persistence")
    return "1" in (told["aof_rewrite_in_progress"], told["aof_rewrite_scheduled"])


@pytest.fixture
def settings(server):
    """Change settings of the shared server; they are put back."""
    before: dict[str, str] = {}

    def change(**changes: str) -> None:
        for name, value in changes.items():
            setting = name.replace("_", "-")
            before.setdefault(setting, server.client.configuration([setting])[setting])
            server.client.fetch_one("CONFIG", "SET", setting, value)

    yield change
    for setting, value in before.items():
        server.client.fetch_one("CONFIG", "SET", setting, value)
    wait_until(lambda: not rewrites(server), "its file is whole again: before, it does not end")
