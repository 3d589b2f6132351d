"""A byte that changes at rest: whatever it is of, the damage is named or all answers are as before, never others."""

import contextlib
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from engine.errors import IntegrityError
from engine.limits import CHUNK_ROWS
from engine.log.operation import Materialize, QueryId, Register, Staged, StageId
from engine.results.histories import AskedHistory, HistoryId, HistoryPart
from engine.tuples.batch import Seq
from engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from engine.verify.verification import Verification
from storage import keys, open_worker_store
from storage.errors import RecoveringError, StoreUnavailableError, StoreUnsuitableError
from storage.inspection import Inspection
from storage.redis_client import Argument, RedisClient
from storage.redis_store import RedisStore
from storage.redis_worker import RedisWorkerStore
from tests.reference_values import Row
from tests.stores import SharedServer
from tests.world import World

pytestmark = pytest.mark.redis

FLIPS = 40
FLIPS_OF_TORTURE = 1_500
WINDOW = "BEGIN (NOW - INTERVAL '400' DAY) END (NOW)"
HISTORY = HistoryId(f"h_{1:022d}")
WAITING = StageId(f"st_{9:022d}")
Answers = Mapping[str, object]


def schema(name: str) -> StreamSchema:
    columns = (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("n", ColumnType.INT64),
    )
    return StreamSchema(name, columns, "ts", ClockKind.HIGH_WATER)


def tuples(first: int, count: int, *, of: int = 1_000) -> list[Row]:
    """Return rows a millisecond apart, of so many keys."""
    return [{"ts": n * 1_000, "n": n * 7 % of} for n in range(first, first + count)]


def filled(store: RedisStore) -> None:
    """Keep something of every kind: lists, bitmaps, pages, composites, commits, a part, a history, what waits."""
    world = World(store)
    for name in ("a", "b"):
        world.declare(schema(name))
    early = [
        world.register(f"SELECT n FROM a WHERE {condition} {WINDOW}")
        for condition in ("n = 7", "n < 600", "n > 990 AND n < 996")
    ]
    world.register(f"SELECT a.n FROM a, b WHERE a.n = b.n AND a.n < 20 {WINDOW}", name="joined")
    world.append("a", tuples(0, CHUNK_ROWS + 500))
    world.append("b", tuples(0, CHUNK_ROWS + 10), app="producer", version=3)
    stream_id, _ = world.streams["a"]
    content = Register(
        QueryId(f"q_{77:022d}"),
        f"SELECT n FROM a WHERE n = 11 {WINDOW}",
        {"a": stream_id},
        "late",
        {"team": "x"},
        Materialize.COMPLETE,
    )
    world.append_content(content)
    world.commit([("a", tuples(9_000, 20)), ("b", tuples(9_000, 30))], version=1)
    world.append("a", tuples(9_100, CHUNK_ROWS))
    world.remove(early[2])
    store.log.stage(Staged(WAITING, stream_id, "a", 1, b"a body that waits", b"d" * 32))
    store.log.hold(stream_id, Seq(1))
    asked = AskedHistory(
        HISTORY, early[0], "SELECT", store.results.cut().gen, Seq(3), 9, (None, 9), None
    )
    store.histories.begin(asked)
    store.histories.claim(HISTORY, "worker", done=0, of=None)
    part = HistoryPart(0, 1, (1, 2), (1, 2), b"the rows of a part")
    store.histories.put(HISTORY, "worker", part)
    store.histories.finish(HISTORY, "worker", parts=1, rows=1, complete_from_us=None)
    store.tell(b"{}")
    world.append("b", tuples(20_000, 5), fold=False)
    world.remove(early[1], fold=False)


def asked_all(store: RedisStore) -> Answers:
    """Return all that can be asked of a store, after its engine has begun anew. Raises what is raised for damage."""
    answers: dict[str, object] = {"key": store.page_key, "gen": store.results.cut().gen}
    world = World(store)
    folded = [operation.content for operation in world.fold()] if store.log.head() else []
    answers["head"] = store.log.head() - len(folded)
    for query in store.results.queries():
        answers[query.query_id] = (query, world.invoke(query.query_id, limit=100_000).rows)
    for stream in store.results.streams():
        answers[stream.schema.name] = (stream.schema, stream.rows, stream.queries)
        batches = store.log.batches_of(stream.stream_id, after=Seq(0), up_to=store.log.head())
        answers[f"batches of {stream.schema.name}"] = [
            (one.first_tuple_id, one.content)
            for one in store.log.read_at([batch.seq for batch in batches])
        ]
    answers["holds"] = store.log.holds()
    answers["trimmed"] = [store.log.trimmed_through(StreamId(n)) for n in (1, 2)]
    answers["staged"] = store.log.statistics().staged_bytes
    answers["history"] = store.histories.get(HISTORY) and store.histories.body(HISTORY, 0)
    world.streams = {"b": (StreamId(2), schema("b"))}
    rows = tuples(0, CHUNK_ROWS + 10)
    answers["version"] = world.append("b", rows, app="producer", version=3).seq
    return answers


