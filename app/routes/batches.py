"""A stream's batches as the log has them, and the hold under which they wait for whoever archives them."""

import functools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from psoup.app.http.access.keys import ADMIN, READ
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.results.pages import await_applied
from psoup.app.routes.streams.streams import stream_record
from psoup.app.wire.answers.negotiation import encode_content
from psoup.app.wire.parameters import AFTER, LIMIT
from psoup.app.wire.rows.body import ARROW
from psoup.engine import limits
from psoup.engine.errors import GenDiffersError, NotFoundError
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.results.contract import Cut
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.arrow import ARROW_TYPES, decode_batch, encode_batch
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ColumnType, StreamSchema

_SEQ: Final = re.compile(r"[0-9]{1,18}")
_ADDED: Final[Mapping[str, ColumnType]] = {
    "_id": ColumnType.INT64,
    "_seq": ColumnType.INT64,
    "_arrival": ColumnType.TIMESTAMP,
}
"""Columns that stand before the declared ones: a tuple's id, its batch's position and arrival."""


class BatchAnswer(BaseModel):
    """One batch in the log; `bytes` are those of its body there."""

    seq: int
    bytes: int


class BatchList(BaseModel):
    """A page of a stream's batches, ascending, up to the applied position `seq`.

    Attributes:
        forgotten_through: the largest position of a batch with rows that the log has forgotten; 0 = none.
    """

    gen: int
    seq: int
    stream: str
    forgotten_through: int
    batches: list[BatchAnswer]
    next: str | None


class HoldBody(BaseModel):
    """The body of PUT /v1/streams/{name}/archive."""

    model_config = ConfigDict(extra="forbid", strict=True)

    through: int = Field(
        ge=0, lt=2**63, description="Batches up to this position need not be held any more."
    )
    gen: int | None = Field(
        default=None, ge=0, lt=2**63, description="The history that the position is of."
    )


class HoldAnswer(BaseModel):
    """What is held for an archive: the stream's batches past `through`, how many and how large."""

    stream: str
    through: int
    held_batches: int
    held_bytes: int


async def list_batches(call: Call) -> Response:
    """List a stream's batches: those of its tuples, and those that are held beyond."""
    record = await stream_record(call, call.path("name"))
    return await call.answered(functools.partial(_listed, call, record), latest=call.answered_by)


async def get_batch(call: Call) -> Response:
    """Return one batch as it was sent, with ids, position and arrival time."""
    name, text = call.path("name"), call.path("seq")
    await stream_record(call, name)
    if not _SEQ.fullmatch(text):
        raise _no_batch()
    fetch = functools.partial(_fetched, call, name, Seq(int(text)))
    return await call.answered(fetch, latest=call.answered_by)


async def put_hold(call: Call) -> Response:
    """Hold a stream's batches past a position for an archive: 200 with what is held."""
    body: HoldBody = await call.model(HoldBody, bytes_max=limits.BODY_OTHER_BYTES_MAX)
    through = Seq(body.through)
    record = await stream_record(call, call.path("name"))
    _check_history(call, body.gen)
    latest = time.monotonic() + call.service.settings.invoke_deadline_s
    await await_applied(call, through, latest=latest)
    _check_history(call, body.gen)
    stream_id = record.stream_id
    held = await call.service.submission.carry_out(
        lambda log: log.hold(stream_id, through),
        deadline_s=call.service.settings.register_deadline_s,
    )
    return await _answering(call, functools.partial(_held, call, record, held))


async def get_hold(call: Call) -> Response:
    """Return what is held of a stream for an archive."""
    record = await stream_record(call, call.path("name"))

    def read() -> Response:
        held = call.service.store.log.holds().get(record.stream_id)
        if held is None:
            raise NotFoundError("Nothing of this stream is held: hold it with PUT.")
        return _held(call, record, held)

    return await _answering(call, read)


async def delete_hold(call: Call) -> Response:
    """Hold a stream's batches no longer: 204, whether they were held or not."""
    stream_id = (await stream_record(call, call.path("name"))).stream_id
    await call.service.submission.carry_out(
        lambda log: log.unhold(stream_id), deadline_s=call.service.settings.register_deadline_s
    )
    return Response(status_code=204)


async def _answering(call: Call, work: Callable[[], Response]) -> Response:
    """Return what `work` returns in a thread: it reads the store."""
    service = call.service
    return await service.answering.run(work, deadline_s=service.settings.invoke_deadline_s)


def _check_history(call: Call, gen: int | None) -> None:
    """Raise GenDiffersError where a position is said to be of another history than the service's."""
    present = call.service.results.cut().gen
    if gen is not None and gen != present:
        raise GenDiffersError(
            f"The position is of the history {gen}, and the service's is {present}: nothing was held or released."
            " Read the stream anew.",
            gen=present,
        )


def _listed(call: Call, record: StreamRecord) -> Response:
    """Return a page of the list. Reads the store."""
    service = call.service
    cut = service.results.cut()
    after = call.arguments.get(AFTER) or 0
    limit = min(call.arguments.get(LIMIT) or limits.LIST_ROWS_DEFAULT, limits.LIST_ROWS_MAX)
    found = service.store.log.batches_of(
        record.stream_id, after=Seq(after), up_to=cut.seq, limit=limit + 1
    )
    forgotten = service.store.log.trimmed_through(record.stream_id)
    _confirm(call, cut)
    page, following = found[:limit], None
    if len(found) > limit:
        path = f"/v1/streams/{record.schema.name}/batches"
        following = f"{path}?{AFTER.name}={page[-1].seq}&{LIMIT.name}={limit}"
    answer = {
        "gen": cut.gen,
        "seq": cut.seq,
        "stream": record.schema.name,
        "forgotten_through": forgotten,
        "batches": [{"seq": one.seq, "bytes": one.nbytes} for one in page],
        "next": following,
    }
    return json_answer(answer, headers=_headers(cut, cut.seq))


