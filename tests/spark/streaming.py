"""Files as a source of micro-batches: one file is one of them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

SCHEMA = "id bigint, name string"
RUN_S = 100
"""For a few micro-batches, on a busy machine."""


def write_file(folder: Path, number: int, first: int, past: int) -> Path:
    """Write the rows `first` to `past` as the file of this number; a later number is read later."""
    folder.mkdir(exist_ok=True)
    ids = list(range(first, past))
    path = folder / f"part-{number:04}.parquet"
    parquet.write_table(pa.table({"id": ids, "name": [f"n{i}" for i in ids]}), path)
    return path


class Job:
    """A streaming query from a folder of files into a stream: run as often as one likes."""

    def __init__(self, spark: "SparkSession", url: str, stream: str, folder: Path) -> None:
        self._spark, self.url, self.stream = spark, url, stream
        self.files = folder / "files"
        self.files.mkdir()
        self.checkpoint = folder / "checkpoint"
        self.options = {"createStream": "true"}

    def start(self, change: "Callable[[DataFrame], DataFrame] | None" = None) -> "StreamingQuery":
        """Start the query over what is there, a file a micro-batch."""
        read = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        frame = read.parquet(str(self.files))
        written = self.write(change(frame) if change else frame)
        written = written.option("checkpointLocation", str(self.checkpoint))
        return written.trigger(availableNow=True).start()

    def write(self, frame: "DataFrame") -> "DataStreamWriter":
        """Say where the rows go."""
        written = frame.writeStream.format("psoup")
        return written.options(url=self.url, stream=self.stream, **self.options)

    def run(self, change: "Callable[[DataFrame], DataFrame] | None" = None) -> str:
        """Run the query until it has written all that is there; return its id."""
        query = self.start(change)
        try:
            assert query.awaitTermination(RUN_S), f"not done in {RUN_S} s: {query.lastProgress}"
        finally:
            query.stop()
        return str(query.id)

    def forget_last_commit(self) -> int:
        """Delete the newest file of the checkpoint's commits, as if killed just before; return its number."""
        commits = self.checkpoint / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)
        return last
