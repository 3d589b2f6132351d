"""What is answered to a batch of rows."""

from pydantic import BaseModel, Field


class IngestAnswer(BaseModel):
    """What became of a batch. With `duplicate`, nothing was stored now and `seq` is that of then."""

    stream: str
    accepted: int
    duplicate: bool
    seq: int | None = Field(
        description="Position of the batch; null for a duplicate of a version that committed so long"
        " ago that its position is no longer known."
    )
    now: str | None
