"""Fixtures: each contract test runs over every kind of store."""

from collections.abc import Iterator

import pytest

from engine.clock import ManualClock
from storage.memory import MemoryStore
from storage.redis_store import RedisStore
from storage.store import Store
from tests.stores import SharedServer

START_US = 1_700_000_000_000_000


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """One server for all tests of a session."""
    shared = SharedServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


@pytest.fixture
def memory_store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def embedded_store(server: SharedServer, tmp_path) -> RedisStore:
    return server.empty_store(tmp_path)


@pytest.fixture(params=["memory", pytest.param("embedded", marks=pytest.mark.redis)])
def store(request: pytest.FixtureRequest) -> Store:
    """Every kind of store, empty."""
    found: Store = request.getfixturevalue(f"{request.param}_store")
    return found
