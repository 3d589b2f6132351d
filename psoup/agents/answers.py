"""What each tool answers: the schemas of structured output, and what of the service's answers an agent sees."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from psoup.client.connections.messages import JsonObject

URI: Final = "psoup://queries/{id}"
"""The resource of a query."""

Columns = dict[str, str]
Rows = list[list[Any]]
_COLUMNS: Final = "Type by column."
_TTL: Final = (
    "It is removed by itself when nobody has asked for so long; without it, it stands for ever."
)


class Fitted(BaseModel):
    """What fitting adds to an answer. A member that says nothing is left out, so that it costs nothing."""

    model_config = ConfigDict(populate_by_name=True)

    left_out: dict[str, int] | None = Field(
        default=None, description="How many, by member, where something is left out."
    )
    notes: list[str] | None = Field(
        default=None, description="What is left out to keep to max_tokens, and how to get it."
    )

    @classmethod
    def of(cls, answer: Mapping[str, Any], **more: object) -> JsonObject:
        """Return what an agent sees of an answer of the service; `more` are members that are told otherwise."""
        seen = cls.model_validate({**answer, **more})
        return seen.model_dump(exclude_defaults=True, exclude_none=True)


class SqlDescribed(Fitted):
    """A query as the service understands it."""

    sql: str = Field(validation_alias="canonical", description="The text as it is understood.")
    window: dict[str, Any] | None = Field(
        default=None, description="kind (sliding, landmark, delayed, snapshot, none), begin, end."
    )
    columns: Columns = Field(description=_COLUMNS)
    delta: str | None = Field(
        default=None,
        description="What `changes` tells: rows (those that entered), or replace (the answer whole, once it is"
        " another).",
    )
    warnings: list[dict[str, Any]] = Field(
        default=[], description="code and detail: what is likely not meant, or costs much."
    )


class ValidateAnswer(SqlDescribed):
    """What a registration would answer."""

    plan: dict[str, Any] | None = Field(
        default=None,
        description="How rows meet it, by stream: driver (the condition by which they find it), index, residual.",
    )
    forecast: dict[str, Any] | None = Field(
        default=None,
        description="rows, bytes and matches_per_s to expect; null: values decide it, and rows_at_most is a bound.",
    )


class QueryAnswer(SqlDescribed):
    """A standing query."""

    id: str = Field(description="The handle. Keep it: it is all that is needed to come back.")
    uri: str = Field(description="Its answer as a resource.")
    name: str | None = None
    labels: dict[str, str] = {}
    state: str = Field(
        default="live",
        description="live; filling: old rows are still being applied; suspended: it found more than it may.",
    )
    suspended: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None
    ttl: str | None = Field(default=None, description=_TTL)
    expires_at: str | None = Field(
        default=None, description="When that is, unless it is asked for before."
    )


class QueryListed(BaseModel):
    """A standing query in a list."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    name: str | None = None
    labels: dict[str, str] = {}
    state: str = "live"
    ttl: str | None = Field(default=None, description=_TTL)
    sql: str = Field(validation_alias="canonical")


class Sample(BaseModel):
    """The latest rows of a stream."""

    columns: list[str]
    rows: Rows = Field(description="The newest first.")


class StreamAnswer(BaseModel):
    """A stream and what it holds."""

    name: str
    columns: Columns = Field(description=_COLUMNS)
    time: str | None = Field(
        default=None, description="The column that dates rows; absent: their arrival does."
    )
    clock: str | None = Field(
        default=None,
        description="What NOW is: high-water, the largest time seen; server, the clock on the wall.",
    )
    rows: int
    oldest: str | None = None
    newest: str | None = None
    queries: int = Field(default=0, description="How many standing queries read it.")
    retention: dict[str, Any] | None = None
    sample: Sample | None = None


class DescribeAnswer(Fitted):
    """What there is."""

    streams: list[StreamAnswer] | None = None
    queries: list[QueryListed] | None = None
    query: QueryAnswer | None = None


class RowsAnswer(Fitted):
    """Rows of a query."""

    query: str
    now: str | None = Field(
        default=None, description="The instant of the window; absent: no row has come yet."
    )
    seq: int
    window: dict[str, Any] | None = None
    count: int = Field(description="Rows of the whole answer.")
    columns: list[str] = Field(
        description="Names of the values of each row. _id names a row as long as it is there; _x is the instant at which"
        " the clock takes it out of the window (null: never).",
    )
    rows: Rows
    changes_at: str | None = Field(
        default=None,
        description="When the clock alone changes the answer; absent: nothing but rows does.",
    )
    complete: bool = Field(default=False, description="Nothing will enter or leave any more.")
    cursor: str | None = Field(default=None, description="What `changes` goes on from.")


class InvokeAnswer(RowsAnswer):
    """What a query answers at an instant."""

    complete_from: str | None = Field(
        default=None,
        description="Older rows are not kept any more: the answer is whole from then on.",
    )
    warnings: list[dict[str, Any]] = []


class ChangesAnswer(RowsAnswer):
    """What has changed since a cursor."""

    reset: bool = Field(description="Forget what you hold of this query: rows are everything.")
    removed: list[str] = Field(
        default=[], description="Ids of rows that are gone, though their _x has not come."
    )
    keep: list[str] | None = Field(
        default=None,
        description="Where it is given, rows with other ids are gone, but for those in rows.",
    )


class ExplainAnswer(Fitted):
    """Why a query answers a row, or does not."""

    now: str | None = None
    matches: bool = Field(description="Whether the row satisfies FROM and WHERE.")
    predicates: list[dict[str, Any]] = Field(
        default=[],
        description="Each condition: sql, value, and result: true, false, or null where SQL cannot tell.",
    )
    window: dict[str, Any] | None = Field(
        default=None, description="When the window shows the row: in, out, visible, because."
    )
    parts: list[dict[str, Any]] | None = Field(
        default=None,
        description="Of a join that was asked about one tuple: the same for each place it may take.",
    )


class RowMatches(BaseModel):
    """The queries that one row would enter."""

    total: int
    queries: list[str] = Field(description="Handles, the first ones of them.")


class MatchAnswer(Fitted):
    """Which standing queries rows would enter."""

    stream: str
    matches: list[RowMatches] = Field(description="One for each row, in their order.")


class RemoveAnswer(Fitted):
    """What was removed, or would be."""

    removed: bool
    query: QueryAnswer
    next: str | None = Field(default=None, description="What to do to remove it.")


def columns_of(described: Sequence[Mapping[str, Any]]) -> Columns:
    """Return type by column; `not null` stands behind the type of those that never are."""
    return {
        one["name"]: one["type"] + (" not null" if one.get("nullable") is False else "")
        for one in described
    }


def query_answer(described: Mapping[str, Any]) -> JsonObject:
    """Return what an agent sees of the description of a query."""
    uri = URI.format(id=described["id"])
    return QueryAnswer.of(described, columns=columns_of(described["columns"]), uri=uri)
