"""What a job decides once and keeps beside Spark's checkpoint, and what Spark keeps there about files."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, functions

from pipeline.errors import DefinitionError

FOLDER: Final = "psoup"
"""In the checkpoint, beside Spark's own."""
_FILES_OF_SOURCE: Final = "sources/0"


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


def file_name(uri: str) -> str:
    """Return a file's URI in one form: Spark writes `file:/a` and `file:///a`."""
    return re.sub(r"^(\w+):/+", r"\1:/", uri)


def text_lines(spark: SparkSession, folder: str) -> list[str]:
    """Return the lines of the text files in a folder; none where there is no such folder."""
    try:
        return [row["value"] for row in spark.read.text(folder).collect()]
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return []
        raise
