"""R-09: a store that is lost is never taken for one that is empty, by no engine and by no worker."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Tick
from psoup.engine.results.contract import ResultsReader
from psoup.engine.store.errors import FencedError, RecoveringError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage.opening import open_worker_store
from tests.storage.driver import do
from tests.storage.fold import Fold
from tests.storage.samples import declare, query_id, register, rows
from tests.stores import SharedServer

pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """A server to kill."""
    server = SharedServer(tmp_path_factory.mktemp("lost"))
    yield server
    server.stop()


def emptied(server: SharedServer, _: Path) -> None:
    """An administrator's FLUSHALL."""
    server.client.fetch_one("FLUSHALL")


def without_files(server: SharedServer, _: Path) -> None:
    """The server comes back on an empty folder."""
    server.kill()
    shutil.rmtree(server.files)
    server.start()


def with_others_files(server: SharedServer, others: Path) -> None:
    """The server comes back on the files of another cluster."""
    server.kill()
    shutil.rmtree(server.files)
    shutil.copytree(others, server.files)
    server.start()


def others_files(server: SharedServer, folder: Path) -> Path:
    """Return the files of a store of another data folder."""
    do(server.empty_store(folder / "other"), Fold(), [declare("b"), rows(1, "b")])
    server.kill()
    shutil.copytree(server.files, folder / "files")
    server.start()
    return folder / "files"


def reads(results: ResultsReader) -> list[Callable[[], object]]:
    """Return what can be asked of results: an empty store would answer most of it."""
    return [
        results.cut,
        results.streams,
        results.queries,
        results.counts,
        lambda: results.snapshot(query_id(1)),
        lambda: results.batches(StreamId(1), Seq(0)),
        lambda: results.readers(StreamId(1)),
    ]


@pytest.mark.parametrize("loss", [emptied, without_files, with_others_files])
def test_lost_store_is_refused_with_a_reason_and_never_read_as_empty(own_server, tmp_path, loss):
    """Whether the engine lives or is started again: it refuses, and workers refuse whatever is asked."""
    others = others_files(own_server, tmp_path)
    store = own_server.empty_store(tmp_path / "own")
    do(store, Fold(), [declare("a"), register(1, 1), rows(1, count=5_000)])
    worker = open_worker_store(own_server.url)
    assert 3 == worker.position().applied
    clause = worker.results.snapshot(query_id(1)).clause
    loss(own_server, others)

    asked: list[Callable[[], object]] = [
        worker.position,
        worker.registrations,
        lambda: worker.log.append(Tick()),
        lambda: worker.results.pages(clause, [0]),
        *reads(worker.results),
        *reads(store.results),
    ]
    for ask in asked:
        with pytest.raises((RecoveringError, StoreUnsuitableError)):
            ask()
    assert worker.health().reasons
    for write in (store.renew, lambda: store.tell(b"")):
        with pytest.raises((RecoveringError, FencedError)):
            write()
    with pytest.raises(StoreUnsuitableError, match=r"empty|another data folder"):
        store.reopen()
    with pytest.raises(StoreUnsuitableError, match=r"empty|another data folder"):
        own_server.store(tmp_path / "own")
    for ask in asked:
        with pytest.raises(EngineError):
            ask()
    worker.close()
