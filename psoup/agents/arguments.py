"""The arguments of each tool, as an agent is told of them."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

TOKENS_DEFAULT: Final = 4_000
TOKENS_MIN: Final = 300
TOKENS_MAX: Final = 100_000
ROWS_ASKED_MAX: Final = 1_000
"""Rows of an answer that are asked for at once: a model is rarely shown as many."""
WAIT_S_MAX: Final = 50
"""Many hosts give a call up after a minute."""
MATCH_ROWS_MAX: Final = 100
HANDLES_DEFAULT: Final = 20
TTL_DEFAULT: Final = "7d"
"""Agents come back within days, or never."""

Sql = Annotated[
    str,
    Field(
        description="One SELECT over one to four streams, e.g. SELECT sym, AVG(px) AS mean FROM trades WHERE px > :min"
        " GROUP BY sym BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)",
        min_length=1,
    ),
]
Values = Annotated[
    dict[str, int | float | bool | str | None],
    Field(description='Values for the parameters :name in the SQL, e.g. {"min": 40}.'),
]
Query = Annotated[
    str,
    Field(
        description="The handle of a standing query (q_ and 22 characters), or its name.",
        min_length=1,
    ),
]
Now = Annotated[
    str | None,
    Field(
        description="Another instant up to NOW, e.g. 2026-01-05T10:00:00Z; the window is put there. Omit it for NOW."
    ),
]
Row = dict[str, Any]


class Arguments(BaseModel):
    """Of any tool."""

    model_config = ConfigDict(extra="forbid")

    max_tokens: int = Field(
        default=TOKENS_DEFAULT,
        ge=TOKENS_MIN,
        le=TOKENS_MAX,
        description="What the answer may cost you. What does not fit is left out, and the answer says so.",
    )


class DescribeArguments(Arguments):
    """Nothing: all of it. A stream, or a query: that one, in detail."""

    stream: str | None = Field(default=None, description="Name of a stream, for more sample rows.")
    query: Query | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> "DescribeArguments":
        if self.stream is not None and self.query is not None:
            raise ValueError("give stream, or query, or neither")
        return self


class ValidateArguments(Arguments):
    """A text that may become a standing query."""

    sql: Sql
    params: Values = {}


class RegisterArguments(ValidateArguments):
    """A standing query."""

    name: str | None = Field(
        default=None,
        description="A name of your own, under which it is found again. Registering the same query under the same name"
        " twice is the same as once, so a retry is safe.",
    )
    labels: dict[str, str] = Field(default={}, description='Marks of your own, e.g. {"by": "me"}.')
    ttl: str | None = Field(
        default=TTL_DEFAULT,
        description="It is removed by itself when nobody has asked for so long, e.g. 12h or 30d: an agent that forgets a"
        " query leaves nothing behind. null: never.",
    )


class InvokeArguments(Arguments):
    """A query, and an instant."""

    query: Query
    now: Now = None
    limit: int = Field(
        default=ROWS_ASKED_MAX,
        ge=0,
        le=ROWS_ASKED_MAX,
        description="Rows at most; 0: the count alone.",
    )


class ChangesArguments(Arguments):
    """A query, and how far its answer is known."""

    query: Query
    cursor: str | None = Field(
        default=None,
        description="The cursor of the last answer about this query. Omit it the first time: you are given all rows.",
    )
    wait: float = Field(
        default=0,
        ge=0,
        le=WAIT_S_MAX,
        description="Seconds to wait for a change where there is none yet. It needs a cursor.",
    )


class ExplainArguments(Arguments):
    """A query and a row."""

    query: Query
    row_id: str | None = Field(
        default=None, description="The _id of a row that is stored, as answers and samples show it."
    )
    row: Row | None = Field(
        default=None,
        description="Instead of row_id a row that is nowhere, by column; for a join one such object by each alias.",
    )
    now: Now = None

    @model_validator(mode="after")
    def _one_row(self) -> "ExplainArguments":
        if (self.row_id is None) == (self.row is None):
            raise ValueError("give either row_id or row")
        if self.now is not None and self.row_id is None:
            raise ValueError("now is for a row that is stored: give row_id")
        return self


class MatchArguments(Arguments):
    """Rows of a stream."""

    stream: str = Field(description="Name of the stream.")
    rows: list[Row] = Field(
        description="Rows by column, as they would be appended.",
        min_length=1,
        max_length=MATCH_ROWS_MAX,
    )
    limit: int = Field(
        default=HANDLES_DEFAULT,
        ge=1,
        le=1_000,
        description="Handles to be named for each row, at most.",
    )


class RemoveArguments(Arguments):
    """A query."""

    query: Query
    confirm: bool = Field(
        default=False,
        description="true removes it. Without it nothing is removed: you are shown what would be.",
    )
