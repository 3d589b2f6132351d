"""Histories in a server: killed, full, of another generation, with answers that are lost, and damaged."""

import threading

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from psoup.engine.errors import HistoryPartsMissingError, NotFoundError
from psoup.engine.store.archive_answers import HistoryState
from psoup.engine.store.errors import (
    RecoveringError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.storage import keys
from psoup.storage.opening import open_worker_store
from psoup.storage.redis.calls import client as redis_client
from psoup.storage.redis.store import RedisStore
from tests.patience import WAIT_S
from tests.storage.checksums import sealed_again
from tests.storage.histories import (
    OTHER,
    WORKER,
    asked,
    claimed,
    finished,
    history_id,
    part,
    refused,
    with_queries,
)
from tests.storage.samples import query_id
from tests.stores import SharedServer

pytestmark = pytest.mark.redis
MIB = 1 << 20


def test_histories_outlive_a_killed_server(own_server, tmp_path):
    """What was acknowledged is there; until the store is verified nothing is answered."""
    store = with_queries(own_server.empty_store(tmp_path / "data"))
    done = finished(store, 1)
    running = claimed(store, 2, query=2)
    store.histories.put(running, WORKER, part(0))
    another = asked(store, 3, query=3)
    own_server.kill()
    own_server.start()
    for step in (
        lambda: store.histories.find(query_id(1), None),
        store.histories.all,
        lambda: store.histories.begin(another),
        lambda: store.histories.claim(running, WORKER, done=1, of=2),
        lambda: store.histories.put(running, WORKER, part(1, 10)),
        lambda: store.histories.finish(running, WORKER, parts=1, rows=2, complete_from_us=None),
        lambda: store.histories.fail(running, WORKER, "why"),
        lambda: store.histories.drop(running),
    ):
        with pytest.raises(RecoveringError):
            step()
    store = own_server.store(tmp_path / "data")
    assert done.parts == store.histories.get(done.asked.history_id).parts
    store.histories.finish(running, WORKER, parts=1, rows=2, complete_from_us=None)
    store.histories.check()


def test_histories_of_another_generation_are_gone(server, embedded_store):
    """A history begun with a position of the generation before is refused, as is one of its parts."""
    store = with_queries(embedded_store)
    finished(store, 1)
    former = asked(store, 3, query=3)
    claimed(store, 2, query=2)
    server.say("gen", store.results.cut().gen + 1)
    assert store.histories.get(history_id(1)) is None
    assert store.histories.find(query_id(2), None) is None
    with pytest.raises(RecoveringError):
        store.histories.begin(former)
    assert NotFoundError is refused(lambda: store.histories.put(history_id(2), WORKER, part(0)))
    assert (0, 0) == (store.histories.statistics().count, store.histories.statistics().nbytes)
    assert history_id(4) == store.histories.begin(asked(store, 4)).asked.history_id


@pytest.mark.parametrize("kind", ["server", "redis_server"])
def test_histories_in_full_memory_change_nothing_that_adds(request, tmp_path, kind):
    """Neither a history nor a part is begun; claims, ends and removals go on."""
    full: SharedServer = request.getfixturevalue(kind)
    store = with_queries(full.empty_store(tmp_path))
    for number in (1, 2, 3):
        claimed(store, number, number)
        store.histories.put(history_id(number), WORKER, part(0, body=bytes(MIB)))
    (most,) = full.client.configuration(["maxmemory"]).values()
    try:
        full.client.fetch_one("CONFIG", "SET", "maxmemory", 2 * MIB)
        with pytest.raises(StoreFullError):
            store.histories.put(history_id(1), WORKER, part(1, 10))
        with pytest.raises(StoreFullError):
            store.histories.begin(asked(store, 4, now_us=5))
        before = store.histories.statistics()
        assert (3, 3 * MIB) == (before.count, before.nbytes)
        store.histories.claim(history_id(1), WORKER, done=1, of=2)
        store.histories.finish(history_id(1), WORKER, parts=1, rows=2, complete_from_us=None)
        store.histories.fail(history_id(2), WORKER, "no memory is left")
        store.histories.drop(history_id(3))
        assert 2 == len(store.histories.all())
        assert bytes(MIB) == store.histories.body(history_id(1), 0)
    finally:
        full.client.fetch_one("CONFIG", "SET", "maxmemory", most)
    store.histories.check()


def test_history_whose_answers_are_lost_is_told_again(embedded_store, monkeypatch):
    """Each step may be sent again, and has been done once."""
    store = with_queries(embedded_store)
    assert isinstance(store, RedisStore)
    receive = redis_client._response

    def lose(connection):
        receive(connection)
        raise RedisConnectionError

    def lost(step):
        monkeypatch.setattr(redis_client, "_response", lose)
        with pytest.raises(StoreUnavailableError):
            step()
        monkeypatch.undo()
        return step()

    what = asked(store, 1)
    assert history_id(1) == lost(lambda: store.histories.begin(what)).asked.history_id
    lost(lambda: store.histories.claim(history_id(1), WORKER, done=1, of=3))
    lost(lambda: store.histories.put(history_id(1), WORKER, part(0)))
    told = store._log._client.call(
        "psoup_history_end",
        [
            keys.HISTORIES,
            keys.LOG_QUERIES,
            keys.history(history_id(1)),
            keys.history_bodies(history_id(1)),
            keys.history_parts(history_id(1)),
        ],
        [keys.META, WORKER, "done", 99, "2", "", "", 1],
    )
    assert [b"CHANGED"] == told, "the parts were not those that were looked at"
    done = lost(
        lambda: store.histories.finish(
            history_id(1), WORKER, parts=1, rows=2, complete_from_us=None
        )
    )
    assert (HistoryState.DONE, (2,)) == (done.state, done.parts)


def test_parts_that_change_while_they_are_looked_at_are_looked_at_again(
    embedded_store, monkeypatch
):
    """The end counts the parts that are there, whatever the same worker does in another thread."""
    store = with_queries(embedded_store)
    claimed(store)
    store.histories.put(history_id(1), WORKER, part(0, rows=2))
    assert isinstance(store, RedisStore)
    looked: list[object] = []
    look = store.histories._parts

    def late(history, worker):
        found = look(history, worker)
        if not looked:
            store.histories.put(history, worker, part(0, rows=3))
        looked.append(found)
        return found

    monkeypatch.setattr(store.histories, "_parts", late)
    with pytest.raises(HistoryPartsMissingError) as differs:
        store.histories.finish(history_id(1), WORKER, parts=1, rows=2, complete_from_us=None)
    assert {"parts": [], "rows": 3} == differs.value.extras
    looked.clear()
    late_rows = store.histories.finish(history_id(1), WORKER, parts=1, rows=3, complete_from_us=1)
    assert (2, (3,)) == (len(looked), late_rows.parts)


def test_of_workers_that_claim_at_once_one_has_it(embedded_store):
    """However many try in the same moment."""
    store = with_queries(embedded_store)
    store.histories.begin(asked(store, 1))
    go, won = threading.Barrier(8), []

    def claim(name):
        go.wait(WAIT_S)
        try:
            store.histories.claim(history_id(1), name, done=0, of=None)
        except Exception as error:  # noqa: BLE001 (its kind is asserted)
            won.append(type(error).__name__)
        else:
            won.append(name)

    threads = [threading.Thread(target=claim, args=(f"worker-{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert ["HistoryTakenError"] * 7 == sorted(won)[:7]
    assert sorted(won)[7].startswith("worker-")


def test_worker_of_another_version_or_store_touches_no_history(server, embedded_store):
    """What its store is not to be read for, it is not to be written for."""
    store = with_queries(embedded_store)
    finished(store, 1)
    worker = open_worker_store(server.url)
    try:
        found = worker.histories.find(query_id(1), None)
        assert found is not None
        assert 2 == found.rows
        (library,) = server.client.fetch_one("HMGET", "{ps}:m", "library")
        server.say("library", "99")
        with pytest.raises(StoreUnsuitableError):
            worker.position()
        for step in (
            lambda: worker.histories.find(query_id(1), None),
            lambda: worker.histories.body(history_id(1), 0),
            lambda: worker.histories.begin(asked(store, 2, query=2)),
            lambda: worker.histories.drop(history_id(1)),
        ):
            with pytest.raises(StoreUnsuitableError):
                step()
        server.say("library", library.decode())
        worker.position()
        assert b"body" == worker.histories.body(history_id(1), 0)
    finally:
        worker.close()


def test_wiped_store_has_no_histories(server, embedded_store):
    """An emptied server knows no history; nobody begins one in it."""
    store = with_queries(embedded_store)
    finished(store, 1)
    what = asked(store, 2, query=2)
    server.client.fetch_one("FLUSHALL")
    for step in (
        lambda: store.histories.find(query_id(1), None),
        lambda: store.histories.begin(what),
        lambda: store.histories.put(history_id(1), WORKER, part(0)),
        lambda: store.histories.claim(history_id(1), OTHER, done=0, of=None),
    ):
        with pytest.raises(RecoveringError):
            step()
    assert [] == server.client.fetch_one("KEYS", "*")


def test_inspection_finds_what_is_damaged_in_a_history(embedded_store, server, faults):
    """`fsck` finds nothing in a store with histories in every state; and what was damaged."""
    store = with_queries(embedded_store)
    finished(store, 1, query=1)
    running = claimed(store, 2, query=2)
    store.histories.put(running, WORKER, part(3))
    store.histories.begin(asked(store, 3, query=3))

    assert [] == faults()
    body, known = keys.history_bodies(history_id(1)), keys.history_parts(history_id(1))
    whole = server.client.fetch_one("HGET", known, 0)
    server.client.fetch_one("HSET", body, 0, "other bytes")
    assert [f"history {history_id(1)} has a part 0 of another size"] == faults()
    server.client.fetch_one("HSET", body, 0, "body")
    for command in (
        ("HSET", known, 0, b"3" + whole[1:]),
        ("HSET", known, 0, whole),
        ("HSET", keys.history(history_id(1)), "n", 3),
        ("HDEL", known, 0),
        ("HSET", keys.history(history_id(1)), "j", "[9]"),
        ("DEL", keys.history(history_id(1))),
    ):
        server.client.fetch_one(*command)
        sealed_again(server.client)
        assert (command[-1] is whole) == (not faults()), command
    assert f"history {history_id(1)} has no record" in faults()
    with pytest.raises(AssertionError):
        store.histories.check()
    server.client.fetch_one("HDEL", keys.HISTORIES, keys.history_field(query_id(1), None))
    sealed_again(server.client)
    assert [f"{body} is of no history"] == faults()
    with pytest.raises(AssertionError, match="is of no history"):
        store.histories.check()
