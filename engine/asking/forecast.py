"""What a query would answer now, estimated on a bounded sample of the tuples that are held: before it is registered.

The sample is all that the window reaches where that is little, else some stretches of it, the latest tuples among
them. Tuples meet the condition as in an invocation.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import DatedRows, RowSpan, TupleSource
from psoup.engine.invocation.answer import Request
from psoup.engine.invocation.answering import outputs
from psoup.engine.invocation.pinning import is_empty, pinned, span_of
from psoup.engine.limits import FORECAST_ROWS_MAX, FORECAST_STRETCHES, SECOND_US
from psoup.engine.query.reading import Reading
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
        nbytes: of their values: eight for a number or an instant, one for a BOOLEAN, the UTF-8 of a text.
        matches_per_s: tuples that meet the condition, a second of tuple time, as the latest came.
        sampled, reached: tuples looked at, and all that may be in the window; both None for a join.
    """

    rows: int | None
    nbytes: int | None
    matches_per_s: float | None
    sampled: int | None
    reached: int | None


UNKNOWN: Final = Forecast(None, None, None, None, None)


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

    Cost: a scan of FORECAST_ROWS_MAX rows, and the select list of some of them. None for a join.
    """
    if len(snapshot.streams) > 1:
        return UNKNOWN
    at = pinned(snapshot, Request(limit=1))
    if at is None:
        return Forecast(0, 0, None, 0, 0)
    span = span_of(snapshot, at, 0, snapshot.query.window)
    spans: Sequence[RowSpan] = ()
    if not is_empty(span):
        spans = source.reach(
            span.stream_id, span.first_row, span.past_row, span.begin_us, span.end_us
        )
    reached = sum(past - first for first, past, _ in spans)
    stretches = []
    for first, past in _sampled(spans, reached):
        checkpoint()
        hits = source.matching(span.stream_id, reading.clause, first, past)
        stretches.append(_Stretch(first, past, hits))
    sampled = sum(map(len, stretches))
    hits = np.concatenate([NO_ROWS, *(one.hits for one in stretches)])
    visible = hits[_dated(source, span, hits)]
    rows = round(len(visible) * reached / sampled) if sampled else 0
    size = _row_bytes(source, reading, visible[-_SHOWN_MAX:])
    shown = _shown(reading, rows)
    return Forecast(
        shown,
        None if shown is None else round(shown * size),
        _matches_per_s(source, span, stretches[-1]) if stretches else None,
        sampled,
        reached,
    )


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


def _shown(reading: Reading, rows: int) -> int | None:
    """Return how many rows are answered of so many that the window shows; None where their values decide it."""
    shape = reading.shape
    if shape.keys is not None or shape.distinct or shape.looks_past_hits:
        return None
    rows = max(0, rows - shape.offset)
    return rows if shape.limit is None else min(rows, shape.limit)


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
