"""Staged parts and commits in a server: killed, torn, full, and with answers that are lost."""

import shutil

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from psoup.engine.errors import IntegrityError, StageMissingError
from psoup.engine.limits import STAGE_MARK_BYTES
from psoup.engine.log.operation import Rows
from psoup.engine.store.errors import (
    CommitUnknownError,
    RecoveringError,
    StoreFullError,
    StoreUnavailableError,
)
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.redis.calls import client as redis_client
from psoup.storage.redis.store import RedisStore
from tests.storage.checksums import sealed_again
from tests.storage.driver import apply_all
from tests.storage.samples import commit, declare, rows, stage_id, staged
from tests.stores import SharedServer

pytestmark = pytest.mark.redis
MIB = 1 << 20


def contents(store: RedisStore) -> list[bytes]:
    """Return the bodies of all batches, and assert that the log is sound."""
    store.log.check()
    read = store.log.read(Seq(0), operations_max=9_999, bytes_max=1 << 30)
    return [one.content.body for one in read if isinstance(one.content, Rows)]


def test_parts_marks_and_holds_outlive_a_killed_server(own_server, tmp_path):
    """What was acknowledged is there, and goes on as if nothing had been."""
    store = own_server.empty_store(tmp_path / "data")
    store.log.append(declare("a"))
    for number in range(4):
        store.log.stage(staged(number, body=b"%d" % number))
    first = store.log.commit(commit(0, 1))
    store.log.hold(StreamId(1), Seq(1))
    store.log.discard(stage_id(2))
    before = store.log.statistics()
    own_server.kill()
    own_server.start()
    with pytest.raises(RecoveringError):
        store.log.stage(staged(9))
    with pytest.raises(RecoveringError):
        store.log.commit(commit(3, version=1))
    store = own_server.store(tmp_path / "data")
    assert before.staged_bytes == store.log.statistics().staged_bytes
    assert {1: 1} == store.log.holds()
    assert (first.seq, True) == (store.log.commit(commit(0, 1)).seq, True)
    with pytest.raises(StageMissingError) as refused:
        store.log.commit(commit(2, 3, version=1))
    assert {"stages": [stage_id(2)]} == refused.value.extras
    store.log.commit(commit(3, version=1))
    assert [b"0", b"1", b"3"] == contents(store)