class AtRest:
    """The files of a store that was stopped, to be damaged and started again."""

    def __init__(self, folder: Path) -> None:
        self.server = SharedServer(folder / "server")
        try:
            self._fill(folder)
        except BaseException:
            self.stop()
            raise

    def _fill(self, folder: Path) -> None:
        self._data = folder / "data"
        self._saved = folder / "saved"
        self._trials = 0
        store = self.server.empty_store(self._data)
        filled(store)
        store.close()
        self._stop()
        shutil.copytree(self.server.files, self._saved)
        self.before = self.asked({})

    def sizes(self) -> dict[str, int]:
        """Return the files with what is kept, and their bytes."""
        found = {path.name: path.stat().st_size for path in self._saved.iterdir()}
        return {name: size for name, size in found.items() if "manifest" not in name and size}

    def bytes_of(self, name: str) -> bytes:
        """Return a file as it was."""
        return (self._saved / name).read_bytes()

    def asked(self, flips: Mapping[str, tuple[int, int]]) -> Answers:
        """Return all answers of the files with these bytes flipped: by file where, and by what."""
        self._trials += 1
        shutil.rmtree(self.server.files)
        shutil.copytree(self._saved, self.server.files)
        for name, (at, mask) in flips.items():
            path = self.server.files / name
            damaged = bytearray(path.read_bytes())
            damaged[at] ^= mask
            path.write_bytes(bytes(damaged))
        data = self._data.with_name(f"data{self._trials}")
        shutil.copytree(self._data, data)
        store = None
        try:
            self.server.start()
            store = self.server.store(data)
            return asked_all(store)
        finally:
            if store is not None:
                store.close()
            self._stop()
            shutil.rmtree(data)

    def stop(self) -> None:
        """End the server."""
        self.server.stop()

    def _stop(self) -> None:
        self.server.client.close()
        self.server._server.stop()


@pytest.fixture(scope="module")
def at_rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtRest]:
    found = AtRest(tmp_path_factory.mktemp("at-rest"))
    yield found
    found.stop()


def judge(at_rest: AtRest, name: str, at: int, mask: int) -> str:
    """Return what became of a flipped byte: `named` or `superseded`. Fails where something was answered otherwise."""
    try:
        after = at_rest.asked({name: (at, mask)})
    except (IntegrityError, StoreUnsuitableError, StoreUnavailableError, RecoveringError):
        return "named"
    if after["gen"] != at_rest.before["gen"]:
        return "named"
    around = at_rest.bytes_of(name)[max(0, at - 60) : at + 30]
    differing = [key for key in at_rest.before if at_rest.before[key] != after.get(key)]
    assert not differing, (name, at, mask, around, differing)
    return "superseded"


def drawn(at_rest: AtRest, seed: int) -> tuple[str, int, int]:
    """Return a file, a place in it, and what is flipped there: every file as often as any other."""
    chance = random.Random(seed)
    sizes = at_rest.sizes()
    name = chance.choice(sorted(sizes))
    mask = chance.choice([1 << chance.randrange(8), chance.randrange(1, 256)])
    return name, chance.randrange(sizes[name]), mask


def test_flipped_bytes_of_the_files_are_named_or_change_nothing(at_rest):
    """Bytes anywhere in the append-only files: values of every kind, keys, lengths, commands."""
    found = [judge(at_rest, *drawn(at_rest, seed)) for seed in range(FLIPS)]
    assert found.count("named") > FLIPS // 4


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_many_flipped_bytes_of_the_files_are_named_or_change_nothing(at_rest):
    """The same, so often that every part of the files is met."""
    for seed in range(1_000, 1_000 + FLIPS_OF_TORTURE):
        judge(at_rest, *drawn(at_rest, seed))


# --- Each kind of value once, in a server that runs -------------------------------------------------


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
    keys.LOG_APPS, keys.OWNERS, keys.HOLDS, keys.PARTS, keys.BODIES, keys.LOG_SEALS, keys.RESULT_SEALS,
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


def reads(store: RedisStore | RedisWorkerStore) -> dict[str, Callable[[], object]]:
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


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("storage.redis_hits.opened", "{ps}:b"),
        ("storage.redis_entries.check_fields", "{ps}:log:c"),
        ("storage.redis_store.check_seals", keys.LOG_QUERIES),
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
