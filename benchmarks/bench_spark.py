"""Rows out of Spark: psoup's Arrow sink beside Spark's own no-op and Parquet sinks, in one session.

The same rows of five types, made by Spark itself: by one `df.write`, and by a streaming query whose
micro-batches are files. psoup is the durable default with no query standing; a run ends when all rows are
committed. The no-op sink is what making and moving the rows costs; it stores nothing, so its answer is
that of its source. And what histories ask of Spark (`spark_bands.py`).
"""

import contextlib
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import spark_bands
from benchmarks.bench import Contender, Contest, Size
from benchmarks.service import running
from psoup.client.calls import PsoupClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

STREAM = "rows"
T0 = 1_700_000_000_000_000
COLUMNS = (
    "id",
    "id * 7919 % 1000003 AS qty",
    "id / 8D AS px",
    "concat('n', id % 1000) AS name",
    f"timestamp_micros({T0} + id) AS ts",
)
"""Sums of `px` are exact in any order: it counts eighths."""
KINDS = {"id": "int64", "qty": "int64", "px": "float64", "name": "string", "ts": "timestamp"}
PARTITIONS = 4
MICRO_BATCHES = 4
MASTER = "local[2]"
PARQUET = "Spark, Parquet sink"


def contests(size: Size) -> Iterator[Contest]:
    """Yield contests for `write`, for `writeStream`, and for joins of histories, over one session and one service."""
    if find_spec("pyspark") is None:
        return
    count = size.pick(smoke=2_000, full=2_000_000)
    with contextlib.ExitStack() as stack:
        ways = Ways(stack, count)
        yield Contest("spark-write", "rows by one df.write", "row", count, ways.batch())
        if size is Size.FULL:  # the same parts, at half a second each
            title = f"rows by df.writeStream, {MICRO_BATCHES} micro-batches"
            yield Contest("spark-stream", title, "row", count, ways.streaming())
        yield from spark_bands.contests(size, lambda: ways.spark)


