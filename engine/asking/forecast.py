"""What a query would answer now, estimated on a bounded sample of the tuples that are held: before it is registered.

The sample is all that the window reaches where that is little, else some stretches of it, the latest tuples among
them. Tuples meet the condition as in an invocation.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import DatedRows, RowSpan, TupleSource
from psoup.engine.invocation.answering import outputs
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invocation.position.pinning import is_empty, pinned, span_of
from psoup.engine.limits import FORECAST_ROWS_MAX, FORECAST_STRETCHES, SECOND_US
from psoup.engine.query.reading import Reading
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import Snapshot
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]

_SHOWN_MAX: Final = 1_000
"""Hits whose select list is computed to tell how large a row of the answer is."""
_FIXED_BYTES: Final = {ColumnType.BOOL: 1}


@value_type
class Forecast:
    """What a query would answer now. None = nothing can be said.

    Attributes:
        rows: of the answer.
        rows_at_most: no answer at this position has more, whatever the values are.
        nbytes: of their values: eight for a number or an instant, one for a BOOLEAN, the UTF-8 of a text.
        matches_per_s: tuples that meet the condition, a second of tuple time, as the latest came.
        sampled: tuples looked at; None for a join.
        reached: of each source, tuples that may be in the window; () = they were not told.
    """

    rows: int | None
    rows_at_most: int | None
    nbytes: int | None
    matches_per_s: float | None
    sampled: int | None
    reached: tuple[int, ...]


UNKNOWN: Final = Forecast(None, None, None, None, None, ())


@value_type
class _Stretch:
    """Some rows that follow each other: how many, and those that satisfy the condition."""

    first_row: int
    past_row: int
    hits: Rows

    def __len__(self) -> int:
        return self.past_row - self.first_row


def forecast(source: TupleSource, snapshot: Snapshot, reading: Reading) -> Forecast:
    """Return what a query would answer at NOW.

    Args:
        source: where tuples are held.
        snapshot: of the query as if it stood.
        reading: its clause and shape.

    Raises:
        PageExpiredError: tuples left retention while they were read.

    Cost: a scan of FORECAST_ROWS_MAX rows, and the select list of some of them. Of a join it tells how many rows the
    windows reach, which no scan takes.
    """
    at = pinned(snapshot, Request(limit=1))
    sources = len(snapshot.streams)
    if at is None:
        none = (0,) * sources  # of which aggregates over all rows make one group all the same
        rows = _shown(reading, None) if reading.shape.keys == () else 0
        nbytes, sampled = 0 if rows == 0 else None, 0 if sources == 1 else None
        return Forecast(rows, _at_most(reading, none), nbytes, None, sampled, none)
    windows = windows_of(snapshot.query.window, snapshot.query.ranges, sources)
    spans = [span_of(snapshot, at, place, window) for place, window in enumerate(windows)]
    reaches = [_reach(source, span) for span in spans]
    reached = tuple(sum(past - first for first, past, _ in one) for one in reaches)
    if sources > 1:
        most = _at_most(reading, reached)
        return Forecast(_shown(reading, None), most, None, None, None, reached)
    (span,), (runs,) = spans, reaches
    stretches = []
    for first, past in _sampled(runs, reached[0]):
        checkpoint()
        hits = source.matching(span.stream_id, reading.clause, first, past)
        stretches.append(_Stretch(first, past, hits))
    sampled = sum(map(len, stretches))
    hits = np.concatenate([NO_ROWS, *(one.hits for one in stretches)])
    visible = hits[_dated(source, span, hits)]
    rows = round(len(visible) * reached[0] / sampled) if sampled else 0
    size = _row_bytes(source, reading, visible[-_SHOWN_MAX:])
    shown = _shown(reading, rows)
    is_all = sampled == reached[0]
    return Forecast(
        shown,
        _at_most(reading, (len(visible),) if is_all else reached),
        None if shown is None or reading.shape.keys is not None else round(shown * size),
        _matches_per_s(source, span, stretches[-1]) if stretches else None,
        sampled,
        reached,
    )


def _reach(source: TupleSource, span: DatedRows) -> Sequence[RowSpan]:
    """Return the runs of a span's rows that the window may show."""
    if is_empty(span):
        return ()
    return source.reach(span.stream_id, span.first_row, span.past_row, span.begin_us, span.end_us)


def _sampled(spans: Sequence[RowSpan], reached: int) -> Iterator[tuple[int, int]]:
    """Yield runs `[first, past)` of the `reached` rows of spans, the last ones among them; all, where these are few."""
    if reached <= FORECAST_ROWS_MAX:
        yield from ((first, past) for first, past, _ in spans)
        return
    length = FORECAST_ROWS_MAX // FORECAST_STRETCHES
    begins = np.linspace(0, reached - length, FORECAST_STRETCHES, dtype=np.int64).tolist()
    base = 0
    for first, past, _ in spans:
        for begin in begins:
            some = max(begin, base), min(begin + length, base + past - first)
            if some[0] < some[1]:
                yield first + some[0] - base, first + some[1] - base
        base += past - first


def _dated(source: TupleSource, span: DatedRows, rows: Rows) -> NDArray[np.bool_]:
    """Return which rows are dated inside the span."""
    times = source.times(span.stream_id, rows)
    inside: NDArray[np.bool_] = times <= span.end_us
    return inside if span.begin_us is None else inside & (times >= span.begin_us)


def _shown(reading: Reading, rows: int | None) -> int | None:
    """Return how many rows are answered of so many that the window shows; None where their values decide it."""
    shape = reading.shape
    if shape.keys == () and shape.having is None:
        return _cut(reading, 1)  # one group of all rows, however many there are
    if rows is None or shape.keys is not None or shape.distinct or shape.looks_past_hits:
        return None
    return _cut(reading, rows)


def _at_most(reading: Reading, rows: tuple[int, ...]) -> int:
    """Return how many rows are answered at most of so many of each source: of all combinations, each a group."""
    shape = reading.shape
    counts = list(rows)
    for place, window in enumerate(shape.row_windows):
        if window is not None and not window.keys:
            counts[place] = min(counts[place], window.count)
    if shape.left_join is not None:
        counts[-1] = max(counts[-1], 1)  # a row without partners stands beside NULLs
    return _cut(reading, 1 if shape.keys == () else math.prod(counts))


def _cut(reading: Reading, rows: int) -> int:
    """Return how many of so many rows OFFSET and LIMIT leave."""
    rows = max(0, rows - reading.shape.offset)
    return rows if reading.shape.limit is None else min(rows, reading.shape.limit)


def _row_bytes(source: TupleSource, reading: Reading, rows: Rows) -> float:
    """Return how large a row of the answer is, on average over some rows."""
    if reading.shape.keys is not None or not len(rows):
        return 0.0
    (clause_source,) = reading.clause.sources
    tuples = source.tuples(clause_source.stream_id, reading.names[0], rows)
    return sum(map(_nbytes, (column for _, column in outputs(reading, (tuples,))))) / len(rows)


def _nbytes(column: Column) -> int:
    if column.type is not ColumnType.STRING:
        return _FIXED_BYTES.get(column.type, 8) * len(column)
    return sum(len(text.encode()) for text in column.to_list() if isinstance(text, str))


def _matches_per_s(source: TupleSource, span: DatedRows, latest: _Stretch) -> float | None:
    """Return the hits a second in the latest rows; None where all of these are of one instant."""
    times = source.times(span.stream_id, np.arange(latest.first_row, latest.past_row))
    spent_us = int(times.max()) - int(times.min())
    return None if not spent_us else len(latest.hits) * SECOND_US / spent_us
