"""Spark finds the connector of an installed psoup: a user's program writes and reads by `format("psoup")`."""

import pytest

from tests.commands import address_of

pytestmark = [
    pytest.mark.service,
    pytest.mark.spark,
    pytest.mark.timeout(400),
]

JOB_S = 300
"""A session and its first statement take a minute on a busy machine."""

JOB = """
import os, sys
from pyspark.sql import SparkSession
from psoup.pipeline.spark.java import java_environment

with java_environment(dict(os.environ)) as environment:
    os.environ.update(environment)
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
        .getOrCreate()
    )
    numbers = spark.createDataFrame([(7, "seven"), (8, "eight")], "n long, name string")
    options = {"url": sys.argv[1], "stream": "numbers", "createStream": "true"}
    numbers.write.format("psoup").mode("append").options(**options).save()
    read = spark.read.format("psoup").options(url=sys.argv[1], sql="SELECT * FROM numbers WHERE n > 7")
    print("read", [tuple(row) for row in read.load().collect()])
    spark.stop()
"""
"""A session as anybody builds it: nothing tells Spark where the connector is."""


def test_spark_finds_the_connector_of_the_wheel(psoup_with_spark):
    """Written by one statement and read by another."""
    psoup = psoup_with_spark
    (psoup.folder / "job.py").write_text(JOB)
    with psoup.started("serve", "--store", "memory://", "--port", "0") as events:
        shown = psoup.run("job.py", address_of(events), program="python", wait_s=JOB_S)
    assert "read [(8, 'eight')]" in shown
