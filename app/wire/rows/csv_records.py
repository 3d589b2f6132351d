"""Where the records of a CSV body end, by its quotes (RFC 4180), before any cell is read.

A quote opens a cell at its very beginning, closes it at its very end, and stands doubled within. So the
number of quotes before a byte tells whether the byte lies within quotes: odd = it does.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.app.errors import BadBodyError
from psoup.app.wire.bounds import check_row_count
from psoup.app.wire.rows.quotes import BLOCK, within_quotes

_QUOTE, _COMMA, _LF, _CR = b'",\n\r'


def record_ends(body: bytes) -> NDArray[np.int64]:
    """Return where each record ends, the header's first: at its line feed, the last one's maybe at len(body).

    Cost: about 5 ms a MiB, whatever the quotes; memory for a few blocks of a MiB besides the answer.

    Raises:
        BadBodyError: a quote or a carriage return where CSV has none, or quotes that do not close.
        BodyTooLargeError: more than BATCH_ROWS_MAX records after the header.
    """
    # Before the first byte a record begins, after the last one a cell ends.
    padded = np.frombuffer(b"\n" + body + b",", np.uint8)
    ends, count, inside = [], 0, False
    for first in range(1, len(body) + 1, BLOCK):
        last = min(first + BLOCK, len(body) + 1)
        within = within_quotes(padded[first:last], inside=inside)
        wrong = np.flatnonzero(_misplaced(padded[first - 1 : last + 1], within))
        if len(wrong):
            raise _misquoted(first - 1 + int(wrong[0]))
        found = np.flatnonzero((padded[first:last] == _LF) & ~within)
        ends.append(found + (first - 1))
        count += len(found)
        check_row_count(count - 1)
        inside = bool(within[-1])
    if inside:
        raise _misquoted(len(body))
    if not body.endswith(b"\n"):
        ends.append(np.array([len(body)]))
        check_row_count(count)
    return np.concatenate(ends)


def count_cells(record: bytes) -> int:
    """Return the number of cells of a record that `record_ends` has passed."""
    data = np.frombuffer(record, np.uint8)
    return 1 + int(np.count_nonzero((data == _COMMA) & ~within_quotes(data)))


def lines_of_rows(
    body: bytes, ends: NDArray[np.int64], indices: Sequence[int], *, keep_empty: bool
) -> list[int]:
    """Return the lines, from 1, at which rows begin; `indices` ascend, the header is before row 0.

    Args:
        body: what `ends` was made of.
        ends: what `record_ends` returned.
        indices: of rows.
        keep_empty: whether an empty line is a row.
    """
    begins = np.concatenate(([0], ends[:-1] + 1))
    if not keep_empty:
        begins = begins[_are_filled(body, begins, ends)]
    lines, line, counted = [], 1, 0
    for index in indices:
        begin = int(begins[index + 1])
        line += body.count(b"\n", counted, begin)
        counted = begin
        lines.append(line)
    return lines


def _misplaced(padded: NDArray[np.uint8], within: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each byte stands where CSV has none like it; `padded` has one more at both ends."""
    data, before, after = padded[1:-1], padded[:-2], padded[2:]
    quotes = data == _QUOTE
    # A quote that opens right behind one that closes is the second of a doubled one.
    opens = (before == _COMMA) | (before == _LF) | (before == _QUOTE)
    closes = (after == _COMMA) | (after == _LF) | (after == _CR) | (after == _QUOTE)
    bare = (data == _CR) & ~within & (after != _LF)
    wrong: NDArray[np.bool_] = (quotes & np.where(within, ~opens, ~closes)) | bare
    return wrong


def _are_filled(
    body: bytes, begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether each record has a byte besides its line's end."""
    data = np.frombuffer(body, np.uint8)
    lengths = ends - begins
    filled: NDArray[np.bool_] = (lengths > 1) | ((lengths == 1) & (data[ends - 1] != _CR))
    return filled


def _misquoted(offset: int) -> BadBodyError:
    return BadBodyError(
        "A quote or a carriage return is where CSV has none, or a quote does not end.",
        reason="quoting",
        offset=offset,
    )
