"""Rows are stored once: through lost answers, doubled requests, and a service that is killed before it has answered."""

import asyncio
import os
import random
import signal
import threading

import httpx2
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import psoup
from psoup.client.appends.appending import appended
from psoup.client.appends.rows import BATCH_BYTES, BATCH_ROWS, batches
from psoup.client.appends.writers import Writer
from psoup.client.connections.async_connection import AsyncConnection
from psoup.client.connections.connection import Connection
from psoup.client.connections.operations import Txn
from psoup.engine.clock import ManualClock
from tests.client.between import BRISK, bad_proxy
from tests.forked import started
from tests.patience import PATIENT_ENVIRONMENT, WAIT_S, wait_until
from tests.ports import free_port

COLUMNS = [{"name": "n", "type": "int64"}]
FORK_S = 20.0


def numbers(url):
    """Return what is stored, in order."""
    with psoup.connect(url) as db:
        return sorted(row["n"] for row in db.query("SELECT n FROM s").rows())


def test_rows_sent_through_a_proxy_that_cuts_and_doubles_are_stored_once(memory_url):
    """Whatever is lost on its way there or back, or comes twice."""
    with (
        bad_proxy(memory_url, random.Random(1)) as proxy,
        psoup.connect(proxy.url, retry=BRISK) as db,
    ):
        stream = db.stream("s", {"n": "int64"})
        for n in range(30):
            stream.append([{"n": 2 * n}, {"n": 2 * n + 1}])
    assert list(range(60)) == numbers(memory_url)
    assert set(proxy.FAULTS) == set(proxy.done)


def test_the_same_awaited(memory_url):
    """Tasks that append at once do not make each other's versions late."""

    async def run(url):
        async with await psoup.aconnect(url, retry=BRISK) as db:
            stream = await db.stream("s", {"n": "int64"})
            await asyncio.gather(*(stream.append({"n": n}) for n in range(25)))

    with bad_proxy(memory_url, random.Random(2)) as proxy:
        asyncio.run(run(proxy.url))
    assert list(range(25)) == numbers(memory_url)


