"""A Spark session that says nothing of its own: for commands that people look at."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.session import open_session

_SILENT: Final[Mapping[str, str]] = {"spark.log.level": "OFF"}
_SAID_BYTES_SHOWN: Final = 2_000


def open_quiet_session(
    name: str, *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session as `open_session` does, whose Java keeps its greetings, warnings and log to itself.

    What makes a job fail is in the error that is raised; for Spark's log give the job to spark-submit.

    Raises:
        JavaMissingError: there is no Java to start it with.
        JobFailedError: Java did not start; quotes what it said.
    """
    with tempfile.TemporaryFile() as said:
        try:
            with _standard_error_into(said):
                return open_session(name, master=master, settings={**_SILENT, **(settings or {})})
        except PySparkException as error:
            said.seek(0)
            text = said.read()[-_SAID_BYTES_SHOWN:].decode(errors="replace").strip()
            raise JobFailedError(f"Spark did not start. {text}") from error


@contextmanager
def _standard_error_into(file: IO[bytes]) -> Iterator[None]:
    """While inside, standard error is this file: for this process, and for good for the Java it starts."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
