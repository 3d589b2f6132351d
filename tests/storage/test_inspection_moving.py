"""`psoup fsck` beside what goes on: removals, drops, publishes under way; and records that belong to nothing."""

from dataclasses import replace

import pytest

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import UNKEPT
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from psoup.engine.verify.verification import Verification
from psoup.storage import keys
from psoup.storage.inspection import Inspection
from psoup.storage.redis.calls.client import RedisClient
from tests.storage.checksums import sealed_again
from tests.world import World

pytestmark = pytest.mark.redis

SCHEMA = StreamSchema(
    "numbers",
    (ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False), ColumnSchema("n", ColumnType.INT64)),
    "ts",
    ClockKind.HIGH_WATER,
)
SQL = "SELECT n FROM numbers WHERE n = 5 BEGIN (NOW - INTERVAL '1' DAY) END (NOW)"


@pytest.fixture
def world(server, tmp_path):
    """A stream with a chunk that is whole, a clause with hits in it, and a producer's batches."""
    world = World(server.empty_store(tmp_path))
    world.declare(SCHEMA)
    world.register(SQL, name="five", materialize=Materialize.PARTIAL)
    world.append("numbers", [{"ts": n, "n": n % 100} for n in range(CHUNK_ROWS + 3)])
    for version in (1, 2):
        world.append("numbers", [{"ts": version, "n": 5}], app="p", version=version)
    return world


@pytest.fixture
def client(server):
    return server.client


def found_in(inspection, checkpoint=None):
    verification = Verification(checkpoint or inspection.checkpoint, inspection)
    return [one for some in verification.steps() for one in some], verification.tally


def structure(client):
    return list(Inspection(client, lambda: None).structure())


def test_removed_clause_is_no_difference(world, client):
    """A query that is removed after the records were read has lost its hits: that is noted as moved."""
    inspection = Inspection(client, lambda: None)
    world.remove(inspection.checkpoint.queries[0].query_id)
    client.fetch_one("UNLINK", *client.fetch_one("KEYS", keys.BLOCKS_PATTERN))
    found, tally = found_in(inspection)
    assert [] == found
    assert 1 == tally.moved


def test_dropped_stream_is_no_difference(world, client):
    """A stream that is dropped meanwhile has lost its batches: its clauses are left out."""
    inspection = Inspection(client, lambda: None)
    world.drop("numbers", [inspection.checkpoint.queries[0].query_id])
    found, tally = found_in(inspection)
    assert [] == found
    assert 1 == tally.left_out


def test_publish_under_way_is_waited_for_and_not_judged(world, client):
    """While a publish is staged, keys that no record leads to are its own; nothing is said of keys."""
    client.fetch_one("HSET", keys.META, "untidy", "0 0 0")
    client.fetch_one("HSET", keys.GARBAGE, "x", "y")
    sealed_again(client)
    inspection = Inspection(client, lambda: None)
    assert [] == list(inspection.structure())
    assert not inspection.keys_compared


def test_records_without_what_they_refer_to_are_found(world, client):
    """A batch without a stream, a query without a clause, a clause without a stream, a text that does not bind."""
    inspection = Inspection(client, lambda: None)
    whole = inspection.checkpoint
    (query,), (clause,) = whole.queries, whole.clauses
    wrong = {
        "its stream": replace(whole, streams=()),
        "its clause is unknown": replace(whole, clauses=()),
        "a stream of it is unknown": replace(
            whole, clauses=(replace(clause, streams=(StreamId(99),)),)
        ),
        "its text does not bind": replace(whole, queries=(replace(query, canonical="SELECT"),)),
        "its text says something else": replace(whole, queries=(replace(query, ranges=(1,)),)),
        "no batch of this stream": replace(
            whole, batches=(replace(whole.batches[0], seq=query.seq), *whole.batches[1:])
        ),
        "floors": replace(whole, streams=(replace(whole.streams[0], dropped_row=7),)),
        "last arrival": replace(whole, cut=replace(whole.cut, arrival_us=1)),
    }
    for text, checkpoint in wrong.items():
        found, _ = found_in(inspection, checkpoint)
        assert any(text in one.detail for one in found), text


def test_page_that_is_not_kept_is_found_where_policy_keeps_it(world, client, monkeypatch):
    """Only sparse-keeping clauses may leave dense pages to the columns."""
    inspection = Inspection(client, lambda: None)
    monkeypatch.setattr(inspection, "pages", lambda clause, chunks: dict.fromkeys(chunks, UNKEPT))
    ((one,), tally) = found_in(inspection)
    assert "not kept, though it has 41 hits" == one.detail
    assert ClauseId(2) == one.clause
    assert 1 == tally.unkept


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (("HSET", keys.LOG_STREAMS, "numbers", "1 0"), "declared otherwise"),
        (("HSET", keys.HEAD, "ts", "1"), "before that of the last entry"),
    ],
)
def test_log_side_that_says_otherwise_is_found(world, client, command, text):
    """The catalogue and the head agree with entries and records."""
    client.fetch_one(*command)
    assert any(text in one.detail for one in structure(client))


def test_producer_whose_last_version_is_another_is_found(world, client):
    """The last version of a producer is the last one that its ring remembers."""
    key = keys.producers(StreamId(1))
    (app,) = {field.partition(b":")[0] for field in client.fetch_one("HKEYS", key)}
    client.fetch_one("HSET", key, app, "7 2")
    assert any("last version" in one.detail for one in structure(client))


def test_batch_that_a_producer_appends_meanwhile_is_no_difference(world, client, monkeypatch):
    """A version committed after the head was looked at lies behind it."""
    exchange = RedisClient._exchange
    versions = [3]

    def appended(one, commands, lost):
        if versions and any(
            command[:2] == ("HGETALL", keys.producers(StreamId(1))) for command in commands
        ):
            batch = {"app": "p", "version": versions.pop(), "fold": False}
            world.append("numbers", [{"ts": 9, "n": 5}], **batch)
        return exchange(one, commands, lost)

    inspection = Inspection(client, lambda: None)
    monkeypatch.setattr(RedisClient, "_exchange", appended)
    assert [] == list(inspection.structure())
    assert [] == versions


def test_gap_behind_the_applied_operation_is_found(world, client):
    """Entries that wait to be applied follow each other without a gap."""
    for n in (1, 2, 3):
        world.append("numbers", [{"ts": n, "n": n}], fold=False)
    head = int(client.fetch_one("HGET", keys.HEAD, "seq"))
    client.fetch_one("XDEL", keys.LOG, f"{head - 1}-0")
    found = structure(client)
    assert any("are missing" in one.detail for one in found)
    client.fetch_one("HDEL", keys.SIZES, head - 1)
    assert any("are missing" in one.detail for one in structure(client))
