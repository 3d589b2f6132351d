"""Invoking many queries at once, as it travels: the request, and the envelope around their answers."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from psoup.app.wire.models.problem import Problem
from psoup.app.wire.models.results.invocations import ResultsAnswer
from psoup.app.wire.parameters import instant
from psoup.engine import limits
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Seq

Handle = Annotated[str, Field(max_length=limits.QUERY_NAME_LENGTH_MAX)]


class InvokeQuery(BaseModel):
    """A query to be invoked, and where the client stands in what it answers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    query: Handle
    cursor: Annotated[str, Field(max_length=limits.URL_BYTES_MAX)] | None = Field(
        default=None,
        description="What the last answer gave as `cursor`: what has changed since is answered.",
    )


def _with_members(given: object) -> object:
    """Return a bare handle as the object that it stands for."""
    return given if isinstance(given, dict) else {"query": given}


class InvokeBody(BaseModel):
    """The body of POST /v1/invoke: handles, and the parameters of GET /v1/queries/{id}/results."""

    model_config = ConfigDict(extra="forbid", strict=True)

    queries: list[
        Annotated[
            InvokeQuery,
            BeforeValidator(_with_members, json_schema_input_type=Handle | InvokeQuery),
        ]
    ] = Field(
        min_length=1,
        max_length=limits.INVOKE_QUERIES_MAX,
        description="Handles, or objects of a handle and a cursor.",
        examples=[["q_7HcT0u9XbK2mPq4sVw1zRd"]],
    )
    now: str | int | None = Field(
        default=None,
        description="Another instant to answer for: as in SQL, or in integer microseconds.",
        examples=["2026-11-21T10:05:00Z", "2026-11-21"],
    )
    min_seq: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    limit: Annotated[int, Field(ge=1, lt=2**63)] = Field(
        default=limits.PAGE_ROWS_DEFAULT,
        description=f"Rows of a page; of all pages together {limits.INVOKE_ROWS_MAX} at most, evenly.",
    )
    count: Literal["only"] | None = None
    shape: Literal["rows", "columns"] = "rows"
    meta: bool = True

    @field_validator("now")
    @classmethod
    def read_now(cls, given: str | int | None) -> int | None:
        """Return the instant in microseconds since the epoch."""
        return None if given is None else instant(str(given))

    @property
    def now_us(self) -> int | None:
        """The instant asked about, in microseconds since the epoch; None = NOW."""
        return self.now if isinstance(self.now, int) else None

    @property
    def from_seq(self) -> Seq | None:
        """The position not to answer from before."""
        return None if self.min_seq is None else Seq(self.min_seq)

    @property
    def page_rows(self) -> int:
        """Rows that each page may have."""
        evenly = limits.INVOKE_ROWS_MAX // len(self.queries)
        return min(self.limit, evenly, limits.PAGE_ROWS_MAX)


class RefusedAnswer(BaseModel):
    """A query that cannot be answered, beside others that can."""

    query: str = Field(description="As it was asked.")
    problem: Problem = Field(description="What asking for it alone would meet.")


class InvokeAnswer(BaseModel):
    """What many queries answer, all at one position and one instant; in the order of their handles."""

    gen: int = Field(
        description="The history that `seq` counts in: it grows where a part of it was lost."
    )
    seq: int = Field(description="Position: all that was accepted up to here is in the answer.")
    results: list[ResultsAnswer | RefusedAnswer] = Field(
        description="One for each query that was asked, in that order."
    )


def encode_refused(query: str, problem: Mapping[str, object]) -> bytes:
    """Return the member of a query that cannot be answered."""
    option = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps({"query": query, "problem": problem}, option=option)


def encode_answers(gen: Gen, seq: Seq, members: Sequence[bytes]) -> bytes:
    """Return the whole body; each member is JSON already."""
    return b'{"gen":%d,"seq":%d,"results":[%b]}' % (gen, seq, b",".join(members))
