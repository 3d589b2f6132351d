"""`describe`: the streams and the queries that there are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psoup.agents.answers import (
    DescribeAnswer,
    QueryListed,
    Sample,
    StreamAnswer,
    columns_of,
    query_answer,
)
from psoup.agents.arguments import DescribeArguments
from psoup.agents.fitting import Part
from psoup.agents.tool import Found
from psoup.client.connections import operations
from psoup.client.connections.messages import JsonObject, Operation, get, json_object
from psoup.client.connections.operations import QUERIES, STREAMS, stream_path

STREAMS_SAMPLED_MAX: Final = 16
"""With more streams than these none is sampled: each costs a request."""
SAMPLE_ROWS: Final = 3
SAMPLE_ROWS_OF_ONE: Final = 20
QUERIES_LISTED_MAX: Final = 100
_UNSAMPLED: Final = (
    "No sample rows are shown of so many streams: describe(stream=...) shows those of one."
)

_ROWS: Final = Part(
    "rows",
    "sample rows",
    "describe(stream=...) shows those of one stream, with a larger max_tokens more of them.",
)
_STREAMS: Final = Part(
    "streams", "streams", "describe(stream=...) shows one; a larger max_tokens more of them."
)


def describe(arguments: DescribeArguments) -> Operation[Found]:
    """Find what there is."""
    if arguments.query is not None:
        described = yield from operations.looked_up(arguments.query)
        return Found({"query": query_answer(described)})
    if arguments.stream is not None:
        return (yield from _one_stream(arguments.stream))
    return (yield from _everything())


def _everything() -> Operation[Found]:
    streams = yield from operations.listed(STREAMS, "streams")
    sampled = len(streams) <= STREAMS_SAMPLED_MAX
    shown = []
    for stream in streams:
        rows = SAMPLE_ROWS if sampled and stream["rows"] else 0
        shown.append((yield from _stream(stream, rows)))
    queries, total = yield from _queries({})
    notes = {} if sampled else {"notes": [_UNSAMPLED]}
    answer = _answer(shown, queries) | notes
    return Found(answer, (_ROWS, _queries_part(total), _STREAMS))


def _one_stream(name: str) -> Operation[Found]:
    described = yield from operations.described(stream_path(name))
    shown = yield from _stream(described, SAMPLE_ROWS_OF_ONE if described["rows"] else 0)
    queries, _ = yield from _queries({"stream": name})
    return Found(_answer([shown], queries), (_ROWS, _queries_part(int(described["queries"]))))


def _answer(streams: Sequence[StreamAnswer], queries: Sequence[JsonObject]) -> JsonObject:
    return DescribeAnswer.of(
        {"streams": streams, "queries": [QueryListed.model_validate(one) for one in queries]}
    )


def _stream(described: Mapping[str, Any], rows: int) -> Operation[StreamAnswer]:
    """Return a stream with so many of its latest rows."""
    sample = (yield from _sample(str(described["name"]), rows)) if rows else None
    members = {**described, "columns": columns_of(described["columns"]), "sample": sample}
    kept = {name: one for name, one in members["retention"].items() if one is not None}
    return StreamAnswer.model_validate({**members, "retention": kept})


def _sample(name: str, limit: int) -> Operation[Sample | None]:
    """Return the latest rows, the newest first: they are cut from their end. None: the stream was dropped meanwhile."""
    found = yield from operations.found(f"{stream_path(name)}/sample?limit={limit}")
    if found is None:
        return None
    names = ["_id", *(one["name"] for one in found["columns"])]
    rows = [[row.get(name) for name in names] for row in reversed(found["rows"])]
    return Sample(columns=names, rows=rows)


def _queries(filters: Mapping[str, str]) -> Operation[tuple[list[JsonObject], int]]:
    """Return the first queries, and how many there are in the service, where these are not all."""
    found = json_object((yield get(QUERIES, {**filters, "limit": QUERIES_LISTED_MAX})))
    queries: list[JsonObject] = found["queries"]
    if found["next"] is None:
        return queries, len(queries)
    status = yield from operations.described("/v1/status")
    return queries, int(status["queries"])


def _queries_part(total: int) -> Part:
    return Part(
        "queries",
        "standing queries",
        "describe(stream=...) lists those over one stream; a larger max_tokens more of them.",
        total=total,
    )
