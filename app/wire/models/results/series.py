"""Series as they travel: the points of a query at a sequence of instants.

JSON has them in one envelope, NDJSON one a line. CSV and Arrow have the rows of all points, one point after the other,
and before each row the instant of its point.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
from pydantic import BaseModel, Field

from psoup.app.wire.answers.encoding import RowSet, to_arrow, to_csv
from psoup.app.wire.models.results.invocations import (
    Presentation,
    WindowAt,
    member_headers,
    overflow_warnings,
    place_members,
    rows_member,
    window_member,
)
from psoup.app.wire.models.warnings import FewWarnings
from psoup.app.wire.scalars import format_duration, format_instant
from psoup.engine import limits
from psoup.engine.errors import AnswerTooLargeError
from psoup.engine.series import Point, Series
from psoup.engine.tuples.batch import Column, empty_column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType

POINT: Final = "_now"
"""Column of CSV and Arrow with the instant of each row's point. A query may name an output so: that stands behind."""
_COUNT: Final = "count"
_ESTIMATE_FACTOR: Final = 2
"""Rows are not written at all where their size is estimated at so many times the bound."""


class PointAnswer(BaseModel):
    """What the query answers at one instant."""

    now: str = Field(description="The instant; of a query that hops its last hop.")
    window: WindowAt = Field(description="What the answer covers.")
    count: int = Field(description="Rows of the answer.")
    complete_from: str | None = Field(
        description="From which time on it is whole; null: all of the window is kept."
    )
    rows: list[Any] | None = Field(
        default=None, description="Objects, or arrays, without `_id` and `_x`; not with count=only."
    )


class SeriesAnswer(BaseModel):
    """What a query answers at each of a sequence of instants, all at one position."""

    query: str = Field(description="Handle of the query.")
    gen: int = Field(
        description="The history that `seq` counts in: it grows where a part of it was lost."
    )
    seq: int = Field(description="Position: all that was accepted up to here is in the answer.")
    now: str | None = Field(description="The query's NOW; null: there is none yet.")
    first: str | None = Field(alias="from", description="The first instant; null: no points.")
    to: str | None = Field(
        description="The last instant at which there is a point; null: no points."
    )
    every: str | None = Field(description="From one to the next; null where there is one, or none.")
    columns: list[str] | None = Field(default=None, description="With shape=columns: the names.")
    points: list[PointAnswer] = Field(description="In the order in which they were asked for.")
    warnings: FewWarnings = None


def encode_series(found: Series, shown: Presentation) -> bytes:
    """Return the body.

    Raises:
        AnswerTooLargeError: it would have more bytes than a page.
    """
    rows = [RowSet(point.columns, point.count) for point in found.points]
    if sum(one.estimate_bytes() for one in rows) <= _ESTIMATE_FACTOR * limits.PAGE_BYTES_MAX:
        body = _encoded(found, rows, shown)
        if len(body) <= limits.PAGE_BYTES_MAX:
            return body
    raise AnswerTooLargeError(
        f"The series has more than {limits.PAGE_BYTES_MAX // limits.MIB} MiB: ask for fewer points, or select less.",
        limit=limits.PAGE_BYTES_MAX,
    )


def series_headers(found: Series) -> Mapping[str, str]:
    """Return the headers that tell the position of the points and from when on all are whole, in every format."""
    bounds = [one.complete_from_us for one in found.points if one.complete_from_us is not None]
    return member_headers(
        {
            **place_members(found.cut, found.now_us),
            "complete_from": format_instant(max(bounds, default=None)),
            **overflow_warnings(found.overflowed),
        }
    )


def _encoded(found: Series, rows: Sequence[RowSet], shown: Presentation) -> bytes:
    """Return the body, whatever its size; `rows` are those of each point."""
    if shown.format == "csv":
        return to_csv(_dated_rows(found, shown))
    if shown.format == "arrow":
        return to_arrow(_dated_rows(found, shown))
    points = [_point(*pair, shown) for pair in zip(found.points, rows, strict=True)]
    if shown.format == "ndjson":
        return b"".join(orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in points)
    return orjson.dumps(_envelope(found, shown, points))


def _dated_rows(found: Series, shown: Presentation) -> RowSet:
    """Return the rows of all points, each behind the instant of its point; with count=only a row for each point."""
    points = found.points
    instants = np.array([point.now_us for point in points], dtype=np.int64)
    counts = np.array([point.count for point in points], dtype=np.int64)
    if shown.count_only:
        columns = (Column(ColumnType.TIMESTAMP, instants), Column(ColumnType.INT64, counts))
        return RowSet(tuple(zip((POINT, _COUNT), columns, strict=True)), len(points))
    some = [point.columns for point in points if point.count]
    rows = [
        (name, stacked([columns[place][1] for columns in some]) if some else empty_column(kind))
        for place, (name, kind) in enumerate(found.outputs)
    ]
    dated = Column(ColumnType.TIMESTAMP, np.repeat(instants, counts))
    return RowSet(((POINT, dated), *rows), len(dated))


def _envelope(found: Series, shown: Presentation, points: list[dict[str, Any]]) -> dict[str, Any]:
    asked_us = found.asked_us
    envelope: dict[str, Any] = {
        "query": found.query.query_id,
        **place_members(found.cut, found.now_us),
        "from": format_instant(asked_us[0]) if asked_us else None,
        "to": format_instant(asked_us[-1]) if asked_us else None,
        "every": _format_step(asked_us[1] - asked_us[0]) if len(asked_us) > 1 else None,
    }
    if shown.shape == "columns" and not shown.count_only:
        envelope["columns"] = [name for name, _ in found.outputs]
    envelope["points"] = points
    return envelope | overflow_warnings(found.overflowed)


def _point(point: Point, rows: RowSet, shown: Presentation) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "now": format_instant(point.now_us),
        "window": window_member(point.begin_us, point.end_us),
        "count": point.count,
        "complete_from": format_instant(point.complete_from_us),
    }
    if not shown.count_only:
        answer["rows"] = rows_member(rows, shown)
    return answer


def _format_step(us: int) -> str:
    return f"{'-' if us < 0 else ''}{format_duration(abs(us))}"
