"""Noting what an archive is of as it begins, and seeing at each later run that it still is and has missed nothing."""

from dataclasses import replace

from pyspark.sql import SparkSession

from psoup.pipeline.client import PsoupClient
from psoup.pipeline.errors import DefinitionError, JobFailedError
from psoup.pipeline.spark.archive_answers.archive_note import (
    ArchiveNote,
    checkpoint_of,
    read_note,
    write_note,
)
from psoup.pipeline.spark.jobs.target import described
from psoup.pipeline.spark.launch.checkpoints import (
    Checkpoint,
    last_written,
    qualified,
    read_checkpoint,
)
from psoup.pipeline.spark.launch.requests import ArchiveRequest


def note_archive(spark: SparkSession, service: PsoupClient, request: ArchiveRequest) -> ArchiveNote:
    """Note at the first run what the archive is of, and at every other one that it still is; return the note.

    The stream is held before it is asked what it has forgotten: from then on nothing is lost to the archive.

    Raises:
        DefinitionError: the archive is of another service, of a stream that is gone, or has another checkpoint.
        JobFailedError: the log has forgotten what the archive does not have, as the hold was ended. The archive notes
            from when on it is complete, and the next run goes on.
    """
    if request.checkpoint is not None:
        request = replace(request, checkpoint=qualified(spark, request.checkpoint))
    note = read_note(spark, request.path)
    known = read_checkpoint(spark, checkpoint_of(request.path, request.checkpoint))
    _check_spark_goes_on(spark, request, note, known)
    before = _noted_now(service, request)
    _check_same(request, before if note is None else note, before)
    service.hold(request.stream, 0, gen=before.gen)
    now = _noted_now(service, request)
    _check_same(request, before, now)
    if note is None:
        write_note(spark, request.path, now)
        return now
    through = 0 if known.offset is None else int(known.offset["seq"])
    if now.forgotten_through > max(through, note.forgotten_through):
        write_note(spark, request.path, replace(now, number=note.number + 1))
        raise JobFailedError(
            f"The log has forgotten batches of stream {request.stream!r} that its archive does not have: somebody has"
            f" ended the hold. What is dated before {now.complete_from} may be missing. It is held again; run the"
            " job again to go on."
        )
    return note


def _check_same(request: ArchiveRequest, one: ArchiveNote, other: ArchiveNote) -> None:
    """Refuse what is noted of another stream, or another service's history, than the other note is of."""
    if (one.gen, one.declared) != (other.gen, other.declared):
        raise DefinitionError(
            f"The archive {request.path} is not of this stream {request.stream!r}: the service has lost its history"
            " since or is another one, or the stream was dropped and declared anew. Name another --path for the"
            " new stream; the old archive stays as it is."
        )


def _check_spark_goes_on(
    spark: SparkSession, request: ArchiveRequest, note: ArchiveNote | None, known: Checkpoint
) -> None:
    """Refuse where Spark would not go on where it has ended: it would pass over what it takes for written."""
    checkpoint = checkpoint_of(request.path, request.checkpoint)
    written = last_written(spark, request.path)
    if note is None and (known.planned >= 0 or written >= 0):
        raise DefinitionError(
            f"{request.path} does not say what it is an archive of, and Spark has written there before, or with"
            f" the checkpoint {checkpoint} elsewhere. Name another --path, without a checkpoint or with a new one."
        )
    if note is not None and note.checkpoint != request.checkpoint:
        named = "in its own folder" if note.checkpoint is None else note.checkpoint
        raise DefinitionError(
            f"The archive {request.path} has its checkpoint {named}, and another one was asked for: batches would be"
            " passed over. Name the checkpoint as before, or another --path."
        )
    if not known.committed <= written <= known.planned:
        raise DefinitionError(
            f"The checkpoint {checkpoint} and the archive {request.path} are not of one moment: micro-batch {written}"
            f" is the last that was written, and {known.committed} the last that was committed. One of them is gone,"
            " was put back or copied. Name another --path; the old archive stays as it is."
        )


def _noted_now(service: PsoupClient, request: ArchiveRequest) -> ArchiveNote:
    """Return what an archive that began now would be of."""
    page = service.batch_list(request.stream, limit=1)
    found = described(service, request.stream) or {}
    forgotten = int(page["forgotten_through"])
    return ArchiveNote(
        gen=int(page["gen"]),
        declared=int(found["declared"]),
        forgotten_through=forgotten,
        complete_from=found["complete_from"] if forgotten and found["dropped"] else None,
        checkpoint=request.checkpoint,
    )
