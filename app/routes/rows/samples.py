"""The latest rows of a stream: what they look like."""

import contextlib
import functools
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from psoup.app.http.access.keys import READ
from psoup.app.routes.endpoint import Call, Endpoint, Shown, json_answer
from psoup.app.routes.streams.stream_names import found_stream
from psoup.app.wire.models.samples import SampleAnswer, describe_sample
from psoup.app.wire.parameters import Parameter, integer
from psoup.engine import limits
from psoup.engine.data.source import TupleSource
from psoup.engine.errors import NO_STREAM, NotFoundError, PageExpiredError
from psoup.engine.invoke import ATTEMPTS_MAX, retention_overtakes
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.schema import STREAM_NAME

_FURTHER: Final = 8
"""Where late rows are gone already, so many times as many are looked at."""
SAMPLE_LIMIT: Final = Parameter(
    "limit",
    integer(least=1),
    {"type": "integer", "minimum": 1, "default": limits.SAMPLE_ROWS_DEFAULT},
    f"Rows at most, clipped to {limits.SAMPLE_ROWS_MAX}.",
)


async def get_sample(call: Call) -> Response:
    """Answer the latest rows of a stream by position, the newest last."""
    name = call.path("name")
    if not STREAM_NAME.fullmatch(name):
        raise NotFoundError(NO_STREAM)
    limit = min(
        call.arguments.get(SAMPLE_LIMIT) or limits.SAMPLE_ROWS_DEFAULT, limits.SAMPLE_ROWS_MAX
    )
    sampled = functools.partial(_sampled, call, name, limit)
    return json_answer(await call.answered(sampled, latest=call.answered_by))


def _sampled(call: Call, name: str, limit: int) -> dict[str, object]:
    """Return the members of a `SampleAnswer`. Blocks: runs in a pool."""
    for _ in range(ATTEMPTS_MAX):
        stream = found_stream(call, call.service.results.stream, name)
        with contextlib.suppress(PageExpiredError):  # the rows left retention meanwhile
            return _latest(call, stream, limit)
    raise retention_overtakes()


def _latest(call: Call, stream: StreamRecord, limit: int) -> dict[str, object]:
    """Return the latest rows that retention keeps of a stream. Raises PageExpiredError."""
    names = [column.name for column in stream.schema.columns]
    source = call.service.backend.source
    tuples = source.tuples(stream.stream_id, names, _latest_rows(source, stream, limit))
    return describe_sample(stream.schema, tuples, count=stream.rows - stream.floor_row)


def _latest_rows(source: TupleSource, stream: StreamRecord, limit: int) -> NDArray[np.int64]:
    """Return the latest rows that retention keeps, of so many as are looked at. Raises PageExpiredError."""
    looked_at = limit
    while True:
        first = max(stream.floor_row, stream.rows - looked_at)
        rows = np.arange(first, stream.rows)
        if stream.floor_us is not None:
            rows = rows[source.times(stream.stream_id, rows) >= stream.floor_us][-limit:]
        if (
            len(rows) == limit
            or first == stream.floor_row
            or looked_at >= limits.SAMPLE_LOOKED_AT_MAX
        ):
            return rows
        looked_at = min(_FURTHER * looked_at, limits.SAMPLE_LOOKED_AT_MAX)


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/streams/{name}/sample",
        "sample_stream",
        "Show the latest rows of a stream",
        get_sample,
        {200: Shown("The rows.", SampleAnswer)},
        READ,
        parameters=(SAMPLE_LIMIT,),
        problems=("not-found",),
        rate="invoke",
        from_memory=True,
    ),
)
