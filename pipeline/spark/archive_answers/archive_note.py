"""What an archive is of: noted in its folder when it begins, for whoever reads it later.

Parquet files say what was sent, not by which service, nor what it had forgotten before anybody archived it.
"""

from dataclasses import asdict, dataclass
from typing import Final

import orjson
from pyspark.sql import SparkSession, functions

from psoup.pipeline.errors import DefinitionError
from psoup.pipeline.spark.launch.checkpoints import text_lines

FOLDER: Final = "_psoup"
"""In the archive: Spark's readers pass over names that begin so."""
CHECKPOINT_FOLDER: Final = "_checkpoint"
"""In the archive, where no other is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveNote:
    """What an archive is of. From where a note counts on, everything up to where Spark has come is in the archive.

    Attributes:
        gen: the service's history, in which positions mean something.
        declared: position of the stream's declaration; declared anew it is another stream.
        forgotten_through: what the log had forgotten when this was noted lies up to here, and need not be in the
            archive.
        complete_from: that was dated before this instant, as the service writes it; None = it was nothing.
        checkpoint: where Spark keeps how far it has come; None = CHECKPOINT_FOLDER.
        number: of the note. The last one counts; the others stay, so that there is one at any moment.
    """

    gen: int
    declared: int
    forgotten_through: int
    complete_from: str | None
    checkpoint: str | None
    number: int = 1


def read_note(spark: SparkSession, path: str) -> ArchiveNote | None:
    """Return what the archive at this path is of; None where nobody has noted it, or there is none.

    Raises:
        DefinitionError: what is noted there is not a note.
    """
    lines = text_lines(spark, f"{path}/{FOLDER}")
    try:
        notes = [ArchiveNote(**orjson.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise DefinitionError(
            f"What the archive {path} has noted of itself in {FOLDER} cannot be read: {error}. It is damaged, or was"
            " written by another version: archive the stream anew, to another folder."
        ) from error
    return max(notes, key=lambda one: one.number, default=None)


def write_note(spark: SparkSession, path: str, note: ArchiveNote) -> None:
    """Note what the archive at this path is of, from now on."""
    one = spark.range(1).select(functions.lit(orjson.dumps(asdict(note)).decode()))
    one.write.mode("append").text(f"{path}/{FOLDER}")


def checkpoint_of(path: str, checkpoint: str | None) -> str:
    """Return where the checkpoint of the archive at this path is, which was named, or was not."""
    return checkpoint or f"{path}/{CHECKPOINT_FOLDER}"
