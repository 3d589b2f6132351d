"""Opening a server: what is refused, what is verified after a restart, when a new generation begins."""

import json
from pathlib import Path

import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.log.operation import Remove, Tick
from psoup.engine.results.contract import Counts
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import RecoveringError, StoreFullError, StoreUnsuitableError
from psoup.storage import keys
from psoup.storage.opening import open_store
from psoup.storage.redis import store as redis_store
from psoup.storage.redis.calls.client import RULES, RedisClient
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.state import read_state
from tests.storage.checksums import sealed_again
from tests.storage.driver import assert_shows, delta, do
from tests.storage.fold import Fold
from tests.storage.samples import declare, query_id, register, rows, txn

pytestmark = pytest.mark.redis
CLOCK = ManualClock(0)


def remembered(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "cluster.json").read_text())
    return found


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("appendonly", "no"),
        ("appendfsync", "everysec"),
        ("appendfsync", "no"),
        ("maxmemory_policy", "allkeys-lru"),
        ("no_appendfsync_on_rewrite", "yes"),
    ],
)
def test_open_of_a_server_set_otherwise_is_refused_by_name(
    server, settings, tmp_path, setting, value
):
    """The refusal names the setting and what it has to be."""
    settings(**{setting: value})
    with pytest.raises(StoreUnsuitableError, match=setting.replace("_", "-")):
        server.empty_store(tmp_path)


def test_open_at_everysec_has_to_be_asked_for(server, settings, tmp_path):
    """The lower level is accepted by name only, and then shown."""
    settings(appendfsync="everysec")
    server.client.fetch_one("FLUSHALL")
    url = f"unix://{server.folder / 'run' / 'psoup.sock'}?db=0"
    with pytest.raises(StoreUnsuitableError):
        open_store(url, data=tmp_path, clock=CLOCK)
    store = open_store(url, data=tmp_path, clock=CLOCK, durability=Durability.EVERYSEC)
    assert Durability.EVERYSEC is store.durability
    store.close()


@pytest.mark.parametrize(
    ("section", "answer"),
    [
        ("server", {"redis_version": "6.2.14"}),
        ("server", {"redis_version": "unknown"}),
        ("replication", {"role": "slave"}),
    ],
)
def test_open_of_another_kind_of_server_is_refused(server, tmp_path, monkeypatch, section, answer):
    """Servers before 7.0 and replicas are refused by name."""
    info = RedisClient.info
    monkeypatch.setattr(
        RedisClient, "info", lambda client, name: answer if name == section else info(client, name)
    )
    match = "replica" if section == "replication" else answer["redis_version"]
    with pytest.raises(StoreUnsuitableError, match=match):
        server.empty_store(tmp_path)


def test_open_of_an_emptied_store_is_refused(server, tmp_path):
    """A folder that knew operations does not take an empty store for a fresh one."""
    store = server.empty_store(tmp_path)
    store.log.append(Tick())
    store.close()
    server.client.fetch_one("FLUSHALL")
    with pytest.raises(StoreUnsuitableError, match="empty"):
        server.store(tmp_path)
    with pytest.raises(RecoveringError):
        store.results.cut()
    with pytest.raises(StoreUnsuitableError, match="empty"):
        store.reopen()


def test_open_of_a_foreign_store_is_refused(server, tmp_path):
    """A folder belongs to one cluster; a folder without memory takes any store over."""
    server.empty_store(tmp_path / "one").close()
    first = (tmp_path / "one" / "cluster.json").read_bytes()
    server.empty_store(tmp_path / "two").close()
    (tmp_path / "one" / "cluster.json").write_bytes(first)
    with pytest.raises(
        StoreUnsuitableError, match=r"another data folder.*remove .*one/cluster\.json"
    ):
        server.store(tmp_path / "one")
    server.store(tmp_path / "three")


def test_open_of_a_later_layout_is_refused(server, tmp_path, monkeypatch):
    """A store written in another layout is left alone."""
    monkeypatch.setattr("psoup.storage.keys.LAYOUT_VERSION", 99)
    server.empty_store(tmp_path)
    monkeypatch.undo()
    with pytest.raises(StoreUnsuitableError, match="layout 99"):
        server.store(tmp_path)


@pytest.mark.parametrize("lost", ["{ps}:m", "{ps}:log:h"])
def test_open_of_a_part_of_a_store_is_refused(server, tmp_path, lost):
    """Without its head or its position a store is damaged, not new."""
    server.empty_store(tmp_path).log.append(Tick())
    server.client.fetch_one("UNLINK", lost)
    with pytest.raises(IntegrityError, match="parts"):
        server.store(tmp_path)


