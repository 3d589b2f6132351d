"""Noting what an archive is of as it begins, and seeing at each later run that it still is and has missed nothing."""

from dataclasses import replace

from pyspark.sql import SparkSession

from pipeline.client import Service
from pipeline.errors import DefinitionError, JobFailedError
from pipeline.spark.archive_note import ArchiveNote, checkpoint_of, read_note, write_note
from pipeline.spark.history.archived import written
from pipeline.spark.jobs.asked import ArchiveRequest
from pipeline.spark.jobs.kept import committed_offset, has_text
from pipeline.spark.jobs.target import described


def note_archive(spark: SparkSession, service: Service, request: ArchiveRequest) -> ArchiveNote:
    """Note at the first run what the archive is of, and at every other one that it still is; return the note.

    The stream is held before it is asked what it has forgotten: from then on nothing is lost to the archive.

    Raises:
        DefinitionError: the archive is of another service, of a stream that is gone, or has another checkpoint.
        JobFailedError: the log has forgotten what the archive does not have, as the hold was ended. The archive notes
            from when on it is complete, and the next run goes on.
    """
    note = read_note(spark, request.path)
    _check_spark_goes_on(spark, request, note)
    now = _noted_now(service, request)
    if note is not None and (note.gen, note.declared) != (now.gen, now.declared):
        raise DefinitionError(
            f"The archive {request.path} is not of this stream {request.stream!r}: the service has lost its history"
            " since or is another one, or the stream was dropped and declared anew. Name another --path for the"
            " new stream; the old archive stays as it is."
        )
    service.hold(request.stream, 0, gen=now.gen)
    now = _noted_now(service, request)
    if note is None:
        write_note(spark, request.path, now)
        return now
    offset = committed_offset(spark, checkpoint_of(request.path, note.checkpoint)) or {"seq": 0}
    if now.forgotten_through > max(int(offset["seq"]), note.forgotten_through):
        write_note(spark, request.path, replace(now, number=note.number + 1))
        raise JobFailedError(
            f"The log has forgotten batches of stream {request.stream!r} that its archive does not have: somebody has"
            f" ended the hold. What is dated before {now.complete_from} may be missing. It is held again; run the"
            " job again to go on."
        )
    return note


def _check_spark_goes_on(
    spark: SparkSession, request: ArchiveRequest, note: ArchiveNote | None
) -> None:
    """Refuse where Spark would not go on where it has ended: it would pass over what it takes for written."""
    checkpoint = checkpoint_of(request.path, request.checkpoint)
    has_begun = has_text(spark, f"{checkpoint}/offsets")
    has_written = written(spark, request.path) is not None
    if note is None and (has_begun or has_written):
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
    if has_written and not has_begun:
        raise DefinitionError(
            f"The checkpoint {checkpoint} of the archive {request.path} is gone: nobody knows any more how far it has"
            " come. Name another --path; the old archive stays as it is."
        )


def _noted_now(service: Service, request: ArchiveRequest) -> ArchiveNote:
    """Return what an archive that began now would be of."""
    page = service.batch_list(request.stream, limit=1)
    found = described(service, request.stream) or {}
    return ArchiveNote(
        gen=int(page["gen"]),
        declared=int(found["declared"]),
        forgotten_through=int(page["forgotten_through"]),
        complete_from=found["complete_from"] if found["dropped"] else None,
        checkpoint=request.checkpoint,
    )
