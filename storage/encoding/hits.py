"""Pages and match blocks as bytes, and back. All numbers little-endian; one byte in front says which form.

A block is written in parts, one for each group of clauses (`keys.GROUP_BITS`). Of an entry only what cannot
be told from the others is written: five bytes beside the hits, where the arrays in memory take seventeen.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from bitarray import bitarray
from numpy.typing import NDArray

from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import UNPLACED, Form, MatchBlock
from psoup.engine.results.page import UNKEPT, Page
from psoup.storage import keys

PAGE_LIST: Final = 1
PAGE_BITMAP: Final = 2
PAGE_UNKEPT: Final = 3
BLOCK: Final = 1

BITMAP_BYTES: Final = CHUNK_ROWS // 8

BLOCK_HEADER: Final = struct.Struct("<BxHIQ")
"""Form, clauses, bitmaps, first clause id of the group. 16 bytes: what follows stays aligned.

Behind it: the bitmaps; for each clause its id within the group, 16 bits; for each how many hits, 16 bits;
the lists, 16 bits a hit; for each clause its Form, 8 bits. Lists and bitmaps lie in the order of the clauses.
"""
U16: Final = np.dtype("<u2")


def encode_page(page: Page) -> bytes:
    """Return a page: its form, then 16-bit offsets or the bitmap, or nothing where it is not kept."""
    if page.offsets is not None:
        assert page.bitmap is None
        assert 0 < len(page.offsets) <= CHUNK_ROWS
        return bytes([PAGE_LIST]) + page.offsets.astype(U16, copy=False).tobytes()
    if page.bitmap is None:
        return bytes([PAGE_UNKEPT])
    assert len(page.bitmap) == CHUNK_ROWS
    assert page.bitmap.endian == "little"
    return bytes([PAGE_BITMAP]) + page.bitmap.tobytes()


def decode_page(value: bytes) -> Page:
    """Return the page that `encode_page` wrote. An array is read-only."""
    if value[0] == PAGE_LIST:
        return Page(np.frombuffer(value[1:], dtype=U16), None)
    if value[0] == PAGE_UNKEPT:
        assert len(value) == 1
        return UNKEPT
    assert value[0] == PAGE_BITMAP, "a page is a list, a bitmap or not kept"
    assert len(value) == 1 + BITMAP_BYTES
    return Page(None, _bitmap(value[1:]))


def encode_blocks(block: MatchBlock) -> Iterator[tuple[int, bytes]]:
    """Yield each group of clauses that the block has, ascending, and the part of the block that is theirs."""
    block = in_order(block)
    groups = block.clause_ids >> keys.GROUP_BITS
    ids = (block.clause_ids & ((1 << keys.GROUP_BITS) - 1)).astype(U16)
    counts, offsets = block.counts.astype(U16), block.offsets.astype(U16, copy=False)
    bitmaps = block.bitmaps.astype(LITTLE, copy=False)
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    cuts = np.append(begins, len(groups))
    lists_at = _total(np.where(block.forms == Form.LIST, block.counts, 0))[cuts].tolist()
    maps_at = _total(block.forms == Form.BITMAP)[cuts].tolist()
    edges = cuts.tolist()
    for at, group in enumerate(groups[begins].tolist()):
        some = slice(edges[at], edges[at + 1])
        maps = slice(maps_at[at], maps_at[at + 1])
        header = (some.stop - some.start, maps.stop - maps.start, group << keys.GROUP_BITS)
        parts = (
            BLOCK_HEADER.pack(BLOCK, *header),
            bitmaps[maps].tobytes(),
            ids[some].tobytes(),
            counts[some].tobytes(),
            offsets[lists_at[at] : lists_at[at + 1]].tobytes(),
            block.forms[some].tobytes(),
        )
        yield group, b"".join(parts)


def decode_block(value: bytes) -> MatchBlock:
    """Return the part of a block that `encode_blocks` wrote. Hits are not copied: their arrays are read-only."""
    form, clauses, maps, base = BLOCK_HEADER.unpack_from(value)
    assert form == BLOCK, "a block is of a form that is known"
    ids_at = BLOCK_HEADER.size + maps * BITMAP_BYTES
    counts_at, lists_at, forms_at = ids_at + 2 * clauses, ids_at + 4 * clauses, len(value) - clauses
    bitmaps = np.frombuffer(value, LITTLE, maps * CHUNK_WORDS, BLOCK_HEADER.size)
    ids = np.frombuffer(value, U16, clauses, ids_at)
    counts = np.frombuffer(value, U16, clauses, counts_at).astype(np.int32)
    offsets = np.frombuffer(value, U16, (forms_at - lists_at) // 2, lists_at)
    forms = np.frombuffer(value, np.uint8, clauses, forms_at)
    assert int(counts[forms == Form.LIST].sum()) * 2 == forms_at - lists_at, "lists as long as said"
    assert np.count_nonzero(forms == Form.BITMAP) == maps, "as many bitmaps as said"
    return MatchBlock(
        ids + np.int64(base),
        forms,
        counts,
        places_of(forms, counts),
        offsets,
        bitmaps.reshape(maps, CHUNK_WORDS),
    )


def decode_hits(value: bytes, clause_id: ClauseId) -> Page | None:
    """Return `decode_block(value).page(clause_id)` without decoding the rest: some microseconds."""
    form, clauses, maps, base = BLOCK_HEADER.unpack_from(value)
    assert form == BLOCK, "a block is of a form that is known"
    ids_at, forms_at = BLOCK_HEADER.size + maps * BITMAP_BYTES, len(value) - clauses
    ids = np.frombuffer(value, U16, clauses, ids_at)
    at = int(ids.searchsorted(np.uint16(clause_id - base)))
    if at == clauses or ids[at] != clause_id - base:
        return None
    if value[forms_at + at] == Form.UNKEPT:
        return UNKEPT
    if value[forms_at + at] == Form.BITMAP:
        place = value.count(Form.BITMAP, forms_at, forms_at + at)
        begin = BLOCK_HEADER.size + place * BITMAP_BYTES
        return Page(None, _bitmap(value[begin : begin + BITMAP_BYTES]))
    counts = np.frombuffer(value, U16, at + 1, ids_at + 2 * clauses)
    before = np.frombuffer(value, np.uint8, at, forms_at) == Form.LIST
    begin = ids_at + 4 * clauses + 2 * int(counts[:at][before].sum())
    return Page(np.frombuffer(value[begin : begin + 2 * int(counts[at])], U16), None)


def in_order(block: MatchBlock) -> MatchBlock:
    """Return the block with its lists and bitmaps in the order of its clauses."""
    if np.array_equal(block.places, places_of(block.forms, block.counts)):
        return block
    return block.among(slice(0, len(block)))


def places_of(forms: NDArray[np.uint8], counts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return where lists and bitmaps are that lie in the order of their clauses."""
    lists, maps = forms == Form.LIST, forms == Form.BITMAP
    lengths = counts[lists]
    places = np.full(len(forms), UNPLACED, dtype=np.int32)
    places[lists] = np.cumsum(lengths) - lengths
    places[maps] = np.arange(np.count_nonzero(maps))
    return places


def _bitmap(value: bytes) -> bitarray:
    bits = bitarray(endian="little")
    bits.frombytes(value)
    return bits


def _total(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many there are before each entry, and behind the last: one more than entries."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
