"""Standing queries as they travel: the registration a client sends, the description it gets back."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Annotated, Final, Literal, cast

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from psoup.app.wire.handles import QUERY_PREFIX, Bits, draw_handle, handle_pattern, is_handle
from psoup.app.wire.models.durations import LifetimeUs
from psoup.app.wire.models.plans import PlanAnswer
from psoup.app.wire.models.warnings import FewWarnings, WarningAnswer, shown_warnings
from psoup.app.wire.scalars import format_bound, format_duration, format_instant
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.hops import Hops
from psoup.engine.query.parameters import PARAMETER_NAME, ParameterValue, RegisteredText
from psoup.engine.results.delta import Suspension
from psoup.engine.tuples.batch import Seq

FILLING: Final = "filling"
"""It is registered and not applied yet."""
LIVE: Final = "live"
SUSPENDED: Final = "suspended"
SUSPENDED_WARNING: Final = "query-suspended"
_SUSPENDED: Final = "the join is answered no more, for it found more than is kept"
_INSTEAD: Final = (
    'Remove it and register a narrower one, or the same with "materialize": "none", which keeps nothing and finds the '
    "rows of its window when it is invoked"
)
_TAGGED: Final = (
    *("id", "version", "name", "labels", "ttl"),
    *("canonical", "materialize", "sql", "params"),
)
"""Members of a description that say what can be changed."""
_TAG_DIGITS: Final = 16
_NO_UTF_8: Final = "\ufffd"
"""What a path has in the place of bytes that are not UTF-8: two names may become one by it."""
_NO_SINGLE_VALUES: Final[Mapping[type, str]] = {list: "an array", dict: "an object"}
HANDLE_PATTERN: Final = handle_pattern(QUERY_PREFIX)


def new_handle(bits: Bits = secrets.randbits) -> QueryId:
    """Return a fresh handle of a query."""
    return QueryId(draw_handle(QUERY_PREFIX, bits))


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("expected printable characters")
    return text


Label = Annotated[
    str,
    Field(min_length=1, max_length=limits.QUERY_LABEL_LENGTH_MAX),
    AfterValidator(_printable),
]


def _without_colon(text: str) -> str:
    if ":" in text:
        raise ValueError("expected no colon: it ends the key in label=key:value")
    return text


LabelKey = Annotated[Label, AfterValidator(_without_colon)]


def _single_value(value: object) -> object:
    given = _NO_SINGLE_VALUES.get(type(value))
    if given is not None:
        raise ValueError(f"expected a number, a text, true, false or null, got {given}")
    return value


def _parameter_name(text: str) -> str:
    if not PARAMETER_NAME.fullmatch(text):
        raise ValueError("expected a name of letters, digits and _, not beginning with a digit")
    return text


ParameterName = Annotated[
    str,
    Field(max_length=limits.QUERY_PARAMETER_NAME_LENGTH_MAX),
    AfterValidator(_parameter_name),
]
GivenValue = Annotated[ParameterValue, BeforeValidator(_single_value)]
MaterializeWord = Literal["auto", "partial", "complete", "none"]
"""The values of `Materialize`, as they travel."""


_NO_SEGMENTS: Final = frozenset({".", ".."})
"""What clients take out of a path before they send it (RFC 3986, 5.2.4): nobody could PUT these names."""
_SEGMENT: Final = "cannot be . or ..: clients take these out of a path"


def _segment(text: str) -> str:
    if text in _NO_SEGMENTS:
        raise ValueError(_SEGMENT)
    return text


QueryName = Annotated[
    str,
    Field(min_length=1, max_length=limits.QUERY_NAME_LENGTH_MAX),
    AfterValidator(_printable),
    AfterValidator(_segment),
]


class QueryDefinition(BaseModel):
    """The body of PUT /v1/queries/{name}."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sql: str = Field(examples=["SELECT * FROM trades WHERE px > 40 BEGIN (NOW - 600) END (NOW)"])
    labels: dict[LabelKey, Label] | None = Field(
        default=None, max_length=limits.QUERY_LABELS_MAX, examples=[{"user": "42"}]
    )
    params: dict[ParameterName, GivenValue] | None = Field(
        default=None,
        max_length=limits.QUERY_PARAMETERS_MAX,
        description="Values for the names `:name` and `$name` in `sql`, which stand for constants.",
        examples=[{"min": 40}],
    )
    materialize: MaterializeWord = Field(
        default="auto", description="What is kept of the query's matches between invocations."
    )
    ttl: LifetimeUs | None = Field(
        default=None,
        description="It expires when it was not used for so long; null: never.",
        examples=["7d"],
    )


