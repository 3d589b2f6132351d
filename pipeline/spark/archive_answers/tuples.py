"""The tuples of one stream up to a position: what its archive has, and past that what the service's log still has.

Nothing is counted twice, and nothing that is missing is passed over:

- An archive has everything up to where Spark has committed; that is looked at first, and of its rows none past it are
  taken. The log is read from the next batch on.
- The log tells up to where it has forgotten batches of the stream. If that, asked for behind the list, is not past
  where the archive ends, none is missing in between. If it is, the archive may have come further meanwhile: then all
  is looked at anew. Else what is missing has left retention, and is dated before what the stream says of that.
- What an archive lacks because it began late was dated before an instant that it has noted.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from psoup.engine.query.time_literals import format_instant
from psoup.engine.query.window import Window
from psoup.engine.tuples.schema import StreamSchema
from psoup.pipeline.client import JsonObject, PsoupClient, check_generation
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import HistoryRefusedError
from psoup.pipeline.spark.archive_answers.archive import archived_rows, archived_through, within
from psoup.pipeline.spark.archive_answers.archive_note import FOLDER, ArchiveNote, read_note
from psoup.pipeline.spark.archive_answers.live_batches import live_rows
from psoup.pipeline.spark.archive_answers.question import (
    Question,
    complete_from_us,
    instant_us,
    span_of,
    stream_schema,
)
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.read.arrivals import ListedBatch
from psoup.pipeline.spark.sql.standing_query import ARRIVAL
from psoup.pipeline.spark.transforms.mapping import selected

BEHIND_S_MAX: Final = 20.0
LOOK_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Archived:
    """An archive as it was found.

    Attributes:
        through: it has everything up to this position, but for what its note says.
        rows: all of its rows, some of which may be past that; None where there are none.
        note: what it is of.
    """

    through: int
    rows: DataFrame | None
    note: ArchiveNote

    @property
    def forgotten_through(self) -> int:
        """Return up to where the log may have forgotten batches, and none is missing that has not been told of."""
        return max(self.through, self.note.forgotten_through)


@dataclass(frozen=True, slots=True)
class StreamTuples:
    """Where a stream's tuples are, as it was found.

    Attributes:
        name: the stream.
        description: the service's, made after `live` was listed.
        archived: None where the job was given no archive.
        live: batches of the log that the archive does not have, up to the history's position.
        known_from_us: what is in neither is dated before this; None = all is there.
    """

    name: str
    description: JsonObject
    archived: Archived | None
    live: Sequence[ListedBatch]
    known_from_us: int | None

    @property
    def schema(self) -> StreamSchema:
        """Return what it is declared as."""
        return stream_schema(self.description)


def find_tuples(
    spark: SparkSession,
    service: PsoupClient,
    question: Question,
    stream: str,
    path: str | None,
    *,
    may_lack: bool = False,
) -> StreamTuples:
    """Return where the tuples of a stream up to the question's position are.

    Args:
        spark: a session that is `agreeing`.
        service: tells what the log has.
        question: says up to which position, and of which history.
        stream: its name.
        path: of its archive, if there is one.
        may_lack: whether there may be none at that path.

    Raises:
        HistoryRefusedError: the stream is gone, or the archive is not one of it.
        GenerationChangedError: the service has another history.
        DefinitionError: the archive's note cannot be read.
    """
    before = -1
    while True:
        archived = _archived(spark, service, question, stream, path, may_lack=may_lack)
        through, excused = (
            (0, 0) if archived is None else (archived.through, archived.forgotten_through)
        )
        live, forgotten = _listed(service, question, stream, through)
        description = _described(service, stream)
        is_continued = through >= question.seq or forgotten <= excused
        if is_continued or through <= before:
            break
        before = through
    known_from = description["complete_from"] if description["dropped"] else None
    if is_continued:
        known_from = None if archived is None else archived.note.complete_from
    known_from_us = None if known_from is None else instant_us(known_from)
    return StreamTuples(stream, description, archived, live, known_from_us)


def rows_of(
    spark: SparkSession,
    connection: Connection,
    question: Question,
    found: StreamTuples,
    windows: Sequence[Window],
) -> DataFrame:
    """Return the tuples that these windows can show: `_id`, `_seq`, `_arrival`, then the columns of the stream."""
    schema, span = found.schema, span_of(windows, question.now_us)
    rows = live_rows(
        spark,
        connection,
        found.name,
        schema.columns,
        found.live,
        gen=question.gen,
        time=schema.time or ARRIVAL,
        span=span,
    )
    if found.archived is None or found.archived.rows is None:
        return rows
    up_to = min(question.seq, found.archived.through)
    archived = within(found.archived.rows, up_to=up_to, span=span)
    # Those of the log first: they may be archived, and forgotten there, while a long scan goes on.
    return rows.union(selected(archived, rows.columns))


def part_complete_from_us(
    question: Question, found: StreamTuples, windows: Sequence[Window]
) -> int | None:
    """Return from when on the stream's part of the answer is complete, None = all of it.

    That is the first instant past NOW at the latest: then nothing of it is.

    Raises:
        HistoryRefusedError: it is not complete, and the job has no archive of the stream: its answer would be the one
            that the service has anyway.
    """
    from_us = complete_from_us(windows, question.now_us, found.known_from_us)
    if from_us is not None and found.archived is None:
        raise HistoryRefusedError(
            f"Stream {found.name!r} is read from {format_instant(from_us)} on alone, and the job has no archive of it."
            f" Archive it (psoup pipeline archive --stream {found.name} --path DIR), and start the job with"
            f" --archive {found.name}=DIR: an archive has what it was sent from its first run on."
        )
    return None if from_us is None else min(from_us, question.now_us + 1)


def is_gone(service: PsoupClient, found: StreamTuples) -> bool:
    """Return whether the log has let go of a batch that is to be read: archived meanwhile, or dropped."""
    return bool(found.live) and _forgotten_through(service, found.name) >= found.live[0].seq


def _forgotten_through(service: PsoupClient, stream: str) -> int:
    return int(service.batch_list(stream, limit=1)["forgotten_through"])


def _described(service: PsoupClient, stream: str) -> JsonObject:
    description = service.stream(stream)
    if description is None:
        raise HistoryRefusedError(
            f"Stream {stream!r} is gone, and its queries with it: declare it, and register the query again."
        )
    return description


def _archived(
    spark: SparkSession,
    service: PsoupClient,
    question: Question,
    stream: str,
    path: str | None,
    *,
    may_lack: bool,
) -> Archived | None:
    """Return the archive at this path, None where there is none and there may be none."""
    if path is None:
        return None
    description = _described(service, stream)
    note, through = None, 0
    while (present := read_note(spark, path)) is not None and present != note:
        note = present  # until nothing was noted while the checkpoint was read
        _check_note(question, stream, path, note, description)
        through = archived_through(spark, path, note)
    rows = archived_rows(spark, path, columns_of(description))
    if note is None and rows is not None:
        raise HistoryRefusedError(
            f"The archive {path} has rows, and does not say of which stream of which service: it was written by an"
            f" earlier version, or its folder {FOLDER} is gone. Archive {stream!r} anew, to another folder, and start the"
            f" job with --archive {stream}=DIR."
        )
    if note is None and not may_lack:
        raise HistoryRefusedError(
            f"There is no archive of stream {stream!r} at {path}, as seen by the job: write one there (psoup pipeline"
            f" archive --stream {stream} --path {path}), or start the job with another --archive {stream}=DIR."
        )
    return None if note is None else Archived(through, rows, note)


def _check_note(
    question: Question,
    stream: str,
    path: str,
    note: ArchiveNote,
    description: Mapping[str, object],
) -> None:
    """Refuse an archive that is not of this stream of this history."""
    if note.gen != question.gen:
        raise HistoryRefusedError(
            f"The archive {path} is of the history {note.gen} of a service, and this one's is {question.gen}: the"
            " service has lost its history since, or is another one. Archive the stream anew, to another folder, and"
            f" start the job with --archive {stream}=DIR."
        )
    if note.declared != description["declared"]:
        raise HistoryRefusedError(
            f"The archive {path} is of a stream {stream!r} that was dropped; the one of now was declared after it."
            f" Archive it to a folder of its own, and start the job with --archive {stream}=DIR."
        )


def _listed(
    service: PsoupClient, question: Question, stream: str, through: int
) -> tuple[list[ListedBatch], int]:
    """Return the log's batches past `through`, up to the question's position, and up to where it has forgotten some."""
    _await_position(service, question, stream)
    found = []
    for one in service.batches(stream, after=through):
        seq = int(one["seq"])
        if seq > question.seq:
            break
        found.append(ListedBatch(seq, int(one["bytes"])))
    return found, _forgotten_through(service, stream)


def _await_position(service: PsoupClient, question: Question, stream: str) -> None:
    """Return once the service lists batches up to the question's position: a worker may be a moment behind another.

    Raises:
        GenerationChangedError: it has another history.
        HistoryRefusedError: it is not there in time.
    """
    pause = threading.Event()
    for _ in range(round(BEHIND_S_MAX / LOOK_S)):
        page = service.batch_list(stream, limit=1)
        check_generation(question.gen, int(page["gen"]))
        if int(page["seq"]) >= question.seq:
            return
        pause.wait(LOOK_S)
    raise HistoryRefusedError(
        f"The service does not list batches up to position {question.seq}, for which it was asked: it is behind. Ask"
        " again once its engine runs."
    )
