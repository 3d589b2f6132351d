"""A store of layout 6 is given checksums by the engine that takes it over: whole, or after a kill from where it was."""

import itertools
import re

import pytest

from psoup.engine.errors import IntegrityError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Remove, Tick
from psoup.engine.store.errors import RecoveringError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.encoding.checksums import SUM
from psoup.storage.encoding.histories import pairs
from psoup.storage.opening import open_worker_store
from psoup.storage.redis import upgrade
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.library import library_text
from psoup.storage.redis.calls.write_token import WriteToken
from psoup.storage.redis.fsck import seals
from psoup.storage.redis.fsck.log import log_entries
from psoup.storage.redis.fsck.scanning import scan_keys
from tests.storage.driver import assert_shows, do
from tests.storage.fold import Fold
from tests.storage.histories import finished, history_id
from tests.storage.samples import commit, declare, join, query_id, register, rows, staged, txn
from tests.stores import SharedServer

pytestmark = pytest.mark.redis


def as_of_layout_6(client: RedisClient) -> None:
    """Take away all that layout 7 has added."""
    for key in scan_keys(client, f"{keys.TAG}*"):
        if seals.record_fields(key) is not None:
            client.fetch_one("HDEL", key, "sum")
        if key.startswith(keys.PART_PREFIX) and not key.endswith(":b"):
            client.fetch_one("HDEL", key, "c")
        of_engine = seals.HITS.fullmatch(key) or seals.OF_RESULTS.fullmatch(key)
        cut = -SUM.size if of_engine else None
        if key.endswith(":p") and key.startswith(f"{keys.HISTORIES}:"):
            cut = -17  # a space and a sum
        if cut is not None and key != keys.GARBAGE:
            flat = client.fetch_one("HGETALL", key)
            for field, value in zip(flat[::2], flat[1::2], strict=True):
                client.fetch_one("HSET", key, field, value[:cut])
    client.fetch_one("UNLINK", keys.SUMS, keys.LOG_SEALS, keys.RESULT_SEALS)
    client.fetch_one("HSET", keys.META, "fmt", upgrade.EARLIER)


@pytest.fixture
def earlier(server: SharedServer, tmp_path):
    """A store of layout 6 with something of every kind, and the fold that says what it shows."""
    store, fold = server.empty_store(tmp_path), Fold()
    do(store, fold, [declare("a"), register(1, 1, "a"), register(2, 1, "a", name="two")])
    do(store, fold, [rows(1, "a", count=CHUNK_ROWS, txn=txn("app")), rows(1, "a", count=900)])
    do(store, fold, [join(3, {"a": 1}, "self x p"), rows(1, "a", count=2 * CHUNK_ROWS)])
    do(store, fold, [register(4, 1, "a", name="late")])
    assert fold.composites
    for number in (1, 2, 3):
        store.log.stage(staged(number, 1, "a"))
    store.log.commit(commit(1, 2, app="job", version=1))
    do(store, fold, [Tick()])
    store.log.hold(StreamId(1), Seq(2))
    finished(store)
    store.log.append(rows(1, "a"))
    store.close()
    as_of_layout_6(server.client)
    return fold


def assert_whole(server: SharedServer, tmp_path, fold: Fold) -> None:
    """The store opens in the present layout, shows what it showed, and goes on."""
    before = server.client.fetch_one("HGET", keys.META, "gen")
    store = server.store(tmp_path)
    assert [b"%d" % keys.LAYOUT_VERSION, before] == server.client.fetch_one(
        "HMGET", keys.META, "fmt", "gen"
    )
    assert [] == list(seals.seal_faults(server.client))
    store.log.check()
    store.histories.check()
    assert b"body" == store.histories.body(history_id(1), 0)
    assert store.log.append(rows(1, "a", count=CHUNK_ROWS, txn=txn("app"))).duplicate
    store.log.commit(commit(3, app="job", version=2))
    do(store, fold, [Remove(query_id(1)), rows(1, "a", count=10)])
    assert_shows(store, fold, chunks=4)
    store.results.check()
    store.close()


def test_store_of_the_layout_before_is_given_checksums(server, tmp_path, earlier):
    """Everything is there, and sealed."""
    assert_whole(server, tmp_path, earlier)


def test_upgrade_that_is_killed_anywhere_is_gone_on_with(server, tmp_path, earlier, monkeypatch):
    """After each of its writes an engine may be no more: the next one goes on, and nothing is written twice over."""
    call, kills, left = WriteToken.call, 0, 0

    def dying(token, function, key_names, arguments=()):
        nonlocal left
        if function == "psoup_upgrade":
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
        return call(token, function, key_names, arguments)

    monkeypatch.setattr(WriteToken, "call", dying)
    monkeypatch.setattr("psoup.engine.limits.PUBLISH_WRITES_MAX", 8)
    for steps in (0, 1, 2, 3, 5, 8, 13, 21, 34):
        left = steps
        try:
            server.store(tmp_path).close()
        except KeyboardInterrupt:
            kills += 1
            assert b"6" == server.client.fetch_one("HGET", keys.META, "fmt")
    monkeypatch.undo()
    assert kills > 3
    assert_whole(server, tmp_path, earlier)


