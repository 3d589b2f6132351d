"""The `foreachBatch` sink for Spark 3.5: the same promises, by what that version has."""

import ast
from pathlib import Path

import pytest

from psoup.pipeline.errors import OptionError
from psoup.pipeline.spark import foreach, options, packing, schema, staging
from psoup.pipeline.spark.foreach import foreach_batch
from tests.spark.stored import stored_numbers
from tests.spark.streaming import Job, write_file


class ForeachJob(Job):
    """The job of the other tests, through a function for each micro-batch."""

    app = "nightly"

    def write(self, frame):
        each = foreach_batch(self.url, self.stream, app=self.app, createStream=True)
        return frame.writeStream.foreachBatch(each)


@pytest.fixture
def job(spark, between, tmp_path, request):
    """Return a job over two files of ten rows each, into a stream named after the test."""
    one = ForeachJob(spark, between.url, request.node.name[:60], tmp_path)
    for number in range(2):
        write_file(one.files, number, 10 * number, 10 * number + 10)
    return one


def test_foreach_repeated_micro_batch_is_stored_once(job, between, service):
    """One commit a micro-batch, under the given name; repeated in other partitions it is a duplicate."""
    job.run()
    assert 1 == job.forget_last_commit()
    write_file(job.files, 2, 20, 25)
    job.run(lambda frame: frame.repartition(3))
    named = [(commit["app"], commit["version"]) for commit in between.commits()]
    assert [("nightly", version) for version in (0, 1, 1, 2)] == named
    assert list(range(25)) == stored_numbers(service, job.stream, "id")


def test_foreach_commit_that_fails_leaves_nothing_staged(job, between, service):
    """The query fails with the reason, what was staged is discarded; started again, it goes on."""
    between.refuse("POST", "/v1/commits", 403, times=1, code="forbidden", detail="not yours")
    with pytest.raises(Exception, match="403 forbidden: not yours"):
        job.run()
    staged = between.count("POST", f"/v1/streams/{job.stream}/stages")
    assert staged == between.count("DELETE", "/v1/stages/") > 0
    job.run()
    assert list(range(20)) == stored_numbers(service, job.stream, "id")


@pytest.mark.parametrize("more", [{"txnAppId": "a", "txnVersion": 1}, {"app": ""}])
def test_foreach_names_and_numbers_are_not_given_twice(more):
    """The name is that of the job, the number that of the micro-batch."""
    with pytest.raises(OptionError, match="named by app="):
        foreach_batch("http://127.0.0.1:1", "s", **{"app": "nightly", **more})


def test_foreach_imports_nothing_that_spark_3_lacks():
    """Neither it nor what it stands on knows data sources in Python, which came with Spark 4."""
    for module in (foreach, staging, packing, schema, options):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        spark = {name for name in names if name and name.startswith("pyspark")}
        assert set() == spark - {"pyspark.sql", "pyspark.sql.types"}
        ours = {name for name in names if name and name.startswith("psoup.pipeline.spark")}
        assert set() == ours - {
            f"psoup.pipeline.spark.{n}" for n in ("options", "packing", "schema", "staging")
        }
