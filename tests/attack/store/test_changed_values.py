"""Each kind of value changed once, in a server that runs: whoever reads it names it, and no engine starts over it."""

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.log.operation import StageId
from psoup.engine.store.contract import WorkerStore
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.engine.verify.verification import Verification
from psoup.storage import keys
from psoup.storage.encoding.histories import pairs
from psoup.storage.inspection import Inspection
from psoup.storage.opening import open_worker_store
from psoup.storage.redis.calls.client import Argument, RedisClient
from psoup.storage.redis.fsck.seals import META_FIELDS
from psoup.storage.redis.store import RedisStore
from tests.attack.store.filling import HISTORY, WAITING, filled
from tests.stores import SharedServer

pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SharedServer, Path]]:
    """Yield a server with a store of everything, and the folder of its engine."""
    folder = tmp_path_factory.mktemp("running")
    server = SharedServer(folder / "server")
    filled(server.empty_store(folder / "data"))
    yield server, folder / "data"
    server.stop()


ALL = (
    keys.HEAD, keys.SIZES, keys.LOG_STREAMS, keys.LOG_QUERIES, keys.LOG_NAMES, keys.LOG_READERS,
    keys.LOG_APPS, keys.REQUESTS, keys.OWNERS, keys.HOLDS, keys.PARTS, keys.BODIES, keys.LOG_SEALS, keys.RESULT_SEALS,
    "{ps}:log:p:2", keys.part(WAITING), keys.HISTORIES, keys.history(HISTORY), keys.history_parts(HISTORY),
    keys.META, keys.STREAMS, keys.DECLARATIONS, keys.CLAUSES, keys.QUERIES, "{ps}:x:1",
)  # fmt: skip
"""Hashes that are compared before a store is opened."""
NOT_CHECKED = {
    keys.META: {
        "cluster",
        "run",
        "epoch",
        "nonce",
        "owner",
        "lease_from",
        "lease_until",
        "library",
        "durability",
        "settings",
        "full",
    },
}
"""What says who writes: it is written anew at each start, or refuses writers; another cluster is refused."""


def fields_of(client: RedisClient, key: str) -> list[bytes]:
    names: list[bytes] = client.fetch_one("HKEYS", key)
    return [name for name in names if name.decode() not in NOT_CHECKED.get(key, ())]


@contextlib.contextmanager
def put_back(client: RedisClient, key: str, *damage: Argument) -> Iterator[None]:
    """Have a key damaged by a command as long as the context lasts."""
    saved = client.fetch_one("DUMP", key)
    client.fetch_one(*damage)
    assert saved is not None
    try:
        yield
    finally:
        client.fetch_one("DEL", key)
        client.fetch_one("RESTORE", key, 0, saved)


def changed(value: bytes, chance: random.Random) -> bytes:
    """Return the value with a byte of it, of the end as likely as any, changed; one more where there is none."""
    if not value:
        return b"\1"
    damaged = bytearray(value)
    damaged[chance.randrange(len(damaged))] ^= chance.randrange(1, 256)
    return bytes(damaged)


def fsck_finds(client: RedisClient) -> bool:
    """Return whether `psoup fsck` says that the store is damaged, or refuses it."""
    try:
        return bool(list(Inspection(client, lambda: None).structure()))
    except (IntegrityError, StoreUnsuitableError):
        return True


@pytest.mark.parametrize("key", ALL)
def test_each_field_that_is_changed_lost_or_renamed_keeps_the_engine_out(running, key):
    """The start is refused, and `psoup fsck` says what is damaged: each field of each hash but the hits."""
    server, data = running
    client, chance = server.client, random.Random(key)
    names = fields_of(client, key)
    assert names

    def refused() -> None:
        with pytest.raises((IntegrityError, StoreUnsuitableError)) as raised:
            server.store(data)
        assert "{ps}:" in raised.value.detail or "layout" in raised.value.detail
        assert fsck_finds(client)

    damages: list[tuple[Argument, ...]] = [
        ("HSET", key, name, changed(client.fetch_one("HGET", key, name), chance))
        for name in names[:12]
    ]
    if key not in (keys.META, keys.HEAD):
        damages.append(("HDEL", key, names[0]))
    for damage in damages:
        with put_back(client, key, *damage):
            refused()