def _fetched(call: Call, name: str, seq: Seq) -> Response:
    """Return one batch. Reads the store. Raises NotFoundError where it is none of the stream's, or is forgotten."""
    service = call.service
    cut = service.results.cut()
    if seq > cut.seq:
        raise _no_batch()
    try:
        operation = next(service.store.log.read_at([seq]))
    except KeyError as error:
        raise _no_batch() from error
    # Behind the cut: by then the stream has each column that the batch may have.
    record = service.results.stream(name)
    _confirm(call, cut)
    content = operation.content
    if not isinstance(content, Rows) or content.stream_id != record.stream_id:
        raise _no_batch()
    body = _batch_to_arrow(record.schema, operation, content)
    encoded, encoding = encode_content(body, call.header("accept-encoding"))
    headers = {**_headers(cut, seq), "Vary": "Accept-Encoding"}
    if encoding is not None:
        headers["Content-Encoding"] = encoding
    return Response(encoded, headers=headers, media_type=ARROW)


def _batch_to_arrow(schema: StreamSchema, operation: Operation, content: Rows) -> bytes:
    """Return an Arrow IPC stream of one batch: the columns _ADDED, then the declared ones, in that order.

    Raises:
        IntegrityError: the body is not a batch of this stream.
    """
    batch = decode_batch(schema, content.body)
    rows, first = batch.num_rows, operation.first_tuple_id
    added = [
        pa.array(range(first, first + rows), ARROW_TYPES[_ADDED["_id"]]),
        pa.repeat(pa.scalar(operation.seq, ARROW_TYPES[_ADDED["_seq"]]), rows),
        pa.repeat(pa.scalar(operation.arrival_us, ARROW_TYPES[_ADDED["_arrival"]]), rows),
    ]
    fields = [pa.field(name, ARROW_TYPES[kind], nullable=False) for name, kind in _ADDED.items()]
    whole = pa.RecordBatch.from_arrays(
        [*added, *batch.columns], schema=pa.schema([*fields, *batch.schema])
    )
    return encode_batch(whole)


def _held(call: Call, record: StreamRecord, through: Seq) -> Response:
    """Return what is held past `through`. Reads the store."""
    service = call.service
    held = service.store.log.batches_of(
        record.stream_id, after=through, up_to=service.results.cut().seq
    )
    answer = {
        "stream": record.schema.name,
        "through": through,
        "held_batches": len(held),
        "held_bytes": sum(one.nbytes for one in held),
    }
    return json_answer(answer)


def _confirm(call: Call, cut: Cut) -> None:
    """Raise RecoveringError if another history began while the log was read. May read the store."""
    call.service.results.cut()  # a history that has begun is seen by that
    call.service.backend.confirm(cut.gen)


def _headers(cut: Cut, seq: Seq) -> dict[str, str]:
    return {
        "Psoup-Gen": str(cut.gen),
        "Psoup-Seq": str(seq),
        "Cache-Control": "private, no-cache",
    }


def _no_batch() -> NotFoundError:
    return NotFoundError("The stream has no such batch, or has forgotten it.")


_HELD: Final = Shown("What is held.", HoldAnswer)
_ARCHIVE: Final = "/v1/streams/{name}/archive"
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/streams/{name}/batches",
        "list_batches",
        "List a stream's batches",
        list_batches,
        {
            200: Shown(
                "A page of batches, by position.",
                BatchList,
                headers={
                    "Psoup-Gen": "Generation of the history.",
                    "Psoup-Seq": "Position up to which batches are listed.",
                },
            )
        },
        READ,
        parameters=(AFTER, LIMIT),
        problems=("not-found",),
        rate="invoke",
    ),
    Endpoint(
        "GET",
        "/v1/streams/{name}/batches/{seq}",
        "get_batch",
        "Fetch one batch",
        get_batch,
        {
            200: Shown(
                "The batch: `_id`, `_seq`, `_arrival` and the stream's columns.",
                content={ARROW: {"schema": {"type": "string", "format": "binary"}}},
                headers={
                    "Psoup-Gen": "Generation of the history.",
                    "Psoup-Seq": "Position of the batch.",
                },
            )
        },
        READ,
        problems=("not-found",),
        rate="invoke",
    ),
    Endpoint(
        "PUT",
        _ARCHIVE,
        "hold_batches",
        "Hold a stream's batches for an archive",
        put_hold,
        {200: _HELD},
        ADMIN,
        body=json_body(HoldBody),
        problems=("not-found", "not-yet-visible", "gen-differs"),
        rate="register",
        changes=True,
    ),
    Endpoint(
        "GET",
        _ARCHIVE,
        "get_hold",
        "What is held for an archive",
        get_hold,
        {200: _HELD},
        ADMIN,
        problems=("not-found",),
    ),
    Endpoint(
        "DELETE",
        _ARCHIVE,
        "unhold_batches",
        "Hold a stream's batches no longer",
        delete_hold,
        {204: Shown("Nothing is held.")},
        ADMIN,
        problems=("not-found",),
        rate="register",
        changes=True,
    ),
)