def test_commit_torn_anywhere_is_whole_or_not_there(own_server, tmp_path):
    """The file keeps the effects of a commit together: cut inside them, all parts are staged as before."""
    store = own_server.empty_store(tmp_path / "data")
    store.log.append(declare("a"))
    for number in range(3):
        store.log.stage(staged(number, body=b"%d" % number * 500))
    path = max(own_server.files.glob("*.incr.aof"))
    before = path.stat().st_size
    store.log.commit(commit(0, 1, 2))
    past = path.stat().st_size
    assert past - before > 1_500
    own_server.kill()
    shutil.copytree(own_server.files, tmp_path / "files")
    own_server.start()
    for cut in (before, before + 40, (before + past) // 2, past - 600, past - 1, past):
        own_server.kill()
        shutil.rmtree(own_server.files)
        shutil.copytree(tmp_path / "files", own_server.files)
        torn = own_server.files / path.name
        torn.write_bytes(torn.read_bytes()[:cut])
        own_server.start()
        shutil.copytree(tmp_path / "data", tmp_path / f"data{cut}")
        store = own_server.store(tmp_path / f"data{cut}")
        assert (3 if cut == past else 0) == len(contents(store))
        done = store.log.commit(commit(0, 1, 2))
        assert (4, cut == past) == (done.seq, done.duplicate)
        assert [b"%d" % number * 500 for number in range(3)] == contents(store)


def test_commit_whose_answer_was_lost_is_known_when_sent_again(embedded_store, monkeypatch):
    """It ran: the error says that nobody knows, and the same commit again is a duplicate."""
    log, answer = embedded_store.log, redis_client._response
    log.append(declare("a"))
    log.stage(staged(1))
    log.stage(staged(2))

    def lose(connection: redis_client._Connection) -> object:
        found = answer(connection)
        if found[0] == b"OK":
            raise RedisConnectionError("lost")
        return found

    monkeypatch.setattr(redis_client, "_response", lose)
    with pytest.raises(CommitUnknownError):
        log.commit(commit(1, 2))
    with pytest.raises(StoreUnavailableError):
        log.stage(staged(3))
    monkeypatch.undo()
    again = log.commit(commit(1, 2))
    assert (3, True) == (again.seq, again.duplicate)
    assert 2 == len(contents(embedded_store))


@pytest.mark.parametrize("kind", ["server", "redis_server"])
def test_commit_in_full_memory_leaves_nothing(request, tmp_path, kind):
    """It is refused whole; one that fills the memory itself is done whole. Discarding frees in any case."""
    server: SharedServer = request.getfixturevalue(kind)
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    for number in range(8):
        store.log.stage(staged(number, body=b"%d" % number * MIB))
    before = store.log.statistics()
    (most,) = server.client.configuration(["maxmemory"]).values()

    def limit(nbytes: int | str) -> None:
        server.client.fetch_one("CONFIG", "SET", "maxmemory", nbytes)

    try:
        limit(2 * MIB)
        with pytest.raises(StoreFullError):
            store.log.stage(staged(9))
        with pytest.raises(StoreFullError):
            store.log.commit(commit(*range(8)))
        store.log.discard(stage_id(7))
        limit(most)
        assert before.staged_bytes - MIB - STAGE_MARK_BYTES == store.log.statistics().staged_bytes
        assert [] == contents(store)
        limit(int(server.client.info("memory")["used_memory"]) + 2 * MIB)
        store.look()  # at settings that were changed
        done = store.log.commit(commit(*range(7)))
        limit(most)
        assert (8, 21) == (done.seq, done.rows)
        assert [b"%d" % number * MIB for number in range(7)] == contents(store)
    finally:
        limit(most)


def test_commit_that_fails_amid_its_writes_leaves_the_head(embedded_store, server):
    """What the head does not count is found by the next start, not answered."""
    log = embedded_store.log
    log.append(declare("a"))
    for number in range(2):
        log.stage(staged(number))
    server.client.fetch_one("XADD", keys.LOG, "3-0", "in", "the way")
    with pytest.raises(IntegrityError):
        log.commit(commit(0, 1))
    assert (1, Seq(1)) == (log.head(), embedded_store.position().head)
    found = log.statistics()
    assert (2 * (4 + STAGE_MARK_BYTES), 0) == (found.staged_bytes, found.bytes)


def test_body_of_a_commit_goes_with_its_entry(embedded_store, server):
    """It lies where it was staged until it is trimmed; no part may have its id meanwhile."""
    log = embedded_store.log
    log.append(declare("a"))
    for number in range(2):
        log.stage(staged(number, body=b"%d" % number))
    log.commit(commit(0, 1))
    apply_all(embedded_store)
    for number in range(2):
        server.client.fetch_one("HSET", keys.part(stage_id(number)), "x", 1)
    log.trim(batches=[Seq(2)], below=Seq(1))
    assert 0 == log.statistics().staged_bytes
    left = server.client.fetch_one("KEYS", keys.PART_PREFIX + "*")
    assert [keys.body(stage_id(1)).encode()] == left
    assert b"1" == next(log.read_at([Seq(3)])).content.body
    with pytest.raises(KeyError):
        list(log.read_at([Seq(2)]))
    with pytest.raises(IntegrityError):
        log.stage(staged(1))
    log.trim(batches=[Seq(3)], below=Seq(1))
    assert [] == server.client.fetch_one("KEYS", keys.PART_PREFIX + "*")
    log.check()


def test_inspection_takes_parts_and_held_batches_and_finds_damage(embedded_store, server, faults):
    """`fsck` finds nothing in a store with parts, marks, a commit and held batches; and what was damaged."""
    log = embedded_store.log
    log.append(declare("a"))
    log.append(rows(1, count=0))
    for number in range(4):
        log.stage(staged(number, count=0))
    log.commit(commit(0, 1, 2))
    log.hold(StreamId(1), Seq(1))

    assert [] == faults()
    part, waiting, committed = keys.part(stage_id(3)), *map(keys.body, map(stage_id, (3, 1)))
    damages = [
        (("HSET", waiting, "b", "another body"), "staged part st_"),
        (("HSET", committed, "b", "another body"), "entry is damaged: Operation 4"),
        (("UNLINK", committed), "entry is damaged: Operation 4"),
        (("HDEL", keys.BODIES, 4), "entry is damaged: Operation 4"),
        (("HSET", part, "n", 77), "staged part st_"),
        (("HINCRBY", keys.HEAD, "staged", 1), "are said to be staged"),
        (("HSET", keys.HOLDS, 9, 1), "is held, and is not declared"),
        (("HSET", keys.TRIMMED, 9, 1), "was trimmed, and is not declared"),
        (("HSET", keys.OWNERS, 3, 9), "damaged: it is of stream 1"),
        (("HDEL", keys.OWNERS, 3), "its size or its stream is not listed"),
        (("XDEL", keys.LOG, "5-0"), "and the log ends at 4"),
        (("HSET", keys.HEAD, "seq", 4), "the log ends inside a commit"),
        (("HSET", keys.META, "applied", 4), "it is published, and its commit goes on"),
    ]
    for damage, text in damages:
        touched = str(damage[1])
        saved = server.client.fetch_one("DUMP", touched)
        server.client.fetch_one(*damage)
        sealed_again(server.client)
        found = faults()
        assert any(text in fault for fault in found), (text, found)
        server.client.fetch_one("DEL", touched)
        if saved is not None:
            server.client.fetch_one("RESTORE", touched, 0, saved)
    sealed_again(server.client)
    assert [] == faults()
