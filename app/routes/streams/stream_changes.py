"""Streams declared otherwise while they hold rows."""

import functools
from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from psoup.app.http.access.keys import ADMIN
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer, json_body
from psoup.app.routes.preconditions import check_tag, if_match
from psoup.app.routes.streams import streams
from psoup.app.routes.streams.streams import described_streams, stream_record, stream_tag
from psoup.app.wire.models.stream_changes import patched_schema
from psoup.app.wire.models.streams import StreamChanged, StreamPatchBody
from psoup.engine import limits
from psoup.engine.log.operation import Alter


async def patch_stream(call: Call) -> Response:
    """Declare a stream otherwise: 200, also where it is declared so already; 202 where it is not applied yet."""
    name = call.path("name")
    body: StreamPatchBody = await call.model(StreamPatchBody, bytes_max=limits.BODY_OTHER_BYTES_MAX)
    attempt = functools.partial(_altered, call, name, body)
    return await call.service.catalogue.retried_once(attempt)


async def _altered(call: Call, name: str, body: StreamPatchBody) -> Response:
    """Return the answer to a change of the declaration in force. Raises StaleDeclarationError if that has changed."""
    service = call.service
    before = await stream_record(call, name)
    check_tag(call, stream_tag(before.schema), "The stream is declared otherwise")
    schema = patched_schema(before.schema, body)
    submitted = await service.submission.submit(
        Alter(before.stream_id, schema, declared=before.schema),
        deadline_s=service.settings.register_deadline_s,
    )
    service.catalogue.forget(name)
    record = await stream_record(call, name)
    (described,) = await described_streams(call, [record])
    return json_answer(
        {**described, "seq": submitted.seq},
        status=200 if submitted.applied else 202,
        headers={"ETag": stream_tag(record.schema), "Psoup-Seq": str(submitted.seq)},
    )


_CHANGED: Final = Shown(
    "The stream.",
    StreamChanged,
    headers={
        "ETag": "Tag of the declaration, for If-Match.",
        "Psoup-Seq": "Position of the change.",
    },
)
ENDPOINTS: Final[Sequence[Endpoint]] = (
    *streams.ENDPOINTS,
    Endpoint(
        "PATCH",
        "/v1/streams/{name}",
        "change_stream",
        "Change what a stream keeps, and add columns",
        patch_stream,
        {200: _CHANGED, 202: _CHANGED},
        ADMIN,
        body=json_body(StreamPatchBody),
        problems=("not-found", "precondition-failed", "incompatible-change", "stale-declaration"),
        headers=(if_match("the declaration"),),
        rate="register",
        changes=True,
    ),
)