def test_workers_wait_and_nobody_appends_while_a_store_is_upgraded(
    server, tmp_path, earlier, monkeypatch
):
    """A worker of this version is told `recovering` until the engine is done."""
    seen: list[str] = []

    def looked(client, token, *, meanwhile):
        worker = open_worker_store(server.url)
        for step in (worker.position, lambda: worker.log.append(Tick())):
            with pytest.raises(RecoveringError) as raised:
                step()
            seen.append(raised.value.code)
        worker.close()
        upgrade.upgrade(client, token, meanwhile=meanwhile)

    server.client.fetch_one("HSET", keys.META, "run", "-")
    monkeypatch.setattr("psoup.storage.redis.store.upgrade", looked)
    server.store(tmp_path).close()
    assert ["recovering", "recovering"] == seen


def test_what_cannot_be_decoded_is_not_given_a_checksum(server, tmp_path, earlier):
    """A record that was damaged before is named, and the store stays of the earlier layout."""
    server.client.fetch_one("HSET", keys.CLAUSES, 2, b"1 [1,2")
    with pytest.raises(IntegrityError, match=r"\{ps\}:c under 2 cannot be decoded"):
        server.store(tmp_path)
    assert b"6" == server.client.fetch_one("HGET", keys.META, "fmt")


def test_lease_is_kept_while_nothing_but_reading_is_left(server, tmp_path, earlier, monkeypatch):
    """As where an upgrade was interrupted near its end: it reads for longer than a lease lasts, and writes nothing."""
    server.store(tmp_path).close()
    meta = pairs(server.client.fetch_one("HGETALL", keys.META)) | {b"fmt": b"6"}
    total = seals.record_sum(meta, seals.META_FIELDS)
    server.client.fetch_one("HSET", keys.META, "fmt", 6, "sum", total)
    steps: list[str] = []

    def entries(client):
        for one in log_entries(client):
            steps.append("entry")
            yield one

    def looked(client, token, *, meanwhile):
        upgrade.upgrade(client, token, meanwhile=lambda: steps.append("kept"))

    monkeypatch.setattr("psoup.storage.redis.upgrade.log_entries", entries)
    monkeypatch.setattr("psoup.storage.redis.store.upgrade", looked)
    server.store(tmp_path).close()
    read = [at for at, step in enumerate(steps) if step == "entry"]
    assert len(read) > 3
    assert all("kept" in steps[one:other] for one, other in itertools.pairwise(read))


def test_layout_that_a_flipped_bit_made_an_earlier_one_is_refused(server, tmp_path):
    """6 is 7 with a bit flipped: checksums that were made anew would hide whatever else was damaged."""
    server.empty_store(tmp_path).close()
    server.client.fetch_one("HSET", keys.META, "fmt", 6)
    with pytest.raises(IntegrityError, match=r"\{ps\}:m is damaged: it says layout 6"):
        server.store(tmp_path)
    assert b"6" == server.client.fetch_one("HGET", keys.META, "fmt")


@pytest.mark.parametrize("layout", [5, keys.LAYOUT_VERSION + 1])
def test_store_of_another_layout_is_refused(server, tmp_path, layout):
    """One from before the earlier layout, or from later than this one."""
    server.empty_store(tmp_path).close()
    server.client.fetch_one("HSET", keys.META, "fmt", layout)
    with pytest.raises(StoreUnsuitableError, match=f"layout {layout}"):
        server.store(tmp_path)


@pytest.mark.parametrize("name", ["HEAD", "META", "PART", "HISTORY"])
def test_fields_of_records_are_those_of_the_functions(name):
    """What is summed in Python is what is summed in Lua."""
    text = library_text().decode()
    (listed,) = re.findall(rf"^local {name}_FIELDS = \{{(.*)\}}$", text, re.MULTILINE)
    fields = getattr(seals, f"{name}_FIELDS")
    assert [one.decode() for one in fields] == re.findall(r"'(\w+)'", listed)


def test_seals_lie_where_the_functions_put_them():
    """The Functions name these keys themselves, and the sums of entries beside the log."""
    text = library_text().decode()
    assert f"LOG_SEALS, RESULT_SEALS, HITS = '{keys.LOG_SEALS}', '{keys.RESULT_SEALS}'" in text
    assert f"{keys.LOG}:c" == keys.SUMS
