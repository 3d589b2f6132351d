"""The text of a CSV in blocks of whole records, so that each block can be split into cells by itself.

Arrow's own streaming reader would cut the text as well, but reads ahead in a thread of its own. Given a Python file it
is inside Python when the interpreter ends, and takes the process down with it.
"""

import re
from collections.abc import Iterator
from typing import IO

from pipeline.errors import DataFileError


def whole_records(
    plain: IO[bytes], *, delimiter: str, block_bytes: int, file: str
) -> Iterator[bytes]:
    """Yield the text of `plain` in blocks that end where a record ends, the last one wherever the text does.

    Args:
        plain: read to its end, `block_bytes` at a time.
        delimiter: between the fields of a record.
        block_bytes: a record is shorter; a block is shorter than twice that.
        file: the name that errors show.

    Raises:
        DataFileError: a record is longer; says at which line it begins.

    Cost: O(bytes).
    """
    records = _records(delimiter)
    rest, line = b"", 1
    while read := plain.read(block_bytes):
        text = rest + read
        found = records.match(text)
        end = 0 if found is None else found.end()
        if end == 0 and len(text) >= block_bytes:
            raise DataFileError(
                f"this record is longer than {block_bytes:,} bytes",
                file=file,
                line=line,
                hint="Is a quote missing at the end of a field?",
            )
        block, rest = text[:end], text[end:]
        line += block.count(b"\n")
        if block:
            yield block
    if rest:
        yield rest


def _records(delimiter: str) -> re.Pattern[bytes]:
    """Return what matches the whole records at the front of a text.

    A quote opens a field only where a field begins, and a doubled one is a part of it: as Arrow reads it. Nothing in
    the pattern is tried in two ways, so that a match costs O(bytes).
    """
    before = rb"[^\r\n" + re.escape(delimiter.encode()) + rb"]"
    quoted = rb"(?<!" + before + rb')"(?:[^"]++|"")*+"'
    stray = rb"(?<=" + before + rb')"'
    within = rb'[^"\r\n]*+'
    record = within + rb"(?:(?:" + quoted + rb"|" + stray + rb")" + within + rb")*+[\r\n]"
    return re.compile(rb"(?:" + record + rb")*+")
