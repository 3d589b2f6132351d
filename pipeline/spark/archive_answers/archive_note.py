"""The note of an archive: of which stream and service it is, and which batches it cannot have.

The job `archive` writes it into the archive's folder at its first run. Parquet files alone do not say which service
sent their rows, nor which batches its log had forgotten before.
"""

from dataclasses import asdict, dataclass
from typing import Final

import orjson
from pyspark.sql import SparkSession, functions

from psoup.client.errors import DefinitionError
from psoup.pipeline.spark.launch.checkpoints import text_lines

FOLDER: Final = "_psoup"
"""Folder in the archive. Spark's readers ignore names that begin with `_`."""
CHECKPOINT_FOLDER: Final = "_checkpoint"
"""Folder in the archive for its checkpoint, unless another one is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveNote:
    """The note of an archive. The archive has every batch past `forgotten_through`, up to Spark's position.

    Attributes:
        gen: generation of the service's log, to which positions belong.
        declared: position of the stream's declaration; a stream that is declared anew is another stream.
        forgotten_through: the log had forgotten batches up to here when the note was written; the archive may lack
            them.
        complete_from: forgotten tuples are dated before this instant of the service; None: none was forgotten.
        checkpoint: folder of Spark's checkpoint; None: CHECKPOINT_FOLDER.
        number: of the note. The highest one counts; the others stay, so that a note exists at any moment.
    """

    gen: int
    declared: int
    forgotten_through: int
    complete_from: str | None
    checkpoint: str | None
    number: int = 1


def read_note(spark: SparkSession, path: str) -> ArchiveNote | None:
    """Return the note of the archive at this path; None: no archive, or none with a note.

    Raises:
        DefinitionError: the note cannot be read.
    """
    lines = text_lines(spark, f"{path}/{FOLDER}")
    try:
        notes = [ArchiveNote(**orjson.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise DefinitionError(
            f"The note of the archive {path}, in its folder {FOLDER}, cannot be read: {error}. It is damaged, or was"
            " written by another version. Archive the stream anew, to another folder."
        ) from error
    return max(notes, key=lambda note: note.number, default=None)


def write_note(spark: SparkSession, path: str, note: ArchiveNote) -> None:
    """Write a note into the archive at this path."""
    line = spark.range(1).select(functions.lit(orjson.dumps(asdict(note)).decode()))
    line.write.mode("append").text(f"{path}/{FOLDER}")


def checkpoint_of(path: str, checkpoint: str | None) -> str:
    """Return the folder of an archive's checkpoint: the named one, else CHECKPOINT_FOLDER in the archive."""
    return checkpoint or f"{path}/{CHECKPOINT_FOLDER}"