class Ways:
    """How the rows are made, written and read again. What that needs is started by the first that runs."""

    def __init__(self, stack: contextlib.ExitStack, count: int) -> None:
        """Begin nothing; what begins later ends with `stack`."""
        self._stack, self._count, self._runs = stack, count, 0

    @functools.cached_property
    def folder(self) -> Path:
        """A folder for everything that is written."""
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="psoup-bench-")))

    @functools.cached_property
    def url(self) -> str:
        """A service on the durable default."""
        return (
            f"http://127.0.0.1:{self._stack.enter_context(running(self.folder, store=None)).port}"
        )

    @functools.cached_property
    def spark(self) -> "SparkSession":
        """The session of this process, or one that is started."""
        return self._stack.enter_context(_session())

    @functools.cached_property
    def source(self) -> Path:
        """The rows as files of Parquet, one for each micro-batch."""
        path = self.folder / "source"
        made = self.spark.range(0, self._count, numPartitions=MICRO_BATCHES)
        made.selectExpr(*COLUMNS).write.parquet(str(path))
        return path

    def batch(self) -> Sequence[Contender]:
        """Return the contenders of `df.write`."""

        def rows(path: Path) -> "tuple[DataFrame, Path]":
            made = self.spark.range(0, self._count, numPartitions=PARTITIONS)
            return made.selectExpr(*COLUMNS), path

        def psoup(state: "tuple[DataFrame, Path]") -> Path:
            written = state[0].write.format("psoup").mode("append")
            written.options(url=self.url, stream=STREAM).save()
            return state[1]

        def parquet(state: "tuple[DataFrame, Path]") -> Path:
            state[0].write.parquet(str(state[1]))
            return state[1]

        def noop(state: "tuple[DataFrame, Path]") -> Path:
            state[0].write.format("noop").mode("append").save()
            return state[1]

        return [
            Contender("psoup, Arrow sink", lambda: rows(self._emptied()), psoup, self._stored),
            Contender(PARQUET, lambda: rows(self._fresh()), parquet, self._files),
            Contender("Spark, no-op sink", lambda: rows(self._fresh()), noop, self._source),
        ]

    def streaming(self) -> Sequence[Contender]:
        """Return the contenders of `df.writeStream`, over files that are made once."""

        def run(path: Path, sink: "Callable[[DataStreamWriter], DataStreamWriter]") -> Path:
            schema = self.spark.read.parquet(str(self.source)).schema
            read = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            written = sink(read.parquet(str(self.source)).writeStream)
            written = written.option("checkpointLocation", str(path / "checkpoint"))
            query = written.trigger(availableNow=True).start()
            query.awaitTermination()
            return path / "out"

        def psoup(path: Path) -> Path:
            options = {"url": self.url, "stream": STREAM}
            return run(path, lambda written: written.format("psoup").options(**options))

        def parquet(path: Path) -> Path:
            return run(path, lambda w: w.format("parquet").option("path", str(path / "out")))

        def noop(path: Path) -> Path:
            return run(path, lambda written: written.format("noop"))

        return [
            Contender("psoup, Arrow sink", self._emptied, psoup, self._stored),
            Contender(PARQUET, self._fresh, parquet, self._files),
            Contender("Spark, no-op sink", self._fresh, noop, self._source),
        ]

    def _fresh(self) -> Path:
        """Return a folder for one run, those of runs before being gone."""
        shutil.rmtree(self.folder / f"run-{self._runs}", ignore_errors=True)
        self._runs += 1
        return self.folder / f"run-{self._runs}"

    def _emptied(self) -> Path:
        """Declare the stream anew."""
        declared = [
            {"name": name, "type": kind, "nullable": name != "ts"} for name, kind in KINDS.items()
        ]
        with PsoupClient(self.url) as service:
            if service.stream(STREAM) is not None:
                service.drop(STREAM)
            retention = {"rows": 2 * self._count}
            service.declare(STREAM, {"columns": declared, "time": "ts", "retention": retention})
        return self._fresh()

    def _stored(self, _: Path) -> bytes:
        with PsoupClient(self.url) as service:
            handle = service.register(f"SELECT * FROM {STREAM}", materialize="none")["id"]
            pages = []
            for page in service.pages(handle, format="arrow", limit=100_000, meta=0):
                with pa.ipc.open_stream(page.content) as reader:
                    pages.append(reader.read_all())
            service.remove(handle)
        return summary(pa.concat_tables(pages))

    def _files(self, path: Path) -> bytes:
        return summary(self.spark.read.parquet(str(path)).toArrow())

    def _source(self, _: Path) -> bytes:
        made = self.spark.range(0, self._count, numPartitions=PARTITIONS)
        return summary(made.selectExpr(*COLUMNS).toArrow())


def summary(rows: pa.Table) -> bytes:
    """Return what tells one bag of rows from another: their number, and exact sums of each column."""
    eighths, instants = (
        pc.multiply(rows["px"], 8.0),
        pc.subtract(pc.cast(rows["ts"], pa.int64()), T0),
    )
    numbers = [rows["id"], rows["qty"], eighths, instants, pc.binary_length(rows["name"])]
    sums = [pc.sum(pc.cast(one, pa.int64())).as_py() for one in numbers]
    pairs = pc.sum(pc.multiply(rows["id"], rows["qty"])).as_py()  # rows stay together
    return repr((rows.num_rows, sums, pairs)).encode()


@contextlib.contextmanager
def _session() -> "Iterator[SparkSession]":
    """Yield the session of this process; one that is started here ends here."""
    from pyspark.sql import SparkSession

    from psoup.pipeline.spark.session import close_session, open_session

    running_already = SparkSession.getActiveSession()
    if running_already is not None:
        yield running_already
        return
    session = open_session("bench", master=MASTER, settings={"spark.driver.memory": "2g"})
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        close_session(session)
