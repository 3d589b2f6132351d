"""One Spark session for all tests of a process: started by the first that asks, stopped at the end."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2,3]"
"""Two tasks at once, each of which may fail twice: plain local[2] never repeats one."""
FRUGAL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Tests run a statement once or twice: compiling it well would cost more than it gains."""
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For the same reason Spark evaluates a statement as it stands and makes no Java of it: a quarter less CPU."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """Yield the session, with the settings of `psoup` and a warehouse in a folder of its own."""
    from psoup.pipeline.spark.session import close_session, open_session

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.memory": "1g",
        # A statement of many small joins broadcasts a table for each: of a page at least, which is 16 MiB by default.
        "spark.buffer.pageSize": "1m",
        "spark.driver.extraJavaOptions": FRUGAL_JVM,
        **INTERPRETED,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    session = open_session("tests", master=MASTER, settings=settings)
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        close_session(session)
