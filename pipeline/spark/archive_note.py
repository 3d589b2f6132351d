"""What an archive is of: noted in its folder when it begins, for whoever reads it later.

Parquet files say what was sent, not by which service, nor what it had forgotten before anybody archived it.
"""

from dataclasses import asdict, dataclass
from typing import Final

import orjson
from pyspark.sql import SparkSession, functions

from pipeline.spark.jobs.kept import text_lines

FOLDER: Final = "_psoup"
"""In the archive: Spark's readers pass over names that begin so."""


@dataclass(frozen=True, slots=True)
class ArchiveNote:
    """What an archive is of.

    Attributes:
        gen: the service's history, in which positions mean something.
        declared: position of the stream's declaration; declared anew it is another stream.
        complete_from: what the service had dropped of the stream when its archive began was dated before this
            instant, as the service writes it; None = nothing.
    """

    gen: int
    declared: int
    complete_from: str | None


def read_note(spark: SparkSession, path: str) -> ArchiveNote | None:
    """Return what the archive at this path is of; None where nobody has noted it, or there is none."""
    lines = text_lines(spark, f"{path}/{FOLDER}")
    return ArchiveNote(**orjson.loads(lines[0])) if lines else None


def write_note(spark: SparkSession, path: str, note: ArchiveNote) -> None:
    """Note what the archive at this path is of."""
    line = orjson.dumps(asdict(note)).decode()
    one = spark.range(1).select(functions.lit(line))
    one.write.mode("overwrite").text(f"{path}/{FOLDER}")
