"""Which standing queries rows hit, as it travels."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from psoup.engine import limits


class MatchBody(BaseModel):
    """The body of POST /v1/streams/{name}/match: rows that are not stored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rows: list[dict[str, Any]] = Field(
        max_length=limits.MATCH_ROWS_MAX, examples=[[{"sym": "ACME", "px": 41.5}]]
    )
    limit: int = Field(
        default=limits.MATCH_QUERIES_DEFAULT,
        ge=1,
        le=limits.MATCH_QUERIES_MAX,
        description=f"Queries named for each row, fewer where all of them would be more than {limits.MATCH_HANDLES_MAX}.",
    )


class MatchAnswer(BaseModel):
    """The queries that each row hits."""

    matches: list[list[str]] = Field(
        description="For each row the queries that it hits, in the order of their registration, up to `limit` of them."
    )
    total: list[int] = Field(description="For each row how many queries it hits.")