def test_threads_that_append_to_one_stream_lose_nothing(memory_url):
    """Also by two objects for the same stream."""
    with psoup.connect(memory_url) as db:
        streams = [db.stream("s", {"n": "int64"}) for _ in range(4)]
        threads = [
            threading.Thread(
                target=lambda k=k, one=one: [one.append({"n": 4 * i + k}) for i in range(25)]
            )
            for k, one in enumerate(streams)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert list(range(100)) == numbers(memory_url)


@pytest.mark.service
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_service_killed_between_append_and_answer_stores_the_rows_once(tmp_path, seed):
    """Kill -9 as soon as the request is there, again and again; the program knows nothing of it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["serve", "--port", str(port), "--data", str(tmp_path / "data")]
    environment = {**os.environ, **PATIENT_ENVIRONMENT}
    rng, done = random.Random(seed), threading.Event()

    def lives():
        is_last = False
        while not is_last:
            with (tmp_path / "log").open("ab") as log:
                process = started("psoup", arguments, output=log, env=environment)
            try:
                wait_until(lambda: is_ready(url), "the service is ready")
                ready.set()
                is_last = done.wait(rng.uniform(0.05, 0.4))
                process.send_signal(signal.SIGTERM if is_last else signal.SIGKILL)
                process.wait(WAIT_S)  # the last one ends its store
            finally:
                process.kill()

    ready = threading.Event()
    life = threading.Thread(target=lives)
    life.start()
    try:
        assert ready.wait(WAIT_S)
        with psoup.connect(url, retry=BRISK) as db:
            stream = db.stream("s", {"n": "int64"})
            for n in range(40):
                stream.append([{"n": n}])
            found = sorted(row["n"] for row in db.query("SELECT n FROM s", name="all").rows())
    finally:
        done.set()
        life.join(WAIT_S)
    assert list(range(40)) == found


def is_ready(url):
    """Return whether the service is there, now."""
    try:
        return httpx2.get(f"{url}/readyz", verify=False).is_success
    except httpx2.TransportError:
        return False


@pytest.mark.parametrize("connection", [Connection, AsyncConnection])
def test_rows_whose_fate_is_unknown_leave_a_note_with_their_txn(connection, tmp_path):
    """With it the same rows are sent again by hand, each once."""
    writer = Writer(tmp_path, ManualClock(5))
    sent = []

    def lose(request):
        sent.append(request)
        raise httpx2.ReadError("reset")

    operation = appended("s", batches([{"n": 1}], COLUMNS), writer, None)

    def send():
        made = connection("http://h", transport=httpx2.MockTransport(lose))
        result = made.run(operation)
        return asyncio.run(result) if asyncio.iscoroutine(result) else result

    with pytest.raises(psoup.ServiceUnreachableError) as lost:
        send()
    headers = sent[0].headers
    (note,) = lost.value.__notes__
    assert f"psoup.Txn({headers['Psoup-Txn-App']!r}, 5)" in note


# --- Batches ---------------------------------------------------------------------------------------


def test_many_rows_are_several_batches_of_bounded_size():
    """None has more rows or bytes than one request may; together they are the rows."""
    table = pa.table({"n": range(2 * BATCH_ROWS + 1)})
    assert [BATCH_ROWS, BATCH_ROWS, 1] == [one.rows for one in batches(table, COLUMNS)]
    texts = [{"t": "x" * 100_000} for _ in range(200)]
    made = list(batches(texts, [{"name": "t", "type": "string"}]))
    assert len(made) > 1
    assert all(len(one.content) <= BATCH_BYTES for one in made)
    assert 200 == sum(one.rows for one in made)
    assert [sum(one.rows for one in made[:k]) for k in range(len(made))] == [
        one.first_row for one in made
    ]


def test_batch_that_is_refused_says_how_many_rows_before_it_are_stored(memory_url, monkeypatch):
    """Each batch is stored whole or not at all, and none behind the one that is refused."""
    monkeypatch.setattr("psoup.client.appends.rows.BATCH_ROWS", 2)
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", {"n": "int64"})
        with pytest.raises(psoup.ServiceProblem, match="rows-rejected") as refused:
            stream.append([{"n": 1}, {"n": 2}, {"n": 3}, {"n": "x"}, {"n": 5}])
    assert "Of the rows given the first 2 are stored, and no other." in refused.value.__notes__
    assert [1, 2] == numbers(memory_url)


def test_batches_are_small_where_the_rows_of_a_table_are_not_of_one_size():
    """A few long texts at its front; and a stream of many columns, most of which the rows do not name."""
    table = pa.table({"t": ["x" * 8_000] * 2_000 + ["y"] * 298_000})
    made = list(batches(table, [{"name": "t", "type": "string"}]))
    assert all(len(one.content) <= BATCH_BYTES + 1_000 for one in made)
    assert table.equals(
        pa.concat_tables(pa.ipc.open_stream(one.content).read_all() for one in made)
    )
    assert 300_000 == made[-1].first_row + made[-1].rows
    wide = [{"name": f"c{k}", "type": "int64"} for k in range(64)]
    for rows in (pa.table({"c0": range(40_000)}), [{"c0": k} for k in range(40_000)]):
        made = list(batches(rows, wide))
        assert max(one.rows for one in made) * 64 * 8 <= BATCH_BYTES
        assert 40_000 == sum(one.rows for one in made)


@pytest.mark.parametrize(
    "rows", [[], pa.table({"n": pa.array([], pa.int64())}), pa.table({}), pd.DataFrame()]
)
def test_no_rows_are_one_empty_batch(rows):
    """It takes a position like any other; a frame without columns has no rows either."""
    (one,) = batches(rows, COLUMNS)
    assert 0 == one.rows
    assert b"[]" == one.content or 0 == pa.ipc.open_stream(one.content).read_all().num_rows


def test_integers_of_a_table_count_what_their_column_says():
    """As those of dicts do; without a unit they are microseconds."""
    table = pa.table({"s": [1], "ms": pa.array([1_001], pa.int32()), "t": [1_000_001]})
    columns = [{"name": name, "type": "timestamp", "unit": name} for name in ("s", "ms")]
    (one,) = batches(table, [*columns, {"name": "t", "type": "timestamp"}])
    (row,) = pa.ipc.open_stream(one.content).read_all().to_pylist()
    assert [0, 1_000, 1] == [value.microsecond for value in row.values()]
    assert [1, 1, 1] == [value.second for value in row.values()]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("int64", pa.table({"x": pa.array([1], pa.duration("us"))})),
        ("int64", pa.table({"x": pa.array([1], pa.timestamp("ns"))})),
        ("int64", pa.table({"x": [True]})),
        ("int64", pa.table({"x": ["1"]})),
        ("int64", pa.table({"x": [1.5]})),
        ("bool", pa.table({"x": [1]})),
        ("string", pa.table({"x": [1]})),
        ("string", pa.table({"x": [b"x"]})),
        ("timestamp", pd.DataFrame({"x": pd.period_range("2026-01", periods=1, freq="M")})),
        ("string", pd.DataFrame({"x": ["x", 1]})),
        ("string", pd.DataFrame([["x", "y"]], columns=["x", "x"])),
        ("string", pd.Series(["x"], name="x")),
        ("float64", [{"x": float("inf")}]),
        ("float64", [{"x": np.float32("-inf")}]),
    ],
)
def test_rows_that_would_mean_something_else_are_refused(kind, rows):
    """Before anything is sent: they would be stored as values that nobody gave."""
    with pytest.raises(psoup.DefinitionError):
        list(batches(rows, [{"name": "x", "type": kind}]))


# --- Writers ---------------------------------------------------------------------------------------


def test_writer_has_its_name_alone_and_leaves_it_to_the_next(tmp_path):
    """Two at a time have two names; who comes later goes on with one of them, above its versions."""
    first, second = Writer(tmp_path, ManualClock(100)), Writer(tmp_path, ManualClock(100))
    names = {first.next().app, second.next().app}
    assert 2 == len(names)
    assert 101 == first.next().version
    first.advance(500)
    first.close()
    third = Writer(tmp_path, ManualClock(3)).next()
    assert third.app in names
    assert 501 == third.version


def test_writer_without_a_folder_has_a_name_for_once(tmp_path):
    """What cannot be kept is not needed to send rows."""
    (tmp_path / "file").write_text("")
    writer = Writer(tmp_path / "file" / "below", ManualClock(1))
    assert writer.next().app == writer.next().app
    assert Writer(tmp_path / "file" / "below").next().app != writer.next().app


def test_writer_reads_over_a_file_that_it_did_not_write(tmp_path):
    """A torn or foreign file is a name that nobody has."""
    (tmp_path / "writer-1").write_bytes(b"\xff what is this")
    assert 7 == Writer(tmp_path, ManualClock(7)).next().version


def test_copy_of_a_process_has_a_name_of_its_own(tmp_path):
    """After a fork both go on, and neither takes the other's versions."""
    writer = Writer(tmp_path, ManualClock(1))
    mine = writer.next()
    reading, writing = os.pipe()
    copy = os.fork()
    if copy == 0:
        signal.alarm(int(FORK_S))
        os.write(writing, writer.next().app.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        theirs = pipe.read().decode()
    os.waitpid(copy, 0)
    assert theirs
    assert theirs != mine.app == writer.next().app


def test_txn_is_a_name_and_a_version():
    """Equal ones are the same batch."""
    assert Txn("a", 1) == Txn("a", 1) != Txn("a", 2)