def test_open_of_a_log_whose_head_and_entries_disagree_is_refused(server, tmp_path):
    """Entries beyond the head mean damage: nothing is appended behind it."""
    server.empty_store(tmp_path).log.append(Tick())
    server.client.fetch_one("XADD", "{ps}:log", "5-0", "a", "b")
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    with pytest.raises(IntegrityError, match="disagree"):
        server.store(tmp_path)


def test_open_of_a_damaged_cluster_file_is_refused(tmp_path):
    """What cannot be read is not overwritten."""
    for text in ("", "[]", '{"cluster": "x"}'):
        (tmp_path / "cluster.json").write_text(text)
        with pytest.raises(StoreUnsuitableError, match=r"cluster\.json"):
            ClusterMemory(tmp_path / "cluster.json")


def test_open_of_a_store_behind_what_is_known_begins_a_generation(server, tmp_path):
    """A restored older copy is announced: every answer carries a later generation."""
    store = server.empty_store(tmp_path)
    store.log.append(Tick())
    gen = store.results.cut().gen
    store.close()
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(remembered(tmp_path) | {"seq": 9}))
    later = server.store(tmp_path).results.cut().gen
    assert later > gen
    path.write_text(json.dumps(remembered(tmp_path) | {"gen": later + 5_000_000}))
    assert later + 5_000_001 <= server.store(tmp_path).results.cut().gen


def test_reopen_of_a_store_behind_what_was_acknowledged_stops(server, tmp_path):
    """A living process cannot take back what it told others; the next start announces the loss."""
    store = server.empty_store(tmp_path)
    store.log.append(Tick())
    store.results.publish(delta(0, 1, 1))
    gen = store.results.cut().gen
    server.client.fetch_one("HSET", "{ps}:m", "applied", "0", "run", "another")
    sealed_again(server.client, keys.META)
    with pytest.raises(IntegrityError, match="new generation"):
        store.reopen()
    server.client.fetch_one("HSET", "{ps}:m", "applied", "1")
    sealed_again(server.client, keys.META)
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(remembered(tmp_path) | {"seq": 2}))
    assert server.store(tmp_path).results.cut().gen > gen


def test_run_that_nobody_opened_takes_nothing(server, tmp_path):
    """Until the store is verified appends, publishes, trims and snapshots are refused, then go on."""
    store, fold = server.empty_store(tmp_path), Fold()
    do(store, fold, [declare("a"), register(1, 1)])
    gen = store.results.cut().gen
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    for step in (
        lambda: store.log.append(Tick()),
        lambda: store.log.append(rows(1)),
        lambda: store.log.trim(batches=[], below=1),
        lambda: store.results.publish(delta(2, 2, 1)),
        lambda: store.results.snapshot(query_id(1)),
        store.results.cut,
    ):
        with pytest.raises(RecoveringError):
            step()
    assert ("recovering",) == store.health().reasons
    store.reopen()
    assert () == store.health().reasons
    assert gen == store.results.cut().gen
    do(store, fold, [rows(1)])
    assert_shows(store, fold)


def test_reopen_beside_appends_loses_nothing(server, tmp_path, monkeypatch):
    """What is committed behind the look at the store is not missing from it."""
    store = server.empty_store(tmp_path)
    before = store.results.cut().gen

    def looked(client):
        state = read_state(client)
        store.log.append(Tick())
        return state

    monkeypatch.setattr(redis_store, "read_state", looked)
    store.reopen()
    monkeypatch.undo()
    assert (before, 1) == (store.results.cut().gen, store.log.head())
    store.log.check()


def test_reopen_of_an_open_store_changes_nothing(embedded_store):
    """It may be called at any time."""
    before = embedded_store.results.cut()
    embedded_store.reopen()
    assert before.gen == embedded_store.results.cut().gen


def test_everysec_restarted_after_an_unclean_end_begins_a_generation(server, settings, tmp_path):
    """Its last second may be lost and nobody knows: that is announced. A clean end lost nothing."""
    settings(appendfsync="everysec")
    server.client.fetch_one("FLUSHALL")

    def opened():
        return server.store(tmp_path, durability=Durability.EVERYSEC, stops_server=True)

    store = opened()
    gen = store.results.cut().gen
    assert gen == opened().results.cut().gen
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    store = opened()
    assert store.results.cut().gen > gen
    gen = store.results.cut().gen
    store.close()
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    assert gen == opened().results.cut().gen


def test_everysec_restarted_after_a_clean_end_of_the_engine_alone_begins_a_generation(
    server, settings, tmp_path
):
    """Workers append to a server that goes on: what it lost of that since nobody has written down."""
    settings(appendfsync="everysec")
    server.client.fetch_one("FLUSHALL")
    store = server.store(tmp_path, durability=Durability.EVERYSEC)
    gen = store.results.cut().gen
    store.close()
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    assert server.store(tmp_path, durability=Durability.EVERYSEC).results.cut().gen > gen


