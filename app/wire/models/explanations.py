"""Why a row is answered or not, as it travels: the body that gives rows, and the answer."""

import re
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from psoup.app.wire.parameters import Parameter
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.asking.explain import Explained
from psoup.engine.asking.explanation import Explanation, ReadValue, Reason, Verdict, Visibility
from psoup.engine.tuples.schema import ColumnType

_ROW_ID: Final = re.compile(r"[0-9]{1,19}(-[0-9]{1,19}){0,3}-?")
_UNITS: Final = (("d", limits.DAY_US), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000))
_BECAUSE: Final = {
    Reason.SHOWN: "in the window",
    Reason.UNMATCHED: "does not match",
    Reason.TO_COME: "not yet, enters in {}",
    Reason.GONE: "left {} ago",
    Reason.NEVER: "no instant of the window shows it",
    Reason.DROPPED: "older than what the stream keeps",
    Reason.REPLACED: "other rows take its place",
}


def read_row_id(text: str) -> tuple[int | None, ...]:
    """Return the tuple ids of the parts of a row; None for the last one where a row of LEFT JOIN lacks it."""
    if not _ROW_ID.fullmatch(text):
        raise ValueError("expected the `_id` of a row: tuple ids joined by `-`, or one of them")
    return tuple([int(part) if part else None for part in text.split("-")])


ROW_ID: Final = Parameter(
    "row_id",
    read_row_id,
    {"type": "string", "pattern": f"^{_ROW_ID.pattern}$", "examples": ["4711", "17-23"]},
    "The `_id` of a row as the query answers it, or would; of a join also the id of one tuple, which is explained for"
    " each place in FROM that it may take.",
)


class ExplainBody(BaseModel):
    """The body of POST /v1/queries/{id}/explain: a row that is not stored, or one for each stream of FROM."""

    model_config = ConfigDict(extra="forbid", strict=True)

    row: dict[str, Any] | None = Field(
        default=None, description="A row of the query's stream.", examples=[{"sym": "ACME"}]
    )
    rows: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="Of a query over several streams: rows by the names that its text gives them, or by those in"
        " `canonical`; all of them or some.",
        max_length=limits.QUERY_STREAMS_MAX,
    )


class PredicateAnswer(BaseModel):
    """One conjunct of the condition."""

    sql: str
    value: Any = Field(
        description="The column that it reads has this value; of several columns, an object by name; null for none."
    )
    result: bool | None = Field(description="Null: unknown, as SQL has it of NULL.")


class VisibleAnswer(BaseModel):
    """When the window shows the row."""

    model_config = ConfigDict(populate_by_name=True)

    in_: str | None = Field(alias="in", description="From then on; null: at no instant.")
    out: str | None = Field(description="Until then; null: it never leaves.")
    visible: bool = Field(
        description="Whether the row is among those that the query answers, or groups, at `now`."
    )
    because: str


class PartAnswer(BaseModel):
    """A tuple in one place of FROM, explained by what is asked of that stream alone."""

    alias: str
    stream: str
    matches: bool
    predicates: list[PredicateAnswer]
    window: VisibleAnswer


class ExplainAnswer(BaseModel):
    """Why a query answers a row, or does not."""

    now: str = Field(description="The instant that it holds for.")
    matches: bool = Field(
        description="Whether the row satisfies FROM and WHERE; of `parts`, whether one of them does for its stream."
    )
    predicates: list[PredicateAnswer]
    window: VisibleAnswer | None
    parts: list[PartAnswer] | None = Field(
        default=None,
        description="Where a tuple was asked about, and not a row of the join: each place that it may take.",
    )


def describe_explained(explained: Explained) -> dict[str, object]:
    """Return the members of `ExplainAnswer`."""
    now, found = format_instant(explained.now_us), explained.explanations
    if found[0].place is None:
        return {"now": now, **_described(found[0])}
    parts = []
    for one in found:
        source = explained.sources[one.place or 0]
        parts.append({"alias": source.alias, "stream": source.stream, **_described(one)})
    matches = any(one.matches for one in found)
    return {"now": now, "matches": matches, "predicates": [], "window": None, "parts": parts}


def _described(one: Explanation) -> dict[str, object]:
    return {
        "matches": one.matches,
        "predicates": [
            {"sql": verdict.sql, "value": _value(verdict), "result": verdict.result}
            for verdict in one.verdicts
        ],
        "window": _window(one.visibility),
    }


def _window(seen: Visibility) -> dict[str, object]:
    return {
        "in": format_instant(seen.enters_us),
        "out": format_instant(seen.leaves_us),
        "visible": seen.visible,
        "because": _BECAUSE[seen.reason].format(spoken(seen.apart_us)),
    }


def _value(verdict: Verdict) -> object:
    """Return the value that a predicate reads; of several columns, each by the name that the predicate has."""
    if len(verdict.read) == 1:
        return _shown(verdict.read[0])
    if not verdict.read:
        return None
    return {
        f"{one.alias}.{one.name}" if one.alias else one.name: _shown(one) for one in verdict.read
    }


def _shown(read: ReadValue) -> object:
    if read.type is ColumnType.TIMESTAMP and isinstance(read.value, int):
        return format_instant(read.value)
    return read.value


def spoken(us: int) -> str:
    """Return a length of time for a person: `3.2 s`, `250 us`."""
    for unit, size in _UNITS:
        if us >= size:
            return f"{us / size:.3g} {unit}" if us < 100 * size else f"{us // size} {unit}"
    return f"{us / 1_000:g} ms" if us >= 1_000 else f"{us} us"
