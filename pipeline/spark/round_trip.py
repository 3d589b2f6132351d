"""Writes files into a stream, reads answers back, and compares them with Spark SQL over the files."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psoup.pipeline.spark.jobs.ingest import ingest
from psoup.pipeline.spark.launch.job_run import JobEnd, Report, translated_spark_errors
from psoup.pipeline.spark.launch.requests import IngestRequest
from psoup.pipeline.spark.quiet_session import open_quiet_session
from psoup.pipeline.spark.session import close_session

SHORT_LIVED_JVM: Final = "-XX:TieredStopAtLevel=1"
"""The JVM ends before thorough compilation pays off."""


@dataclass(frozen=True, slots=True)
class ComparedQuery:
    """One query in psoup's SQL and in Spark SQL, in which the stream is a view of the same name."""

    title: str
    psoup: str
    spark: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Comparison of two answers: psoup's first rows, the number of rows of each, and of differing rows."""

    columns: Sequence[str]
    first: Sequence[Sequence[Any]]
    rows: int
    rows_expected: int
    rows_differing: int

    @property
    def agrees(self) -> bool:
        """Return whether the answers have the same rows, each as often, and at least one."""
        return self.rows > 0 and self.rows_differing == 0


class RoundTrip:
    """A Spark session that moves Parquet files into a stream and compares answers."""

    def __init__(self, *, folder: Path, stream: str, url: str, scratch: Path) -> None:
        """Start Spark, about 5 s.

        Args:
            folder: of the files.
            stream: name of a declared stream.
            url: of the service.
            scratch: folder for Spark's files.

        Raises:
            JavaMissingError: no Java was found.
        """
        self._folder = folder
        self._stream = stream
        self._url = url
        self._checkpoint = scratch / "checkpoint"
        settings = {
            "spark.driver.extraJavaOptions": SHORT_LIVED_JVM,
            "spark.local.dir": str(scratch / "spark"),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        }
        self._spark = open_quiet_session("psoup round trip", settings=settings)

    def close(self) -> None:
        """Stop Spark."""
        close_session(self._spark)

    def write(self, report: Report) -> JobEnd:
        """Stream the files into psoup, one micro-batch for each file; return the totals.

        Raises:
            PsoupError: the service refused, or Spark failed.
        """
        request = IngestRequest(
            stream=self._stream,
            checkpoint=str(self._checkpoint),
            format="parquet",
            path=str(self._folder),
            schema=self._spark.read.parquet(str(self._folder)).schema.toDDL(),
            options=["maxFilesPerTrigger=1"],
            available_now=True,
            url=self._url,
        )
        with translated_spark_errors():
            return ingest(self._spark, request, report, lambda: False)

    def compare(self, question: ComparedQuery, query_id: str, *, first: int) -> Verdict:
        """Compare the standing query with Spark SQL over the files; keep the `first` rows of the answer."""
        self._spark.read.parquet(str(self._folder)).createOrReplaceTempView(self._stream)
        told = {"url": self._url, "query": query_id}
        answer = self._spark.read.format("psoup").options(**told).load()
        found = [tuple(row) for row in answer.collect()]
        expected = [tuple(row) for row in self._spark.sql(question.spark).collect()]
        counted, counted_there = Counter(found), Counter(expected)
        differing = (counted - counted_there) + (counted_there - counted)
        return Verdict(
            answer.columns, sorted(found)[:first], len(found), len(expected), differing.total()
        )