def test_staged_part_that_is_lost_or_lies_elsewhere_keeps_the_engine_out(running):
    """Its record has a sum of its own, under whatever key; the index says where it has to be."""
    server, data = running
    part, body = keys.part(WAITING), keys.body(WAITING)
    elsewhere = keys.part(StageId(f"{WAITING[:-1]}8"))
    for damage in (("DEL", part), ("RENAME", part, elsewhere), ("DEL", body)):
        with put_back(server.client, damage[1], *damage):
            with pytest.raises(IntegrityError, match=f"{WAITING} or its body is lost"):
                server.store(data)
            assert fsck_finds(server.client)
        server.client.fetch_one("DEL", elsewhere)


def test_part_of_a_history_that_is_lost_is_not_said_to_be_none(running):
    """Its record says that there is one: whoever reads the answer is told of the damage."""
    server, data = running
    store, key = server.store(data), keys.history_bodies(HISTORY)
    with put_back(server.client, key, "DEL", key):
        with pytest.raises(IntegrityError, match=f"Part 0 of history {HISTORY} is damaged"):
            store.histories.body(HISTORY, 0)
        assert fsck_finds(server.client)
    assert store.histories.body(HISTORY, 1) is None


@pytest.mark.parametrize("field", ["fmt", "cluster", "gen", "applied", "epoch", "lease_from"])
def test_position_and_token_that_cannot_be_read_are_named(running, field):
    """What is asked before anything is compared is refused as damage too, by the engine and by `psoup fsck`."""
    server, data = running
    for damage in (("HSET", keys.META, field, b"\xffx"), ("HDEL", keys.META, field)):
        with put_back(server.client, keys.META, *damage):
            with pytest.raises((IntegrityError, StoreUnsuitableError)):
                server.store(data)
            with contextlib.suppress(EngineError):  # a worker begins, or says why not
                open_worker_store(server.url).close()
            assert fsck_finds(server.client) == (field.encode() in META_FIELDS)


def reads(store: RedisStore | WorkerStore) -> dict[str, Callable[[], object]]:
    """Return how each kind of value is read, of a store whose answers are never kept between calls."""

    def hits() -> None:
        for query in store.results.queries():
            clause = store.results.snapshot(query.query_id).clause
            if clause.join is None:
                store.results.pages(clause, range(2))
            else:
                store.results.composites(clause)

    def bodies() -> None:
        for stream in (1, 2):
            batches = store.log.batches_of(StreamId(stream), after=Seq(0), up_to=store.log.head())
            list(store.log.read_at([batch.seq for batch in batches]))

    return {
        "{ps}:s": store.results.streams,
        "{ps}:d": store.results.streams,
        "{ps}:c": hits,
        "{ps}:q": store.results.queries,
        "{ps}:x": lambda: store.results.batches(StreamId(1), Seq(0)),
        "{ps}:b": hits,
        "{ps}:r": hits,
        "{ps}:j": hits,
        "{ps}:log:g": bodies,
        "{ps}:log:c": bodies,
        "{ps}:h": lambda: store.histories.body(HISTORY, 0),
    }


SIGNED = {
    "{ps}:s": "{ps}:s", "{ps}:d": "{ps}:d", "{ps}:c": "{ps}:c", "{ps}:q": "{ps}:q", "{ps}:x": "{ps}:x:1",
    "{ps}:b": "{ps}:b:1:0", "{ps}:r": "{ps}:r:*", "{ps}:j": "{ps}:j:*", "{ps}:log:g": "{ps}:log:g:*:b",
    "{ps}:log:c": keys.SUMS, "{ps}:h": keys.history_bodies(HISTORY),
}  # fmt: skip
"""Hashes whose values are compared whenever they are read."""


