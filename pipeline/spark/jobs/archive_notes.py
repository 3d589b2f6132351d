"""The check at each run that an archive goes on: same stream, same checkpoint, no batch lost; and its first note."""

from dataclasses import replace

from pyspark.sql import SparkSession

from psoup.client.calls import PsoupClient
from psoup.client.errors import DefinitionError
from psoup.pipeline.errors import JobFailedError
from psoup.pipeline.spark.archive_answers.archive_note import (
    ArchiveNote,
    checkpoint_of,
    read_note,
    write_note,
)
from psoup.pipeline.spark.jobs.target import describe_target
from psoup.pipeline.spark.launch.checkpoints import (
    CheckpointPosition,
    last_written_batch,
    qualified,
    read_position,
)
from psoup.pipeline.spark.launch.requests import ArchiveRequest


def note_archive(spark: SparkSession, service: PsoupClient, request: ArchiveRequest) -> ArchiveNote:
    """Write the archive's note at its first run, and check it at every later run; return the note.

    The stream is held before it is asked which batches are forgotten, so the archive loses none from then on.

    Raises:
        DefinitionError: the archive is of another service or of a dropped stream, or has another checkpoint.
        JobFailedError: the log has forgotten batches that the archive lacks, because the hold was released. A new
            note says from when on the archive is complete, and the next run goes on.
    """
    if request.checkpoint is not None:
        request = replace(request, checkpoint=qualified(spark, request.checkpoint))
    note = read_note(spark, request.path)
    known = read_position(spark, checkpoint_of(request.path, request.checkpoint))
    _check_spark_goes_on(spark, request, note, known)
    before = _note_now(service, request)
    _check_same(request, before if note is None else note, before)
    service.hold(request.stream, 0, gen=before.gen)
    now = _note_now(service, request)
    _check_same(request, before, now)
    if note is None:
        write_note(spark, request.path, now)
        return now
    through = 0 if known.offset is None else int(known.offset["seq"])
    if now.forgotten_through > max(through, note.forgotten_through):
        write_note(spark, request.path, replace(now, number=note.number + 1))
        raise JobFailedError(
            f"The log has forgotten batches of stream {request.stream!r} that its archive does not have: somebody has"
            f" ended the hold. Tuples dated before {now.complete_from} may be missing. The stream is held again; run the"
            " job again to go on."
        )
    return note


def _check_same(request: ArchiveRequest, one: ArchiveNote, other: ArchiveNote) -> None:
    """Refuse two notes that differ in the stream's declaration or in the generation of the log."""
    if (one.gen, one.declared) != (other.gen, other.declared):
        raise DefinitionError(
            f"The archive {request.path} is not of this stream {request.stream!r}: the service has lost its log"
            " since or is another one, or the stream was dropped and declared anew. Name another --path for the"
            " new stream; the old archive stays as it is."
        )


def _check_spark_goes_on(
    spark: SparkSession,
    request: ArchiveRequest,
    note: ArchiveNote | None,
    known: CheckpointPosition,
) -> None:
    """Refuse a checkpoint that does not belong to the archive: Spark would skip batches that it takes for written."""
    checkpoint = checkpoint_of(request.path, request.checkpoint)
    written = last_written_batch(spark, request.path)
    if note is None and (known.planned >= 0 or written >= 0):
        raise DefinitionError(
            f"Spark has written to {request.path} before, or elsewhere with the checkpoint {checkpoint}, and the folder"
            " does not say of which stream it is. Name another --path, without a checkpoint or with a new one."
        )
    if note is not None and note.checkpoint != request.checkpoint:
        named = "in its own folder" if note.checkpoint is None else note.checkpoint
        raise DefinitionError(
            f"The archive {request.path} has its checkpoint {named}, and the command names another one: the archive would"
            " miss batches. Name the checkpoint as before, or another --path."
        )
    if not known.committed <= written <= known.planned:
        raise DefinitionError(
            f"The checkpoint {checkpoint} and the archive {request.path} do not fit each other: micro-batch {written}"
            f" is the last that was written, and {known.committed} the last that was committed. One of them was"
            " removed, restored or copied. Name another --path; the old archive stays as it is."
        )


def _note_now(service: PsoupClient, request: ArchiveRequest) -> ArchiveNote:
    """Return the note of an archive that begins now."""
    page = service.batch_list(request.stream, limit=1)
    description = describe_target(service, request.stream) or {}
    forgotten = int(page["forgotten_through"])
    return ArchiveNote(
        gen=int(page["gen"]),
        declared=int(description["declared"]),
        forgotten_through=forgotten,
        complete_from=description["complete_from"]
        if forgotten and description["dropped"]
        else None,
        checkpoint=request.checkpoint,
    )
