"""A clause's hits out of blocks, against sets of rows; compiled, and as plain Python with arrays for addresses."""

import numpy as np
from hypothesis import given, strategies as st

from psoup.engine.kernels.block_rows import WIDTH, locate, write_rows
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.match_block import Form, Keeping
from tests.engine.kernels import twins
from tests.engine.results.blocks import block_of, rows_drawn


def tables(blocks):
    """Return the table of blocks with addresses, and the one with arrays; None = no block."""
    real = np.zeros((len(blocks), WIDTH), dtype=np.int64)
    plain = np.zeros((len(blocks), WIDTH), dtype=object)
    for chunk, block in enumerate(blocks):
        if block is not None:
            arrays = [*block.entries, block.offsets, block.bitmaps]
            real[chunk] = [*(array.ctypes.data for array in arrays), len(block)]
            for at, array in enumerate(arrays):
                plain[chunk, at] = array.ravel()
            plain[chunk, WIDTH - 1] = len(block)
    return real, plain


blocks_drawn = st.lists(
    st.none()
    | st.tuples(
        st.dictionaries(
            st.integers(1, 9),
            st.tuples(st.integers(0, 2**32), st.sampled_from([1, 3, 256, 257, 4_096])),
            min_size=1,
            max_size=5,
        ),
        st.sampled_from(list(Keeping)),
    ),
    min_size=1,
    max_size=4,
)


@given(blocks_drawn, st.integers(0, 10), st.integers(0, 3))
def test_hits_of_any_blocks_differential_agree_with_sets(drawn, clause_id, first_chunk):
    """Lists and bitmaps become rows, what is not kept is told, and a clause that is not there has none."""
    hits = [
        None if one is None else {key: rows_drawn(*how) for key, how in one[0].items()}
        for one in drawn
    ]
    blocks = [
        None if rows is None or one is None else block_of(rows, one[1])
        for rows, one in zip(hits, drawn, strict=True)
    ]
    real, plain = tables(blocks)
    for find, write, table in (
        (locate, write_rows, real),
        (twins.plainly(locate), twins.plainly(write_rows), plain),
    ):
        found = np.zeros((len(blocks), 3), dtype=np.int64)
        kept = find(table, clause_id, found)
        rows = np.full(kept, -1, dtype=np.int64)
        write(table, found, first_chunk * CHUNK_ROWS, rows)
        expected = []
        for chunk, own in enumerate(hits):
            matched = sorted(() if own is None else own.get(clause_id, ()))
            assert len(matched) == found[chunk, 1]
            if matched and found[chunk, 0] != Form.UNKEPT:
                expected += [(first_chunk + chunk) * CHUNK_ROWS + row for row in matched]
        assert expected == rows.tolist()
