"""Arrays of JSON, one for each column, to rows; and instants as such an array."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.addresses import address
from psoup.engine.kernels.instant_text import WIDTH, write_instants
from psoup.engine.kernels.json_transpose import COLUMN_WORDS, NULL, SLACK, transpose

INSTANT_WIDTH: Final = WIDTH
"""Bytes of an instant with its quotes."""


class JsonArrays:
    """Arrays of JSON, and what stands between their values, as the kernel reads them. For one use."""

    __slots__ = ("_columns", "_constant", "_length", "_parts", "_size")

    def __init__(self, length: int) -> None:
        """Begin without columns of `length` rows."""
        self._length = length
        self._parts: list[bytes | bytearray] = [NULL]
        self._size = len(NULL)
        self._columns: list[int] = []
        self._constant = 0
        """Bytes of a row that no array holds, at most."""

    def add(
        self,
        before: bytes,
        array: bytes | bytearray,
        width: int = 0,
        valid: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add a column.

        Args:
            before: what stands before each value, and behind the one of the column before.
            array: the values: numbers, booleans, texts, without white space between them.
            width: how long each value is; 0 = that differs.
            valid: (length,), False = NULL is written instead of the value.
        """
        begin = self._size
        first = begin + len(before)
        flags = 0
        self._parts += (before, array)
        self._size = first + len(array)
        self._constant += len(before)
        if valid is not None:
            flags = self._size
            self._parts.append(valid.tobytes())
            self._size += self._length
            self._constant += len(NULL)
        self._columns += (begin, first, first + 1, width, flags)

    def rows(self, end: bytes) -> memoryview:
        """Return the rows, `end` behind each. Cost: about 15 ns a value."""
        text = b"".join((*self._parts, end, bytes(SLACK)))
        columns = np.array([*self._columns, self._size, self._size + len(end)], np.int64)
        room = len(text) + self._length * (self._constant + len(end)) + SLACK
        out = np.empty(room, np.uint8)
        width = len(self._columns) // COLUMN_WORDS
        size = transpose(address(text), address(columns), width, self._length, address(out))
        return out.data[:size]


def json_instants(us: NDArray[np.int64]) -> bytearray:
    """Return instants as a JSON array of texts of one width, but for a comma where its bracket would close.

    RFC 3339 UTC with exactly six decimals. What is not of the years 1 to 9999, as it may lie under a NULL, becomes
    a text that means nothing. Cost: about 20 ns an instant.
    """
    array = bytearray(1 + (WIDTH + 1) * len(us))
    us = np.ascontiguousarray(us)
    write_instants(address(us), len(us), address(array))
    return array
