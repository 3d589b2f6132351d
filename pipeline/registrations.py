"""Bodies of registrations as POST /v1/batch/queries takes them: NDJSON, as many lines as one body may have."""

from collections.abc import Iterable, Iterator, Mapping

import orjson

from psoup.engine import limits


def sliced(registrations: Iterable[Mapping[str, object]]) -> Iterator[list[bytes]]:
    """Yield the registrations as lines, as many together as one body may have.

    Reads ahead by one registration. A line that is larger by itself than a body is a part of its own.
    """
    part: list[bytes] = []
    size = 0
    for registration in registrations:
        line = orjson.dumps(registration, option=orjson.OPT_APPEND_NEWLINE)
        full = len(part) == limits.BATCH_QUERIES_MAX
        if part and (full or size + len(line) > limits.BODY_INGEST_BYTES_MAX):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield part
