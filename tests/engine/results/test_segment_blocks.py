"""Blocks of one segment: what is written beside others while a reader looks something up."""

from dataclasses import replace

import numpy as np
import pytest

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.segment_blocks import NO_BLOCKS, SegmentBlocks
from tests.engine.results.blocks import block_of

CLAUSE = ClauseId(7)


def hits(blocks):
    """Return the hits of the clause in the first two chunks."""
    rows, unkept = blocks.rows(CLAUSE, 0, 2)
    assert [] == unkept
    return rows.tolist()


@pytest.mark.parametrize("between", ["_unknown", "_known"])
def test_block_beside_others_loses_none_that_a_reader_looks_up_meanwhile(between):
    """A reader fills the table between any two reads of it."""

    class Read(SegmentBlocks):
        __slots__ = ()

        def __getattribute__(self, name):
            found = super().__getattribute__(name)
            if name == between:
                blocks.rows(CLAUSE, 0, 1)
                self._known, self._unknown = blocks._known, blocks._unknown
            return found

    blocks = NO_BLOCKS.beside(0, block_of({CLAUSE: [5]}))
    read = Read(blocks.blocks, blocks.nbytes, blocks._known, blocks._unknown)
    both = read.beside(1, block_of({CLAUSE: [6]}))
    assert [5, CHUNK_ROWS + 6] == hits(both)
    both.check()


def test_block_of_a_chunk_that_is_written_again_is_noted_once():
    """However often nobody reads it, a chunk is filled in once, with the block that it has."""
    blocks = NO_BLOCKS
    for row in (1, 2, 3):
        blocks = blocks.beside(0, block_of({CLAUSE: [row]}))
    assert (0,) == blocks._unknown
    assert [3] == hits(blocks)


def test_block_whose_arrays_do_not_lie_in_one_piece_is_not_taken():
    """It is found where it is written, not by the first who reads it."""
    block = block_of({CLAUSE: [5], ClauseId(9): [6]})
    with pytest.raises(AssertionError, match="as they lie"):
        NO_BLOCKS.beside(0, replace(block, counts=np.repeat(block.counts, 2)[::2]))
