"""An API worker's store while things go on: what it waits for, and what it says of engine and server."""

import threading
import time

import pytest

from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Tick
from psoup.engine.store.errors import (
    RecoveringError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.store import RedisStore
from tests.patience import WAIT_S
from tests.storage.driver import do
from tests.storage.fold import Fold
from tests.storage.samples import declare

pytestmark = pytest.mark.redis


@pytest.fixture
def store(server, tmp_path) -> RedisStore:
    """The store as the engine has it."""
    found: RedisStore = server.empty_store(tmp_path)
    return found


def test_wait_ends_when_something_was_published(store, worker):
    """And not before, but for the first time, when it begins to listen."""
    worker.wait(WAIT_S)
    begun = time.monotonic()
    worker.wait(0.05)
    assert time.monotonic() - begun >= 0.04
    fold = Fold()
    publishing = threading.Timer(0.05, lambda: do(store, fold, [Tick(), Tick()]))
    publishing.start()
    worker.wait(WAIT_S)
    assert time.monotonic() - begun < WAIT_S
    publishing.join()
    assert 2 == worker.position().applied


def test_wait_survives_the_death_of_its_connection(server, store, worker):
    """It listens again by itself; until it does it sleeps."""
    worker.wait(0.01)
    server.client.fetch_one("CLIENT", "KILL", "TYPE", "pubsub")
    worker.wait(0.01)
    worker.wait(0.01)
    fold = Fold()
    publishing = threading.Timer(0.05, lambda: do(store, fold, [Tick()]))
    publishing.start()
    begun = time.monotonic()
    worker.wait(WAIT_S)
    assert time.monotonic() - begun < WAIT_S
    publishing.join()


def test_engine_that_is_gone_is_a_reason(server, store, worker, monkeypatch):
    """Reads and appends go on; a lease that has ended and one that was given back are the same."""
    assert () == worker.health().reasons
    store.close()
    assert not worker.position().engine_alive
    assert ("no-engine",) == worker.health().reasons
    assert 1 == worker.log.append(Tick()).seq
    info = RedisClient.info
    full = {"used_memory": "9", "maxmemory": "10"}
    monkeypatch.setattr(
        RedisClient, "info", lambda c, name: full if name == "memory" else info(c, name)
    )
    assert ("no-engine", "memory-high") == worker.health().reasons
    for error, reasons in (
        (StoreUnsuitableError, ("no-engine",)),
        (StoreUnavailableError, ("store-down",)),
    ):

        def failing(client: RedisClient, name: str, error: type[EngineError] = error) -> None:
            raise error("refused")

        monkeypatch.setattr(RedisClient, "info", failing)
        assert reasons == worker.health().reasons


def test_worker_refuses_another_store_at_its_address(server, store, worker, tmp_path):
    """Whatever was begun there since is not what it has answered from: somebody has to look."""
    do(store, Fold(), [declare("a")])
    worker.position()
    server.client.fetch_one("FLUSHALL")
    with pytest.raises(RecoveringError):
        worker.results.streams()
    server.empty_store(tmp_path / "another")
    with pytest.raises(StoreUnsuitableError, match="Another store"):
        worker.position()
    with pytest.raises(StoreUnsuitableError):
        worker.results.streams()
    assert ("store-down",) == worker.health().reasons


def test_run_that_nobody_opened_is_not_read(server, store, worker):
    """Until the engine has verified the restarted server a worker neither appends nor answers."""
    do(store, Fold(), [declare("a")])
    server.say("run", "another")
    for ask in (
        worker.position,
        worker.results.streams,
        worker.results.counts,
        lambda: worker.log.append(Tick()),
    ):
        with pytest.raises(RecoveringError):
            ask()
    store.reopen()
    assert 1 == worker.position().applied
