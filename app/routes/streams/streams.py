"""Streams: declare, list, describe, drop."""

import functools
import hashlib
from collections.abc import Sequence
from typing import Final

import orjson
from starlette.responses import Response

from psoup.app.backend.submission import Submitted
from psoup.app.http.access.keys import ADMIN, READ
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.list_pages import list_page
from psoup.app.routes.streams.stream_names import found_stream
from psoup.app.wire.models.streams import (
    StreamAnswer,
    StreamBody,
    StreamChanged,
    StreamList,
    declaration_warnings,
    describe_stream,
    differences,
    schema_from_body,
)
from psoup.app.wire.parameters import CASCADE, LIMIT, PAGE
from psoup.engine import limits
from psoup.engine.errors import NO_STREAM, NotFoundError, StaleDeclarationError, StreamDiffersError
from psoup.engine.log.operation import Declare, Drop
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.schema import STREAM_NAME, StreamId, StreamSchema, schema_to_dict

CASCADE_ATTEMPTS: Final = 4
"""A cascade names the queries it removes; while others register on the stream, it is named anew."""

TAG_DIGITS: Final = 32


async def put_stream(call: Call) -> Response:
    """Declare a stream: 201, 200 where it is declared just so, 202 where it is not applied yet."""
    name = call.path("name")
    body: StreamBody = await call.model(StreamBody, bytes_max=limits.BODY_OTHER_BYTES_MAX)
    schema = schema_from_body(name, body)
    service = call.service
    try:
        submitted = await service.submission.submit(
            Declare(schema), deadline_s=service.settings.register_deadline_s
        )
    except StreamDiffersError as error:
        record = await stream_record(call, name)
        diff = differences(record.schema, schema)
        raise StreamDiffersError(error.detail, diff=diff) from error
    service.catalogue.forget(name)
    record = await _record_after(call, schema, submitted)
    status = 200 if submitted.duplicate else 201 if submitted.applied else 202
    (described,) = await described_streams(call, [record])
    warnings = declaration_warnings(schema)
    return json_answer(
        {**described, "seq": submitted.seq} | ({"warnings": warnings} if warnings else {}),
        status=status,
        headers={
            "ETag": stream_tag(record.schema),
            "Location": f"/v1/streams/{name}",
            "Psoup-Seq": str(submitted.seq),
        },
    )


async def list_streams(call: Call) -> Response:
    """List the streams by name."""
    records = await call.service.answering.run(
        call.service.results.streams, deadline_s=call.service.settings.invoke_deadline_s
    )
    page, following = list_page(call, records, key=lambda one: one.schema.name, subject="streams")
    return json_answer({"streams": await described_streams(call, page), "next": following})


async def get_stream(call: Call) -> Response:
    """Describe one stream."""
    record = await stream_record(call, call.path("name"))
    (described,) = await described_streams(call, [record])
    return json_answer(described, headers={"ETag": stream_tag(record.schema)})


async def delete_stream(call: Call) -> Response:
    """Drop a stream, with the queries that read it where that was asked for."""
    name = call.path("name")
    cascade = call.arguments.get(CASCADE) == "true"
    for attempt in range(1, CASCADE_ATTEMPTS + 1):
        content = await call.service.answering.run(
            functools.partial(_removal, call, name, cascade=cascade),
            deadline_s=call.service.settings.invoke_deadline_s,
        )
        try:
            submitted = await call.service.submission.submit(
                content,
                deadline_s=call.service.settings.register_deadline_s,
            )
        except StaleDeclarationError:
            if attempt == CASCADE_ATTEMPTS:
                raise
        else:
            call.service.catalogue.forget(name)
            return removed(submitted)
    raise AssertionError("the last attempt returns or raises")


async def described_streams(call: Call, records: Sequence[StreamRecord]) -> list[dict[str, object]]:
    """Return the descriptions of streams."""
    source = call.service.backend.source
    return await call.service.answering.run(
        lambda: [describe_stream(record, source) for record in records],
        deadline_s=call.service.settings.invoke_deadline_s,
    )


