"""A job's decision, kept beside Spark's checkpoint, and the position that the checkpoint holds."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions

from psoup.client.errors import DefinitionError

FOLDER: Final = "psoup"
"""Folder in the checkpoint, beside Spark's own."""
_FILES_OF_SOURCE: Final = "sources/0"
_FILES_OF_SINK: Final = "_spark_metadata"


def decide_once(
    spark: SparkSession, checkpoint: str, settings: Mapping[str, Any], decide: Callable[[], Any]
) -> Any:  # noqa: ANN401 (any JSON value)
    """Return the decision of the first run over this checkpoint.

    Args:
        spark: reads and writes the checkpoint's file system.
        checkpoint: its folder.
        settings: of the job, as JSON values. A run with other settings is another job.
        decide: called only at the first run; returns a JSON value.

    Raises:
        DefinitionError: the checkpoint is of a job with another setting, which the message names.
    """
    folder = f"{checkpoint}/{FOLDER}"
    lines = text_lines(spark, folder)
    if not lines:
        decided = decide()
        line = orjson.dumps({"asked": settings, "decided": decided}).decode()
        spark.range(1).select(functions.lit(line)).write.mode("overwrite").text(folder)
        return decided
    first_run = orjson.loads(lines[0])
    for name, value in settings.items():
        if first_run["asked"].get(name) != value:
            raise DefinitionError(
                f"The checkpoint {checkpoint} is of a job with another {name}:"
                f" {first_run['asked'].get(name)!r}, not {value!r}. Pass the same {name}, or name another --checkpoint."
            )
    return first_run["decided"]


def files_done(spark: SparkSession, checkpoint: str) -> frozenset[str]:
    """Return the `file_name` of each file that Spark's file source has read; none before the first run.

    Reads the source's own log, whose format Spark may change: use it for progress only.
    """
    lines = (
        line for line in text_lines(spark, f"{checkpoint}/{_FILES_OF_SOURCE}") if line[:1] == "{"
    )
    return frozenset(file_name(str(orjson.loads(line).get("path"))) for line in lines)


@dataclass(frozen=True, slots=True)
class CheckpointPosition:
    """The position of a streaming query, as its checkpoint says.

    Attributes:
        committed: number of the last committed micro-batch; -1: none.
        planned: number of the last planned micro-batch; -1: none.
        offset: of the source after the last committed micro-batch.
    """

    committed: int
    planned: int
    offset: Mapping[str, Any] | None


def read_position(spark: SparkSession, checkpoint: str) -> CheckpointPosition:
    """Return the position of a query.

    Cost: reads all small files of the checkpoint: Spark keeps about a hundred.
    """
    done, planned = (_by_batch(spark, f"{checkpoint}/{of}") for of in ("commits", "offsets"))
    known, last = max(done.keys() & planned.keys(), default=-1), max(planned, default=-1)
    if known < 0:
        return CheckpointPosition(known, last, None)
    _, _, offset = planned[known].split("\n")[:3]  # a version, Spark's own, the source's
    return CheckpointPosition(known, last, orjson.loads(offset))


def last_written_batch(spark: SparkSession, path: str) -> int:
    """Return the number of the last micro-batch that Spark's file sink has written to a folder; -1: none.

    Lists the files: Spark's readers ignore the sink's own folder.
    """
    system, at = _in_its_system(spark, f"{path}/{_FILES_OF_SINK}")
    if not system.exists(at):
        return -1
    names = [status.getPath().getName().partition(".")[0] for status in system.listStatus(at)]
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path with its scheme and folder, valid in any process with the same file systems."""
    system, at = _in_its_system(spark, path)
    return str(system.makeQualified(at).toString())


def _in_its_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of a path, and the path in it."""
    context = spark.sparkContext
    jvm: Any = context._jvm  # noqa: SLF001 - PySpark has nothing that lists a folder
    at = jvm.org.apache.hadoop.fs.Path(path)
    return at.getFileSystem(context._jsc.hadoopConfiguration()), at  # noqa: SLF001


def _by_batch(spark: SparkSession, folder: str) -> dict[int, str]:
    """Return the text files of a folder, by the micro-batch that is the file's name."""
    rows = _text(spark, folder, whole=True)
    named = () if rows is None else rows.selectExpr("_metadata.file_name", "value").collect()
    return {int(name): text for name, text in named if name.isdecimal()}


def file_name(uri: str) -> str:
    """Return a file's URI with one slash after the scheme: Spark writes `file:/a` and `file:///a`."""
    return re.sub(r"^(\w+):/+", r"\1:/", uri)


def text_lines(spark: SparkSession, folder: str) -> list[str]:
    """Return the lines of the text files in a folder; none if there is no such folder."""
    rows = _text(spark, folder)
    return [] if rows is None else [row["value"] for row in rows.collect()]


def _text(spark: SparkSession, folder: str, *, whole: bool = False) -> DataFrame | None:
    """Return the lines of the text files in a folder, or `whole` files; None: no such folder.

    Ignores files that vanish before they are read: Spark removes its old ones.
    """
    try:
        return spark.read.option("ignoreMissingFiles", "true").text(folder, wholetext=whole)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
