"""Files into a stream and answers back out of it, and the same question put to Spark SQL over the files."""

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
"""It ends before compiling well would pay."""


@dataclass(frozen=True, slots=True)
class ComparedQuery:
    """One question in psoup's words and in those of Spark SQL, where the stream is a view of its name."""

    title: str
    psoup: str
    spark: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What both answered: the first rows of psoup's, how many each has, and in how many they differ."""

    columns: Sequence[str]
    first: Sequence[Sequence[Any]]
    rows: int
    rows_expected: int
    rows_differing: int

    @property
    def agrees(self) -> bool:
        """Return whether the answers are the same rows, each as often, and not none."""
        return self.rows > 0 and self.rows_differing == 0


class RoundTrip:
    """Parquet files, a service's stream, and a Spark session of its own between the two."""

    def __init__(self, *, folder: Path, stream: str, url: str, scratch: Path) -> None:
        """Start Spark, about 5 s.

        Args:
            folder: of the files.
            stream: where they go; it is declared.
            url: of the service.
            scratch: folder for what Spark keeps.

        Raises:
            JavaMissingError: there is no Java to start it with.
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
        """Stream the files into psoup, a micro-batch each; return the sum.

        Raises:
            PipelineError: the service refused, or Spark gave up.
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
        """Return what the standing query and Spark SQL over the files answer, and `first` rows of it."""
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
