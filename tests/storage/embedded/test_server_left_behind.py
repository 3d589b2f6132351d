"""A server that goes on after its psoup: found wherever its socket lies, started anew if set otherwise."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from psoup.engine.log.operation import Tick
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import StoreUnavailableError
from psoup.storage.embedded.folder import FolderLock
from psoup.storage.embedded.server import ACCESS, EmbeddedServer
from tests.storage.embedded.test_server import opened, process_id, runs
from tests.stores import ALL_ACCESS

pytestmark = pytest.mark.redis


def left_behind(
    data: Path, durability: Durability = Durability.FSYNC, access: Sequence[str] = ACCESS
) -> EmbeddedServer:
    """Start a server as a psoup does that is killed afterwards."""
    lock = FolderLock(data)
    server = EmbeddedServer(data, durability)
    server._access = access
    server.start()
    lock.close()
    return server


def reaped(server: EmbeddedServer) -> None:
    """Wait for a server that has ended: it is a child of the test."""
    assert server._process is not None
    server._process.wait()
    server.client.close()


def test_server_of_a_long_path_is_found_from_another_temporary_folder(tmp_path, monkeypatch):
    """Its socket lies where TMPDIR was then, and the folder says where that is."""
    data = tmp_path / ("long name " * 12)
    for name in ("t", "n"):  # then and now, in few letters: the path of a socket has 107 bytes
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    server = left_behind(data)
    pid = int(server.client.info("server")["process_id"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "n"))
    store = opened(data)
    assert pid == process_id(store)
    store.close()
    reaped(server)
    store = opened(data)
    assert [*(tmp_path / "n").glob("psoup-*/*.sock")], "a server of its own has its socket here"
    store.close()


@pytest.mark.parametrize("otherwise", ["durability", "memory", "access"])
def test_server_set_otherwise_is_started_anew(tmp_path, otherwise):
    """It is psoup's own: it ends in good order and comes back set as this psoup sets it, for good."""
    durability = Durability.EVERYSEC if otherwise == "durability" else Durability.FSYNC
    server = left_behind(tmp_path, durability, ACCESS if otherwise == "durability" else ALL_ACCESS)
    if otherwise == "memory":
        server.client.fetch_one("CONFIG", "SET", "maxmemory", "1gb")
    pid = int(server.client.info("server")["process_id"])
    store = opened(tmp_path)
    assert not runs(pid)
    assert Durability.FSYNC is store.durability
    assert str(6 << 30) == store.log._client.configuration(["maxmemory"])["maxmemory"]
    assert 1 == store.log.append(Tick()).seq
    store.close()
    reaped(server)


def test_server_set_as_now_is_kept(tmp_path):
    """What the server shows is compared as it shows it: its own settings never differ."""
    server = left_behind(tmp_path)
    pid = int(server.client.info("server")["process_id"])
    store = opened(tmp_path)
    assert pid == process_id(store)
    store.close()
    reaped(server)


def test_start_that_is_interrupted_leaves_no_server(tmp_path, monkeypatch):
    """Ctrl-C right after the server was started ends it, and the folder is free."""
    pids: list[int] = []
    launch = EmbeddedServer._launch

    def interrupted(server: EmbeddedServer, lock: int) -> None:
        launch(server, lock)
        assert server._process is not None
        pids.append(server._process.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(EmbeddedServer, "_launch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opened(tmp_path)
    assert [False] == list(map(runs, pids))
    FolderLock(tmp_path).close()


def test_stop_of_a_stalled_server_ends_and_gives_the_folder_back(tmp_path, monkeypatch):
    """Waiting has one bound for all of it; what is said names the process, and a second try ends it."""
    store = opened(tmp_path)
    pid = process_id(store)
    os.kill(pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr("psoup.engine.limits.STORE_STOP_S", 0.1)
        with pytest.raises(StoreUnavailableError, match="does not end"):
            store.close()
    FolderLock(tmp_path).close()
    os.kill(pid, signal.SIGCONT)
    store.close()
    assert not runs(pid)


def test_start_that_is_interrupted_as_its_process_begins_leaves_none(tmp_path, monkeypatch):
    """Ctrl-C comes when the process is there and `Popen` has not returned it."""
    begun: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            begun.append(self)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    server = EmbeddedServer(tmp_path, Durability.FSYNC)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            server.start()
        assert [False] == [runs(one.pid) for one in begun]
    finally:
        signal.signal(signal.SIGINT, before)
        for one in begun:
            one.kill()
            one.wait()
        server.client.close()
