"""What the engine sees of its store each second, and what holds up appends meanwhile."""

import json
import threading

import pytest

from psoup.engine import limits
from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import Drop, Remove, Tick
from psoup.engine.store.condition import Loss
from psoup.engine.store.errors import StoreFullError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.write_token import WriteToken
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.condition import read_loss
from psoup.storage.redis.settings import verified_changes
from psoup.storage.redis.store import RedisStore
from psoup.storage.redis.upgrade import seal_rows
from tests.patience import wait_until
from tests.storage.driver import do
from tests.storage.fold import Fold
from tests.storage.samples import commit, declare, query_id, register, rows, stage_id, staged, txn

pytestmark = pytest.mark.redis


@pytest.mark.parametrize("fsync", ["everysec", "no"])
def test_settings_changed_while_it_runs_hold_up_the_next_append(server, settings, tmp_path, fsync):
    """Whatever was changed: until it is looked at nothing is stored, and after that only what is kept as promised."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    settings(appendfsync=fsync)
    for _ in range(2):
        for content in (rows(1), declare("b"), Drop(StreamId(1), "a")):
            with pytest.raises(StoreUnsuitableError):
                store.log.append(content)
        (refusal,) = store.log.append_many([rows(1)])
        assert isinstance(refusal, StoreUnsuitableError)
        assert ("config-drift",) == store.look().reasons
    assert 2 == store.log.append(Tick()).seq, "nobody is told that a tick is on disk"
    settings(appendfsync="always")
    with pytest.raises(StoreUnsuitableError):
        store.log.append(rows(1))
    assert () == store.look().reasons
    assert 3 == store.log.append(rows(1)).seq


def test_very_next_append_after_a_change_is_refused(server, settings, tmp_path):
    """However shortly before it another one was stored: an append or a commit."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    store.log.stage(staged(1))
    for number in range(10):
        settings(appendfsync="always")
        assert not store.look().drifted
        head = store.log.append(rows(1)).seq
        settings(appendfsync="everysec")
        with pytest.raises(StoreUnsuitableError):
            store.log.commit(commit(1)) if number % 2 else store.log.append(rows(1))
        assert head == store.log.head()


def test_settings_that_are_changed_amid_an_exchange_hold_up_the_rest_of_it(
    server, settings, tmp_path, monkeypatch
):
    """What one call carries is one step: what it stores, it stores before the change or not at all."""
    monkeypatch.setattr("psoup.storage.redis.calls.append.CALLED_TOGETHER", 2)
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    settings(loglevel="notice")
    store.look()
    client = store.log._client
    call_each = client.call_each

    def sent(calls, *, lost):
        first = call_each(calls[:1], lost=lost)
        client.fetch_one("CONFIG", "SET", "loglevel", "notice")
        return first + call_each(calls[1:], lost=lost)

    monkeypatch.setattr(client, "call_each", sent)
    outcomes = store.log.append_many([rows(1)] * 5)
    assert [False] * 2 == [one.duplicate for one in outcomes[:2]]
    assert ["store-unsuitable"] * 3 == [one.code for one in outcomes[2:]]
    assert 3 == store.log.head()


def test_many_appended_to_a_full_store_are_refused_as_far_as_they_add(server, settings, tmp_path):
    """A server without memory takes what frees it, whatever is sent along."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    store.log.append(register(1, 1))
    settings(maxmemory="1mb")
    store.look()
    added, removed, also_added = store.log.append_many([rows(1), Remove(query_id(1)), rows(1)])
    assert ("store-full", "store-full") == (added.code, also_added.code)
    assert 3 == removed.seq == store.log.head()
    with pytest.raises(StoreFullError):
        store.log.append_many([rows(1), rows(1)])


def test_holds_are_refused_while_settings_have_drifted(server, settings, tmp_path):
    """An archive that let batches go by them relies on their being on disk. One that changes nothing is answered."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    store.log.hold(StreamId(1), Seq(0))
    settings(appendfsync="everysec")
    for write in (
        lambda: store.log.hold(StreamId(1), Seq(1)),
        lambda: store.log.unhold(StreamId(1)),
    ):
        with pytest.raises(StoreUnsuitableError):
            write()
    assert 0 == store.log.hold(StreamId(1), Seq(0))
    assert {1: 0} == store.log.holds()


