"""Answers of invocations as they travel: the envelope, or bare rows with the envelope in headers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import BaseModel, Field

from psoup.app.wire.answers.cells import Ids, RowIds
from psoup.app.wire.answers.changes import Changes, encode_changes
from psoup.app.wire.answers.encoding import (
    RowSet,
    json_arrays,
    json_rows,
    meta_columns,
    to_arrow,
    to_csv,
    to_ndjson,
)
from psoup.app.wire.models.warnings import FewWarnings
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.errors import BadPageError
from psoup.engine.invoke import Answer, PagePosition, PartPosition, Since
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.results.contract import Cut
from psoup.engine.tuples.batch import empty_column

OVERFLOW_WARNING: Final = "overflow"
POLL_MS_MIN: Final = 1_000
"""What an answer gives as `poll_after_ms` at least: who cannot wait so long does not poll."""
POLL_MS_MAX: Final = 5_000
"""The same at most: as late as a person who looks at a screen puts up with."""
_ENCODERS: Final[Mapping[str, Callable[[RowSet], bytes]]] = {
    "ndjson": to_ndjson,
    "csv": to_csv,
    "arrow": to_arrow,
}
_HEADER_OF: Final[Mapping[str, str]] = {
    name: f"Psoup-{name.replace('_', '-').title()}"
    for name in (
        *("gen", "seq", "now", "reset", "count", "complete_from", "changes_at", "complete"),
        *("cursor", "next", "poll_after_ms", "warnings"),
    )
}
"""Members of the envelope that every answer has as headers too; of `warnings` the codes."""


class WindowAt(BaseModel):
    """A window at one instant; both ends inclusive, null = open."""

    begin: str | None = Field(description="The earliest instant inside.")
    end: str | None = Field(description="The latest instant inside.")


class ResultsAnswer(BaseModel):
    """One page of what a query answers."""

    query: str = Field(description="Handle of the query.")
    gen: int = Field(
        description="The history that `seq` counts in: it grows where a part of it was lost."
    )
    seq: int = Field(description="Position: all that was accepted up to here is in the answer.")
    now: str | None = Field(
        description="The instant of the window; null before the first row of a stream with times."
    )
    window: WindowAt = Field(description="What the answer covers.")
    reset: bool = Field(
        description="Forget all rows of this query first. Of an answer in pages only the first says so."
    )
    columns: list[str] | None = Field(default=None, description="With shape=columns: the names.")
    rows: list[Any] | None = Field(
        default=None,
        description="Objects, or arrays; not with count=only. With a cursor those that have changed since.",
    )
    removed: list[str] = Field(
        description="Ids of rows that retention has dropped since, though the window shows their time: forget them."
    )
    keep: list[str] | None = Field(
        description="Forget every row whose id is not among these; null: keep all. Then take `rows`."
    )
    count: int = Field(description="Rows of the whole answer: as many as the client has now.")
    complete_from: str | None = Field(
        description="From which time on it is whole; null: all of the window is kept."
    )
    changes_at: str | None = Field(
        description="When the answer changes though nothing arrives; null: never, or NOW does not move by itself."
    )
    complete: bool = Field(description="The answer never changes again: the window is over.")
    cursor: str | None = Field(
        description="Send it with the next request. Null with `now`, and on all pages but the last."
    )
    next: str | None = Field(
        description="URL of the next page of this answer; null: this is the last."
    )
    warnings: FewWarnings = None
    poll_after_ms: int | None = Field(
        description="Who polls may ask again after so many milliseconds; null: there is nothing to ask for."
    )
    pages: list[str] | None = Field(
        default=None, description="With pages=all: relative URLs of all pages of this answer."
    )
    history: dict[str, Any] | None = Field(
        default=None,
        description="Of an answer that a job has computed, with history=true: its id, state, progress and when it was"
        " asked for.",
    )


@dataclass(frozen=True, slots=True)
class Presentation:
    """How rows are to be shown."""

    format: str = "json"
    shape: str = "rows"
    meta: bool = True
    count_only: bool = False
    changes: bool = False
    """Formats other than JSON are operations: a cursor was given, be it an empty one."""


def rows_of(answer: Answer, shape: Shape | None, shown: Presentation) -> RowSet:
    """Return the answer's rows with `_id` and `_x` before them, unless they are to be hidden.

    `shape` names the columns of an answer that has none because there is no row to compute them from.
    """
    columns = answer.columns
    if not columns and shape is not None:
        columns = tuple((o.name, empty_column(o.type)) for o in shape.outputs)
    length = len(columns[0][1]) if columns else 0
    if not shown.meta:
        return RowSet(columns, length)
    ids = answer.tuple_ids if answer.row_ids is None else answer.row_ids
    leaves_us = None if answer.leaves_us is None else answer.leaves_us[:length]
    return RowSet((*meta_columns(ids[..., :length], leaves_us), *columns), length)


def encode_answer(
    answer: Answer,
    rows: RowSet,
    shown: Presentation,
    *,
    cursor: str | None,
    link: str | None,
    pages: Sequence[str] | None = None,
    history: Mapping[str, Any] | None = None,
    poll_ms: int | None = None,
) -> bytes:
    """Return the body.

    `cursor` is the text of where the client stands, `link` the URL of the next page, `pages` are those of all, where
    they are to be shown; `history` says where an answer that a job has computed comes from. `poll_ms`: a busy service
    asks its clients to come back later than `poll_after_ms` says.

    Raises:
        NotAcceptableError: as `encode_changes`.
    """
    if shown.format != "json":
        ending = _ending(answer, cursor=cursor, link=link, poll_ms=poll_ms)
        return _without_envelope(answer, rows, shown, ending)
    body: dict[str, Any] = {
        "query": answer.query.query_id,
        **place_members(answer.cut, answer.now_us),
        "window": window_member(answer.begin_us, answer.end_us),
        "reset": answer.reset,
    }
    if not shown.count_only:
        if shown.shape == "columns":
            body["columns"] = rows.names
        body["rows"] = rows_member(rows, shown)
    body |= {
        "removed": _id_texts(answer.removed) or [],
        "keep": _id_texts(answer.keep),
        **_ending(answer, cursor=cursor, link=link, poll_ms=poll_ms),
    }
    if pages is not None:
        body["pages"] = pages
    if history is not None:
        body["history"] = history
    return orjson.dumps(body)


def answer_headers(
    answer: Answer, *, cursor: str | None, link: str | None, poll_ms: int | None = None
) -> dict[str, str]:
    """Return the headers that carry the envelope, for formats without one: `Psoup-` and the member's name."""
    headers = member_headers(
        {
            **place_members(answer.cut, answer.now_us),
            "reset": answer.reset,
            **_ending(answer, cursor=cursor, link=link, poll_ms=poll_ms),
        }
    )
    if link is not None:
        headers["Link"] = f'<{link}>; rel="next"'
    return headers


