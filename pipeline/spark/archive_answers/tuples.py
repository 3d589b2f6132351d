"""The tuples of one stream up to a position: from its archive, and past the archive's end from the service's log.

No tuple is read twice, and no missing tuple goes unnoticed:

- An archive has every batch up to the position that Spark has committed. That position is read first; archive rows
  past it are ignored, and the log is read from the next batch on.
- The log says up to where it has forgotten batches of the stream. It is asked after its batches are listed. If that
  position is not past the archive's end, no batch is missing in between. If it is, the archive may have grown
  meanwhile, and both are read again. If the archive has not grown, the missing tuples have left retention; they are
  dated before the stream's `complete_from`.
- Tuples that the archive lacks because it began late are dated before the instant in its note.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from psoup.client.calls import JsonObject, PsoupClient, check_generation
from psoup.engine.query.time_literals import format_instant
from psoup.engine.query.window import Window
from psoup.engine.tuples.schema import StreamSchema
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import ArchiveAnswerRefusedError
from psoup.pipeline.spark.archive_answers.archive import archived_rows, archived_through, within
from psoup.pipeline.spark.archive_answers.archive_note import FOLDER, ArchiveNote, read_note
from psoup.pipeline.spark.archive_answers.archive_query import (
    ArchiveQuery,
    complete_from_us,
    instant_us,
    span_of,
    stream_schema,
)
from psoup.pipeline.spark.archive_answers.live_batches import live_rows
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.read.arrivals import ListedBatch
from psoup.pipeline.spark.sql.sources import ARRIVAL
from psoup.pipeline.spark.transforms.mapping import selected

BEHIND_S_MAX: Final = 20.0
POLL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class ArchiveSnapshot:
    """An archive at one moment.

    Attributes:
        through: the archive has every batch up to this position, except those that its note excludes.
        rows: all of its rows, some of which may be past `through`; None: no rows.
        note: the archive's note.
    """

    through: int
    rows: DataFrame | None
    note: ArchiveNote

    @property
    def forgotten_through(self) -> int:
        """Return the position up to which the archive has each batch, or its note excludes the batch."""
        return max(self.through, self.note.forgotten_through)


@dataclass(frozen=True, slots=True)
class StreamTuples:
    """Where the tuples of a stream are.

    Attributes:
        name: the stream.
        description: the service's description of the stream, made after `live` was listed.
        archived: the archive; None: the job was given none for this stream.
        live: batches of the log that the archive lacks, up to the query's position.
        known_from_us: missing tuples are dated before this instant; None: no tuple is missing.
    """

    name: str
    description: JsonObject
    archived: ArchiveSnapshot | None
    live: Sequence[ListedBatch]
    known_from_us: int | None

    @property
    def schema(self) -> StreamSchema:
        """Return the schema of the stream."""
        return stream_schema(self.description)


def find_tuples(
    spark: SparkSession,
    service: PsoupClient,
    archive_query: ArchiveQuery,
    stream: str,
    path: str | None,
    *,
    may_lack: bool = False,
) -> StreamTuples:
    """Return where the tuples of a stream are, up to the query's position.

    Args:
        spark: a session that is `agreeing`.
        service: lists the batches of the log.
        archive_query: gives the position and its generation.
        stream: its name.
        path: of its archive; None: it has none.
        may_lack: whether the archive may be missing at that path.

    Raises:
        ArchiveAnswerRefusedError: the stream is gone, or the archive is of another stream.
        GenerationChangedError: the service's log is of another generation.
        DefinitionError: the archive's note cannot be read.
    """
    previous = -1
    while True:
        archived = _archived(spark, service, archive_query, stream, path, may_lack=may_lack)
        through, forgettable = (
            (0, 0) if archived is None else (archived.through, archived.forgotten_through)
        )
        live, forgotten = _listed(service, archive_query, stream, through)
        description = _described(service, stream)
        is_continued = through >= archive_query.seq or forgotten <= forgettable
        if is_continued or through <= previous:
            break
        previous = through
    known_from = description["complete_from"] if description["dropped"] else None
    if is_continued:
        known_from = None if archived is None else archived.note.complete_from
    known_from_us = None if known_from is None else instant_us(known_from)
    return StreamTuples(stream, description, archived, live, known_from_us)


def rows_of(
    spark: SparkSession,
    connection: Connection,
    archive_query: ArchiveQuery,
    tuples: StreamTuples,
    windows: Sequence[Window],
    *,
    ahead: Sequence[Window] = (),
) -> DataFrame:
    """Return the tuples that these windows can show: `_id`, `_seq`, `_arrival`, then the columns of the stream.

    `ahead`: those as well that they show later (`span_of`).
    """
    schema = tuples.schema
    span = span_of(windows, archive_query.now_us, ahead=ahead)
    rows = live_rows(
        spark,
        connection,
        tuples.name,
        schema.columns,
        tuples.live,
        gen=archive_query.gen,
        time=schema.time or ARRIVAL,
        span=span,
    )
    if tuples.archived is None or tuples.archived.rows is None:
        return rows
    up_to = min(archive_query.seq, tuples.archived.through)
    archived = within(tuples.archived.rows, up_to=up_to, span=span)
    # The log is read first: its batches may be archived and forgotten during a long scan of the archive.
    return rows.union(selected(archived, rows.columns))


def part_complete_from_us(
    archive_query: ArchiveQuery, tuples: StreamTuples, windows: Sequence[Window]
) -> int | None:
    """Return the instant from which the stream's part of the answer is complete; None: all of it is.

    The instant is at most the first one past NOW, which says that no part is complete.

    Raises:
        ArchiveAnswerRefusedError: it is not complete and the job has no archive of the stream, so that its answer
            would be the one that the service has anyway.
    """
    from_us = complete_from_us(windows, archive_query.now_us, tuples.known_from_us)
    if from_us is not None and tuples.archived is None:
        raise ArchiveAnswerRefusedError(
            f"The service has stream {tuples.name!r} only from {format_instant(from_us)} on, and the job has no archive of it."
            f" Archive the stream (psoup pipeline archive --stream {tuples.name} --path DIR), and start the job with"
            f" --archive {tuples.name}=DIR. An archive has the tuples that the stream got since its first run."
        )
    return None if from_us is None else min(from_us, archive_query.now_us + 1)


def is_gone(service: PsoupClient, tuples: StreamTuples) -> bool:
    """Return whether the log has forgotten a batch of `live` meanwhile: it was archived, or left retention."""
    return bool(tuples.live) and _forgotten_through(service, tuples.name) >= tuples.live[0].seq


def _forgotten_through(service: PsoupClient, stream: str) -> int:
    return int(service.batch_list(stream, limit=1)["forgotten_through"])


def _described(service: PsoupClient, stream: str) -> JsonObject:
    description = service.stream(stream)
    if description is None:
        raise ArchiveAnswerRefusedError(
            f"Stream {stream!r} is gone, and its queries with it: declare it, and register the query again."
        )
    return description


def _archived(
    spark: SparkSession,
    service: PsoupClient,
    archive_query: ArchiveQuery,
    stream: str,
    path: str | None,
    *,
    may_lack: bool,
) -> ArchiveSnapshot | None:
    """Return the archive at this path; None: no archive, which `may_lack` allows."""
    if path is None:
        return None
    description = _described(service, stream)
    note, through = None, 0
    while (present := read_note(spark, path)) is not None and present != note:
        note = present  # repeat if a note was written while the checkpoint was read
        _check_note(archive_query, stream, path, note, description)
        through = archived_through(spark, path, note)
    rows = archived_rows(spark, path, columns_of(description))
    if note is None and rows is not None:
        raise ArchiveAnswerRefusedError(
            f"The archive {path} has rows but does not say of which stream of which service: it was written by an"
            f" earlier version, or its folder {FOLDER} is gone. Archive {stream!r} anew, to another folder, and start the"
            f" job with --archive {stream}=DIR."
        )
    if note is None and not may_lack:
        raise ArchiveAnswerRefusedError(
            f"There is no archive of stream {stream!r} at {path} where the job runs. Write one there (psoup pipeline"
            f" archive --stream {stream} --path {path}), or start the job with another --archive {stream}=DIR."
        )
    return None if note is None else ArchiveSnapshot(through, rows, note)


def _check_note(
    archive_query: ArchiveQuery,
    stream: str,
    path: str,
    note: ArchiveNote,
    description: Mapping[str, object],
) -> None:
    """Refuse an archive that is of another generation of the log, or of another stream."""
    if note.gen != archive_query.gen:
        raise ArchiveAnswerRefusedError(
            f"The archive {path} is of generation {note.gen} of a service's log, and this service's is {archive_query.gen}:"
            " the service has lost its log since, or is another one. Archive the stream anew, to another folder, and"
            f" start the job with --archive {stream}=DIR."
        )
    if note.declared != description["declared"]:
        raise ArchiveAnswerRefusedError(
            f"The archive {path} is of a stream {stream!r} that was dropped; the present one was declared after it."
            f" Archive the stream to another folder, and start the job with --archive {stream}=DIR."
        )


def _listed(
    service: PsoupClient, archive_query: ArchiveQuery, stream: str, through: int
) -> tuple[list[ListedBatch], int]:
    """Return the log's batches past `through` up to the query's position, and up to where it has forgotten some."""
    _await_position(service, archive_query, stream)
    batches = []
    for listed in service.batches(stream, after=through):
        seq = int(listed["seq"])
        if seq > archive_query.seq:
            break
        batches.append(ListedBatch(seq, int(listed["bytes"])))
    return batches, _forgotten_through(service, stream)


def _await_position(service: PsoupClient, archive_query: ArchiveQuery, stream: str) -> None:
    """Wait until the service lists batches up to the query's position: one worker may lag behind another.

    Raises:
        GenerationChangedError: the service's log is of another generation.
        ArchiveAnswerRefusedError: the service is still behind after BEHIND_S_MAX.
    """
    pause = threading.Event()
    for _ in range(round(BEHIND_S_MAX / POLL_S)):
        page = service.batch_list(stream, limit=1)
        check_generation(archive_query.gen, int(page["gen"]))
        if int(page["seq"]) >= archive_query.seq:
            return
        pause.wait(POLL_S)
    raise ArchiveAnswerRefusedError(
        f"The service has not applied position {archive_query.seq} yet, for which the answer was asked. Ask again once its"
        " engine runs."
    )
