"""Registrations as NDJSON: a body to one model or refusal per line, and the lines that are answered.

The body is NDJSON or it is not: a line that is no strict JSON refuses all of it, and nothing is registered.
What a line says may be wrong by itself: that is the refusal of that line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from psoup.app.errors import BadBodyError, BodyTooLargeError, UnknownFieldError
from psoup.app.wire.control import read_model
from psoup.app.wire.models.problem import Problem
from psoup.app.wire.models.queries import HANDLE_PATTERN, QueryAnswer, QueryBody
from psoup.engine import limits
from psoup.engine.errors import EngineError, InvalidFieldError

_PLAIN: Final = TypeAdapter(QueryBody)
_PROBLEM_OPTIONS: Final = (
    orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
)


class QueryLine(BaseModel):
    """One line of the answer to POST /v1/batch/queries: what became of one line of the body."""

    index: int = Field(ge=0, description="Of the line among those that are not blank, from 0.")
    status: int = Field(description="What POST /v1/queries would have answered.")
    query: QueryAnswer | None = Field(default=None, description="With 200, 201 and 202.")
    id: str | None = Field(
        default=None, pattern=HANDLE_PATTERN, description="Instead of `query`, with describe=ids."
    )
    seq: int | None = Field(default=None, description="Beside `id`.")
    problem: Problem | None = Field(default=None, description="With any other status.")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a body: its number from 1, the bytes before it, its text."""

    number: int
    before: int
    text: bytes


def split_lines(body: bytes) -> list[Line]:
    """Return the lines of a body that are not blank.

    Raises:
        BadBodyError: there is no byte.
        BodyTooLargeError: more than BATCH_QUERIES_MAX lines, blank ones among them.
    """
    if not body:
        raise BadBodyError("The body has no bytes.", reason="empty", offset=0)
    _check_count(body.count(b"\n"))
    lines = list(_lines(body))
    _check_count(len(lines))
    return lines


def read_registrations(lines: Sequence[Line]) -> list[QueryBody | EngineError]:
    """Return what each line says, or why it is refused. CPU work: runs in a pool.

    Raises:
        BadBodyError: a line is not strict JSON; extra `line`.

    Cost: about 5 us for a line without a backslash, 40 us for others.
    """
    return [_plain(line.text) or _read(line) for line in lines]


def described_line(index: int, status: int, description: Mapping[str, object]) -> bytes:
    """Return the line of a registration with its description."""
    answer = {"index": index, "status": status, "query": description}
    return orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE)


def handle_line(index: int, status: int, query_id: str, seq: int) -> bytes:
    """Return the short line of a registration."""
    return b'{"index":%d,"status":%d,"id":"%b","seq":%d}\n' % (
        index,
        status,
        query_id.encode(),
        seq,
    )


def problem_line(index: int, problem: Mapping[str, Any]) -> bytes:
    """Return the line of a refusal; `problem` is its problem body."""
    answer = {"index": index, "status": problem["status"], "problem": problem}
    return orjson.dumps(answer, option=_PROBLEM_OPTIONS)


def _lines(body: bytes) -> Iterator[Line]:
    before = 0
    for number, text in enumerate(body.split(b"\n"), 1):
        if text.strip():
            yield Line(number, before, text)
        before += len(text) + 1


def _check_count(lines: int) -> None:
    if lines > limits.BATCH_QUERIES_MAX:
        raise BodyTooLargeError(
            "The body has too many lines: split it.",
            limit="queries per batch",
            max_lines=limits.BATCH_QUERIES_MAX,
        )


def _plain(text: bytes) -> QueryBody | None:
    """Return the registration of a line that shows at a glance that it is a good one; None = look closer.

    pydantic's parser takes the last of two members of one name. Without escapes, texts are what stands
    between quotes: where there are as many quotes as the members read need, none was passed over.
    """
    if b"\\" in text or len(text) > limits.BODY_REGISTER_BYTES_MAX:
        return None
    try:
        body = _PLAIN.validate_json(text, strict=True)
    except ValidationError:
        return None
    if body.params:  # numbers of thousands of digits among them
        return None
    texts = len(body.model_fields_set) + 1  # the members' names, and the SQL
    texts += body.name is not None
    texts += "materialize" in body.model_fields_set
    texts += body.ttl is not None
    texts += 2 * len(body.labels or ())
    return body if text.count(b'"') == 2 * texts else None


def _read(line: Line) -> QueryBody | EngineError:
    """Return what a line says, read as POST /v1/queries reads its body."""
    if len(line.text) > limits.BODY_REGISTER_BYTES_MAX:
        return BodyTooLargeError(
            "The line is over its limit.", limit="body", max_bytes=limits.BODY_REGISTER_BYTES_MAX
        )
    try:
        return read_model(line.text, QueryBody)
    except (InvalidFieldError, UnknownFieldError) as refusal:
        return refusal
    except BadBodyError as error:
        extras = dict(error.extras)
        if isinstance(offset := extras.get("offset"), int):
            extras["offset"] = line.before + offset
        raise BadBodyError(error.detail, **extras, line=line.number) from error
