"""The data folder: unusable, tightened, and what is remembered in it when its disk does not take it."""

import os
from pathlib import Path

import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.log.operation import Tick
from psoup.engine.results.contract import Gen
from psoup.engine.store.errors import StoreFullError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.storage.embedded.folder import FolderLock
from psoup.storage.opening import open_store
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.store import RedisStore
from tests.storage.embedded.test_server import opened, process_id, runs

CLOCK = ManualClock(0)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def lax_umask():
    """The usual mask: files are readable by everybody unless somebody sees to it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("url", [None, "unix:///nowhere?db=0"], ids=["embedded", "address"])
@pytest.mark.parametrize("place", ["file", "file/below", "full"])
def test_open_in_a_folder_that_cannot_be_used_is_refused(tmp_path, monkeypatch, url, place):
    """A file where the folder should be, or a disk that takes nothing: which of the two, with what to do."""
    (tmp_path / "file").touch()
    if place == "full":

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("psoup.storage.embedded.folder.os.open", full)
    kind, said = (
        (StoreFullError, r"is full: .*--data")
        if place == "full"
        else (StoreUnsuitableError, r"cannot be used: .*--data")
    )
    with pytest.raises(kind, match=said):
        open_store(url, data=tmp_path / place, clock=CLOCK)


@pytest.mark.redis
def test_files_of_the_folder_are_private(tmp_path, lax_umask):
    """A folder that was there empty is closed to others, and so is every file in it."""
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    store = opened(data)
    store.log.append(Tick())
    assert 0o700 == mode(data)
    files = [path for path in data.rglob("*") if path.is_file()]
    assert {"cluster.json", "server.log", "lock"} <= {path.name for path in files}
    assert [] == [path for path in files if mode(path) & 0o077]
    store.close()


def test_folder_with_other_files_keeps_its_mode(tmp_path):
    """Whoever names a folder in use does not find it closed to others."""
    (tmp_path / "other").touch()
    tmp_path.chmod(0o755)
    FolderLock(tmp_path).close()
    assert 0o755 == mode(tmp_path)


@pytest.mark.parametrize("writers", [0o770, 0o1777, 0o2775, 0o702])
def test_folder_that_others_can_write_is_refused(tmp_path, writers):
    """A group, or everybody, that may replace files: refused with both remedies, and left as it was."""
    (tmp_path / "other").touch()
    tmp_path.chmod(writers)
    with pytest.raises(StoreUnsuitableError, match=rf"{writers:04o}.*chmod go-w .*--data"):
        FolderLock(tmp_path)
    assert {"other"} == {path.name for path in tmp_path.iterdir()}
    FolderLock(tmp_path / "own").close()
    assert 0o700 == mode(tmp_path / "own") & 0o777


def test_folder_that_is_empty_is_closed_to_others(tmp_path):
    """What nobody has used yet is tightened instead of refused."""
    tmp_path.chmod(0o777)
    FolderLock(tmp_path).close()
    assert 0o700 == mode(tmp_path)


@pytest.mark.parametrize("owner", [1, 0])
def test_folder_of_another_user_is_refused_but_roots(tmp_path, monkeypatch, owner):
    """Who owns a folder may write in it whatever its mode; root may anyway."""
    (tmp_path / "other").touch()
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    os.chown(tmp_path, owner, 0)
    monkeypatch.setattr("psoup.storage.embedded.folder.os.geteuid", lambda: 2)
    if owner == 0:
        FolderLock(tmp_path).close()
    else:
        with pytest.raises(StoreUnsuitableError, match=r"another user .id 1.*id 2"):
            FolderLock(tmp_path)


def test_memory_that_cannot_be_written_fails_nothing_that_is_committed(tmp_path, monkeypatch):
    """The file lags, each failure is counted, and the next operation writes it."""
    monkeypatch.setattr("psoup.engine.limits.SEQ_REMEMBERED_EVERY", 2)
    known = ClusterMemory(tmp_path / "cluster.json")
    known.belong_to("c", Gen(1), Seq(0))
    (tmp_path / "cluster.tmp").mkdir()
    for seq in range(1, 5):
        known.saw_head(Seq(seq))
    known.close(clean=True)
    statistics = known.statistics()
    assert statistics.file is not None
    assert (4, 0, False) == (statistics.failures, statistics.file.seq, statistics.file.clean)
    known.belong_to("c", Gen(1), Seq(4))
    with pytest.raises(StoreUnsuitableError, match="cannot be written"):
        known.belong_to("c", Gen(2), Seq(4))
    (tmp_path / "cluster.tmp").rmdir()
    known.saw_head(Seq(5))
    known.check()
    assert known.file == ClusterMemory(tmp_path / "cluster.json").file
    assert known.file is not None
    assert (5, Gen(1)) == (known.file.seq, known.file.gen)


@pytest.mark.redis
def test_close_stops_the_server_although_the_file_cannot_be_written(tmp_path):
    """An append is acknowledged and the server ends, whatever becomes of `cluster.json`."""
    store: RedisStore = opened(tmp_path)
    pid = process_id(store)
    (tmp_path / "cluster.tmp").mkdir()
    assert 1 == store.log.append(Tick()).seq
    store.close()
    assert not runs(pid)
    (tmp_path / "cluster.tmp").rmdir()
    store = opened(tmp_path)
    assert 1 == store.log.head()
    store.close()
