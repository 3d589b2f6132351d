"""The body of every failure, as the OpenAPI shows it (RFC 9457)."""

from pydantic import BaseModel


class PositionAnswer(BaseModel):
    """A place in a query's text; line and column count from 1."""

    line: int
    column: int
    length: int


class Problem(BaseModel):
    """What went wrong. `code` is stable; further members depend on it."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    retryable: bool
    instance: str
    position: PositionAnswer | None = None
    excerpt: str | None = None
    hint: str | None = None