def member_headers(members: Mapping[str, Any]) -> dict[str, str]:
    """Return members of an envelope as headers, without those that are null; of `warnings` the codes."""
    return {
        _HEADER_OF[name]: _header_value(value)
        for name, value in members.items()
        if value is not None
    }


def poll_after_ms(answer: Answer) -> int | None:
    """Return how many milliseconds later a client that polls may ask again; None = it has nothing to ask for.

    As many as are left until the clock changes the answer, within POLL_MS_MIN and POLL_MS_MAX; else the latter.
    """
    changes_us, clock_us = answer.changes_us, answer.clock_us
    if answer.stands is None or answer.complete:
        return None
    if not answer.ticks or changes_us is None or clock_us is None:
        return POLL_MS_MAX
    return min(max(-(-(changes_us - clock_us) // 1_000), POLL_MS_MIN), POLL_MS_MAX)


def _without_envelope(
    answer: Answer,
    rows: RowSet,
    shown: Presentation,
    ending: Mapping[str, Any],
) -> bytes:
    """Return the body of a format other than JSON: rows alone, or operations."""
    if not shown.changes:
        return _ENCODERS[shown.format](rows)
    end = {**place_members(answer.cut, answer.now_us), **ending}
    changes = Changes(
        rows,
        answer.reset,
        removed=_id_texts(answer.removed) or [],
        keep=_id_texts(answer.keep),
        end=end,
    )
    return encode_changes(changes, shown.format)


def _ending(
    answer: Answer, *, cursor: str | None, link: str | None, poll_ms: int | None
) -> dict[str, Any]:
    """Return the members of the envelope that stand behind the rows."""
    changes_us = answer.changes_us if answer.ticks else None
    if changes_us is not None and changes_us > limits.TIMESTAMP_US_MAX:
        changes_us = None
    return {
        "count": answer.count,
        "complete_from": format_instant(answer.complete_from_us),
        "changes_at": format_instant(changes_us),
        "complete": answer.complete,
        "cursor": cursor,
        "next": link,
        "poll_after_ms": poll_after_ms(answer) if poll_ms is None else poll_ms,
        **overflow_warnings(answer.overflowed),
    }


def place_members(cut: Cut, now_us: int | None) -> dict[str, Any]:
    """Return the members of an envelope that tell the position and the instant it belongs to."""
    return {"gen": cut.gen, "seq": cut.seq, "now": format_instant(now_us)}


def window_member(begin_us: int | None, end_us: int | None) -> dict[str, str | None]:
    """Return the members of `WindowAt`."""
    return {"begin": format_instant(begin_us), "end": format_instant(end_us)}


def rows_member(rows: RowSet, shown: Presentation) -> Sequence[object] | orjson.Fragment:
    """Return the member `rows`: arrays with shape=columns, else objects."""
    return json_arrays(rows) if shown.shape == "columns" else json_rows(rows)


def overflow_warnings(overflowed: Sequence[AggregateCall]) -> dict[str, list[dict[str, str]]]:
    """Return the member `warnings` of an answer in which these aggregates are NULL somewhere because they overflow.

    No aggregates, no member.
    """
    if not overflowed:
        return {}
    aggregates = ", ".join(sql_expression(call) for call in overflowed)
    detail = f"NULL stands where the value is out of range: {aggregates}. Cast what is added up to DOUBLE."
    return {"warnings": [{"code": OVERFLOW_WARNING, "detail": detail}]}


def _header_value(value: object) -> str:
    if isinstance(value, list):  # warnings
        return ", ".join(one["code"] for one in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _id_texts(ids: RowIds | None) -> list[str] | None:
    return None if ids is None else Ids(ids).to_list()


def position_to_json(position: PagePosition) -> list[object]:
    """Return a page's position as plain values, for its token."""
    return [
        position.gen,
        position.seq,
        position.now_us,
        list(map(list, position.parts)),
        position.complete_from_us,
        list(position.oldest_rows),
        position.offset,
        *([] if position.since is None else [_since_to_json(position.since)]),
    ]


def position_from_json(values: object) -> PagePosition:
    """Return the position that `position_to_json` wrote.

    Raises:
        BadPageError: it was signed by a version that knew other positions.
    """
    given: list[Any] = values if isinstance(values, list) else []
    try:
        gen, seq, now_us, parts, complete_from_us, oldest_rows, offset, *since = given
        return PagePosition(
            gen,
            seq,
            now_us,
            tuple(PartPosition(*part) for part in parts),
            complete_from_us,
            tuple(oldest_rows),
            offset,
            _since_from_json(since[0]) if since else None,
        )
    except (TypeError, ValueError) as error:
        raise BadPageError(
            "The page token is of another version. Begin again without it."
        ) from error


def _since_to_json(since: Since) -> list[object]:
    parts = list(map(list, since.parts))
    return [parts, since.gen, since.seq, since.now_us, since.changes_us, since.count]


def _since_from_json(values: Sequence[Any]) -> Since:
    parts, gen, seq, now_us, changes_us, count = values
    return Since(gen, seq, now_us, tuple(PartPosition(*part) for part in parts), changes_us, count)


def page_url(path: str, token: str, kept: Mapping[str, str]) -> str:
    """Return the relative URL of the page with this token."""
    return "&".join([f"{path}?page={token}", *(f"{name}={value}" for name, value in kept.items())])
