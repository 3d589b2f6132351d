"""Pages of composite tuples as bytes, and back. All numbers little-endian; one byte in front says which form.

Row numbers and times of one page lie close together. So a column is its smallest number and, for each composite,
what is to be added to it, in 1, 2, 4 or 8 bytes: as many as the largest takes. Times are two columns: the latest
one, and by how much the earliest is before it.

A page is one value with its whole match block in it, in pieces only where more than PIECE_CLAUSES clauses are in
the block: a page is read whole, at a restart or for a clause of its group.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.match_block import Form, MatchBlock
from psoup.storage.encoding.hits import U16, in_order, places_of

COMPOSITES: Final = 1
PIECE_CLAUSES: Final = 2_048
"""So many clauses at most in one value: their hits take a megabyte where all are bitmaps, and what a value may
have is bounded by the server."""

HEADER: Final = struct.Struct("<BBH")
"""Form, sources, composites. Behind it columns: rows for each source, latest times, how much earlier the earliest
are. Then the first clauses."""
CLAUSES: Final = struct.Struct("<III")
"""Clauses, bitmaps, hits in lists. Behind it the bitmaps; the ids, as a column; for each clause how many hits, 16
bits; for each its Form, 8 bits; the lists, 16 bits a hit. Lists and bitmaps lie in the order of the clauses."""

INT64: Final = np.dtype("<i8")
UINTS: Final = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
"""The types of what is added in a column, by their bytes."""
WIDTHS: Final = (1, 1, 2, 4, 4, 8, 8, 8, 8)
"""The bytes of the smallest of these types, by those that a number fills."""


def encode_composites(page: CompositePage) -> list[bytes]:
    """Return a page in pieces: its composites with the first PIECE_CLAUSES clauses, then the others."""
    assert 0 < len(page) <= CHUNK_ROWS
    assert (page.block.forms != Form.UNKEPT).all(), "nobody else could tell what a clause has"
    block = in_order(page.block)
    columns = np.vstack([page.rows, page.latest, page.latest - page.earliest])
    head = HEADER.pack(COMPOSITES, len(page.rows), len(page)) + _encode_columns(columns)
    if len(block) <= PIECE_CLAUSES:
        return [head + _encode_clauses(block)]
    firsts = range(0, len(block), PIECE_CLAUSES)
    parts = [block.among(slice(first, first + PIECE_CLAUSES)) for first in firsts]
    first, *others = map(_encode_clauses, parts)
    return [head + first, *others]


def decode_composites(pieces: Sequence[bytes]) -> CompositePage:
    """Return the page that `encode_composites` wrote in these pieces. Its arrays hold nothing else."""
    first, *others = map(_Reader, pieces)
    form, sources, count = first.numbers(HEADER)
    assert form == COMPOSITES, "a page is of a form that is known"
    columns = first.columns(sources + 2, count)
    rows, latest, earliest = columns[:-2], columns[-2], columns[-1]
    np.subtract(latest, earliest, out=earliest)
    return CompositePage(rows, earliest, latest, _decode_block([first, *others]))


def _encode_columns(columns: NDArray[np.int64]) -> bytes:
    """Return (c, n) numbers, n > 0, of whatever span: differences are taken modulo 2^64."""
    least = columns.min(axis=1)
    beyond = (columns - least[:, np.newaxis]).view(np.uint64)
    widths = [WIDTHS[(most.bit_length() + 7) // 8] for most in beyond.max(axis=1).tolist()]
    packed = [
        column.astype(UINTS[width]).tobytes() for column, width in zip(beyond, widths, strict=True)
    ]
    return b"".join((bytes(widths), least.astype(INT64, copy=False).tobytes(), *packed))


def _encode_clauses(block: MatchBlock) -> bytes:
    """Return clauses whose lists and bitmaps lie in their order."""
    return b"".join(
        (
            CLAUSES.pack(len(block), len(block.bitmaps), len(block.offsets)),
            block.bitmaps.astype(LITTLE, copy=False).tobytes(),
            _encode_columns(block.clause_ids[np.newaxis]),
            block.counts.astype(U16).tobytes(),
            block.forms.tobytes(),
            block.offsets.astype(U16, copy=False).tobytes(),
        )
    )


def _decode_block(pieces: Sequence["_Reader"]) -> MatchBlock:
    """Return the clauses of all pieces, each of which ends with them, as one block."""
    parts = [_decode_clauses(piece) for piece in pieces]
    # Copies: a view would hold the whole value.
    ids, forms, counts, offsets, bitmaps = map(np.concatenate, zip(*parts, strict=True))
    return MatchBlock(ids, forms, counts, places_of(forms, counts), offsets, bitmaps)


def _decode_clauses(piece: "_Reader") -> tuple[NDArray[Any], ...]:
    """Return ids, forms, counts, lists and bitmaps."""
    clauses, maps, hits = piece.numbers(CLAUSES)
    bitmaps = piece.array(LITTLE, maps * CHUNK_WORDS).reshape(maps, CHUNK_WORDS)
    (ids,) = piece.columns(1, clauses)
    counts = piece.array(U16, clauses).astype(np.int32)
    forms = piece.array(np.uint8, clauses)
    offsets = piece.array(U16, hits)
    assert piece.is_read, "a piece ends with its lists"
    lists = forms == Form.LIST
    assert int(counts[lists].sum()) == hits, "lists as long as said"
    assert np.count_nonzero(forms == Form.BITMAP) == maps == clauses - np.count_nonzero(lists)
    return ids, forms, counts, offsets, bitmaps


class _Reader:
    """A value and how much of it has been read."""

    __slots__ = ("_at", "_value")

    def __init__(self, value: bytes) -> None:
        self._value = value
        self._at = 0

    @property
    def is_read(self) -> bool:
        """Return whether nothing is left."""
        return self._at == len(self._value)

    def numbers(self, form: struct.Struct) -> tuple[int, ...]:
        """Return the next numbers."""
        found = form.unpack_from(self._value, self._at)
        self._at += form.size
        return found

    def array(self, dtype: DTypeLike, count: int) -> NDArray[Any]:
        """Return the next `count` entries, as they lie in the value."""
        found = np.frombuffer(self._value, dtype, count, self._at)
        self._at += found.nbytes
        return found

    def columns(self, number: int, count: int) -> NDArray[np.int64]:
        """Return the next columns, as many as `number`, of `count` entries each."""
        widths, least = self.array(np.uint8, number).tolist(), self.array(INT64, number)
        found = np.empty((number, count), dtype=np.int64)
        for column, width in zip(found, widths, strict=True):
            assert width in UINTS, "an entry takes 1, 2, 4 or 8 bytes"
            column[:] = self.array(UINTS[width], count)
        found += least[:, np.newaxis]
        return found
