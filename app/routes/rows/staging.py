"""Parts that are staged, and the commit that makes all of them visible at one position."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import Response

from psoup.app.http.access.keys import INGEST
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.rows.received_rows import ROWS_BODY, CheckedRows, ReceivedRows
from psoup.app.wire.handles import draw_handle, handle_pattern, is_handle
from psoup.app.wire.models.warnings import FewWarnings
from psoup.app.wire.producers import APP_FORM, is_app_name
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.log.operation import Commit, Staged, StageId

_PREFIX: Final = "st_"
"""Begins the handle of a staged part. Who knows one may commit or discard the part: it cannot be guessed."""
_STAGE_PATTERN: Final = handle_pattern(_PREFIX)


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
        list[Annotated[str, Field(pattern=_STAGE_PATTERN)]], AfterValidator(_each_once)
    ] = Field(
        min_length=1,
        max_length=limits.COMMIT_STAGES_MAX,
        description="Staged parts, each once; of any streams. Their order is that of the tuples.",
        examples=[["st_7HcT0u9XbK2mPq4sVw1zRd"]],
    )


class StageAnswer(BaseModel):
    """A part that was staged: nobody sees it before it is committed."""

    stage: str = Field(pattern=_STAGE_PATTERN)
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


async def post_stage(call: Call) -> Response:
    """Stage a batch: 201 when it can be committed."""
    stage_id = StageId(draw_handle(_PREFIX, call.context.handle_bits))
    received = ReceivedRows(call, digested=True)
    await received.receive()

    async def store(checked: CheckedRows) -> tuple[CheckedRows, int]:
        service, declaration = call.service, checked.declaration
        part = Staged(
            stage_id,
            declaration.stream_id,
            declaration.schema.name,
            checked.rows,
            checked.body,
            checked.digest,
            declared=declaration.schema,
        )
        expires_us = await service.submission.stage(
            part, deadline_s=service.settings.ingest_deadline_s
        )
        return checked, expires_us

    checked, expires_us = await received.stored(store)
    answer = {
        "stage": stage_id,
        "stream": received.name,
        "rows": checked.rows,
        "digest": checked.digest.hex(),
        "expires_at": format_instant(expires_us),
        **({"warnings": checked.warnings} if checked.warnings else {}),
    }
    return json_answer(answer, status=201, headers={"Server-Timing": received.timing("stage")})


async def post_commit(call: Call) -> Response:
    """Commit staged parts: 200 when every later invocation shows them, 202 when they are only committed yet."""
    body: CommitBody = await call.model(CommitBody, bytes_max=limits.BODY_COMMIT_BYTES_MAX)
    service = call.service
    commit = Commit(body.app, body.version, tuple(map(StageId, body.stages)))
    submitted = await service.submission.commit(
        commit, deadline_s=service.settings.ingest_deadline_s
    )
    call.context.meters.accepted(submitted.rows)
    answer = {
        "app": body.app,
        "version": body.version,
        "accepted": submitted.rows,
        "seq": submitted.seq,
        "duplicate": submitted.duplicate,
    }
    headers = {"Psoup-Seq": str(submitted.seq)}
    return json_answer(answer, status=200 if submitted.applied else 202, headers=headers)


async def delete_stage(call: Call) -> Response:
    """Forget a staged part: 204, whether there was one or not. What was committed stays."""
    handle = call.path("id")
    if is_handle(_PREFIX, handle):
        service, stage_id = call.service, StageId(handle)
        await service.submission.carry_out(
            lambda log: log.discard(stage_id), deadline_s=service.settings.ingest_deadline_s
        )
    return Response(status_code=204)


_COMMITTED: Final = Shown(
    "Committed, or a duplicate.",
    CommitAnswer,
    headers={"Psoup-Seq": "Position that shows all parts, as `seq`."},
)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "POST",
        "/v1/streams/{name}/stages",
        "stage_rows",
        "Stage rows for a commit",
        post_stage,
        {201: Shown("Checked and kept; nobody sees it.", StageAnswer)},
        INGEST,
        body=ROWS_BODY,
        problems=("not-found", "rows-rejected"),
        rate="ingest",
        changes=True,
    ),
    Endpoint(
        "POST",
        "/v1/commits",
        "commit_stages",
        "Make staged parts visible, all at one position",
        post_commit,
        {200: _COMMITTED, 202: _COMMITTED},
        INGEST,
        body=json_body(CommitBody),
        problems=("stage-missing", "txn-content-differs", "commit-too-large", "quota-exceeded"),
        rate="ingest",
        changes=True,
    ),
    Endpoint(
        "DELETE",
        "/v1/stages/{id}",
        "discard_stage",
        "Forget a staged part",
        delete_stage,
        {204: Shown("It is not staged, or not any more.")},
        INGEST,
        rate="ingest",
        changes=True,
    ),
)
