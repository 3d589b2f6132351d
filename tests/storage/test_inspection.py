"""`psoup fsck`: a healthy store of every kind of clause compares equal, and a flipped bit anywhere is found."""

import contextlib
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.store.address import StoreUrlError
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.engine.tuples.arrow import arrow_schema, encode_batch
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from psoup.engine.verify.verification import Verification
from psoup.storage import keys
from psoup.storage.embedded.server import EmbeddedServer
from psoup.storage.inspection import Inspection, inspect_store
from tests.stores import SharedServer, open_test_store
from tests.world import World

pytestmark = pytest.mark.redis

ROWS = 70_000
WINDOW = "BEGIN (NOW - INTERVAL '1' DAY) END (NOW)"
ONE_STREAM = (
    "SELECT k FROM a WHERE k = 7",
    "SELECT * FROM a WHERE v > 0.2 AND v <= 0.9",
    "SELECT k FROM a WHERE v < 0.01 OR k IN (1, 2, 3)",
    "SELECT s FROM a WHERE s LIKE 'x%' AND k <> 5",
)
JOINS = (
    "SELECT a.k FROM a, b WHERE a.k = b.k AND a.v > 0.995",
    "SELECT a.k FROM a, b WHERE a.k = b.k AND b.v > 0.999",
    "SELECT a.k FROM a, b WHERE a.ts = b.ts AND a.v < 0.1",
)
INEQUALITY = "SELECT a.k FROM a, b WHERE a.v > b.v AND a.k = 1 AND b.k = 2"


def schema(name: str, **kept: int) -> StreamSchema:
    columns = (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("k", ColumnType.INT64),
        ColumnSchema("v", ColumnType.FLOAT64),
        ColumnSchema("s", ColumnType.STRING),
    )
    return StreamSchema(name, columns, "ts", ClockKind.HIGH_WATER, retention=Retention(**kept))


def table(chance: np.random.Generator, first: int, count: int) -> pa.Table:
    """Return tuples a millisecond apart, keys of 500, texts of three, some NULL."""
    times = (first + np.arange(count)) * 1_000
    columns = pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "k": chance.integers(0, 500, count),
            "v": chance.random(count),
            "s": pa.array(chance.choice(["x", "xy", "z"], count), mask=chance.random(count) < 0.1),
        }
    )
    return columns.cast(arrow_schema(schema("any")))


def filled(world: World) -> World:
    """Fill the store: clauses of every policy before, amid and after the data, joins, removals, retention."""
    chance = np.random.default_rng(11)
    world.declare(schema("a", rows=60_000))
    world.declare(schema("b"))
    early = [world.register(f"{text} {WINDOW}") for text in (*ONE_STREAM, *JOINS[:1])]
    for first in range(0, ROWS, 14_000):
        world.append_table("a", table(chance, first, 14_000))
        world.append_table("b", table(chance, first, 2_000))
        if first == 28_000:
            for policy in Materialize:
                world.register(f"{ONE_STREAM[1]} {WINDOW}", materialize=policy)
                world.register(f"{JOINS[1]} {WINDOW}", materialize=policy)
    for number, text in enumerate((*JOINS, INEQUALITY)):
        world.register(f"{text} {WINDOW}", name=f"late-{number}")
    world.append("b", [{"ts": ROWS * 1_000, "k": 1, "v": 0.5, "s": "x"}], app="p", version=3)
    world.remove(early[3])
    return world


@pytest.fixture(scope="module")
def filled_server(tmp_path_factory):
    """A server of its own: what a test changes, it puts back."""
    shared = SharedServer(tmp_path_factory.mktemp("filled"))
    filled(World(shared.empty_store(tmp_path_factory.mktemp("world"))))
    yield shared
    shared.stop()


@pytest.fixture
def client(filled_server):
    return filled_server.client


def compared(client):
    """Return what differs in the store, and what was compared."""
    inspection = Inspection(client, lambda: None)
    verification = Verification(inspection.checkpoint, inspection)
    found = list(inspection.structure())
    for some in verification.steps():
        found += some
    assert inspection.keys_compared
    return found, verification.tally


def test_healthy_store_is_equal(client):
    """Nothing differs, and every kind of thing was compared."""
    found, tally = compared(client)
    assert [] == found
    assert 2 == tally.streams
    assert ROWS + ROWS // 7 + 1 == tally.tuples
    assert 0 == tally.left_out == tally.moved
    for number in (
        tally.queries,
        tally.clauses,
        tally.chunks,
        tally.hits,
        tally.unkept,
        tally.composites,
    ):
        assert number > 0


