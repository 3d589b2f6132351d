"""What a history asks: a text, a position and an instant; and which tuples of each stream that can concern."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psoup.engine.errors import SqlError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.parser import parse
from psoup.engine.query.time_literals import parse_instant
from psoup.engine.query.window import Window, windows_of
from psoup.engine.tuples.schema import ClockKind, StreamId, StreamSchema
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import HistoryRefusedError


@dataclass(frozen=True, slots=True)
class Question:
    """A history's record, as far as it says what is to be computed.

    Attributes:
        history_id: its handle.
        sql: the query.
        gen, seq: the position to answer for.
        now_us: the instant.
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
class Span:
    """Tuple times that the windows over a stream can show, both inclusive; `begin_us` None = from the first on."""

    begin_us: int | None
    end_us: int


def question_of(record: Mapping[str, Any]) -> Question:
    """Return what the record of a history asks."""
    return Question(
        history_id=str(record["id"]),
        sql=str(record["sql"]),
        gen=int(record["gen"]),
        seq=int(record["seq"]),
        now_us=instant_us(record["now"]),
    )


def instant_us(text: str) -> int:
    """Return an instant that the service has written, in microseconds."""
    us = parse_instant(text)
    if us is None:
        raise HistoryRefusedError(f"The service wrote {text!r} where an instant was expected.")
    return us


def stream_schema(description: Mapping[str, Any]) -> StreamSchema:
    """Return what a stream is declared as, but for what it keeps, from the service's description of it."""
    return StreamSchema(
        name=str(description["name"]),
        columns=columns_of(description),
        time=description["time"],
        clock=ClockKind(description["clock"]),
    )


def bound_query(question: Question, schemas: Sequence[StreamSchema]) -> BoundQuery:
    """Return the query as it means over these streams.

    Raises:
        HistoryRefusedError: it means nothing over them: one was declared anew.
    """
    streams = {one.name: (StreamId(i), one) for i, one in enumerate(schemas, start=1)}
    try:
        return bind(question.sql, streams)
    except SqlError as error:
        raise HistoryRefusedError(
            f"The query does not fit its streams as they are declared now: {error}. Remove it, and register it again."
        ) from error


def windows_over(query: BoundQuery, stream: str) -> tuple[Window, ...]:
    """Return the windows that a query has over a stream, one for each time that FROM names it."""
    sources = query.clause.sources
    windows = windows_of(query.window, query.ranges, len(sources))
    return tuple(
        window for source, window in zip(sources, windows, strict=True) if source.stream == stream
    )


def span_of(windows: Sequence[Window], now_us: int) -> Span:
    """Return the times that any of the windows can show at `now_us`; nothing is shown past that."""
    bounds = [window.bind(now_us) for window in windows]
    begins = [begin for begin, _ in bounds if begin is not None]
    ends = [now_us if end is None else min(end, now_us) for _, end in bounds]
    return Span(min(begins) if len(begins) == len(bounds) else None, max(ends))


def complete_from_us(
    windows: Sequence[Window], now_us: int, known_from_us: int | None
) -> int | None:
    """Return from when on a stream's part of an answer is complete: None where its windows begin no earlier.

    `known_from_us`: what is not at hand of the stream is dated before this; None = all is at hand. The same rule as
    that of an answer from memory (`engine/invocation/pinning.py`).
    """
    if known_from_us is None:
        return None
    begins = [window.bind(now_us)[0] for window in windows]
    inside = all(begin is not None and begin >= known_from_us for begin in begins)
    return None if inside else known_from_us
