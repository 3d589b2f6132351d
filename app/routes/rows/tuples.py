"""Rows in: received and checked in full, appended; the answer waits until they are visible."""

import functools
import re
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, Field
from starlette.responses import Response

from psoup.app.backend.submission import Submitted
from psoup.app.errors import TxnHeadersError
from psoup.app.http.access.keys import INGEST
from psoup.app.http.request_keys import IDEMPOTENCY_HEADER, REPLAYED, key_in, request_key
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer
from psoup.app.routes.rows.received_rows import ROWS_BODY, CheckedRows, ReceivedRows
from psoup.app.wire.models.warnings import FewWarnings
from psoup.app.wire.producers import APP_FORM, is_app_name
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.errors import EngineError, NotFoundError
from psoup.engine.log.operation import Rows, Txn
from psoup.engine.tuples.schema import ClockKind

TXN_APP: Final = "Psoup-Txn-App"
TXN_VERSION: Final = "Psoup-Txn-Version"
_VERSION: Final = re.compile(r"[0-9]{1,16}")


class IngestAnswer(BaseModel):
    """What became of a batch. With `duplicate`, nothing was stored now and `seq` shows what was stored then."""

    stream: str = Field(description="Its name.")
    accepted: int = Field(
        description="Rows that are stored now, or were by the request that this one repeats."
    )
    duplicate: bool = Field(description="The version was stored before.")
    seq: int = Field(
        description="Position of the batch; for a duplicate that of then, or a later one where that is no"
        " longer known."
    )
    now: str | None = Field(description="NOW of the stream, with these rows.")
    warnings: FewWarnings = None


async def post_rows(call: Call) -> Response:
    """Store a batch: 200 when every later invocation shows it, 202 when it is only committed yet."""
    app_version = txn_headers(*map(call.header_lines, (TXN_APP, TXN_VERSION)))
    given = key_in(call.request.scope["headers"])
    if given is not None and app_version is not None:
        raise TxnHeadersError(
            "A batch has a producer's version or an idempotency key: each of them says by itself that it counts once."
        )
    received = ReceivedRows(call, digested=given is not None or app_version is not None)
    await received.receive()  # 404 before the body is read

    async def store(checked: CheckedRows) -> tuple[Submitted, CheckedRows]:
        stream_id, schema = checked.declaration.stream_id, checked.declaration.schema
        txn = None if app_version is None else Txn(*app_version, checked.digest)
        key = None
        if given is not None:
            sender = call.caller.key_id
            key = request_key(given, checked.digest, of=f"rows {stream_id}", sender=sender)
        content = Rows(
            stream_id,
            schema.name,
            checked.rows,
            checked.body,
            txn,
            declared=schema,
            key=key,
        )
        submitted = await call.service.submission.submit(content, deadline_s=received.left_s)
        return submitted, checked

    submitted, checked = await received.stored(store)
    call.context.meters.accepted(0 if submitted.duplicate else checked.rows)
    is_duplicate = submitted.duplicate and not submitted.replayed
    answer = {
        "stream": received.name,
        "accepted": 0 if is_duplicate else checked.rows,
        "duplicate": is_duplicate,
        "seq": submitted.seq,
        "now": await _now(call, received.name, submitted),
        **({"warnings": checked.warnings} if checked.warnings else {}),
    }
    headers = {"Server-Timing": received.timing("commit"), "Psoup-Seq": str(submitted.seq)}
    if submitted.replayed:
        headers |= REPLAYED
    return json_answer(answer, status=200 if submitted.applied else 202, headers=headers)


def txn_headers(apps: Sequence[str], versions: Sequence[str]) -> tuple[str, int] | None:
    """Return a producer's (app, version); None where the request has neither header.

    Args:
        apps: the values of TXN_APP, one for each line of it.
        versions: the same of TXN_VERSION.

    Raises:
        TxnHeadersError: one without the other, or several times, an app that is empty, too long or not printable, a
            version that is no integer from 0 to 2^53 - 1.
    """
    if not apps and not versions:
        return None
    if len(apps) != 1 or len(versions) != 1:
        raise TxnHeadersError(f"{TXN_APP} and {TXN_VERSION} come together, each of them once.")
    (app,), (version,) = apps, versions
    if not is_app_name(app):
        raise TxnHeadersError(f"{TXN_APP} has {APP_FORM}.")
    if not _VERSION.fullmatch(version) or int(version) > limits.APP_VERSION_MAX:
        raise TxnHeadersError(f"{TXN_VERSION} is an integer from 0 to {limits.APP_VERSION_MAX}.")
    return app, int(version)


async def _now(call: Call, name: str, submitted: Submitted) -> str | None:
    """Return the stream's NOW after the batch; None where nobody can say within STORE_LOOK_S.

    By nobody who could refuse: the rows are committed.
    """
    if call.service.backend.reads_at_once:
        return _read_now(call, name, submitted)
    read = functools.partial(_read_now, call, name, submitted)
    try:
        return await call.service.answering.run(read, deadline_s=limits.STORE_LOOK_S)
    except EngineError:
        return None


def _read_now(call: Call, name: str, submitted: Submitted) -> str | None:
    """Return the stream's high-water mark, or the server's clock; None where it was dropped in the meantime."""
    results = call.service.results
    try:
        stream = results.stream(name)
    except NotFoundError:
        return None
    if stream.schema.clock is ClockKind.HIGH_WATER:
        return format_instant(stream.high_water_us)
    return format_instant(max(results.cut().server_now_us, submitted.arrival_us))


_HEADERS: Final = (
    {
        "name": TXN_APP,
        "in": "header",
        "required": False,
        "description": "A producer's name; with a version, its batch is stored at most once.",
        "schema": {"type": "string", "minLength": 1, "maxLength": limits.APP_NAME_BYTES_MAX},
    },
    {
        "name": TXN_VERSION,
        "in": "header",
        "required": False,
        "description": "The batch's version: at or below the last committed one it is a duplicate.",
        "schema": {"type": "integer", "minimum": 0, "maximum": limits.APP_VERSION_MAX},
    },
    IDEMPOTENCY_HEADER,
)
_STORED: Final = Shown(
    "Stored, or a duplicate.",
    IngestAnswer,
    headers={
        "Psoup-Seq": "Position that shows the batch, as `seq`.",
        "Idempotency-Replayed": "`?1` where the key was sent before: nothing was stored now.",
    },
)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "POST",
        "/v1/streams/{name}/rows",
        "append_rows",
        "Send rows",
        post_rows,
        {200: _STORED, 202: _STORED},
        INGEST,
        body=ROWS_BODY,
        headers=_HEADERS,
        problems=(
            "not-found",
            "rows-rejected",
            "txn-headers",
            "txn-content-differs",
            "quota-exceeded",
        ),
        rate="ingest",
        changes=True,
    ),
)
