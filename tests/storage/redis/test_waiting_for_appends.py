"""How an engine learns of what other processes append, and where the store says that it stands."""

import threading

import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.log.operation import Declare
from psoup.engine.results.contract import Position
from psoup.engine.tuples.batch import Seq
from psoup.storage.memory.store import MemoryStore
from tests.app.fold.folding import schema
from tests.patience import WAIT_S
from tests.stores import SharedServer
from tests.world import World


@pytest.mark.redis
def test_wait_for_appends_ends_with_what_another_process_appends(server: SharedServer, tmp_path):
    """It waits where there is nothing beyond the position, from the very first one on; and not where there is."""
    store = server.empty_store(tmp_path)
    for after in (Seq(0), Seq(1)):
        ended = threading.Event()

        def wait(after: Seq = after, ended: threading.Event = ended) -> None:
            assert store.wait_appended(after, WAIT_S)
            ended.set()

        thread = threading.Thread(target=wait)
        thread.start()
        assert not ended.wait(0.05)
        store.log.append(Declare(schema(f"s{after}")))
        assert ended.wait(WAIT_S)
        thread.join(WAIT_S)
    assert store.wait_appended(Seq(1), WAIT_S), "there is one beyond"
    assert store.wait_appended(Seq(2), 0.0), "it does not wait for ever"


@pytest.mark.redis
def test_wait_for_appends_of_a_store_that_is_away_ends_at_once(tmp_path):
    """Whoever waits is to wait by other means."""
    server = SharedServer(tmp_path / "server")
    store = server.empty_store(tmp_path / "store")
    server.stop()
    assert not store.wait_appended(Seq(0), WAIT_S)


def test_wait_for_appends_in_memory_is_left_to_who_appends():
    """There is no other process."""
    assert not MemoryStore(ManualClock(1_000)).wait_appended(Seq(0), WAIT_S)


@pytest.mark.redis
def test_position_counts_the_bytes_that_wait(server: SharedServer, tmp_path):
    """In memory and over a server: what is published, what is in the log, and the bodies between the two."""
    for store in (MemoryStore(ManualClock(1_000)), server.empty_store(tmp_path)):
        world = World(store)
        world.declare(schema("s", None))
        world.append("s", [{"a": 1}, {"a": 2}], fold=False)
        (body,) = (len(one.content.body) for one in world.history if hasattr(one.content, "body"))
        gen = store.results.cut().gen
        assert Position(gen, Seq(1), Seq(2), body, engine_alive=True) == store.position()
        world.fold()
        assert Position(gen, Seq(2), Seq(2), 0, engine_alive=True) == store.position()
