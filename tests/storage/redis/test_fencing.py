"""One engine writes: whoever is not it, or is it no more, is refused before anything happens."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import Tick
from psoup.engine.store.errors import (
    FencedError,
    RecoveringError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.engine.tuples.batch import Seq
from psoup.storage import keys
from psoup.storage.opening import open_store
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.store import RedisStore
from tests.patience import WAIT_S
from tests.storage.driver import assert_shows, delta, do
from tests.storage.fold import Fold
from tests.storage.samples import declare, query_id, register, rows
from tests.stores import SharedServer

pytestmark = pytest.mark.redis
CLOCK = ManualClock(0)
SHORT_LEASE_S = 0.3


def contents(server: SharedServer) -> list[object]:
    """Everything that is stored, but when the lease ends."""
    names = sorted(server.client.fetch_one("KEYS", "*"))
    dumps: list[object] = []
    for name in names:
        if name == b"{ps}:m":
            fields = server.client.fetch_one("HGETALL", name)
            pairs = dict(zip(fields[::2], fields[1::2], strict=True)) | {
                b"lease_from": b"",
                b"lease_until": b"",
            }
            dumps += sorted(pairs.items())
        else:
            dumps.append(server.client.fetch_one("DUMP", name))
    return [*names, *dumps]


def writes_of(store: RedisStore) -> dict[str, Callable[[], object]]:
    """Every call of which only the engine has the right."""
    seq = store.log.head()
    return {
        "publish": lambda: store.results.publish(delta(seq - 1, seq, 1)),
        "trim": lambda: store.log.trim(batches=[], below=Seq(1)),
        "tell": lambda: store.tell(b"figures"),
        "renew": store.renew,
        "stage": lambda: store._token.call("psoup_stage", ["{ps}:m"], [seq - 1, ""]),
        "reserve": lambda: store._token.call("psoup_reserve", ["{ps}:m"], [1]),
        "open": lambda: store._token.call(
            "psoup_open", ["{ps}:m", "{ps}:log:h", "{ps}:log"], [seq, 1, "library", "fsync"]
        ),
        "release": lambda: store._token.call("psoup_release", ["{ps}:m"]),
        "reopen": store.reopen,
    }


def taken_over(store: RedisStore) -> None:
    """Take the store over as soon as that is possible."""
    deadline = time.monotonic() + WAIT_S
    while (seconds := store.take_over()) > 0.0:
        assert time.monotonic() < deadline
        time.sleep(seconds)


def test_engine_that_was_held_up_is_refused_whatever_it_writes(server, tmp_path):
    """After the lease another takes over; the former one, which knows nothing of it, changes nothing any more."""
    server.empty_store(tmp_path / "first").close()
    held_up, fold = server.store(tmp_path / "first", lease_s=SHORT_LEASE_S), Fold()
    do(held_up, fold, [declare("a"), register(1, 1)])
    second = server.standby(tmp_path / "second", lease_s=SHORT_LEASE_S)
    taken_over(second)
    seq = second.log.append(rows(1)).seq
    before = contents(server)
    for name, write in writes_of(held_up).items():
        with pytest.raises(FencedError) as refused:
            write()
        assert "fenced" == refused.value.code
        assert before == contents(server), name
    assert seq == second.log.head(), "appending needs no token, publishing does"
    second.renew()
    do(second, fold, [rows(1)])
    assert_shows(second, fold)
    held_up.close()
    second.renew()


@pytest.mark.parametrize(
    "forged",
    [
        lambda epoch, nonce: (epoch, "0" * 32),
        lambda epoch, nonce: (epoch + 1, nonce),
        lambda epoch, nonce: (epoch - 1, nonce),
        lambda epoch, nonce: (epoch, ""),
        lambda epoch, nonce: (0, "-"),
    ],
)
def test_token_counts_only_if_epoch_and_nonce_are_both_equal(server, tmp_path, forged):
    """A later epoch is as little worth as an earlier one, and one of the two as little as none."""
    store = server.empty_store(tmp_path)
    store.log.append(Tick())
    before = contents(server)
    token = store._token
    token._epoch, token._nonce = forged(token._epoch, token._nonce)
    for write in writes_of(store).values():
        with pytest.raises(FencedError):
            write()
        assert before == contents(server)


def test_token_is_looked_at_before_run_and_position(server, tmp_path):
    """Who is fenced learns that, and not that the server has restarted or that the position is another one."""
    former = server.empty_store(tmp_path)
    former.log.append(Tick())
    server.store(tmp_path)
    server.client.fetch_one("HSET", "{ps}:m", "run", "another", "applied", "7")
    writes = writes_of(former)
    for name in ("publish", "trim", "tell", "stage", "open"):
        with pytest.raises(FencedError):
            writes[name]()


def test_store_that_another_engine_has_is_not_entered(server, tmp_path):
    """It says for how long, writes nothing, and has the store as soon as the other lets go of it."""
    first = server.empty_store(tmp_path / "first")
    second = server.standby(tmp_path / "second")
    before = contents(server)
    assert 9.0 < second.take_over() <= 10.0
    assert () == second.health().reasons
    assert before == contents(server)
    first.close()
    assert 0.0 == second.take_over()
    assert 0.0 == second.take_over(), "twice is harmless"
    with pytest.raises(FencedError):
        first._token.call("psoup_renew", ["{ps}:m"], [1])


def test_same_data_folder_takes_its_store_back_at_once(server, tmp_path):
    """Its lock proves that the former process is no more: nobody waits for a lease after a crash."""
    former = server.empty_store(tmp_path)
    epoch = former._token.statistics().epoch
    present = server.store(tmp_path)
    assert epoch + 1 == present._token.statistics().epoch
    with pytest.raises(FencedError):
        former.renew()


def test_open_says_who_has_the_store_and_for_how_long(server, tmp_path):
    """`psoup serve` does not wait; a standby does."""
    server.empty_store(tmp_path / "first")
    owner = (tmp_path / "first" / "engine.id").read_text()
    data = tmp_path / "second"
    with pytest.raises(StoreUnsuitableError, match=rf"engine\.id is {owner}.* again in 10 s"):
        open_store(server.url, data=data, clock=CLOCK)
    standby = open_store(server.url, data=data, clock=CLOCK, standby=True)
    assert standby.take_over() > 0.0
    standby.close()


@pytest.mark.parametrize(("key", "field"), [(keys.META, "gen"), (keys.HEAD, "seq")])
def test_standby_names_a_store_whose_numbers_are_none(server, tmp_path, key, field):
    """Damage is an error of the store that says where it is."""
    server.empty_store(tmp_path / "first")
    server.client.fetch_one("HSET", key, field, "x7")
    standby = server.standby(tmp_path / "second")
    with pytest.raises(IntegrityError, match="damaged"):
        standby.take_over()
    standby.close()


def test_standby_that_never_had_the_store_closes_without_a_trace(server, tmp_path):
    """What its folder remembers stays as it was, and the engine goes on."""
    server.empty_store(tmp_path / "first").close()
    second = server.store(tmp_path / "second")
    second.log.append(Tick())
    second.close()
    before = (tmp_path / "second" / "cluster.json").read_bytes()
    first = server.store(tmp_path / "first")
    standby = server.standby(tmp_path / "second")
    assert standby.take_over() > 0.0
    standby.close()
    assert before == (tmp_path / "second" / "cluster.json").read_bytes()
    first.renew()


def test_lease_that_is_prolonged_does_not_end(server, tmp_path):
    """A standby may not try while the engine says that it is alive, and may once it is silent."""
    server.empty_store(tmp_path / "first").close()
    first = server.store(tmp_path / "first", lease_s=SHORT_LEASE_S)
    second = server.standby(tmp_path / "second", lease_s=SHORT_LEASE_S)
    begun = time.monotonic()
    while time.monotonic() - begun < 3 * SHORT_LEASE_S:
        renewed = time.monotonic()
        first.renew()
        if second.take_over() == 0.0:
            assert time.monotonic() - renewed > SHORT_LEASE_S, (
                "it may where this machine stood still"
            )
            break
    taken_over(second)
    with pytest.raises(FencedError):
        first.renew()


def test_lease_is_prolonged_while_the_file_is_rewritten(server, tmp_path, monkeypatch):
    """Entering a large store takes longer than a lease: the engine is alive meanwhile, and says so."""
    server.empty_store(tmp_path).close()
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    info, left = RedisClient.info, [{"aof_rewrite_in_progress": "1"}] * 20

    def slow(client, name):
        changes = left.pop() if name == "persistence" and left and store._token.held else {}
        return dict(info(client, name)) | changes

    store = server.standby(tmp_path, lease_s=0.01)
    monkeypatch.setattr(RedisClient, "info", slow)
    assert 0.0 == store.take_over()
    assert store._token.statistics().renewals > 0


def test_engine_that_cannot_enter_lets_go_of_the_store(server, tmp_path, monkeypatch):
    """Where it fails after it has acquired, the next one need not wait."""
    server.empty_store(tmp_path / "first").close()
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    failing = server.standby(tmp_path / "first")

    def failed(store: RedisStore) -> None:
        raise StoreUnavailableError("its disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(RedisStore, "_rewrite_file", failed)
        with pytest.raises(StoreUnavailableError):
            failing.take_over()
    assert 0.0 == server.standby(tmp_path / "second").take_over()


def test_generation_begins_in_an_open_run_although_the_head_moves(server, tmp_path, monkeypatch):
    """Workers append while an engine takes over: the head it has looked at may be behind when it opens."""
    store = server.empty_store(tmp_path)
    gen = store.results.cut().gen
    store.close()
    path = tmp_path / "cluster.json"
    path.write_text(re.sub(r'"seq":\d+', '"seq":9', path.read_text()))
    generation = RedisStore._generation

    def appended(entering, *looked, **how):
        store.log.append(Tick())
        return generation(entering, *looked, **how)

    monkeypatch.setattr(RedisStore, "_generation", appended)
    assert server.store(tmp_path).results.cut().gen > gen
    assert 1 == store.log.head()


def test_generation_is_on_disk_before_anybody_is_told_of_it(server, tmp_path, monkeypatch):
    """A server that forgets its last second, with its clock set back, would else give the same number twice."""
    gen = server.empty_store(tmp_path).results.cut().gen
    path = tmp_path / "cluster.json"
    path.write_text(re.sub(r'"seq":\d+', '"seq":9', path.read_text()))
    server.client.fetch_one("HSET", "{ps}:m", "run", "another")
    rewrite, found = RedisStore._rewrite_file, list[bytes]()

    def rewritten(store):
        found.extend(server.client.fetch_one("HMGET", "{ps}:m", "gen", "run"))
        rewrite(store)

    monkeypatch.setattr(RedisStore, "_rewrite_file", rewritten)
    begun = server.store(tmp_path).results.cut().gen
    assert begun > gen
    assert [str(begun).encode(), b"another"] == found


def test_two_engines_that_begin_at_once_begin_one_history(server, tmp_path, monkeypatch):
    """Both have seen the empty store: one begins it, and the other finds it begun and held."""
    server.client.fetch_one("FLUSHALL")
    second = server.standby(tmp_path / "second")
    begin = RedisStore._begin
    firsts: list[RedisStore] = []

    def overtaken(store):
        if not firsts:
            firsts.append(store)
            firsts.append(server.store(tmp_path / "first"))
        begin(store)

    monkeypatch.setattr(RedisStore, "_begin", overtaken)
    assert second.take_over() > 0.0
    assert 0 == firsts[1].results.cut().seq
    assert 0.0 == firsts[1].take_over()
    firsts[1].renew()


def test_store_that_was_emptied_fences_nobody(server, tmp_path):
    """Nobody has taken over: the engine looks, and says that the store is empty."""
    store = server.empty_store(tmp_path)
    store.log.append(Tick())
    server.client.fetch_one("FLUSHALL")
    for write in (store.renew, lambda: store.tell(b"")):
        with pytest.raises(RecoveringError):
            write()
    with pytest.raises(StoreUnsuitableError, match="empty"):
        store.reopen()


def test_figures_that_were_told_are_the_last(server, tmp_path):
    """They replace what was told before."""
    store = server.empty_store(tmp_path)
    for figures in (b"one", b"two"):
        store.tell(figures)
    assert b"two" == server.client.fetch_one("GET", "{ps}:f")


def test_page_key_is_that_of_the_store(server, tmp_path):
    """Every process and every start reads what another has signed."""
    first = server.empty_store(tmp_path / "first")
    first.close()
    second = server.store(tmp_path / "second")
    assert 32 == len(first.page_key)
    assert first.page_key == second.page_key
    assert first.page_key != server.empty_store(tmp_path / "third").page_key


def test_engine_id_is_made_once_and_private(tmp_path, server):
    """One that is damaged is made anew: it only has to be its folder's."""
    server.empty_store(tmp_path).close()
    path: Path = tmp_path / "engine.id"
    made = path.read_text()
    assert 0o600 == path.stat().st_mode & 0o777
    server.store(tmp_path).close()
    assert made == path.read_text()
    path.write_text("?")
    server.store(tmp_path).close()
    assert re.fullmatch(r"[0-9a-f]{32}", path.read_text())


def test_token_that_is_held_is_whole(server, tmp_path):
    """Epoch and nonce come and go together."""
    store = server.empty_store(tmp_path)
    store._token.check()
    store.close()
    store._token.check()
    assert 0 == store._token.statistics().epoch


def test_register_survives_a_takeover(server, tmp_path):
    """The second engine goes on where the first stopped."""
    first, fold = server.empty_store(tmp_path / "first"), Fold()
    do(first, fold, [declare("a"), register(1, 1), rows(1, count=9_000)])
    first.close()
    second = server.store(tmp_path / "second")
    do(second, fold, [register(2, 1), rows(1)])
    assert_shows(second, fold)
    assert query_id(2) == second.results.queries()[1].query_id
