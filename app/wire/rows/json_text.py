"""JSON text to rows: one object, an array of objects, one object per line, or one object of columns.

orjson reads. It turns integers of more than 64 bits into floats and does not tell, and it knows no limit
on how a number is written. So literals that are too long are looked for in the bytes, and a row in which
a float may have been an integer can be read again as it was written.
"""

import functools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from psoup.app.errors import BadBodyError
from psoup.app.wire.bounds import check_row_count
from psoup.app.wire.control import decode_text
from psoup.app.wire.rows.errors import LinesOf
from psoup.app.wire.rows.quotes import BLOCK, within_quotes
from psoup.engine import limits

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_WIDE = re.compile(rb"[0-9]{19}")
"""Every integer of more than 64 bits, with its sign, has it."""
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_COMMA, _CLOSE, _COLON = b",]:"
_NUMBER = b"0123456789+-.eE"
_NUMBER_BYTES = np.zeros(256, dtype=np.bool_)
_NUMBER_BYTES[list(_NUMBER)] = True
_NUMBER_MARKS = _NUMBER_BYTES.tobytes()
_TOO_LONG_MARKS = b"\1" * (limits.JSON_NUMBER_LENGTH_MAX + 1)
_TOO_LONG = re.compile(rb"[0-9+\-.eE]{%d}" % (limits.JSON_NUMBER_LENGTH_MAX + 1))
_BETWEEN = b"8260941335707461527"
"""A number nobody sends. Odd and past 2^53: it has one spelling, and no float is equal to it."""
_BLOCK = (limits.JSON_NUMBER_LENGTH_MAX + 1) // 3
"""Wherever a literal over the limit stands, it fills two neighbours among the body's blocks of this size."""


@dataclass(frozen=True, slots=True)
class JsonRows:
    """The rows of a body.

    Attributes:
        rows: as orjson reads them: integers of more than 64 bits are floats.
        exact: row index to the row with every integer as it was written, read again the first time. `check_depth`
            goes before.
        check_depth: raises BadBodyError where the body is nested deeper than JSON_DEPTH_MAX.
        lines_of: row indices to lines; None where the body is one text.
    """

    rows: Sequence[object]
    exact: Callable[[int], object]
    check_depth: Callable[[], None]
    lines_of: LinesOf | None


@dataclass(frozen=True, slots=True)
class JsonColumns:
    """The members of a body that is one object.

    Attributes:
        members: as orjson reads them: integers of more than 64 bits are floats, and of a member named twice the last
            is here.
        written: a member, which is an array, and an index to that value with every integer as it was written.
            `check_depth` goes before.
        check_depth: raises BadBodyError where the body is nested deeper than JSON_DEPTH_MAX.
        check_names: raises BadBodyError where a member is named twice.
    """

    members: Mapping[str, object]
    written: Callable[[str, int], object]
    check_depth: Callable[[], None]
    check_names: Callable[[], None]


def read_array(body: bytes) -> JsonRows:
    """Return the rows of one object, or of an array of them.

    Raises:
        BadBodyError: not JSON, or a number written with too many characters.
        BodyTooLargeError: more than BATCH_ROWS_MAX rows.
    """
    if body.count(b"{") + body.count(b"[") > limits.BATCH_ROWS_MAX:
        _count_rows(body)
    value = _loads(body, before=0)
    long_at = find_long_number(body)
    if long_at is not None:
        _check_depth(body, before=0)
        raise _too_long(long_at)
    rows = value if isinstance(value, list) else [value]
    check_row_count(len(rows))

    @functools.cache
    def texts() -> Sequence[bytes]:
        return _row_texts(body) if isinstance(value, list) else [body]

    @functools.cache
    def exact(index: int) -> object:
        return _exact(rows[index], texts()[index])

    return JsonRows(
        rows=rows,
        exact=exact,
        check_depth=lambda: _check_depth(body, before=0),
        lines_of=None,
    )


def read_lines(body: bytes) -> JsonRows:
    """Return the rows of a body with one object per line; lines of white space are passed over.

    Raises:
        BadBodyError: a line is not JSON, or has a number written with too many characters.
        BodyTooLargeError: more than BATCH_ROWS_MAX lines.
    """
    check_row_count(body.count(b"\n"))
    long_at = find_long_number(body)
    if long_at is not None:
        _refuse_long_number(body, long_at)
    rows = _loads_at_once(body)
    if rows is None:
        rows = _loads_by_line(body)
    check_row_count(len(rows))

    @functools.cache
    def texts() -> Sequence[bytes]:
        return list(filter(bytes.strip, body.split(b"\n")))

    @functools.cache
    def exact(index: int) -> object:
        return _exact(rows[index], texts()[index])

    return JsonRows(
        rows=rows,
        exact=exact,
        check_depth=lambda: _check_depth(body, before=0),
        lines_of=lines_of_rows(body),
    )