def test_waiting_operations_are_no_difference(server, tmp_path):
    """What is committed and not applied yet is left out."""
    world = World(server.empty_store(tmp_path))
    world.declare(schema("a"))
    query = world.register(f"{ONE_STREAM[0]} {WINDOW}")
    named = world.register(f"{ONE_STREAM[0]} {WINDOW}", name="named")
    world.append_table("a", table(np.random.default_rng(1), 0, CHUNK_ROWS + 9))
    world.replace(named, "named", f"{ONE_STREAM[1]} {WINDOW}")
    assert [] == compared(server.client)[0]
    world.alter(replace(schema("a"), retention=Retention(rows=5 * CHUNK_ROWS)))
    assert [] == compared(server.client)[0]
    world.alter(schema("a"), fold=False)
    world.replace(named, "named", f"{ONE_STREAM[0]} {WINDOW}", fold=False)
    world.append("a", [{"ts": 0, "k": 1, "v": None, "s": None}], fold=False)
    world.register(f"{ONE_STREAM[1]} {WINDOW}", fold=False)
    world.remove(query, fold=False)
    assert [] == compared(server.client)[0]


@contextlib.contextmanager
def put_back(client, key):
    """Let the key be changed, and put it back as it was."""
    held = client.fetch_one("DUMP", key)
    try:
        yield
    finally:
        client.fetch_one("RESTORE", key, 0, held, "REPLACE")


def flipped(chance, value):
    """Return bytes with one bit another."""
    changed = bytearray(value)
    changed[chance.randrange(len(value))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def keys_like(client, pattern):
    return sorted(client.fetch_one("KEYS", pattern))


@pytest.mark.parametrize(
    "seed",
    [
        0,
        pytest.param(1, marks=pytest.mark.no_cover),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 4)),
    ],
)
@pytest.mark.parametrize(
    "pattern",
    [keys.PAGES_PATTERN, keys.BLOCKS_PATTERN, keys.COMPOSITES_PATTERN, keys.BATCHES_PATTERN],
)
def test_flipped_bit_in_results_is_found(client, pattern, seed):
    """A bit of a page, a block, composites or a batch's record differs: it is told."""
    chance = random.Random(f"{pattern} {seed}")
    key = chance.choice(keys_like(client, pattern))
    field = chance.choice(sorted(client.fetch_one("HKEYS", key)))
    with put_back(client, key):
        client.fetch_one("HSET", key, field, flipped(chance, client.fetch_one("HGET", key, field)))
        assert compared(client)[0], (key, field)


@pytest.mark.parametrize(
    ("key", "field", "change"),
    [
        (keys.META, "applied", -1),
        (keys.META, "applied", +1),
        (keys.META, "ts", +1),
        (keys.HEAD, "seq", -1),
        (keys.HEAD, "seq", +1),
        (keys.HEAD, "tuple_id", -1),
        (keys.HEAD, "bytes", +1),
        (keys.HEAD, "waiting", +1),
    ],
)
def test_changed_number_of_a_position_is_found(client, key, field, change):
    """Where the store is published to, and where the log ends, agree with the entries and the records."""
    with put_back(client, key):
        client.fetch_one("HINCRBY", key, field, change)
        assert compared(client)[0]