class QueryBody(QueryDefinition):
    """The body of POST /v1/queries, and a line of POST /v1/batch/queries."""

    name: QueryName | None = None


def body_digest(body: QueryBody) -> bytes:
    """Return 32 bytes that are equal for registrations of equal members.

    A member that is sent with its default counts as left out: the store keeps the digest, and later versions of psoup
    have further members.
    """
    # Not orjson, which takes no integer past 64 bits: that one of them does not fit is for others to say.
    members = json.dumps(body.model_dump(mode="json", exclude_defaults=True), sort_keys=True)
    return hashlib.sha256(members.encode()).digest()


class QueryPatch(BaseModel):
    """The body of PATCH /v1/queries/{id}: what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sql: str = Field(default="", examples=["SELECT * FROM trades WHERE px > 50"])
    params: dict[ParameterName, GivenValue] | None = Field(
        default=None,
        max_length=limits.QUERY_PARAMETERS_MAX,
        description="All values of the names in `sql`; null: there are none.",
        examples=[{"min": 50}],
    )
    labels: dict[LabelKey, Label] | None = Field(
        default=None,
        max_length=limits.QUERY_LABELS_MAX,
        description="All labels; null: none.",
        examples=[{"user": "42"}],
    )
    ttl: LifetimeUs | None = Field(
        default=None,
        description="It expires when it was not used for so long from now on; null: never.",
        examples=["7d"],
    )


def named_body(name: str, definition: QueryDefinition) -> QueryBody:
    """Return a definition with the name that it is put under.

    Raises:
        InvalidFieldError: the name cannot be one, was no UTF-8 in the path, or looks like a handle.
    """
    if not name.isprintable() or len(name) > limits.QUERY_NAME_LENGTH_MAX:
        reason = f"has to be 1 to {limits.QUERY_NAME_LENGTH_MAX} printable characters"
    elif name in _NO_SEGMENTS:
        reason = _SEGMENT
    elif _NO_UTF_8 in name:
        reason = "has bytes that are not UTF-8, or U+FFFD, which stands for such"
    elif is_handle(QUERY_PREFIX, name):
        reason = "is the handle of a query: PUT takes a name"
    else:
        return QueryBody.model_construct(**dict(definition), name=name)
    raise InvalidFieldError(f"The name in the path {reason}.", errors=[("/name", reason)])


class WindowAnswer(BaseModel):
    """A window as it was declared: `now-10m`, an instant, or null."""

    kind: str
    begin: str | None
    end: str | None
    every: str | None = Field(
        default=None,
        description="From one hop of NOW to the next. Absent: NOW does not hop.",
        examples=["5m"],
    )
    align: str | None = Field(
        default=None,
        description="The first hop at or after 1970-01-01. Absent: NOW does not hop.",
        examples=["1970-01-01T00:00:00.000000Z"],
    )
    ranges: dict[str, str] = Field(
        description="By alias in `canonical`, how far back streams reach with a window of their own.",
        examples=[{"flights": "6h"}],
    )


class SuspensionAnswer(BaseModel):
    """Since which operation a query is answered no more, and why."""

    since_seq: int
    reason: str


class OutputAnswer(BaseModel):
    """One column of a query's rows."""

    name: str
    type: str


