"""Noting what an archive is of as it begins, and seeing at each later run that it still is and has missed nothing."""

from pyspark.sql import SparkSession

from pipeline.client import Service
from pipeline.errors import DefinitionError, JobFailedError
from pipeline.spark.archive_note import ArchiveNote, read_note, write_note
from pipeline.spark.history.archived import last_position
from pipeline.spark.jobs.asked import ArchiveRequest
from pipeline.spark.jobs.kept import text_lines
from pipeline.spark.jobs.target import described


def note_archive(
    spark: SparkSession, service: Service, request: ArchiveRequest, checkpoint: str
) -> None:
    """Note at the first run what the archive is of, and at every other one that it still is.

    The stream is held before it is asked what it has dropped: from then on nothing is lost to the archive.

    Raises:
        DefinitionError: the archive is of another service, or of a stream that is gone.
        JobFailedError: the hold was ended since the last run, and what came after that may be gone. The archive notes
            from when on it is complete, and the next run goes on.
    """
    note, now = read_note(spark, request.path), _dropped_by_now(service, request)
    if note is not None and (note.gen, note.declared) != (now.gen, now.declared):
        raise DefinitionError(
            f"The archive {request.path} is not of this stream {request.stream!r}: the service has lost its history"
            " since or is another one, or the stream was dropped and declared anew. Name another --path for the"
            " new stream; the old archive stays as it is."
        )
    if note is None:
        if not text_lines(spark, f"{checkpoint}/offsets"):
            service.hold(request.stream, 0, gen=now.gen)
        write_note(spark, request.path, _dropped_by_now(service, request))
    elif service.held(request.stream) is None:
        service.hold(request.stream, 0, gen=now.gen)
        now = _dropped_by_now(service, request)
        if now.complete_from is not None and not _goes_on(spark, service, request):
            write_note(spark, request.path, now)
            raise JobFailedError(
                f"Nothing of stream {request.stream!r} was held for its archive any more: somebody has ended the hold."
                f" What arrived since the last run and is dated before {now.complete_from} may be missing. It is held"
                " again; run the job again to go on."
            )


def _dropped_by_now(service: Service, request: ArchiveRequest) -> ArchiveNote:
    """Return what an archive that began now would be of."""
    gen = int(service.batch_list(request.stream, limit=1)["gen"])
    found = described(service, request.stream) or {}
    lacks = found["complete_from"] if found["dropped"] else None
    return ArchiveNote(gen, int(found["declared"]), lacks)


def _goes_on(spark: SparkSession, service: Service, request: ArchiveRequest) -> bool:
    """Return whether the log still has the batch that the archive ends with, and so all later ones."""
    last = last_position(spark, request.path)
    there = service.batch_list(request.stream, after=max(last - 1, 0), limit=1)["batches"]
    return bool(there) and there[0]["seq"] == last
