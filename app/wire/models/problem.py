"""The members that the body of every failure has (RFC 9457)."""

from pydantic import BaseModel, ConfigDict, Field


class Problem(BaseModel):
    """What went wrong. `code` is stable; further members depend on it."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`/problems/` and the code.")
    title: str = Field(description="What the code means.")
    status: int = Field(description="As the status of the answer.")
    code: str = Field(description="Stable: what programs compare.")
    detail: str = Field(
        description="What is wrong, where, and what to do; quotes nothing of the request."
    )
    retryable: bool = Field(description="Whether the same request may succeed later.")
    instance: str = Field(description="The `Request-Id`.")
