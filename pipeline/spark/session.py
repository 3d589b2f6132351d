"""Builds all Spark sessions, with a Java and the settings that each of them needs."""

import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from psoup.pipeline.spark.java import java_environment

CONNECTOR: Final = "pyspark_psoup"
LOCAL_MASTER: Final = "local[*]"
SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",  # as psoup writes and reads every time
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",  # else the source's reader is refused
    "spark.ui.showConsoleProgress": "false",  # it would be drawn into the log, and into psoup's own bars
}
"""For every session."""
LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",  # 200 tasks of nothing cost seconds a micro-batch
}
"""For a session on this machine alone."""
STOP_TIMEOUT_S: Final = 30.0


def open_session(
    name: str,
    *,
    master: str | None = None,
    ui: bool = False,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return the Spark session of this process; start it if there is none, which takes about 5 s.

    Under `spark-submit`, its own Java, master and resources are used.

    Args:
        name: of the application in Spark's displays.
        master: Spark's master; None: that of `spark-submit`, else all cores of this machine.
        ui: whether to serve Spark's web pages, at a port that Spark chooses.
        settings: of Spark, which override those of this module. Settings of the JVM (memory) count only at its start.

    Raises:
        JavaMissingError: no Java was found.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    builder = SparkSession.builder.appName(name)
    if master is not None or not submitted:
        builder = builder.master(master or LOCAL_MASTER)
    local = not submitted and (master or LOCAL_MASTER).startswith("local")
    chosen = {**SETTINGS, **(LOCAL_SETTINGS if local else {}), "spark.ui.enabled": str(ui).lower()}
    builder = builder.config(map={**chosen, **(settings or {})})
    with ExitStack() as stack:
        environment = dict(os.environ)
        if not submitted and SparkContext._gateway is None:  # noqa: SLF001 - no JVM runs yet
            environment = stack.enter_context(java_environment(environment))
        if local:
            environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        stack.enter_context(_changed(_for_workers(environment)))
        return builder.getOrCreate()


def close_session(session: SparkSession) -> None:
    """Stop the session, and end its JVM if this process has started it.

    Spark itself leaves the JVM running until the process ends.
    """
    with warnings.catch_warnings(), suppress(Py4JError, OSError):
        warnings.simplefilter("ignore", RuntimeWarning)  # of a JVM that has ended by itself
        session.stop()
    gateway = SparkContext._gateway  # noqa: SLF001 - Spark has no other way to end it
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    gateway.shutdown()
    process.stdin.close()
    process.wait(STOP_TIMEOUT_S)
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001


def _for_workers(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for Python workers, with this interpreter and the path of the connector."""
    found = importlib.util.find_spec(CONNECTOR)
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    if found is not None and found.origin is not None:
        places.insert(0, str(Path(found.origin).parents[1]))
    return {
        **environment,
        "PYSPARK_PYTHON": sys.executable,  # else the first python3 on PATH
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(place for place in places if place)),
    }


@contextmanager
def _changed(environment: Mapping[str, str]) -> Iterator[None]:
    """Replace the process's environment while the context is open; a JVM that starts meanwhile inherits it."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
