"""A Spark session without output of its own, for interactive commands."""

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
    """Return a session as `open_session` does, and discard the output and the log of its JVM.

    Errors say why a job failed; for Spark's log, run the job with spark-submit.

    Raises:
        JavaMissingError: no Java was found.
        JobFailedError: Java did not start; quotes its output.
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
    """Redirect standard error to a file while the context is open; a JVM that starts meanwhile keeps it."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