def test_duplicates_are_answered_while_settings_are_not_looked_at(server, settings, tmp_path):
    """What they repeat was stored while the settings were right."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    store.log.append(rows(1, txn=txn()))
    settings(appendfsync="everysec")
    assert store.log.append(rows(1, txn=txn())).duplicate


def test_look_under_way_while_the_store_is_opened_anew_leaves_appends_on(
    server, tmp_path, monkeypatch
):
    """One thread watches, another opens: what is left for those who append is of after the opening."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    written, compared = threading.Event(), threading.Event()
    call, changes = WriteToken.call, verified_changes

    def slow(token, function, *rest):
        answer = call(token, function, *rest)
        if function == "psoup_guard" and threading.current_thread() is watch:
            written.set()
            compared.wait(0.5)  # as long as the other thread may go on
        return answer

    def look() -> None:
        store._look._guard = None
        store.look()

    def compare(client, promised, *, fixed):
        found = changes(client, promised, fixed=fixed)
        if threading.current_thread() is not watch:
            compared.set()
            watch.join()
        return found

    monkeypatch.setattr(WriteToken, "call", slow)
    monkeypatch.setattr("psoup.storage.redis.condition.verified_changes", compare)
    watch = threading.Thread(target=look)
    watch.start()
    assert written.wait(10)
    server.client.fetch_one("HDEL", keys.META, "settings")  # psoup_open
    store._look.begin(store.durability)
    watch.join()
    assert not store.log.append(rows(1)).duplicate


def test_full_disk_refuses_what_adds_and_takes_what_frees(server, tmp_path, monkeypatch):
    """As the disk is: 0 % is always passed, and 100 % never."""
    store = server.empty_store(tmp_path)
    do(store, Fold(), [declare("a"), rows(1, txn=txn()), register(1, 1)])
    store.log.stage(staged(1))
    monkeypatch.setattr(limits, "DISK_ENOUGH_FREE_BYTES", 1 << 62)  # whatever this machine has
    full = server.store(tmp_path, disk_full_percent=0.0)
    for content in (rows(1), declare("b"), register(2, 1)):
        with pytest.raises(StoreFullError):
            full.log.append(content)
    for refused in (lambda: full.log.stage(staged(2)), lambda: full.log.commit(commit(1))):
        with pytest.raises(StoreFullError):
            refused()
    assert full.log.append(rows(1, txn=txn())).duplicate
    assert ("disk-full",) == full.look().reasons
    full.log.discard(stage_id(1))
    full.log.append(Remove(query_id(1)))
    again = server.store(tmp_path, disk_full_percent=100.0)
    again.log.append(rows(1))


def test_disk_of_a_server_that_does_not_say_where_it_writes_is_not_judged(
    server, tmp_path, monkeypatch
):
    """That of this process's own folder is another one."""
    monkeypatch.setattr(type(server.client), "configuration", _without_folder)
    assert server.empty_store(tmp_path).look().disk is None
    assert server.store(tmp_path, disk_full_percent=90.0).look().disk is None


def _without_folder(client, names, real=RedisClient.configuration):
    return {name: value for name, value in real(client, names).items() if name != "dir"}


