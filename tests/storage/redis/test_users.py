"""The rules of both users, on real servers: an API worker can do its work and nothing that is the engine's."""

import re
from collections.abc import Iterator

import pytest

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Drop, Expire, QueryId, Remove, Renew
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.opening import open_store, open_worker_store
from psoup.storage.redis.calls.client import RULES, WORKER_RULES, RedisClient
from tests.storage.driver import assert_shows, do
from tests.storage.fold import Fold
from tests.storage.histories import WORKER, asked, part
from tests.storage.samples import (
    commit,
    declare,
    join,
    query_id,
    register,
    rows,
    stage_id,
    staged,
    txn,
)
from tests.stores import SharedServer

pytestmark = pytest.mark.redis
CLOCK = ManualClock(0)


def words(rules: str) -> list[str]:
    """Return the rules as ACL SETUSER takes them: a selector is one word."""
    return re.findall(r"\([^)]*\)|\S+", rules)


@pytest.fixture(params=["server", "redis_server"])
def users(request: pytest.FixtureRequest) -> Iterator[SharedServer]:
    """A server that knows an engine and a worker, on Valkey and on the oldest Redis."""
    server: SharedServer = request.getfixturevalue(request.param)
    for name, rules in (("engine", RULES), ("worker", WORKER_RULES)):
        server.client.fetch_one(
            "ACL", "SETUSER", name, "reset", "on", ">secret", "resetchannels", *words(rules)
        )
    yield server
    server.client.fetch_one("ACL", "DELUSER", "engine", "worker")


def address(server: SharedServer, user: str) -> str:
    return server.url.replace("unix://", f"unix://{user}:secret@")


def test_users_with_their_rules_can_do_all_their_work(users, tmp_path, monkeypatch):
    """The engine opens, folds, publishes, trims and tells; the worker appends, stages, commits, holds, reads, waits."""
    users.client.fetch_one("FLUSHALL")
    store = open_store(address(users, "engine"), data=tmp_path, clock=CLOCK)
    worker, fold = open_worker_store(address(users, "worker")), Fold()
    for content in (
        declare("a"),
        declare("b"),
        rows(1, count=5_000, txn=txn()),
        register(1, 1, name="n"),
        join(2, {"a": 1}, "self x p"),
        register(3, 2, "b"),
        rows(1, count=9_000, txn=txn(version=1)),
        Remove(query_id(1)),
        Drop(StreamId(2), "b", (QueryId(query_id(3)),)),
    ):
        worker.log.append(content)
    for number in (1, 2, 3):
        worker.log.stage(staged(number))
    worker.log.discard(stage_id(3))
    assert worker.log.commit(commit(1, 2)).seq == worker.log.head() == 11
    assert worker.log.commit(commit(1, 2)).duplicate
    monkeypatch.setattr(limits, "STAGE_LIFE_S", 0)
    for number in (4, 5):
        worker.log.stage(staged(number))
    assert worker.log.hold(StreamId(1), Seq(3)) == 3
    assert len(worker.log.batches_of(StreamId(1), after=Seq(0), up_to=Seq(11))) == 4
    assert [operation.seq for operation in worker.registrations()] == [5]
    worker.wait(0.01)
    do(store, fold, [])
    store.tell(b"figures")
    worker.wait(0.01)
    assert b"figures" == worker.told()
    assert worker.position().applied == store.log.head()
    assert (store.durability, store.page_key) == (worker.durability, worker.page_key)
    assert () == worker.health().reasons
    assert worker.health().memory_max_bytes
    read, own = worker.results, store.results
    assert own.streams() == read.streams()
    assert own.queries() == read.queries()
    assert own.counts() == read.counts()
    assert own.batches(StreamId(1), Seq(0)) == read.batches(StreamId(1), Seq(0))
    snapshot = read.snapshot(query_id(2))
    assert len(own.composites(snapshot.clause)) == len(read.composites(snapshot.clause)) > 0
    assert list(worker.log.read_at([Seq(3)])) == list(store.log.read_at([Seq(3)]))
    assert worker.log.read(Seq(7), operations_max=9, bytes_max=99)
    assert worker.log.statistics().entries == 11
    assert store.log.trim(batches=[Seq(3), Seq(7)], below=Seq(3)) == {1: [7]}
    worker.log.unhold(StreamId(1))
    assert store.log.trim(batches=[Seq(7)], below=Seq(3)) == {}
    begun = worker.histories.begin(asked(worker, 1, query=2)).asked.history_id
    worker.histories.claim(begun, WORKER, done=0, of=None)
    worker.histories.put(begun, WORKER, part(0))
    worker.histories.put(begun, WORKER, part(1, 10))
    assert worker.histories.finish(begun, WORKER, parts=1, rows=2, complete_from_us=None).rows
    assert [b"body", None] == [worker.histories.body(begun, number) for number in (0, 1)]
    found = worker.histories.find(query_id(2), None)
    assert found is not None
    assert (begun, 1) == (found.asked.history_id, worker.histories.statistics().count)
    worker.log.append(Remove(query_id(2)))
    assert store.histories.get(begun) is None
    assert [] == list(worker.histories.all())
    worker.log.append_many([register(4, 1, ttl_us=0), Renew(query_id(4)), Expire(query_id(4))])
    do(store, fold, [])
    assert ["query-expired"] == [one.code for one in worker.results.gone([query_id(4)])]
    store.log.check()
    store.histories.check()
    assert_shows(store, fold)
    worker.close()
    store.close()


