"""Digests of rows by their values: what rows of DISTINCT are known by, for ever.

A row of DISTINCT stands for all tuples that are equal in the select list, and these come and go: the ids of one of them
would change while the row stays. The digest depends on the values alone, so it is the same over restarts, workers and
versions. Rows are digested one by one: only those that are shown are.
"""

import functools
import hashlib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import (
    DIGESTED_CHARACTERS_MAX,
    DIGESTED_DICTIONARIES_MAX,
    DIGESTED_TEXTS_MAX,
)
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

DIGEST_BYTES: Final = 12
"""Of a million rows two have one digest with a probability of 1 in 10^17."""

_SHORT_TEXT: Final = 64
"""Characters of a text whose digest is remembered."""
_TEXTS_MAX: Final = 4_096
_TEXTS_A_ROW_MAX: Final = 2
"""Of a dictionary whose digests are remembered as a whole."""
_NULL: Final = b"\x00"
_TEXT_LENGTH: Final = struct.Struct("<cQ").pack


def digests(columns: Sequence[Column], count: int | None = None) -> NDArray[np.bytes_]:
    """Return the digest of each row as hexadecimal digits: 2 DIGEST_BYTES of ASCII.

    Digested are the values of a row one after the other: a zero byte for NULL; else a byte that tells the type, then 64
    bits, the lowest byte first, of a whole number, of microseconds since the epoch, or of IEEE 754; one byte of a
    boolean; of a text how many bytes it has in UTF-8, in 64 bits, and these. Zero has no sign, and NaN one form.

    Args:
        columns: the values, n of each.
        count: n, which has to be given where there may be no columns: their rows are all equal.

    Cost: 0.5 us a row; less where each is a text that was lately digested, or they are most of a dictionary that was.
    """
    count = len(columns[0]) if count is None else count
    if not columns and count == 1:
        return _OF_NO_VALUES.copy()
    if len(columns) == 1 and columns[0].type is ColumnType.STRING:
        texts = columns[0].dictionary
        assert texts is not None, "a string column has its dictionary"
        if columns[0].valid is None and len(texts) <= min(_TEXTS_MAX, _TEXTS_A_ROW_MAX * count):
            digested: NDArray[np.bytes_] = _DICTIONARIES.digests(texts)[columns[0].values]
            return digested
        found = b"".join(map(_of_text, columns[0].to_list()))
    else:
        cells = [_cells(column) for column in columns]
        rows = map(b"".join, zip(*cells, strict=True)) if cells else [b""] * count
        found = b"".join(map(_of_row, rows))
    return _written(found)


def _written(found: bytes) -> NDArray[np.bytes_]:
    """Return digests, one behind the other, as hexadecimal digits."""
    return np.array(memoryview(found.hex().encode()).cast("B")).view(f"S{2 * DIGEST_BYTES}")


def _of_row(row: bytes) -> bytes:
    return hashlib.blake2b(row, digest_size=DIGEST_BYTES).digest()


def _of_text(value: object) -> bytes:
    """Return the digest of a row of one text or NULL, as of a group by a name; dashboards ask for the same ones."""
    if isinstance(value, str):
        return _of_short_text(value) if len(value) <= _SHORT_TEXT else _of_row(_text(value))
    return _of_row(_NULL)


@functools.lru_cache(maxsize=DIGESTED_TEXTS_MAX)
def _of_short_text(value: str) -> bytes:
    return _of_row(_text(value))


_OF_NO_VALUES: Final = _written(_of_row(b""))
"""Digest of the only row without columns: of an answer without GROUP BY."""


class _DigestedDictionaries:
    """Dictionaries whose texts were lately digested as rows. Shared by threads: each would find the same."""

    def __init__(self) -> None:
        self._recent: tuple[tuple[Sequence[str], NDArray[np.bytes_]], ...] = ()

    def digests(self, texts: Sequence[str]) -> NDArray[np.bytes_]:
        """Return the digest of each text. A dictionary that has grown since is digested again.

        One of more than DIGESTED_CHARACTERS_MAX is digested each time: it would be held when its stream lets it go.
        """
        for known, found in self._recent:
            if known is texts and len(found) == len(texts):
                return found
        found = _written(b"".join(map(_of_text, texts)))
        recent = [pair for pair in self._recent if pair[0] is not texts]
        if sum(map(len, texts)) <= DIGESTED_CHARACTERS_MAX:
            recent.insert(0, (texts, found))
        self._recent = tuple(recent[:DIGESTED_DICTIONARIES_MAX])
        return found


_DICTIONARIES: Final = _DigestedDictionaries()


def _cells(column: Column) -> list[bytes]:
    """Return the bytes of each value."""
    write = _WRITERS[column.type]
    return [_NULL if value is None else write(value) for value in column.to_list()]


def _float(value: float) -> bytes:
    if math.isnan(value):
        value = math.nan
    return struct.pack("<cd", b"f", value + 0.0)  # -0.0 + 0.0 is 0.0


def _text(value: str) -> bytes:
    written = value.encode()
    return _TEXT_LENGTH(b"s", len(written)) + written


_WRITERS: Final[Mapping[ColumnType, Callable[[Any], bytes]]] = {
    ColumnType.INT64: lambda value: struct.pack("<cq", b"i", value),
    ColumnType.TIMESTAMP: lambda value: struct.pack("<cq", b"t", value),
    ColumnType.BOOL: lambda value: struct.pack("<c?", b"b", value),
    ColumnType.FLOAT64: _float,
    ColumnType.STRING: _text,
}
