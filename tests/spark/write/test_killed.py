"""A streaming job that is killed with -9 around its commits: every row arrives, and once."""

import csv

import pytest

from tests.spark.between import COMMIT, Rule
from tests.spark.killing import JobProcess
from tests.spark.stored import stored_numbers

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1_800)]
FILES, ROWS, STREAM = 3, 100, "killed"


@pytest.fixture
def files(tmp_path):
    """Return a folder of CSV files, each a micro-batch."""
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(FILES):
        with (folder / f"part-{number}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "name"])
            writer.writerows([i, f"n{i}"] for i in range(number * ROWS, (number + 1) * ROWS))
    return folder


@pytest.fixture
def job(between, files, tmp_path):
    """Return the job over these files, into the stream `STREAM`, through the proxy; not running."""
    checkpoint = str(tmp_path / "checkpoint")
    arguments = (between.url, STREAM, str(files), checkpoint, "id bigint, name string")
    return JobProcess(tmp_path / "log", *arguments)


@pytest.fixture(autouse=True)
def nothing_left(service):
    """Drop the stream of each test: the service is that of all of them."""
    yield
    service.drop(STREAM)


def kill_before(kill):
    """Return what kills in place of carrying the request out."""

    def act(_):
        kill()

    return act


def kill_after(kill, status=200):
    """Return what carries the request out and then kills, before anybody is told."""

    def act(forward):
        assert status == forward().status
        kill()

    return act


@pytest.mark.parametrize("what", ["kill_jvm", "kill_all"])
@pytest.mark.parametrize("moment", [kill_before, kill_after])
def test_job_killed_in_its_commits_writes_each_row_once(job, between, service, what, moment):
    """Killed in its first micro-batch and in the second, before the service has committed or after."""
    for earlier in (0, 1):
        between.rules[:] = [
            Rule(*COMMIT, lambda forward: forward(), times=earlier),
            Rule(*COMMIT, moment(getattr(job, what))),
        ]
        assert not job.run(), "it was to be killed"
    assert job.run(), job.log()[-4_000:]
    assert list(range(FILES * ROWS)) == stored_numbers(service, STREAM, "id")
    assert 1 == len({commit["app"] for commit in between.commits()})


def test_job_killed_while_it_stages_writes_each_row_once(job, between, service):
    """Killed with a part under way: it was staged, nothing names it, its rows are staged again."""
    between.rules[:] = [Rule("POST", "/v1/streams/", kill_after(job.kill_all, 201))]
    assert not job.run(), "it was to be killed"
    assert job.run(), job.log()[-4_000:]
    assert FILES + 1 == between.count("POST", "/v1/streams/")
    assert list(range(FILES * ROWS)) == stored_numbers(service, STREAM, "id")
