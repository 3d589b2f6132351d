"""What a job decides once and keeps beside Spark's checkpoint, and what Spark keeps there about how far it is."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions

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


def committed_offset(spark: SparkSession, checkpoint: str) -> Mapping[str, Any] | None:
    """Return the source's offset behind the last micro-batch that Spark has committed; None where none is known.

    Cost: Spark keeps some hundred small files there, and all of them are read.
    """
    done, planned = (_by_batch(spark, f"{checkpoint}/{of}") for of in ("commits", "offsets"))
    known = done.keys() & planned.keys()
    if not known:
        return None
    _, _, offset = planned[max(known)].split("\n")[
        :3
    ]  # a version, what Spark needs, the source's own
    found: Mapping[str, Any] = orjson.loads(offset)
    return found


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


def has_text(spark: SparkSession, folder: str) -> bool:
    """Return whether there is a line of text in the files of a folder: Spark makes folders before it needs them."""
    rows = _text(spark, folder)
    return rows is not None and bool(rows.take(1))


def _text(spark: SparkSession, folder: str, *, whole: bool = False) -> DataFrame | None:
    """Return the lines of the text files in a folder, or `whole` files; None where there is no such folder."""
    try:
        return spark.read.text(folder, wholetext=whole)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