class QueryAnswer(BaseModel):
    """A standing query."""

    id: str = Field(pattern=HANDLE_PATTERN)
    seq: int
    version: int = Field(
        description="How many definitions it has had: one more each time it is replaced."
    )
    state: str
    suspended: SuspensionAnswer | None = Field(
        description="Set where `state` is `suspended`: it ran over a bound of joins."
    )
    name: str | None
    labels: dict[str, str]
    ttl: str | None = Field(
        description="How long it lives without being used; null: for ever.", examples=["7d"]
    )
    expires_at: str | None = Field(
        description="When it expires unless it is used before. null: never, or it is not applied yet.",
        examples=["2026-11-28T10:00:00.000000Z"],
    )
    sql: str | None = Field(
        default=None,
        description="The text as it was registered, where it has parameters, whose values `canonical` holds, or calls"
        " streams that it joins by names of its own.",
    )
    params: dict[str, ParameterValue] | None = Field(
        default=None, description="Beside `sql`: the values of its parameters, as they were given."
    )
    canonical: str
    window: WindowAnswer
    columns: list[OutputAnswer]
    delta: Literal["rows", "replace"] = Field(
        description="What an answer to a cursor holds: the rows that have changed, or, where LIMIT, OFFSET or a row"
        " window cuts, and of LEFT JOIN, all rows where any has."
    )
    materialize: MaterializeWord
    warnings: list[WarningAnswer]
    plan: PlanAnswer | None = Field(
        default=None, description="In the description of one query: how rows meet it."
    )
    links: dict[str, str]


class DeletedQueries(BaseModel):
    """How many queries were removed together."""

    deleted: int


class QueryList(BaseModel):
    """A page of the list of standing queries."""

    queries: list[QueryAnswer]
    next: str | None
    warnings: FewWarnings = None


def describe_query(
    bound: BoundQuery,
    *,
    query_id: QueryId,
    seq: Seq,
    state: str,
    name: str | None,
    labels: Mapping[str, str],
    materialize: Materialize,
    text: RegisteredText | None,
    version: int = 1,
    ttl_us: int | None = None,
    expires_us: int | None = None,
) -> dict[str, object]:
    """Return the members of `QueryAnswer`; `state` is `live`, or `filling` before it is applied."""
    path = f"/v1/queries/{query_id}"
    return {
        "id": query_id,
        "seq": seq,
        "version": version,
        "state": state,
        "suspended": None,
        "name": name,
        "labels": dict(labels),
        "ttl": None if ttl_us is None else format_duration(ttl_us),
        **expiry(expires_us),
        **({} if text is None else {"sql": text.sql, "params": dict(text.params)}),
        **describe_definition(bound),
        "materialize": materialize.value,
        "warnings": shown_warnings(bound.warnings),
        "links": {"self": path, "results": f"{path}/results", "events": f"{path}/events"},
    }


def query_tag(description: Mapping[str, object]) -> str:
    """Return the `ETag` of a query: of what clients can change. It is weak: what else is told changes by itself."""
    made_of = [description.get(name) for name in _TAGGED]
    written = orjson.dumps(made_of, option=orjson.OPT_SORT_KEYS)
    return f'W/"{hashlib.sha256(written).hexdigest()[:_TAG_DIGITS]}"'


def expiry(expires_us: int | None) -> dict[str, object]:
    """Return the member that says when a query expires, which moves while its description stays."""
    return {"expires_at": None if expires_us is None else format_instant(expires_us)}


def describe_definition(bound: BoundQuery) -> dict[str, object]:
    """Return what a query's text alone says of it: `canonical`, `window`, `columns` and `delta`."""
    sources = bound.clause.sources
    ranges = zip(sources, bound.ranges or (None,) * len(sources), strict=True)
    return {
        "canonical": bound.canonical,
        "window": {
            "kind": bound.window.kind.value,
            "begin": format_bound(bound.window.begin),
            "end": format_bound(bound.window.end),
            **_described_hops(bound.window.hops),
            "ranges": {one.alias: format_duration(us) for one, us in ranges if us is not None},
        },
        "columns": [{"name": o.name, "type": o.type.value} for o in bound.shape.outputs],
        "delta": bound.shape.delta,
    }


def _described_hops(hops: Hops | None) -> dict[str, str | None]:
    """Return the members of a window that hops."""
    if hops is None:
        return {}
    return {"every": format_duration(hops.every_us), "align": format_instant(hops.align_us)}


def as_suspended(description: Mapping[str, object], suspended: Suspension) -> dict[str, object]:
    """Return the description of a query that was live and is answered no more, with a warning that says so."""
    why = {"since_seq": suspended.since_seq, "reason": suspended.reason}
    known = cast("list[object]", description["warnings"])
    warning = {"code": SUSPENDED_WARNING, "detail": f"{_SUSPENDED}: {suspended.reason}. {_INSTEAD}"}
    return {**description, "state": SUSPENDED, "suspended": why, "warnings": [*known, warning]}
