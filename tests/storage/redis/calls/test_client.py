"""The door to Redis: which error each way to fail becomes, and that nothing is sent twice."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from psoup.engine import limits
from psoup.engine.checkpoint import checked_by
from psoup.engine.errors import IntegrityError, OverloadedError
from psoup.engine.log.operation import Tick
from psoup.engine.store.address import StoreUrlError
from psoup.engine.store.errors import (
    CommitUnknownError,
    RecoveringError,
    StoreFullError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.log import RedisLog
from psoup.storage.redis.store import RedisStore
from tests.patience import WAIT_S


@contextmanager
def answering(path: Path, answer: bytes | None) -> Iterator[Callable[[], int]]:
    """Serve on a Unix socket: read once, send `answer` (None = nothing), close. Yields a counter."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    served = 0

    def serve() -> None:
        nonlocal served
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(BrokenPipeError):
                if connection.recv(1 << 16):
                    served += 1
                    if answer is not None:
                        connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield lambda: served
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_server_that_begins_to_load_amid_calls_has_run_some(tmp_path):
    """A server that is made a replica loads while connections stand: what it has answered before was carried out."""
    answers = b"*1\r\n$4\r\nDONE\r\n" + b"-LOADING Redis is loading the dataset in memory\r\n"
    with answering(tmp_path / "s", answers):
        client = RedisClient(f"unix://{tmp_path / 's'}?db=0")
        with pytest.raises(CommitUnknownError):
            client.call_each([("f", [], [])] * 2, lost=CommitUnknownError)
        client.close()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, CommitUnknownError),
        (b"-LOADING Redis is loading the dataset in memory\r\n", RecoveringError),
        (b"-ERR Function not found\r\n", RecoveringError),
        (b"*1\r\n$10\r\nRECOVERING\r\n", RecoveringError),
        (b"-OOM command not allowed when used memory > 'maxmemory'.\r\n", StoreFullError),
        (b"-MISCONF Errors writing to the AOF file: No space left on device\r\n", StoreFullError),
        (b"-BUSY Redis is busy running a script.\r\n", StoreUnavailableError),
        (b"-NOPERM this user has no permissions to run 'fcall'\r\n", StoreUnsuitableError),
        (b"-ERR unknown command 'FCALL', with args: secret\r\n", StoreUnsuitableError),
        (b"-WHATEVER secret\r\n", IntegrityError),
    ],
)
def test_append_that_fails_says_how_and_is_sent_once(tmp_path, answer, error):
    """Every way to fail has its error; only a lost answer is indefinite; retries are off."""
    with answering(tmp_path / "s", answer) as served:
        client = RedisClient(f"unix://{tmp_path / 's'}?db=0")
        log = RedisLog(client, ClusterMemory(tmp_path / "cluster.json"))
        with pytest.raises(error) as raised:
            log.append(Tick())
        client.close()
    assert error is type(raised.value)
    assert 1 == served()
    assert "secret" not in raised.value.detail


def test_read_whose_answer_is_lost_is_unavailable(tmp_path):
    """Nothing can have been changed by a read."""
    with answering(tmp_path / "s", None):
        client = RedisClient(f"unix://{tmp_path / 's'}?db=0")
        with pytest.raises(StoreUnavailableError):
            client.view("psoup_list", ["{ps}:m"])
        client.close()


def test_call_without_a_server_is_unavailable_and_definite(tmp_path):
    """What could not be sent was not stored: not even an append is indefinite then."""
    client = RedisClient(f"unix://{tmp_path / 'nobody'}?db=0")
    with pytest.raises(StoreUnavailableError):
        RedisLog(client, ClusterMemory(tmp_path / "cluster.json")).append(Tick())


