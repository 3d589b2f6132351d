"""The job as a process: told to end, killed amid its work, and over tuples that the log has dropped."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from psoup.client.calls import ARROW_STREAM
from psoup.engine.limits import HISTORY_CLAIM_S
from tests.patience import wait_until
from tests.spark.archive_answers.archive_world import archive_of, asked, compute
from tests.spark.between import Between, Rule

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.service,
    pytest.mark.timeout(900),  # claims lapse, and sessions start, beside other tests
]
ANSWER_S = 200.0
JOBS = {
    "psoup": [sys.executable, "-m", "psoup", "pipeline", "history"],
    "alone": [sys.executable, "-m", "psoup.pipeline.spark.jobs.history"],
}


def started(command):
    """Start a command in a session of its own, so that its Java can be killed with it."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def done(service, handle):
    """Return the answer of a history once it is done."""
    deadline = time.monotonic() + ANSWER_S
    while "count" not in (found := service.invoke(handle, history="true")):
        assert time.monotonic() < deadline, found
        threading.Event().wait(0.5)
    return found


@pytest.mark.parametrize("way", JOBS)
def test_job_killed_amid_its_work_is_followed_by_another(psoup_url, service, way):
    """SIGKILL of it and its Java while a part travels: its claim lapses, the next one begins anew. SIGTERM: exit 0."""
    stream = f"killed_{way}"
    handle = asked(service, stream)
    is_sending = threading.Event()
    with Between(psoup_url).open() as between:

        def never_answered(_):
            is_sending.set()

        between.rules.append(Rule("PUT", "/v1/histories/", never_answered, 1_000))
        with started([*JOBS[way], "--url", between.url]) as process:
            try:
                assert is_sending.wait(ANSWER_S)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
    killed_s = time.monotonic()
    with started([*JOBS[way], "--url", psoup_url, "--every", "200ms"]) as process:
        try:
            found = done(service, handle)
            assert time.monotonic() - killed_s > HISTORY_CLAIM_S / 2
            process.send_signal(signal.SIGTERM)
            said = process.stdout.read()
            assert 0 == process.wait(ANSWER_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert 40 == found["count"] == len(found["rows"])
    assert found["history"]["id"] in said
    service.drop(stream, cascade=True)


def java_of(process):
    """Return the process id of the Java that a job has started."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            of_job = os.getsid(int(place.name)) == process.pid
            if of_job and (place / "comm").read_text().strip() == "java":
                return int(place.name)
    raise AssertionError("the job has no Java")


@pytest.mark.parametrize(("way", "code"), [("psoup", 5), ("alone", 1)])
def test_job_whose_java_is_killed_says_so(psoup_url, service, tmp_path, way, code):
    """SIGKILL of its Java alone, while a part travels: a sentence and an exit code, and the history is another's."""
    stream = f"without_java_{way}"
    handle = asked(service, stream)
    said = tmp_path / "stderr"
    with Between(psoup_url).open() as between, said.open("wb") as errors:

        def kill_java(_):
            with contextlib.suppress(ProcessLookupError):
                os.kill(java_of(process), signal.SIGKILL)

        between.rules.append(Rule("PUT", "/v1/histories/", kill_java))
        command = [*JOBS[way], "--url", between.url]
        with subprocess.Popen(command, stderr=errors, start_new_session=True) as process:
            try:
                assert code == process.wait(ANSWER_S)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    last = said.read_text(errors="replace").splitlines()[-1]  # behind what Py4J says of it
    assert last.startswith("error Spark is gone: ")
    (record,) = (one for one in service.archive_answers() if one["query"] == handle)
    assert ("running", None) == (record["state"], record["detail"])
    service.drop(stream, cascade=True)


def send_minutes(service, stream, first, past):
    """Send tuples of a minute each, in batches of a segment and more."""
    for begin in range(first, past, 100_000):
        numbers = np.arange(begin, min(begin + 100_000, past))
        times = pa.array(numbers * 60_000_000, pa.timestamp("us", tz="UTC"))
        batch = pa.record_batch({"ts": times, "n": pa.array(numbers)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        service.append(stream, sink.getvalue().to_pybytes(), content_type=ARROW_STREAM)


def test_history_of_an_archive_that_began_late_is_complete_from_there(
    spark, psoup_url, service, tmp_path
):
    """What the log had dropped before is told of by an instant; what it dropped later is in the archive."""
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}]
    service.declare("late", {"columns": columns, "time": "ts", "retention": {"rows": 1_000}})
    send_minutes(service, "late", 0, 1_500_000)
    wait_until(lambda: service.batch_list("late")["forgotten_through"] > 0, "it is forgotten")
    archive_of(spark, psoup_url, "late", tmp_path)
    send_minutes(service, "late", 1_500_000, 3_000_000)
    archive_of(spark, psoup_url, "late", tmp_path)
    send_minutes(service, "late", 3_000_000, 3_100_000)
    whole = service.register("SELECT n FROM late WHERE n % 1000 = 7")["id"]
    part = service.register("SELECT n FROM late BEGIN ('1973-01-01') END ('1973-01-02')")["id"]
    for handle in (whole, part):
        service.invoke(handle, history="true")
    assert {"done"} == {one.state for one in compute(spark, psoup_url, str(tmp_path))}
    found = service.invoke(whole, history="true", limit=100_000)
    numbers = [row["n"] for row in found["rows"]]
    assert list(range(numbers[0], 3_100_000, 1_000)) == numbers
    assert 7 < numbers[0] < 500_000
    assert found["complete_from"] is not None
    exact = service.invoke(part, history="true", limit=100_000)
    assert (1_441, None) == (exact["count"], exact["complete_from"])
    service.drop("late", cascade=True)
