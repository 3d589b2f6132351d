"""Staged parts and commits as they travel."""

import secrets
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from psoup.app.wire.handles import Bits, draw_handle, handle_pattern, is_handle
from psoup.app.wire.models.warnings import FewWarnings
from psoup.engine import limits
from psoup.engine.log.operation import StageId

PREFIX: Final = "st_"
STAGE_PATTERN: Final = handle_pattern(PREFIX)
APP_FORM: Final = f"1 to {limits.APP_NAME_BYTES_MAX} bytes of printable text"


def new_stage_id(bits: Bits = secrets.randbits) -> StageId:
    """Return a fresh handle of a staged part. Who knows it may commit or discard the part: it cannot be guessed."""
    return StageId(draw_handle(PREFIX, bits))


def read_stage_id(text: str) -> StageId | None:
    """Return the handle that `text` is; None where it has another shape, and so was never one."""
    return StageId(text) if is_handle(PREFIX, text) else None


def is_app_name(text: str) -> bool:
    """Return whether a producer may be called so."""
    return text.isprintable() and 1 <= len(text.encode()) <= limits.APP_NAME_BYTES_MAX


def _app_name(text: str) -> str:
    if not is_app_name(text):
        raise ValueError(f"expected {APP_FORM}")
    return text


def _each_once(stages: list[str]) -> list[str]:
    if len(set(stages)) < len(stages):
        raise ValueError("expected each part once")
    return stages


class CommitBody(BaseModel):
    """The body of POST /v1/commits."""

    model_config = ConfigDict(extra="forbid", strict=True)

    app: Annotated[str, AfterValidator(_app_name)] = Field(
        description=f"A producer's name: {APP_FORM}.", examples=["spark-7f3c"]
    )
    version: int = Field(ge=0, le=limits.APP_VERSION_MAX, examples=[4182])
    stages: Annotated[
        list[Annotated[str, Field(pattern=STAGE_PATTERN)]], AfterValidator(_each_once)
    ] = Field(
        min_length=1,
        max_length=limits.COMMIT_STAGES_MAX,
        description="Staged parts, each once; of any streams. Their order is that of the tuples.",
        examples=[["st_7HcT0u9XbK2mPq4sVw1zRd"]],
    )


class StageAnswer(BaseModel):
    """A part that was staged: nobody sees it before it is committed."""

    stage: str = Field(pattern=STAGE_PATTERN)
    stream: str
    rows: int
    digest: str = Field(
        pattern="^[0-9a-f]{64}$",
        description="Of the bag of rows; those of parts add up, modulo 2^256.",
    )
    expires_at: str = Field(description="Until then it can be committed.")
    warnings: FewWarnings = None


class CommitAnswer(BaseModel):
    """What became of a commit. With `duplicate`, nothing was stored now and `seq` shows what was stored then."""

    app: str
    version: int
    accepted: int
    seq: int = Field(
        description="Position that shows all parts; for a duplicate that of then, or a later one where that is"
        " no longer known."
    )
    duplicate: bool
