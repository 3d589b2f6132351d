"""What a job decides once and keeps beside Spark's checkpoint, and what Spark keeps there about how far it is."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions

from psoup.pipeline.errors import DefinitionError

FOLDER: Final = "psoup"
"""In the checkpoint, beside Spark's own."""
_FILES_OF_SOURCE: Final = "sources/0"
_FILES_OF_SINK: Final = "_spark_metadata"


def kept(
    spark: SparkSession, checkpoint: str, asked: Mapping[str, Any], decide: Callable[[], Any]
) -> Any:  # noqa: ANN401 (any JSON value)
    """Return what `decide` gave at the first run over this checkpoint.

    Args:
        spark: reads and writes where the checkpoint is.
        checkpoint: its folder.
        asked: what the run is asked for, as JSON: what was not asked for then is another job.
        decide: called at the first run alone; gives a JSON value.

    Raises:
        DefinitionError: the checkpoint is that of a run that was asked for something else; says in what.
    """
    folder = f"{checkpoint}/{FOLDER}"
    found = text_lines(spark, folder)
    if not found:
        decided = decide()
        line = orjson.dumps({"asked": asked, "decided": decided}).decode()
        spark.range(1).select(functions.lit(line)).write.mode("overwrite").text(folder)
        return decided
    before = orjson.loads(found[0])
    for name, value in asked.items():
        if before["asked"].get(name) != value:
            raise DefinitionError(
                f"The checkpoint {checkpoint} is that of a job with another {name}:"
                f" {before['asked'].get(name)!r}, not {value!r}. Repeat that, or name another --checkpoint."
            )
    return before["decided"]


def files_done(spark: SparkSession, checkpoint: str) -> frozenset[str]:
    """Return the files that Spark's file source has taken up, by `file_name`; none before the first run.

    Read from the source's own log, whose form is Spark's affair: good for telling progress, and no more.
    """
    lines = (
        line for line in text_lines(spark, f"{checkpoint}/{_FILES_OF_SOURCE}") if line[:1] == "{"
    )
    return frozenset(file_name(str(orjson.loads(line).get("path"))) for line in lines)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a checkpoint says that a query has come.

    Attributes:
        committed: number of the last micro-batch that was committed; -1 = none was.
        planned: of the last one that was planned; -1 = none was.
        offset: the source's behind the last one committed.
    """

    committed: int
    planned: int
    offset: Mapping[str, Any] | None


def read_checkpoint(spark: SparkSession, checkpoint: str) -> Checkpoint:
    """Return how far a query has come.

    Cost: Spark keeps some hundred small files there, and all of them are read.
    """
    done, planned = (_by_batch(spark, f"{checkpoint}/{of}") for of in ("commits", "offsets"))
    known, last = max(done.keys() & planned.keys(), default=-1), max(planned, default=-1)
    if known < 0:
        return Checkpoint(known, last, None)
    _, _, offset = planned[known].split("\n")[:3]  # a version, Spark's own, the source's
    return Checkpoint(known, last, orjson.loads(offset))


def last_written(spark: SparkSession, path: str) -> int:
    """Return the number of the last micro-batch that Spark's file sink has written to a folder; -1 = none was.

    Spark's readers pass over where that stands, so the file system is asked.
    """
    system, at = _in_its_system(spark, f"{path}/{_FILES_OF_SINK}")
    if not system.exists(at):
        return -1
    names = [one.getPath().getName().partition(".")[0] for one in system.listStatus(at)]
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path in full, as any process with the same file systems reads it."""
    system, at = _in_its_system(spark, path)
    return str(system.makeQualified(at).toString())


def _in_its_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return the file system of a path and the path, as Hadoop has them."""
    context = spark.sparkContext
    jvm: Any = context._jvm  # noqa: SLF001 - PySpark has nothing that lists a folder
    at = jvm.org.apache.hadoop.fs.Path(path)
    return at.getFileSystem(context._jsc.hadoopConfiguration()), at  # noqa: SLF001


def _by_batch(spark: SparkSession, folder: str) -> dict[int, str]:
    """Return the texts of a folder of Spark's, by the micro-batches after which they are named."""
    rows = _text(spark, folder, whole=True)
    named = () if rows is None else rows.selectExpr("_metadata.file_name", "value").collect()
    return {int(name): text for name, text in named if name.isdecimal()}


def file_name(uri: str) -> str:
    """Return a file's URI in one form: Spark writes `file:/a` and `file:///a`."""
    return re.sub(r"^(\w+):/+", r"\1:/", uri)


def text_lines(spark: SparkSession, folder: str) -> list[str]:
    """Return the lines of the text files in a folder; none where there is no such folder."""
    rows = _text(spark, folder)
    return [] if rows is None else [row["value"] for row in rows.collect()]


def _text(spark: SparkSession, folder: str, *, whole: bool = False) -> DataFrame | None:
    """Return the lines of the text files in a folder, or `whole` files; None where there is no such folder.

    Files that are gone when they are read are passed over: Spark clears its old ones away.
    """
    try:
        return spark.read.option("ignoreMissingFiles", "true").text(folder, wholetext=whole)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
