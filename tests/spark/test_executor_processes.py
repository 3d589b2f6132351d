"""Real processes: an engine whose executors match, API workers that know nothing of it, and a JVM that is killed."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import duckdb
import httpx2
import pyarrow as pa
import pytest

from psoup.app.operate.lifecycle import EXIT_OK
from psoup.client.calls import PsoupClient
from psoup.client.connections.messages import json_object
from psoup.engine.store.contract import WorkerStore
from psoup.storage.opening import open_worker_store
from tests import patience
from tests.agreement.joins.world import tuples
from tests.app.real_processes import Process
from tests.engine.ahead.programs import KEYS
from tests.patience import wait_until
from tests.spark.cluster import running_cluster
from tests.stores import SharedServer
from tests.strategies import EPOCH_US

pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.redis, pytest.mark.timeout(900)]

NAME = "readings"
DEFINITION = {
    "columns": [
        {"name": "ts", "type": "timestamp", "nullable": False},
        {"name": "n", "type": "int64", "nullable": False},
        {"name": "k", "type": "int64"},
        {"name": "g", "type": "float64"},
        {"name": "w", "type": "string"},
        {"name": "i", "type": "int64"},
        {"name": "b", "type": "bool"},
    ],
    "time": "ts",
}
QUERIES = 3_000
BATCHES = 24
BATCH_ROWS = 12_000
CHECKED = 200
START_S = 400.0
"""A session on a machine that is busy with others."""
ARROW = "application/vnd.apache.arrow.stream"


def children(pid: int) -> dict[int, str]:
    """Return the living processes below one, by pid, with their programs."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found[int(entry.name)] = (entry / "comm").read_text().strip()
                found |= children(int(entry.name))
    return found


@pytest.fixture
def processes(tmp_path) -> Iterator[tuple[SharedServer, Process, Process]]:
    """Yield a server with an engine over it whose executors match whatever there is, and an API worker."""
    server = SharedServer(tmp_path / "server")
    engine = Process("engine", server.url, tmp_path / "engine")
    api = Process("api", server.url, tmp_path / "api")
    engine._environment["PSOUP_SPARK_PAIRS_MIN"] = "1"
    try:
        yield server, engine, api
    finally:
        below = {} if engine._process is None else children(engine._process.pid)
        for process in (engine, api):
            process.close()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        server.stop()


def drawn(rng: Random) -> str:
    """Return a condition that DuckDB reads as psoup does."""
    low = rng.randrange(KEYS)
    return rng.choice(
        [
            f"k BETWEEN {low} AND {low + rng.randrange(KEYS)}",
            f"k = {low} AND g < {rng.randrange(2 * KEYS)}",
            f"n = {rng.randrange(BATCHES * BATCH_ROWS)}",
            f"w > '{low}' AND w <= 'é{low}'",
            f"w LIKE '%{low}%' AND k < {rng.randrange(KEYS)}",
            f"NOT b AND i <> {rng.randrange(8)}",
            f"k IS NULL AND i > {rng.randrange(8)}",
        ]
    )


class Producer:
    """Sends tuples, and registers and removes queries; remembers both."""

    def __init__(self, service: PsoupClient, store: WorkerStore) -> None:
        """Begin with a stream."""
        self._service, self._store = service, store
        self._rng = Random(1)
        self.sent: list[pa.Table] = []
        self.standing: dict[str, str] = {}
        wait_until(service.ready, "it is ready")
        service.declare(NAME, DEFINITION)

    def register(self, count: int) -> None:
        """Register so many queries."""
        wheres = [drawn(self._rng) for _ in range(count)]
        bodies = [
            {"sql": f"SELECT n FROM {NAME} WHERE {where}", "materialize": "partial"}
            for where in wheres
        ]
        lines = self._service.register_many(bodies, describe=False)
        for where, line in zip(wheres, lines, strict=True):
            assert 201 == line["status"], line
            self.standing[str(line["id"])] = where

    def remove(self, count: int) -> None:
        """Remove so many queries."""
        for query_id in self._rng.sample(sorted(self.standing), k=count):
            self._service.remove(query_id)
            del self.standing[query_id]

    def append(self) -> None:
        """Send the next batch, and wait until it is applied."""
        first = len(self.sent) * BATCH_ROWS
        batch = tuples(first, BATCH_ROWS, keys=KEYS, seed=1, first_us=EPOCH_US, step_us=9)
        self.sent.append(batch)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_table(batch)
        receipt = self._service.append(NAME, sink.getvalue().to_pybytes(), content_type=ARROW)
        seq = int(str(receipt["seq"]))
        wait_until(lambda: self._store.position().applied >= seq, f"{seq} is applied")

    def check_answers(self, count: int) -> None:
        """Compare what so many of the queries answer with what DuckDB says of all that was sent."""
        with duckdb.connect() as oracle:
            oracle.register("sent", pa.concat_tables(self.sent))
            oracle.execute(f"CREATE TABLE {NAME} AS SELECT * FROM sent")
            for query_id in self._rng.sample(sorted(self.standing), k=count):
                where = self.standing[query_id]
                asked = oracle.execute(f"SELECT n FROM {NAME} WHERE {where} ORDER BY n").fetchall()
                pages = self._service.pages(query_id, limit=100_000)
                found = sorted(row["n"] for page in pages for row in json_object(page)["rows"])
                assert (where, [n for (n,) in asked]) == (where, found)


@pytest.fixture(params=["local", "cluster"])
def master(request, tmp_path) -> Iterator[str]:
    """Yield where the executors are: in the JVM that the engine starts, or processes of two hosts."""
    if request.param == "local":
        yield "local[2]"
        return
    with running_cluster(tmp_path) as cluster:
        yield cluster.master


def test_engine_with_spark_answers_as_if_there_were_none(processes, master, monkeypatch):
    """Queries come and go while tuples stream in; the JVM is killed meanwhile, and all ends at SIGTERM."""
    monkeypatch.setattr(patience, "WAIT_S", START_S)
    server, engine, api = processes
    engine.start("--spark", master, "--port", "0")
    assert engine._process is not None
    pid = engine._process.pid
    engine.wait_for("executors-ready")
    meters = f"{engine.wait_for('listening')['url']}/metrics"
    api.start("--port", "0")
    url = api.wait_for("listening")["url"]
    with PsoupClient(url) as service, contextlib.closing(open_worker_store(server.url)) as store:
        producer = Producer(service, store)
        producer.register(QUERIES)
        for number in range(BATCHES):
            producer.append()
            if number % 5 == 2:
                producer.remove(20)
                producer.register(40)
            if number == BATCHES // 2:
                (java,) = [one for one, what in children(pid).items() if what == "java"]
                os.kill(java, signal.SIGKILL)
        engine.wait_for("executors-failed")
        producer.check_answers(CHECKED)
    told = httpx2.get(meters).text

    below = children(pid)
    engine.send(signal.SIGTERM)
    assert EXIT_OK == engine.wait()
    left = engine.events()[-2]
    assert "executors-left" == left["event"]
    assert left["chunks"] >= 12, "the case is the one it claims to be"
    assert left["failed"] >= 1
    for name in ("jobs", "chunks"):
        assert f"\npsoup_executor_{name}_total {float(left[name])}\n" in told
    wait_until(
        lambda: not any((Path("/proc") / str(one)).exists() for one in below), "all are gone"
    )
    command = [sys.executable, "-m", "psoup", "fsck", "--store", server.url]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == checked.returncode, checked.stdout