def test_call_that_is_interrupted_leaves_no_answer_to_the_next(tmp_path, monkeypatch):
    """A connection whose answer was not read is closed, so nobody gets another's answer."""
    with answering(tmp_path / "s", b"+ONE\r\n"):
        client = RedisClient(f"unix://{tmp_path / 's'}?db=0")
        with monkeypatch.context() as patch:

            def interrupted(connection: object) -> None:
                raise KeyboardInterrupt

            patch.setattr("psoup.storage.redis.calls.client._response", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.fetch_one("GET", "one")
        assert b"ONE" == client.fetch_one("PING")
        client.close()


@pytest.mark.parametrize("url", ["redis://host:port/0", "unix:///s?db=x", "http://host"])
def test_address_that_cannot_be_read_is_refused(url):
    """A port or database that is no number is refused before anything is connected."""
    with pytest.raises(StoreUrlError):
        RedisClient(url)


@pytest.mark.redis
def test_refusals_among_several_answers_leave_the_connection_usable(embedded_store):
    """One refused read of a pipeline raises after all answers have been taken."""
    client = embedded_store.log._client
    with pytest.raises(IntegrityError):
        client.fetch([("GET", "x"), ("GET", "{ps}:m"), ("GET", "x")])
    assert b"PONG" == client.fetch_one("PING")


@pytest.mark.redis
def test_calls_of_more_threads_than_connections_wait_for_one(server, tmp_path, monkeypatch):
    """The pool is bounded, and its bound is no error."""
    monkeypatch.setattr(limits, "STORE_CONNECTIONS_MAX", 2)
    server.empty_store(tmp_path)
    client = RedisClient(f"unix://{server.folder / 'run' / 'psoup.sock'}?db=0")
    log = RedisLog(client, ClusterMemory(tmp_path / "cluster.json"))
    threads = [
        threading.Thread(target=lambda: [log.append(Tick()) for _ in range(20)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 160 == log.head()
    client.close()


@pytest.mark.redis
def test_function_of_an_append_refuses_to_free_with_what_fills(embedded_store):
    """The Function that runs without memory takes only what frees some."""
    assert isinstance(embedded_store, RedisStore)
    client = embedded_store.log._client
    keys = ["{ps}:log:h", "{ps}:log", *("{ps}:x",) * 7]
    with pytest.raises(IntegrityError):
        client.call("psoup_append_freeing", keys, ["{ps}:m", 0, 0, 0, 0, 1, 9, "rows"])


@pytest.mark.redis
def test_library_of_another_version_is_replaced(server, tmp_path):
    """Whoever opens the store makes the Functions its own; nothing happens if they are."""
    store = server.empty_store(tmp_path)
    other = b"#!lua name=psoup\nredis.register_function('psoup_append', function() return 1 end)"
    server.client.fetch_one("FUNCTION", "LOAD", "REPLACE", other)
    with pytest.raises(RecoveringError):
        store.results.cut()
    store.reopen()
    assert 0 == store.results.cut().seq


def test_waiting_for_an_answer_ends_where_nobody_wants_it(tmp_path):
    """Work that a checkpoint ends waits no longer for a server that says nothing; its connection is used no more."""
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise OverloadedError("nobody waits", reason="deadline")

    with silent(tmp_path / "s"):
        client = RedisClient(f"unix://{tmp_path / 's'}?db=0", answer_s=WAIT_S)
        begun = time.monotonic()
        with checked_by(check), pytest.raises(OverloadedError):
            client.fetch_one("PING")
        assert time.monotonic() - begun < WAIT_S / 2
        client.close()


def test_waiting_that_somebody_checks_has_the_same_patience(tmp_path):
    """Somebody who still waits for it does not make a store's time longer."""
    with silent(tmp_path / "s"):
        client = RedisClient(f"unix://{tmp_path / 's'}?db=0", answer_s=0.2)
        with checked_by(lambda: None), pytest.raises(StoreUnavailableError):
            client.fetch_one("PING")
        client.close()


def test_work_that_may_not_wait_is_ended_before_it_asks(tmp_path):
    """In the event loop, which a server that says nothing would hold up: nobody even connects."""
    client = RedisClient(f"unix://{tmp_path / 'nobody'}?db=0", answer_s=WAIT_S)

    def refuse() -> None:
        raise OverloadedError("it may not wait", reason="deadline")

    with checked_by(lambda: None, holds=refuse), pytest.raises(OverloadedError):
        client.fetch_one("PING")
    client.close()


@contextmanager
def silent(path: Path) -> Iterator[None]:
    """Listen on a Unix socket and never answer."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield
