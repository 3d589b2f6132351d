"""The query of an archive answer, with its position and instant, and the tuple times that its windows can show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psoup.engine.errors import SqlError
from psoup.engine.limits import TIMESTAMP_US_MAX
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.parser import parse
from psoup.engine.query.time_literals import parse_instant
from psoup.engine.query.window import Window, windows_of
from psoup.engine.tuples.schema import ClockKind, StreamId, StreamSchema
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import ArchiveAnswerRefusedError


@dataclass(frozen=True, slots=True)
class ArchiveQuery:
    """A query to be answered from an archive, as the record of its archive answer says.

    Attributes:
        history_id: handle of the archive answer.
        sql: the query.
        gen, seq: the position to answer for.
        now_us: the instant to answer for.
    """

    history_id: str
    sql: str
    gen: int
    seq: int
    now_us: int

    @property
    def streams(self) -> tuple[str, ...]:
        """Return the names of the streams in FROM, each once."""
        return tuple(dict.fromkeys(source.stream.text for source in parse(self.sql).sources))


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Tuple times that the windows over a stream can show, both inclusive. `begin_us` None: from the first tuple on."""

    begin_us: int | None
    end_us: int


def archive_query_of(record: Mapping[str, Any]) -> ArchiveQuery:
    """Return the query of an archive answer, given its record."""
    return ArchiveQuery(
        history_id=str(record["id"]),
        sql=str(record["sql"]),
        gen=int(record["gen"]),
        seq=int(record["seq"]),
        now_us=instant_us(record["now"]),
    )


def instant_us(text: str) -> int:
    """Return an instant of the service, in microseconds. Raises ArchiveAnswerRefusedError if it is none."""
    us = parse_instant(text)
    if us is None:
        raise ArchiveAnswerRefusedError(f"The service wrote {text!r}: expected an instant.")
    return us


def stream_schema(description: Mapping[str, Any]) -> StreamSchema:
    """Return the schema of a stream, without its retention, given the service's description."""
    return StreamSchema(
        name=str(description["name"]),
        columns=columns_of(description),
        time=description["time"],
        clock=ClockKind(description["clock"]),
    )


def bound_query(archive_query: ArchiveQuery, schemas: Sequence[StreamSchema]) -> BoundQuery:
    """Return the query, bound to these streams.

    Raises:
        ArchiveAnswerRefusedError: it does not fit them, because a stream was declared anew.
    """
    streams = {one.name: (StreamId(i), one) for i, one in enumerate(schemas, start=1)}
    try:
        return bind(archive_query.sql, streams)
    except SqlError as error:
        raise ArchiveAnswerRefusedError(
            f"The query does not fit its streams as they are declared now: {error}. Remove the query and register it again."
        ) from error


def windows_over(query: BoundQuery, stream: str) -> tuple[Window, ...]:
    """Return the windows of a query over a stream, one for each time that FROM names the stream."""
    sources = query.clause.sources
    windows = windows_of(query.window, query.ranges, len(sources))
    return tuple(
        window for source, window in zip(sources, windows, strict=True) if source.stream == stream
    )


def span_of(windows: Sequence[Window], now_us: int, *, ahead: Sequence[Window] = ()) -> TimeSpan:
    """Return the tuple times that any of the windows can show at `now_us`; none lies past `now_us`.

    `ahead`: all windows of the query. Then also those that the windows show later, before everything that these show at
    `now_us` has left; without an end where one of these leaves nothing behind.
    """
    bounds = [window.bind(now_us) for window in windows]
    begins = [begin for begin, _ in bounds if begin is not None]
    ends = [now_us if end is None else min(end, now_us) for _, end in bounds]
    if ahead:
        left_us = max(_left_us(window, now_us) for window in ahead)
        ends = [_bound_us(window, left_us) for window in windows]
    return TimeSpan(min(begins) if len(begins) == len(bounds) else None, max(ends))


def _left_us(window: Window, now_us: int) -> int:
    """Return the instant at which the last tuple has left that a window shows at `now_us`."""
    left = window.leaves(np.array([now_us]))
    return TIMESTAMP_US_MAX if left is None else min(int(left[0]), TIMESTAMP_US_MAX)


def _bound_us(window: Window, instant_us: int) -> int:
    """Return an instant, or the constant END of a window where that is earlier."""
    end = window.end
    return instant_us if end is None or end.moving else min(instant_us, end.us)


def complete_from_us(
    windows: Sequence[Window], now_us: int, known_from_us: int | None
) -> int | None:
    """Return the instant from which a stream's part of an answer is complete; None: all of it is.

    `known_from_us`: missing tuples of the stream are dated before this instant; None: no tuple is missing. An answer
    from memory follows the same rule (`engine/invocation/position/pinning.py`).
    """
    if known_from_us is None:
        return None
    begins = [window.bind(now_us)[0] for window in windows]
    inside = all(begin is not None and begin >= known_from_us for begin in begins)
    return None if inside else known_from_us
