"""The session that tests, jobs and demo run in: its settings, its workers, its connector."""

import sys


def test_session_settings_are_those_needed_every_time(spark):
    """Times are UTC, filters may be pushed down, shuffles are small, no web pages are served."""
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
    }
    assert settings == {name: spark.conf.get(name) for name in settings}


def test_session_workers_run_this_interpreter(spark):
    """A Python worker is the same Python, with the same packages, and finds the connector."""

    def places(batches):
        import pyarrow as pa

        import pyspark_psoup

        for _ in batches:
            yield pa.RecordBatch.from_pydict(
                {"python": [sys.executable], "connector": [pyspark_psoup.DefaultSource.name()]}
            )

    row = spark.range(1).mapInArrow(places, "python string, connector string").first()
    assert (sys.executable, "psoup") == tuple(row)


def test_session_process_environment_is_left_alone(spark, monkeypatch):
    """Starting Spark changes nothing that other processes started from here would inherit."""
    import os

    from psoup.pipeline.spark.session import open_session

    before = dict(os.environ)
    assert spark.sparkContext is open_session("again").sparkContext
    assert before == dict(os.environ)


def test_spark_finds_the_source_by_its_name(spark):
    """Without a line of code: the refusal of a missing option is the source's own."""
    import pytest

    with pytest.raises(Exception, match=r"needs the option 'url'"):
        spark.range(1).write.format("psoup").mode("append").save()
