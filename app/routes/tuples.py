"""Rows in: parse and check in full, append, wait until they are visible."""

import asyncio
import functools
import re
import time
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from starlette.responses import Response

from app.catalogue import Declaration
from app.errors import BodyTooLargeError, TxnHeadersError
from app.keys import INGEST
from app.routes.endpoint import Call, Endpoint, Shown, json_answer
from app.submission import Submitted
from app.wire.digest import digest_rows
from app.wire.ingest import IngestAnswer
from app.wire.scalars import format_instant
from app.wire.tuples import ARROW, COLUMNS, CSV, JSON, NDJSON, media_type_of, read_rows
from engine import limits
from engine.errors import EngineError, NotFoundError
from engine.log.operation import Rows, Txn
from engine.tuples.arrow import encode_batch
from engine.tuples.schema import STREAM_NAME, ClockKind

TXN_APP: Final = "Psoup-Txn-App"
TXN_VERSION: Final = "Psoup-Txn-Version"
_VERSION: Final = re.compile(r"[0-9]{1,16}")


async def post_rows(call: Call) -> Response:
    """Store a batch: 200 when every later invocation shows it, 202 when it is only committed yet."""
    begun = time.perf_counter()
    name, service = call.path("name"), call.service
    app_version = txn_headers(call.header(TXN_APP), call.header(TXN_VERSION))
    media_type = media_type_of(call.header("content-type"))
    declared: Declaration | None = await _declaration(call, name)  # 404 before the body is read
    body = await call.raw_body(
        bytes_max=limits.BODY_INGEST_BYTES_MAX, decoded_bytes_max=limits.BODY_DECODED_BYTES_MAX
    )
    read = parsed = time.perf_counter()
    charged = False

    async def attempt() -> tuple[Submitted, int]:
        nonlocal declared, parsed, charged
        # Only an attempt that was stale looks again: what changed since is for the log to tell.
        declaration, declared = declared or await _declaration(call, name), None
        content = await service.parsing.run(
            functools.partial(
                _content, body, media_type, declaration, service.clock.now_us(), app_version
            ),
            deadline_s=service.settings.ingest_deadline_s,
        )
        parsed = time.perf_counter()
        if not charged:  # an attempt that was stale has paid
            call.context.rates.take(call.caller.key_id, "rows", content.rows)
            charged = True
        submitted = await service.submission.submit(
            content, deadline_s=service.settings.ingest_deadline_s
        )
        return submitted, content.rows

    submitted, rows = await service.catalogue.retried_once(attempt)
    accepted = 0 if submitted.duplicate else rows
    call.context.meters.accepted(accepted)
    answer = {
        "stream": name,
        "accepted": accepted,
        "duplicate": submitted.duplicate,
        "seq": submitted.seq,
        "now": await _now(call, name, submitted),
    }
    timing = {
        "receive": read - begun,
        "parse": parsed - read,
        "commit": time.perf_counter() - parsed,
    }
    headers = {"Server-Timing": server_timing(timing), "Psoup-Seq": str(submitted.seq)}
    return json_answer(answer, status=200 if submitted.applied else 202, headers=headers)


def txn_headers(app: str | None, version: str | None) -> tuple[str, int] | None:
    """Return a producer's (app, version); None where the request has neither header.

    Raises:
        TxnHeadersError: one without the other, an app that is empty, too long or not printable, a
            version that is no integer from 0 to 2^53 - 1.
    """
    if app is None and version is None:
        return None
    if app is None or version is None:
        raise TxnHeadersError(f"{TXN_APP} and {TXN_VERSION} come together.")
    if not app.isprintable() or not 1 <= len(app.encode()) <= limits.APP_NAME_BYTES_MAX:
        raise TxnHeadersError(
            f"{TXN_APP} has 1 to {limits.APP_NAME_BYTES_MAX} bytes of printable text."
        )
    if not _VERSION.fullmatch(version) or int(version) > limits.APP_VERSION_MAX:
        raise TxnHeadersError(f"{TXN_VERSION} is an integer from 0 to {limits.APP_VERSION_MAX}.")
    return app, int(version)


def server_timing(seconds: dict[str, float]) -> str:
    """Return the value of a Server-Timing header, in milliseconds."""
    return ", ".join(f"{name};dur={1_000 * value:.2f}" for name, value in seconds.items())


def _content(
    body: bytes,
    media_type: str,
    declaration: Declaration,
    now_us: int,
    app_version: tuple[str, int] | None,
) -> Rows:
    """Return the operation that a body is. CPU work: runs in a pool."""
    schema = declaration.schema
    batch: pa.RecordBatch = read_rows(body, media_type, schema, now_us=now_us)
    txn = None
    if app_version is not None:
        txn = Txn(*app_version, digest_rows(schema, batch))
    encoded = encode_batch(batch)
    if len(encoded) > limits.ENTRY_BYTES_MAX:
        raise BodyTooLargeError(
            "The batch is too large for one entry of the log: split it.",
            limit="bytes of typed rows",
            max_bytes=limits.ENTRY_BYTES_MAX,
            max_rows=max(1, batch.num_rows * limits.ENTRY_BYTES_MAX // len(encoded)),
        )
    return Rows(declaration.stream_id, schema.name, batch.num_rows, encoded, txn)


async def _declaration(call: Call, name: str) -> Declaration:
    if not STREAM_NAME.fullmatch(name):
        raise NotFoundError("No such stream is declared.")
    return await call.service.answering.run(
        functools.partial(call.service.catalogue.stream, name),
        deadline_s=call.service.settings.invoke_deadline_s,
    )


async def _now(call: Call, name: str, submitted: Submitted) -> str | None:
    """Return the stream's NOW after the batch; None where nobody can say.

    By nobody who could refuse: the rows are committed.
    """
    if call.service.worker is None:  # it is in this process's memory
        return _read_now(call, name, submitted)
    try:
        return await asyncio.to_thread(_read_now, call, name, submitted)
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


_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        JSON: {
            "schema": {
                "anyOf": [{"type": "array", "items": {"type": "object"}}, {"type": "object"}]
            }
        },
        NDJSON: {"schema": {"type": "string"}},
        CSV: {"schema": {"type": "string"}},
        ARROW: {"schema": {"type": "string", "format": "binary"}},
        COLUMNS: {"schema": {"type": "object", "additionalProperties": {"type": "array"}}},
    },
}
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
)
_STORED: Final = Shown(
    "Stored, or a duplicate.",
    IngestAnswer,
    headers={"Psoup-Seq": "Position that shows the batch, as `seq`."},
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
        body=_BODY,
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
