"""Warnings as they travel: what is accepted, and the sender should know."""

import dataclasses
from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, Field

from psoup.engine.query.clause import QueryWarning


class PositionAnswer(BaseModel):
    """A place in a query's text: line and column from 1, length in characters."""

    line: int = Field(description="From 1.")
    column: int = Field(description="From 1, in characters.")
    length: int = Field(description="In characters.")


class WarningAnswer(BaseModel):
    """Something a query's author should know."""

    code: str = Field(description="Stable: what programs compare.")
    detail: str = Field(description="What it means, and what to do.")
    position: PositionAnswer | None = Field(
        default=None,
        description="Where in the text as it was sent, in the answer to its registration.",
    )
    excerpt: str | None = Field(default=None, description="The line, with a caret below the place.")


FewWarnings = Annotated[
    list[WarningAnswer] | None,
    Field(description="What the client should know; left out where there is nothing."),
]


def shown_warnings(warnings: Iterable[QueryWarning]) -> list[dict[str, object]]:
    """Return warnings as members of `WarningAnswer`; a place only where one is known."""
    return [
        {"code": one.code, "detail": one.detail}
        if one.position is None
        else {
            "code": one.code,
            "detail": one.detail,
            "position": dataclasses.asdict(one.position),
            "excerpt": one.excerpt,
        }
        for one in warnings
    ]