def stream_tag(schema: StreamSchema) -> str:
    """Return the `ETag` of a declaration. It is weak: what else a description tells changes with each row."""
    declared = orjson.dumps(schema_to_dict(schema))
    return f'W/"{hashlib.sha256(declared).hexdigest()[:TAG_DIGITS]}"'


def removed(submitted: Submitted) -> Response:
    """Return the answer to a removal: 204, or 202 where it is committed and not applied yet."""
    headers = {"Psoup-Seq": str(submitted.seq)}
    if submitted.applied:
        return Response(status_code=204, headers=headers)
    return json_answer({"seq": submitted.seq, "state": "removing"}, status=202, headers=headers)


def _removal(call: Call, name: str, *, cascade: bool) -> Drop:
    """Return the removal of the stream in force under `name` and, for a cascade, of all queries that read it."""
    results = call.service.results
    stream = found_stream(call, results.stream, name)
    # Not of one instant: a query that comes or goes in between makes the log refuse the removal as stale.
    readers = results.readers(stream.stream_id) if cascade else ()
    queries = tuple(one.query_id for one in readers)
    return Drop(stream.stream_id, name, queries, declared=stream.schema)


async def stream_record(call: Call, name: str) -> StreamRecord:
    """Return the stream in force under `name` at the applied position. Raises NotFoundError."""
    if not STREAM_NAME.fullmatch(name):
        raise NotFoundError(NO_STREAM)
    return await call.service.answering.run(
        functools.partial(found_stream, call, call.service.results.stream, name),
        deadline_s=call.service.settings.invoke_deadline_s,
    )


async def _record_after(call: Call, schema: StreamSchema, submitted: Submitted) -> StreamRecord:
    """Return the stream as it is after its declaration; as it will be, where that is not applied."""
    if submitted.applied:
        try:
            return await stream_record(call, schema.name)
        except NotFoundError:  # dropped again by somebody else
            pass
    return StreamRecord(StreamId(submitted.seq), schema)


_CHANGED: Final = Shown(
    "The stream.",
    StreamChanged,
    headers={
        "ETag": "Tag of the declaration, for If-Match.",
        "Location": "Where the stream is.",
        "Psoup-Seq": "Position of the declaration.",
    },
)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "PUT",
        "/v1/streams/{name}",
        "declare_stream",
        "Declare a stream",
        put_stream,
        {200: _CHANGED, 201: _CHANGED, 202: _CHANGED},
        ADMIN,
        body=json_body(StreamBody),
        problems=("stream-differs", "quota-exceeded", "not-found"),
        rate="register",
        changes=True,
    ),
    Endpoint(
        "GET",
        "/v1/streams",
        "list_streams",
        "List the streams",
        list_streams,
        {200: Shown("A page of streams, by name.", StreamList)},
        READ,
        parameters=(LIMIT, PAGE),
        problems=("bad-page",),
        from_memory=True,
    ),
    Endpoint(
        "GET",
        "/v1/streams/{name}",
        "get_stream",
        "Describe a stream",
        get_stream,
        {
            200: Shown(
                "The stream.",
                StreamAnswer,
                headers={"ETag": "Tag of the declaration, for If-Match of a change."},
            )
        },
        READ,
        problems=("not-found",),
        from_memory=True,
    ),
    Endpoint(
        "DELETE",
        "/v1/streams/{name}",
        "drop_stream",
        "Drop a stream",
        delete_stream,
        {
            202: Shown("Committed, not applied by the deadline."),
            204: Shown("Dropped.", headers={"Psoup-Seq": "Position of the removal."}),
        },
        ADMIN,
        parameters=(CASCADE,),
        problems=("not-found", "has-queries"),
        rate="register",
        changes=True,
    ),
)