def test_loss_is_told_for_an_hour(server, tmp_path, monkeypatch):
    """First and last seq as far as the folder knows them; also after another start, by whoever has the store then."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    assert store.look().loss is None
    store.close()
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seq": 7}))
    found = server.store(tmp_path)
    condition = found.look()
    assert condition.recent_loss is not None
    assert (2, 7, 6) == (condition.loss.first, condition.loss.last, condition.loss.total)
    assert ("operations-lost",) == condition.warnings
    (tmp_path / "another").mkdir()
    server.store(tmp_path).close()
    assert condition.loss == server.store(tmp_path / "another").look().loss
    monkeypatch.setattr(limits, "LOSS_SHOWN_S", 0.0)
    assert () == found.look().warnings
    assert condition.loss == found.look().loss


def test_loss_is_counted_once_though_its_engine_is_killed(server, tmp_path, monkeypatch):
    """Between the store, which has it, and the folder, which is written next; another loss is one more."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    store.close()
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seq": 7}))
    with monkeypatch.context() as killed:
        killed.setattr(ClusterMemory, "belong_to", _killed)
        with pytest.raises(KeyboardInterrupt):
            server.store(tmp_path)
    gen = server.client.fetch_one("HGET", keys.META, "gen")
    assert 7 == json.loads(path.read_text())["seq"]
    for _ in range(2):
        again = server.store(tmp_path)
        loss = again.look().loss
        assert loss is not None
        assert (2, 7, 6) == (loss.first, loss.last, loss.total)
        assert gen == server.client.fetch_one("HGET", keys.META, "gen")
        again.close()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seq": 9}))
    loss = server.store(tmp_path).look().loss
    assert loss is not None
    assert (2, 9, 14) == (loss.first, loss.last, loss.total)


def test_loss_that_was_not_counted_yet_is_not_taken_for_an_earlier_one(
    server, tmp_path, monkeypatch
):
    """Its engine is killed when the next generation has a number, and is not begun; an earlier loss went further."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    store.close()
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seq": 9}))
    server.store(tmp_path).close()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seq": 7}))
    server.say("run", "an earlier one")
    with monkeypatch.context() as killed:
        killed.setattr(RedisStore, "_open_run", _killed)
        with pytest.raises(KeyboardInterrupt):
            server.store(tmp_path)
    loss = server.store(tmp_path).look().loss
    assert loss is not None
    assert (2, 7, 8 + 6) == (loss.first, loss.last, loss.total)


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("lost", ["2 x 3 4", "2 3 4", "2 3 4 5 6 7"])
def test_loss_that_cannot_be_read_is_damage(server, tmp_path, lost):
    """It is named as such."""
    server.empty_store(tmp_path)
    server.client.fetch_one("HSET", keys.META, "lost", lost)
    with pytest.raises(IntegrityError, match="damaged"):
        read_loss(server.client)


def test_loss_that_an_earlier_psoup_has_counted_is_gone_on_with(server, tmp_path):
    """It did not say which generation began with it: that it had, is taken from nothing."""
    server.empty_store(tmp_path).log.append(declare("a"))
    server.client.fetch_one("HSET", keys.META, "lost", "2 9 5 8")
    counted = read_loss(server.client)
    assert counted is not None
    assert (Loss(2, 9, 5, 8), 0) == (counted.loss, counted.gen)
    ((_, field, total),) = seal_rows(server.client, keys.META)
    server.say(field, total.decode())
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seq": 7}))
    loss = server.store(tmp_path).look().loss
    assert loss is not None
    assert (2, 7, 8 + 6) == (loss.first, loss.last, loss.total)


def test_look_at_a_store_that_is_as_it_was_brings_no_news(server, tmp_path):
    """So an engine that stands idle writes nothing: it tells other processes only what differs."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    before = store.look()
    now_us = store.results.now_us()
    wait_until(lambda: store.results.now_us() > now_us + 2_000, "time has passed")
    assert before == store.look()


def test_clock_behind_the_last_arrival_is_told(server, tmp_path):
    """As a clock that was set forward, and back again, leaves it."""
    store = server.empty_store(tmp_path)
    now_us = store.results.now_us()
    server.client.fetch_one("HSET", "{ps}:log:h", "ts", now_us + 3_600_000_000)
    condition = store.look()
    assert ("clock-behind",) == condition.warnings
    assert 3_500 < condition.clock_behind_us / 1e6 <= 3_600