@pytest.mark.parametrize("kind", SIGNED)
def test_each_value_that_is_changed_or_moved_is_named_by_whoever_reads_it(running, kind):
    """The engine and a worker that are running answer `integrity`, and `psoup fsck` finds it."""
    server, data = running
    client, chance = server.client, random.Random(kind)
    store = server.store(data)
    found = sorted(client.fetch_one("KEYS", SIGNED[kind]))
    key = next(one.decode() for one in found if WAITING.encode() not in one)
    batches = {b"%d" % seq for seq in store.log.held_batches(store.log.head())}
    names = [one for one in client.fetch_one("HKEYS", key) if key != keys.SUMS or one in batches]

    def named() -> None:
        with pytest.raises(IntegrityError, match="damaged"):
            reads(store)[kind]()
        worker = open_worker_store(server.url)
        try:
            with pytest.raises(IntegrityError, match="damaged"):
                reads(worker)[kind]()
        finally:
            worker.close()
        inspection = Inspection(client, lambda: None)
        damage = list(inspection.structure())
        for some in Verification(inspection.checkpoint, inspection).steps():
            damage += some
        assert damage

    damages = [
        ("HSET", key, name, changed(client.fetch_one("HGET", key, name), chance))
        for name in names[:3]
    ]
    if len(names) > 1 and kind != "{ps}:d":
        damages.append(("HSET", key, names[1], client.fetch_one("HGET", key, names[0])))
    for damage in damages:
        with put_back(client, key, *damage):
            named()


@pytest.mark.parametrize("field", ["k", "t", "i", "h", "b"])
def test_each_field_of_an_entry_that_is_changed_is_named_by_whoever_reads_it(running, field):
    """Kind, arrival time, tuple id, header and body of a batch."""
    server, data = running
    client, chance, store = server.client, random.Random(field), server.store(data)
    entries = client.fetch_one("XRANGE", keys.LOG, "-", "+")
    at = next(n for n, (_, flat) in enumerate(entries) if flat[3] == b"rows" and len(flat[11]) > 0)

    def damage() -> None:
        for number, (entry_id, flat) in enumerate(entries):
            fields = list(flat)
            if number == at:
                place = fields.index(field.encode()) + 1
                fields[place] = changed(fields[place], chance)
            client.fetch_one("XADD", keys.LOG, entry_id, *fields)

    def named() -> None:
        for one in (store, worker):
            with pytest.raises(IntegrityError, match=r"Operation \d+ of the log is damaged"):
                reads(one)["{ps}:log:g"]()
        assert any(
            "is damaged" in one.detail for one in Inspection(client, lambda: None).structure()
        )

    worker = open_worker_store(server.url)
    try:
        with put_back(client, keys.LOG, "UNLINK", keys.LOG):
            damage()
            named()
    finally:
        worker.close()


def test_entry_and_body_that_are_lost_are_no_trimmed_ones(running):
    """An archive, which asks for what nobody else holds any more, is not told that it was forgotten."""
    server, data = running
    client, store = server.client, server.store(data)
    ((seq, part), *_) = pairs(client.fetch_one("HGETALL", keys.BODIES)).items()
    losses = [("XDEL", keys.LOG, f"{int(seq)}-0"), ("DEL", keys.body(StageId(part.decode())))]
    for damage in losses:
        with put_back(client, damage[1], *damage):
            for one in (store, worker := open_worker_store(server.url)):
                with pytest.raises(IntegrityError, match=f"Operation {int(seq)} of the log is dam"):
                    list(one.log.read_at([Seq(int(seq))]))
            worker.close()
            assert fsck_finds(client)
    with pytest.raises(KeyError):
        list(store.log.read_at([Seq(99_999)]))


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("psoup.storage.redis.calls.hits.opened", "{ps}:b"),
        ("psoup.storage.redis.calls.entries.check_fields", "{ps}:log:c"),
        ("psoup.storage.redis.store.check_seals", keys.LOG_QUERIES),
    ],
)
def test_who_does_not_verify_does_not_notice(running, monkeypatch, function, kind):
    """The damages above are such that without the comparison somebody goes on: so the tests can fail."""
    server, data = running
    client, store = server.client, server.store(data)
    trusted = (lambda *given: given[-1][:-8]) if "opened" in function else (lambda *_, **__: None)
    monkeypatch.setattr(function, trusted)
    key = {"{ps}:b": "{ps}:b:1:0", "{ps}:log:c": keys.SUMS}.get(kind, kind)
    names = client.fetch_one("HKEYS", key)
    name = max(names, key=lambda one: client.fetch_one("HSTRLEN", key, one))
    value = bytearray(client.fetch_one("HGET", key, name))
    value[len(value) // 2] ^= 1
    with put_back(client, key, "HSET", key, name, bytes(value)):
        if kind in SIGNED:
            reads(store)[kind]()
        server.store(data)


def test_server_is_as_it_was(running):
    """What the tests above damaged was put back: nothing differs."""
    server, data = running
    server.store(data)
    assert [] == list(Inspection(server.client, lambda: None).structure())
