"""The text of a CSV in blocks of whole records, so that each block can be split into cells by itself.

Arrow's own streaming reader would cut the text as well, but reads ahead in a thread of its own. Given a Python file it
is inside Python when the interpreter ends, and takes the process down with it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from psoup.pipeline.errors import DataFileError


@dataclass(frozen=True, slots=True)
class Dialect:
    """The dialect of records. A comment is a record that begins with `comment`."""

    delimiter: str
    quoted: bool = True
    comment: str | None = None


def whole_records(
    plain: IO[bytes], dialect: Dialect, *, block_bytes: int, file: str
) -> Iterator[bytes]:
    """Yield the text of `plain` in blocks that end with a record; the last one ends with the text.

    Args:
        plain: read to its end, `block_bytes` at a time.
        dialect: how records are written; comments leave an empty line.
        block_bytes: a record is shorter; a block is shorter than twice that.
        file: the name that errors show.

    Raises:
        DataFileError: a record is longer, or its quote never closes; says at which line it begins.

    Cost: O(bytes).
    """
    record = _record(dialect)
    comment = _comment(dialect)
    records = re.compile(rb"(?:" + comment + rb"|" + record + rb")*+")
    each = re.compile(rb"(?P<comment>" + comment + rb")|" + record)
    begins = (dialect.comment or "").encode()
    rest, line = b"", 1
    while read := plain.read(block_bytes):
        text = rest + read
        match = records.match(text)
        end = 0 if match is None else match.end()
        if end == 0 and len(text) >= block_bytes:
            raise DataFileError(
                f"this record is longer than {block_bytes:,} bytes",
                file=file,
                line=line,
                hint="Check whether a quote is missing at the end of a field.",
            )
        block, rest = text[:end], text[end:]
        line += block.count(b"\n")
        if block:
            yield _without_comments(block, each) if begins and begins in block else block
    if rest and not (begins and rest.startswith(begins)):
        if records.fullmatch(rest + b"\n") is None:
            raise DataFileError(
                "a quote opens in this record and never closes",
                file=file,
                line=line,
                hint="Close it, or double it where it is meant as a quote; where the file was cut off, fetch it again.",
            )
        yield rest


def comments_blanked(lines: Iterable[str], dialect: Dialect) -> Iterator[str]:
    """Yield lines of text, with an empty line instead of each comment, for readers that count lines."""
    for line in lines:
        yield "\n" if dialect.comment and line.startswith(dialect.comment) else line


def _without_comments(block: bytes, each: re.Pattern[bytes]) -> bytes:
    return each.sub(lambda match: match[0] if match["comment"] is None else b"\n", block)


def _record(dialect: Dialect) -> bytes:
    """Return the expression that matches one whole record.

    A quote opens a field only where a field begins, and a doubled one is a part of it: as Arrow reads it. Nothing in
    the expression is tried in two ways, so that a match costs O(bytes).
    """
    before = rb"[^\r\n" + re.escape(dialect.delimiter.encode()) + rb"]"
    quoted = rb"(?<!" + before + rb')"(?:[^"]++|"")*+"'
    stray = rb"(?<=" + before + rb')"'
    within = rb'[^"\r\n]*+'
    record = within + rb"(?:(?:" + quoted + rb"|" + stray + rb")" + within + rb")*+[\r\n]"
    if not dialect.quoted:
        record = rb"[^\r\n]*+[\r\n]"
    return rb"(?!" + _comment(dialect) + rb")" + record


def _comment(dialect: Dialect) -> bytes:
    """Return the expression that matches one whole comment; it is empty if there are no comments."""
    if dialect.comment is None:
        return rb"(?!)"
    return re.escape(dialect.comment.encode()) + rb"[^\r\n]*+(?:\r\n|[\r\n])"