def test_full_memory_refuses_what_fills_and_takes_what_frees(server, settings, tmp_path):
    """Nothing changes where memory has run out; reads, removals and publishing go on."""
    store, fold = server.empty_store(tmp_path), Fold()
    do(store, fold, [declare("a"), register(1, 1, sql="x"), rows(1, count=9_000, txn=txn())])
    statistics = store.log.statistics()
    settings(maxmemory="1mb")
    for content in (rows(1, txn=txn(version=1)), register(2, 1), declare("b")):
        with pytest.raises(StoreFullError):
            store.log.append(content)
    assert ("memory-high",) == store.health().reasons
    assert statistics == store.log.statistics()
    assert_shows(store, fold)
    store.look()  # at settings that were changed
    do(store, fold, [Tick(), Remove(query_id(1))])
    assert_shows(store, fold)
    store.log.trim(batches=[3], below=4)
    settings(maxmemory="1gb")
    store.look()
    do(store, fold, [rows(1, txn=txn(version=1))])
    assert_shows(store, fold)


def test_seq_is_remembered_now_and_then(server, tmp_path, monkeypatch):
    """The folder knows the seq to within SEQ_REMEMBERED_EVERY, and exactly after a clean end."""
    monkeypatch.setattr("psoup.engine.limits.SEQ_REMEMBERED_EVERY", 10)
    store = server.empty_store(tmp_path)
    seen = []
    for _ in range(25):
        store.log.append(Tick())
        seen.append(remembered(tmp_path)["seq"])
    assert [0] * 9 + [10] * 10 + [20] * 6 == seen
    store.close()
    assert (25, True) == (remembered(tmp_path)["seq"], remembered(tmp_path)["clean"])


def altered_info(monkeypatch, answers):
    """Let INFO's section `persistence` say otherwise: the next of `answers`, then the truth."""
    info, left = RedisClient.info, list(answers)

    def altered(client, name):
        changes = left.pop(0) if name == "persistence" and left else {}
        return dict(info(client, name)) | changes

    monkeypatch.setattr(RedisClient, "info", altered)


@pytest.mark.parametrize("bound", ["STORE_LOAD_S", "STORE_WORK_S"])
def test_wait_for_a_server_that_is_never_ready_ends(server, tmp_path, monkeypatch, bound):
    """Waiting ends where there is no sign of work, and at last where there is nothing else."""
    monkeypatch.setattr(f"psoup.engine.limits.{bound}", -1.0)
    altered_info(monkeypatch, [{"loading": "1"}])
    with pytest.raises(EngineError, match="not ready"):
        server.empty_store(tmp_path)


def test_wait_for_a_server_that_works_is_longer(server, tmp_path, monkeypatch):
    """While it loads or rewrites, the bound on silence does not count."""
    server.empty_store(tmp_path)
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    monkeypatch.setattr("psoup.engine.limits.STORE_LOAD_S", 0.0)
    loading, rewriting = {"loading": "1"}, {"aof_rewrite_in_progress": "1"}
    altered_info(monkeypatch, [*[loading] * 9, {}, *[rewriting] * 9])
    assert 0 == server.store(tmp_path).results.cut().seq


def test_rewrite_of_the_file_that_fails_is_said(server, tmp_path, monkeypatch):
    """A store whose file could not be written anew is not used."""
    server.empty_store(tmp_path)
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    altered_info(monkeypatch, [{"aof_last_bgrewrite_status": "err"}] * 10_000)
    with pytest.raises(EngineError, match="rewrite"):
        server.store(tmp_path)


def test_user_with_the_rules_that_are_named_can_do_everything(server, tmp_path):
    """An ACL that refuses a command is said with the command and the rules; the rules are enough."""
    server.empty_store(tmp_path / "own")
    server.client.fetch_one("FLUSHALL")
    rules = [*RULES.split(), "on", ">secret"]
    url = f"unix://psoup:secret@{server.folder / 'run' / 'psoup.sock'}?db=0"
    server.client.fetch_one("ACL", "SETUSER", "psoup", "reset", *rules, "-function|list")
    with pytest.raises(StoreUnsuitableError, match=r"FUNCTION LIST .*\+@scripting"):
        open_store(url, data=tmp_path, clock=CLOCK)
    server.client.fetch_one("ACL", "SETUSER", "psoup", "reset", *rules)
    store, fold = open_store(url, data=tmp_path, clock=CLOCK), Fold()
    do(store, fold, [declare("a"), register(1, 1), rows(1, count=9_000)])
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    store.reopen()
    assert_shows(store, fold)
    assert Counts(1, 1) == store.results.counts()
    store.close()
    server.client.fetch_one("ACL", "DELUSER", "psoup")
