"""The tuples of one stream up to a position: what its archive has, and past that what the service's log still has.

Nothing is counted twice, and nothing that is missing is passed over:

- An archive ends with a whole batch, at its last `_seq`; the log is read from the next one on.
- The log lets go of a stream's batches oldest first. So where it still has the batch that the archive ends with, it has
  all later ones. Where it has not, the archive's hold has kept them, if it is behind none of them: it moves behind what
  is archived, and is looked at before the archive is.
- What an archive lacks because it began late was dated before an instant that it has noted. What is neither in the
  archive nor in the log for another reason has left retention, and is dated before what the stream says of that, once
  it has dropped anything at all.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from engine.query.instant import format_instant
from engine.query.window import Window
from engine.tuples.schema import StreamSchema
from pipeline.archiving import check_history
from pipeline.client import JsonObject, Service
from pipeline.definition import columns_of
from pipeline.errors import HistoryRefusedError
from pipeline.spark.agreement import ARRIVAL
from pipeline.spark.archive_note import ArchiveNote, read_note
from pipeline.spark.arriving import ListedBatch
from pipeline.spark.history.archived import archived_rows, last_position, within
from pipeline.spark.history.live import live_rows
from pipeline.spark.history.question import (
    Question,
    complete_from_us,
    instant_us,
    span_of,
    stream_schema,
)
from pipeline.spark.options import Connection

BEHIND_S_MAX: Final = 20.0
LOOK_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class StreamTuples:
    """Where a stream's tuples are, as it was found.

    Attributes:
        name: the stream.
        description: the service's, made after `live` was listed.
        path: its archive, None where the job was given none.
        archived: all rows of that; None where there are none.
        live: batches of the log that the archive does not have, up to the history's position.
        known_from_us: what is in neither is dated before this; None = all is there.
    """

    name: str
    description: JsonObject
    path: str | None
    archived: DataFrame | None
    live: Sequence[ListedBatch]
    known_from_us: int | None

    @property
    def schema(self) -> StreamSchema:
        """Return what it is declared as."""
        return stream_schema(self.description)


def find_tuples(
    spark: SparkSession,
    service: Service,
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
        HistoryChangedError: the service has another history.
    """
    held = service.held(stream)
    note, archived, through = None, None, 0
    if path is not None:
        described = _described(service, stream)
        note = read_note(spark, path)
        archived = archived_rows(spark, path, columns_of(described))
        if note is not None:
            _check_note(question, stream, path, note, described)
        elif archived is None:
            _check_lacking(stream, path, may_lack=may_lack)
            path = None
    if path is not None:
        through = last_position(spark, path)
    is_continued, live = _listed(service, question, stream, through, held)
    description = _described(service, stream)
    known_from = description["complete_from"] if description["dropped"] else None
    if note is not None and is_continued:
        known_from = note.complete_from
    known_from_us = None if known_from is None else instant_us(known_from)
    return StreamTuples(stream, description, path, archived, live, known_from_us)


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
    if found.archived is None:
        return rows
    archived = within(found.archived, up_to=question.seq, span=span)
    return archived.select(*rows.schema.names).union(rows)


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
    if from_us is not None and found.path is None:
        raise HistoryRefusedError(
            f"Stream {found.name!r} is read from {format_instant(from_us)} on alone, and the job has no archive of it."
            f" Archive it (psoup pipeline archive --stream {found.name} --path DIR), and start the job with"
            f" --archive {found.name}=DIR: an archive has what it was sent from its first run on."
        )
    return None if from_us is None else min(from_us, question.now_us + 1)


def is_gone(service: Service, found: StreamTuples) -> bool:
    """Return whether the log has let go of a batch that is to be read: archived meanwhile, or dropped."""
    if not found.live:
        return False
    first = found.live[0].seq
    there = service.batch_list(found.name, after=first - 1, limit=1)["batches"]
    return not there or int(there[0]["seq"]) != first


def _described(service: Service, stream: str) -> JsonObject:
    description = service.stream(stream)
    if description is None:
        raise HistoryRefusedError(
            f"Stream {stream!r} is gone, and its queries with it: declare it, and register the query again."
        )
    return description


def _check_lacking(stream: str, path: str, *, may_lack: bool) -> None:
    """Refuse a folder without an archive that was named as that of this stream."""
    if not may_lack:
        raise HistoryRefusedError(
            f"There is no archive of stream {stream!r} at {path}, as seen by the job: write one there (psoup pipeline"
            f" archive --stream {stream} --path {path}), or start the job with another --archive {stream}=DIR."
        )


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
    service: Service, question: Question, stream: str, through: int, held: JsonObject | None
) -> tuple[bool, list[ListedBatch]]:
    """Return whether the log goes on where the archive ends, at `through`, and its batches past that.

    `held`: the stream's hold as it was before the archive was looked at.
    """
    is_continued = through >= question.seq or (held is not None and held["through"] <= through)
    found = []
    after = max(through - 1, 0)
    _await_position(service, question, stream)
    for one in service.batches(stream, after=after):
        seq = int(one["seq"])
        if seq > question.seq:
            break
        is_continued = is_continued or seq == through
        if seq > through:
            found.append(ListedBatch(seq, int(one["bytes"])))
    return is_continued, found


def _await_position(service: Service, question: Question, stream: str) -> None:
    """Return once the service lists batches up to the question's position: a worker may be a moment behind another.

    Raises:
        HistoryChangedError: it has another history.
        HistoryRefusedError: it is not there in time.
    """
    pause = threading.Event()
    for _ in range(round(BEHIND_S_MAX / LOOK_S)):
        page = service.batch_list(stream, limit=1)
        check_history(question.gen, int(page["gen"]))
        if int(page["seq"]) >= question.seq:
            return
        pause.wait(LOOK_S)
    raise HistoryRefusedError(
        f"The service does not list batches up to position {question.seq}, for which it was asked: it is behind. Ask"
        " again once its engine runs."
    )