@pytest.mark.parametrize("digits", [3, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "key", [keys.STREAMS, keys.CLAUSES, keys.QUERIES, keys.DECLARATIONS, keys.LOG_QUERIES]
)
def test_changed_digit_of_a_record_is_found(client, key, digits):
    """A digit of a stream's, clause's or query's record is another one."""
    field, value = client.fetch_one("HGETALL", key)[:2]
    known = value
    if (
        key == keys.STREAMS
    ):  # the last arrival may be that of a batch without tuples, which leaves no record
        known = value.rsplit(b",", 2)[0]
    places = [at for at, byte in enumerate(known) if chr(byte).isdigit()]
    for at in random.Random(0).sample(places, min(len(places), digits)):
        changed = value[:at] + str((int(value[at : at + 1]) + 1) % 10).encode() + value[at + 1 :]
        with put_back(client, key):
            client.fetch_one("HSET", key, field, changed)
            assert compared(client)[0], (key, value, changed)


@pytest.mark.parametrize("key", [keys.PAGES_PATTERN, keys.BLOCKS_PATTERN, keys.COMPOSITES_PATTERN])
def test_lost_and_left_results_are_found(client, key):
    """A key of results that is gone is told, and one that belongs to nothing."""
    some = keys_like(client, key)[0]
    with put_back(client, some):
        client.fetch_one("UNLINK", some)
        assert compared(client)[0]
    stray = some.rpartition(b":")[0] + b":77"
    client.fetch_one("COPY", some, stray)
    try:
        assert compared(client)[0]
    finally:
        client.fetch_one("UNLINK", stray)


@pytest.mark.parametrize("column", ["ts", "k", "v"])
def test_changed_value_in_the_log_is_found(client, column):
    """A tuple of the log that is another one now no longer has the time, or the hits, that are kept of it."""
    entries = client.fetch_one("XRANGE", keys.LOG, "-", "+")
    at = max(range(len(entries)), key=lambda number: len(_field(entries[number][1], b"b")))
    with pa.ipc.open_stream(_field(entries[at][1], b"b")) as stream:
        batch = stream.read_next_batch()
    place = batch.schema.names.index(column)
    values = np.array(batch.column(place).cast(pa.float64() if column == "v" else pa.int64()))
    values[0] = {"ts": values[0] - 1, "k": 7, "v": -1.0}[column]
    columns = batch.columns
    columns[place] = pa.array(values).cast(batch.schema.field(place).type)
    body = encode_batch(pa.record_batch(columns, schema=batch.schema))
    with put_back(client, keys.LOG):
        _written_anew(client, entries, at, body)
        assert compared(client)[0]


@pytest.mark.parametrize("damage", ["body", "lost", "header"])
def test_damaged_entry_of_the_log_is_found(client, damage):
    """An entry that is gone or cannot be read is named; its stream is left out."""
    entries = client.fetch_one("XRANGE", keys.LOG, "-", "+")
    at = max(range(len(entries)), key=lambda number: len(_field(entries[number][1], b"b")))
    with put_back(client, keys.LOG):
        if damage == "lost":
            client.fetch_one("XDEL", keys.LOG, entries[at][0])
        else:
            fields = entries[at][1]
            whole = _field(fields, b"b")
            body = whole[:100] + bytes(100) + whole[200:] if damage == "body" else whole
            fields[fields.index(b"h") + 1] = b"[1]" if damage == "header" else _field(fields, b"h")
            _written_anew(client, entries, at, body)
        found, tally = compared(client)
    assert Seq(int(entries[at][0].partition(b"-")[0])) in {one.seq for one in found}
    assert tally.left_out > 0


def _field(flat, name):
    return flat[flat.index(name) + 1]


def _written_anew(client, entries, at, body):
    """Write the log again, the entry at `at` with another body."""
    client.fetch_one("UNLINK", keys.LOG)
    for number, (entry_id, flat) in enumerate(entries):
        fields = list(flat)
        if number == at:
            fields[fields.index(b"b") + 1] = body
        client.fetch_one("XADD", keys.LOG, entry_id, *fields)


def test_store_that_cannot_be_compared_is_refused(server, tmp_path):
    """Memory, an empty folder, an empty server and one of another layout: each says why."""
    for url in ("memory://", "http://x"):
        with pytest.raises(StoreUrlError):
            inspect_store(url, data=tmp_path)
    with pytest.raises(StoreUnsuitableError, match="no store in"):
        inspect_store(None, data=tmp_path)
    server.empty_store(tmp_path)
    server.client.fetch_one("HSET", keys.META, "fmt", "1")
    with pytest.raises(StoreUnsuitableError, match="layout 1"):
        Inspection(server.client, lambda: None)
    server.client.fetch_one("FLUSHALL")
    with pytest.raises(StoreUnsuitableError, match="no psoup"):
        Inspection(server.client, lambda: None)


def test_folder_is_compared_at_rest_and_beside_its_psoup(tmp_path):
    """The server of a folder is started for the comparison and ended, or is the one that runs."""
    store = open_test_store("embedded", tmp_path, ManualClock(0))
    World(store).declare(schema("a"))
    beside = inspect_store(None, data=tmp_path / "data")
    assert 1 == len(beside.checkpoint.streams)
    beside.close()
    assert 1 == len(store.results.streams())
    store.close()
    alone = inspect_store(None, data=tmp_path / "data")
    assert [] == list(alone.structure())
    alone.close()
    assert not EmbeddedServer(tmp_path / "data", Durability.FSYNC).is_running
