"""Which rows satisfy which clause in the stand-in for the engine, and in which form hits are kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from bitarray import bitarray
from numpy.typing import NDArray

from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.match_block import UNPLACED, Form, MatchBlock
from psoup.engine.results.page import LIST_ROWS_MAX, UNKEPT, Page

DENSITIES = (1 / 512, 1 / 4, 1.0)


def hits(clause_id: int, first: int, past: int) -> NDArray[np.int64]:
    """Return the rows in `[first, past)` that satisfy the clause, ascending."""
    rows = np.arange(first, past, dtype=np.int64)
    mixed = (rows * 2_654_435_761 + clause_id * 40_503) % 2**32
    return rows[mixed < DENSITIES[clause_id % len(DENSITIES)] * 2**32]


def offsets(clause_id: int, chunk: int) -> NDArray[np.uint16]:
    """Return the same for one chunk, as offsets."""
    first = chunk * CHUNK_ROWS
    return (hits(clause_id, first, first + CHUNK_ROWS) - first).astype(np.uint16)


def page_of(clause_id: int, found: NDArray[np.uint16]) -> Page | None:
    """Return hits in the form that this clause keeps so many in."""
    dense = len(found) > LIST_ROWS_MAX
    if dense and clause_id % 2 == 0:
        return UNKEPT
    if dense and clause_id % 5:
        bits = bitarray(CHUNK_ROWS, endian="little")
        bits[found.astype(int).tolist()] = 1
        return Page(None, bits)
    return Page(found, None) if len(found) else None


def block_of(pages: Mapping[Any, Page], counts: Mapping[Any, int]) -> MatchBlock:
    """Return pages of one chunk as a block, lists and bitmaps in another order than the clauses."""
    ids = sorted(pages)
    places = dict.fromkeys(ids, UNPLACED)
    forms, length = {}, 0
    lists: list[NDArray[np.uint16]] = []
    maps: list[Words] = []
    for clause_id in reversed(ids):
        found, bits = pages[clause_id].offsets, pages[clause_id].bitmap
        forms[clause_id] = Form.UNKEPT if bits is None else Form.BITMAP
        if bits is not None:
            places[clause_id] = len(maps)
            maps.append(np.frombuffer(bits.tobytes(), LITTLE))
        if found is not None:
            forms[clause_id], places[clause_id] = Form.LIST, length
            length += len(found)
            lists.append(found)
    return MatchBlock(
        np.array(ids, dtype=np.int64),
        np.array([forms[clause_id] for clause_id in ids], dtype=np.uint8),
        np.array([counts[clause_id] for clause_id in ids], dtype=np.int32),
        np.array([places[clause_id] for clause_id in ids], dtype=np.int32),
        np.concatenate([*lists, np.empty(0, np.uint16)]),
        np.array(maps, dtype=LITTLE).reshape(len(maps), CHUNK_WORDS),
    )