def lines_of_rows(body: bytes) -> LinesOf:
    """Return where the rows of a body with one object per line stand in it."""

    def lines_of(indices: Sequence[int]) -> Sequence[int]:
        numbers = [number for number, _, _ in _lines(body)]
        return [numbers[index] for index in indices]

    return lines_of


def read_columns(body: bytes) -> JsonColumns:
    """Return the members of a body that is one object.

    Raises:
        BadBodyError: not JSON, a number written with too many characters, no object, or too many members.
        BodyTooLargeError: more than BATCH_ROWS_MAX values are arrays or objects, which no column takes.
    """
    if body.count(b"{") + body.count(b"[") > limits.BATCH_ROWS_MAX:
        _count_rows(body, depth=3)
    members = _loads(body, before=0)
    long_at = find_long_number(body)
    if long_at is not None:
        _check_depth(body, before=0)
        raise _too_long(long_at)
    if not isinstance(members, dict):
        raise BadBodyError("The body is not one object of columns.", reason="not an object")
    if len(members) > limits.JSON_MEMBERS_MAX:
        raise too_many_members("The body")

    @functools.cache
    def exact() -> Mapping[str, Sequence[object]]:
        return _exact(members, body)  # type: ignore[return-value]

    @functools.cache
    def check_depth() -> None:  # once for all columns: it reads the whole body
        _check_depth(body, before=0)

    return JsonColumns(
        members=members,
        written=lambda name, index: exact()[name][index],
        check_depth=check_depth,
        check_names=lambda: _check_names(body, members),
    )


def too_many_members(what: str) -> BadBodyError:
    """Return the refusal of an object with more than JSON_MEMBERS_MAX members."""
    return BadBodyError(
        f"{what} has too many members.", reason="members", limit=limits.JSON_MEMBERS_MAX
    )


def find_long_number(body: bytes) -> int | None:
    """Return where a number literal over its limit begins, the first of them; None = there is none.

    Digits within a text are no number. What is said of bytes that are not JSON has no meaning.

    Cost: about 1 ms a MiB, a sixth of what parsing costs; 4 ms where texts hold long numbers.
    """
    if _TOO_LONG_MARKS not in body.translate(_NUMBER_MARKS):
        return None
    whole = len(body) - len(body) % _BLOCK
    numbers = _NUMBER_BYTES[np.frombuffer(body, np.uint8, count=whole)].reshape(-1, _BLOCK)
    filled = np.logical_and.reduce(numbers, axis=1)
    pairs = filled[:-1] & filled[1:]
    pairs[1:] &= ~filled[:-2]  # one for each run of filled blocks
    quotes = seen = 0
    for block in np.flatnonzero(pairs).tolist():
        begin = block * _BLOCK
        while begin > 0 and body[begin - 1] in _NUMBER:
            begin -= 1
        # A run of number bytes holds no quote: it lies within a text as a whole, or outside.
        quotes += _count_quotes(body[seen:begin])
        seen = begin
        if quotes % 2 == 0 and _TOO_LONG.match(body, begin):
            return begin
    return None


def _count_quotes(part: bytes) -> int:
    """Return the number of quotes that begin or end a text."""
    if b"\\" not in part:
        return part.count(b'"')
    part = part.replace(b"\\\\", b"")
    return part.count(b'"') - part.count(b'\\"')


def _refuse_long_number(body: bytes, long_at: int) -> None:
    """Raise what is wrong with the lines up to that of the literal at `long_at`: the first thing counts."""
    for _, before, line in _lines(body):
        _loads(line, before=before)
        _check_depth(line, before=before)
        if long_at < before + len(line):
            raise _too_long(long_at)


def _too_long(at: int) -> BadBodyError:
    return BadBodyError(
        "A number is written with too many characters.",
        reason="number literal",
        limit=limits.JSON_NUMBER_LENGTH_MAX,
        offset=at,
    )