def test_worker_is_refused_what_is_the_engines(users, tmp_path):
    """Its user can neither publish nor change what was published or written to the log, with no command at all."""
    store, fold = users.empty_store(tmp_path), Fold()
    do(store, fold, [declare("a"), register(1, 1), rows(1, count=5_000)])
    client = RedisClient(address(users, "worker"), rules=WORKER_RULES)
    token = store._token
    functions = [
        ("psoup_publish", keys.META, keys.HEAD, keys.SIZES),
        ("psoup_stage", keys.META, keys.QUERIES),
        ("psoup_trim", keys.META, keys.HEAD, keys.LOG, keys.SIZES, keys.OWNERS, keys.HOLDS),
        ("psoup_init", keys.META, keys.HEAD),
        ("psoup_reserve", keys.META),
        ("psoup_open", keys.META, keys.HEAD, keys.LOG),
        ("psoup_acquire", keys.META),
        ("psoup_renew", keys.META),
        ("psoup_release", keys.META),
        ("psoup_tell", keys.META, keys.FIGURES),
    ]
    calls = [
        ("FCALL", name, len(touched), *touched, token._epoch, token._nonce, 3, 3, 3)
        for name, *touched in functions
    ]
    plain = [
        ("SET", keys.FIGURES, "x"),
        ("SET", keys.HEAD, "x"),
        ("HSET", keys.META, "applied", 9),
        ("HSET", keys.QUERIES, "a", "b"),
        ("SET", keys.HISTORIES, "x"),
        ("HDEL", keys.CLAUSES, 2),
        ("DEL", keys.LOG),
        ("UNLINK", keys.LOG),
        ("UNLINK", keys.HEAD),
        ("UNLINK", keys.PARTS),
        ("UNLINK", keys.HOLDS),
        ("UNLINK", keys.META),
        ("XDEL", keys.LOG, "1-0"),
        ("XTRIM", keys.LOG, "MAXLEN", 0),
        ("RENAME", keys.LOG, keys.HEAD),
        ("EXPIRE", keys.LOG, 1),
        ("EVAL", "return 1", 0),
        ("FUNCTION", "LIST"),
        ("FUNCTION", "LOAD", "REPLACE", "#!lua name=psoup\n"),
        ("CONFIG", "GET", "appendfsync"),
        ("CONFIG", "SET", "appendfsync", "no"),
        ("KEYS", "*"),
        ("SCAN", 0),
        ("FLUSHALL",),
        ("SHUTDOWN", "NOSAVE"),
        ("BGREWRITEAOF",),
        ("ACL", "LIST"),
        ("GET", "elsewhere"),
        ("PUBLISH", keys.NOTICES_CHANNEL, 9),
        ("SUBSCRIBE", "elsewhere"),
    ]
    for command in (*calls, *plain):
        with pytest.raises(StoreUnsuitableError) as refused:
            client.fetch_one(*command)
        assert WORKER_RULES in refused.value.detail
    with pytest.raises(EngineError):  # the server itself takes no id twice
        client.fetch_one("XADD", keys.LOG, "1-0", "f", "1")
    assert_shows(store, fold)
    client.close()


def test_worker_that_may_not_listen_or_look_goes_on(users, tmp_path):
    """A narrower ACL costs it wake-ups and the store's memory, nothing else."""
    store = users.empty_store(tmp_path)
    users.client.fetch_one("ACL", "SETUSER", "worker", "-subscribe")
    worker = open_worker_store(address(users, "worker"))
    worker.wait(0.01)
    assert 0 == worker.position().applied
    do(store, Fold(), [declare("a")])
    assert 1 == worker.position().applied
    worker.close()
