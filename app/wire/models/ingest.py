"""What is answered to a batch of rows."""

from pydantic import BaseModel, Field

from psoup.app.wire.models.warnings import FewWarnings


class IngestAnswer(BaseModel):
    """What became of a batch. With `duplicate`, nothing was stored now and `seq` shows what was stored then."""

    stream: str
    accepted: int
    duplicate: bool
    seq: int = Field(
        description="Position of the batch; for a duplicate that of then, or a later one where that is no"
        " longer known."
    )
    now: str | None
    warnings: FewWarnings = None