def _lines(body: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number, offset, text) of each line that is not blank."""
    before = 0
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            yield number, before, line
        before += len(line) + 1


def _loads(text: bytes, *, before: int) -> object:
    """Return what one JSON text says; `before` bytes of the body come before it."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if before == 0:
            decode_text(text)
        reason = "depth" if "depth" in error.msg else error.msg
        raise BadBodyError(
            "The body is not valid JSON.",
            reason=reason,
            offset=before + len(error.doc[: error.pos].encode(errors="replace")),
        ) from error


def _loads_at_once(body: bytes) -> list[object] | None:
    """Return what the lines say, read as one array; None = they have to be read one by one.

    That is a third faster, and accepts no line that is not one JSON text. Between two lines stands a number that
    is nowhere else. If as many of it are elements of the array as were put there, no line's end lies within a
    value; if they alternate with other elements, a line has exactly one. The line's end itself stays before the
    comma: it may not stand in a text.
    """
    if _BETWEEN in body:
        return None
    lines = body.removesuffix(b"\n")
    between = lines.count(b"\n")
    whole = b"".join((b"[", lines.replace(b"\n", b"\n," + _BETWEEN + b","), b"]"))
    try:
        read: list[object] = orjson.loads(whole)
    except orjson.JSONDecodeError:
        return None
    if len(read) != 2 * between + 1 or read[1::2].count(int(_BETWEEN)) != between:
        return None
    return read[::2]


def _loads_by_line(body: bytes) -> list[object]:
    """Return what the lines say that are not blank.

    Raises:
        BadBodyError: a line is not JSON.
    """
    try:
        return list(map(orjson.loads, filter(bytes.strip, body.split(b"\n"))))
    except orjson.JSONDecodeError:
        for _, before, line in _lines(body):
            _loads(line, before=before)
        raise


def _exact(row: object, text: bytes) -> object:
    """Return the row that `text` is, and that orjson reads as `row`, with its integers as written."""
    return json.loads(text) if _WIDE.search(text) else row


def _check_depth(text: bytes, *, before: int) -> None:
    if text.count(b"[") + text.count(b"{") <= limits.JSON_DEPTH_MAX:
        return
    for first, marks, depths in _nesting(text):
        deep = np.flatnonzero((_STEPS[marks] > 0) & (depths > limits.JSON_DEPTH_MAX))
        if len(deep):
            raise BadBodyError(
                "The body is nested too deep.",
                reason="depth",
                limit=limits.JSON_DEPTH_MAX,
                offset=before + first + int(deep[0]),
            )


def _count_rows(body: bytes, *, depth: int = 2) -> None:
    """Refuse too many objects at a depth before they are built: empty ones weigh 24 times their text."""
    rows = 0
    for _, marks, depths in _nesting(body):
        rows += int(np.count_nonzero((_STEPS[marks] > 0) & (depths == depth)))
        check_row_count(rows)


def _check_names(body: bytes, names: Collection[str]) -> None:
    """Refuse a member of the body's object that is named twice: of `names`, all different, it has more members then."""
    if body.count(b":") == len(names):  # each member has one outside of texts
        return
    members = sum(
        int(np.count_nonzero((marks == _COLON) & (depths == 1)))
        for _, marks, depths in _nesting(body)
    )
    if members > len(names):
        raise BadBodyError("A column is named twice.", reason="duplicate member")


def _row_texts(body: bytes) -> Sequence[bytes]:
    """Return the texts of an array's elements."""
    cuts = []
    for first, marks, depths in _nesting(body):
        found = ((marks == _COMMA) & (depths == 1)) | ((marks == _CLOSE) & (depths == 0))
        cuts.extend((np.flatnonzero(found) + first).tolist())
    begins = [body.index(b"["), *cuts[:-1]]
    return [body[begin + 1 : end] for begin, end in zip(begins, cuts, strict=True)]


def _nesting(text: bytes) -> Iterator[tuple[int, NDArray[np.uint8], NDArray[np.int64]]]:
    """Yield, for one block of JSON after another, its offset, marks and depths.

    Marks are the bytes, 0 within texts; depths are those behind each byte. Cost: about 10 ms a MiB.
    """
    if b"\\" in text:
        text = _ESCAPE.sub(b"__", text)
    data = np.frombuffer(text, np.uint8)
    inside, depth = False, 0
    for first in range(0, len(data), BLOCK):
        block = data[first : first + BLOCK]
        within = within_quotes(block, inside=inside)
        marks = np.where(within, np.uint8(0), block)
        depths = np.add.accumulate(_STEPS[marks], dtype=np.int64) + depth
        yield first, marks, depths
        inside, depth = bool(within[-1]), int(depths[-1])
