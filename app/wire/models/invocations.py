"""Answers of invocations as they travel: the envelope, or bare rows with the envelope in headers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
from pydantic import BaseModel, Field

from psoup.app.wire.answers.encoding import (
    RowSet,
    json_arrays,
    json_rows,
    meta_columns,
    to_arrow,
    to_csv,
    to_ndjson,
)
from psoup.app.wire.scalars import format_instant
from psoup.engine.errors import BadPageError
from psoup.engine.invoke import Answer, PagePosition, PartPosition
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType

COUNTED_HEADERS: Final = ("Psoup-Gen", "Psoup-Seq", "Psoup-Now", "Psoup-Count")


class WindowAt(BaseModel):
    """A window at one instant; both ends inclusive, null = open."""

    begin: str | None
    end: str | None


class ResultsAnswer(BaseModel):
    """One page of what a query answers."""

    query: str
    gen: int
    seq: int
    now: str | None
    window: WindowAt
    reset: bool
    columns: list[str] | None = Field(default=None, description="With shape=columns: the names.")
    rows: list[Any] | None = Field(
        default=None, description="Objects, or arrays; not with count=only."
    )
    count: int
    complete_from: str | None
    cursor: str | None
    next: str | None
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


def rows_of(answer: Answer, clause: StandingQueryClause | None, shown: Presentation) -> RowSet:
    """Return the answer's rows with `_id` and `_x` before them, unless they are to be hidden.

    `clause` names the columns of an answer that has none because there is no row to compute them from.
    """
    columns = answer.columns
    if not columns and clause is not None:
        columns = tuple((o.name, _empty(o.type)) for o in clause.outputs)
    length = len(columns[0][1]) if columns else 0
    if not shown.meta:
        return RowSet(columns, length)
    leaves_us = None if answer.leaves_us is None else answer.leaves_us[:length]
    return RowSet((*meta_columns(answer.tuple_ids[..., :length], leaves_us), *columns), length)


def encode_answer(
    answer: Answer,
    rows: RowSet,
    shown: Presentation,
    *,
    cursor: str | None,
    link: str | None,
    pages: Sequence[str] | None = None,
    history: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the body.

    `link` is the URL of the next page, `pages` are those of all, where they are to be shown; `history` says where an
    answer that a job has computed comes from.
    """
    if shown.format == "ndjson":
        return to_ndjson(rows)
    if shown.format == "csv":
        return to_csv(rows)
    if shown.format == "arrow":
        return to_arrow(rows)
    body: dict[str, Any] = {
        "query": answer.query.query_id,
        "gen": answer.cut.gen,
        "seq": answer.cut.seq,
        "now": format_instant(answer.now_us),
        "window": {
            "begin": format_instant(answer.begin_us),
            "end": format_instant(answer.end_us),
        },
        "reset": True,
    }
    if not shown.count_only:
        if shown.shape == "columns":
            body["columns"] = rows.names
            body["rows"] = json_arrays(rows)
        else:
            body["rows"] = json_rows(rows)
    body |= {
        "count": answer.count,
        "complete_from": format_instant(answer.complete_from_us),
        "cursor": cursor,
        "next": link,
    }
    if pages is not None:
        body["pages"] = pages
    if history is not None:
        body["history"] = history
    return orjson.dumps(body)


def answer_headers(answer: Answer, *, link: str | None) -> dict[str, str]:
    """Return the headers that carry the envelope of formats without one."""
    headers = {
        "Psoup-Gen": str(answer.cut.gen),
        "Psoup-Seq": str(answer.cut.seq),
        "Psoup-Count": str(answer.count),
    }
    now = format_instant(answer.now_us)
    if now is not None:
        headers["Psoup-Now"] = now
    if link is not None:
        headers["Link"] = f'<{link}>; rel="next"'
    return headers


def position_to_json(position: PagePosition) -> list[object]:
    """Return a page's position as plain values, for its token."""
    return [
        position.gen,
        position.seq,
        position.now_us,
        [[one.past_row, one.floor_row, one.floor_us] for one in position.parts],
        position.complete_from_us,
        list(position.oldest_rows),
        position.offset,
    ]


def position_from_json(values: object) -> PagePosition:
    """Return the position that `position_to_json` wrote.

    Raises:
        BadPageError: it was signed by a version that knew other positions.
    """
    given: list[Any] = values if isinstance(values, list) else []
    try:
        gen, seq, now_us, parts, complete_from_us, oldest_rows, offset = given
        return PagePosition(
            gen,
            seq,
            now_us,
            tuple(PartPosition(*part) for part in parts),
            complete_from_us,
            tuple(oldest_rows),
            offset,
        )
    except (TypeError, ValueError) as error:
        raise BadPageError(
            "The page token is of another version. Begin again without it."
        ) from error


def page_url(path: str, token: str, kept: Mapping[str, str]) -> str:
    """Return the relative URL of the page with this token."""
    return "&".join([f"{path}?page={token}", *(f"{name}={value}" for name, value in kept.items())])


def _empty(kind: ColumnType) -> Column:
    dictionary = ("",) if kind is ColumnType.STRING else None
    return Column(kind, np.empty(0, dtype=DTYPES[kind]), None, dictionary)
