"""NDJSON bodies of POST /v1/batch/queries, within the limits of one body."""

from collections.abc import Iterable, Iterator, Mapping

import orjson

from psoup.engine import limits


def registration_bodies(registrations: Iterable[Mapping[str, object]]) -> Iterator[list[bytes]]:
    """Yield the lines of one body after another, each with as many registrations as a body may have.

    Reads ahead by one registration. A line that is larger than a body is yielded alone, and the service refuses it.
    """
    lines: list[bytes] = []
    size = 0
    for registration in registrations:
        line = orjson.dumps(registration, option=orjson.OPT_APPEND_NEWLINE)
        full = len(lines) == limits.BATCH_QUERIES_MAX
        if lines and (full or size + len(line) > limits.BODY_INGEST_BYTES_MAX):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield lines
