"""Executors that are processes apart, on two hosts: tasks that Spark itself starts twice, and executors that die."""

import os
import signal
import threading

import pytest

from tests.spark.between import COMMIT, Rule
from tests.spark.cluster import HOSTS, running_cluster
from tests.spark.killing import JobProcess
from tests.spark.stored import stored_numbers

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]
ROWS, PARTS, STREAM = 800, 8, "clustered"
STAGES = f"/v1/streams/{STREAM}/stages"
HELD_S = 60.0
"""Less than a client waits for an answer before it asks again."""
READ = f"read {ROWS} {sum(range(ROWS))}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Yield the cluster of all tests here."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as one:
        yield one


@pytest.fixture(autouse=True)
def nothing_left(service):
    """Drop the stream of each test: the service is that of all of them."""
    yield
    service.drop(STREAM, cascade=True)


@pytest.fixture
def job(cluster, between, tmp_path):
    """Return what makes a job, which is not running yet, through the proxy."""

    def made(*more):
        arguments = (cluster.master, between.url, STREAM, str(ROWS), str(PARTS), *more)
        return JobProcess(tmp_path / "log", *arguments, job="cluster_job")

    return made


@pytest.mark.parametrize("commits", [1, 2], ids=["batch", "stream"])
def test_tasks_that_spark_starts_twice_write_each_row_once(
    job, between, service, tmp_path, commits
):
    """The first part to be staged is answered once another task has staged it as well: one of the two counts."""
    is_doubled = threading.Event()

    def answered_late(forward):
        answer = forward()
        for _ in range(int(HELD_S / 0.05)):
            if between.count("POST", STAGES) >= PARTS:  # the others, and one of them the same again
                is_doubled.set()
                break
            is_doubled.wait(0.05)
        return answer

    between.rules.append(Rule("POST", STAGES, answered_late))
    written = job(*([str(tmp_path / "checkpoint")] if commits == 2 else []))
    assert written.run(), written.log()[-4_000:]
    assert READ in written.log()
    assert list(range(ROWS)) == stored_numbers(service, STREAM, "id")
    assert is_doubled.is_set(), "a task was started twice: its client was still waiting"
    assert between.count("POST", STAGES) > commits * PARTS
    named = [stage for commit in between.commits() for stage in commit["stages"]]
    assert commits * PARTS == len(named) == len(set(named))
    assert commits == len(between.commits())


def test_executors_that_die_while_they_stage_write_each_row_once(job, cluster, between, service):
    """Both are killed, one with a part staged and not answered: the tasks run again in others."""
    dead = []

    def killed(forward):
        assert 201 == forward().status
        for pid in cluster.executors():
            os.kill(pid, signal.SIGKILL)
            dead.append(pid)

    between.rules.append(Rule("POST", STAGES, lambda forward: forward()))
    between.rules.append(Rule("POST", STAGES, killed))
    written = job()
    assert written.run(), written.log()[-4_000:]
    assert READ in written.log()
    assert len(dead) == len(HOSTS)
    assert between.count("POST", STAGES) > PARTS, "a part was staged again"
    assert 1 == between.count(*COMMIT)
    assert list(range(ROWS)) == stored_numbers(service, STREAM, "id")
