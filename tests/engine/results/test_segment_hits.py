"""Hits of one segment in one piece, against a sorted list of rows."""

import numpy as np
from hypothesis import given, strategies as st

from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.results.segment_hits import hits_of

CHUNKS = SEGMENT_ROWS // CHUNK_ROWS


@given(st.integers(0, 2), st.integers(0, CHUNKS - 1), st.integers(1, CHUNKS), st.data())
def test_segment_hits_of_any_rows_oracle_are_counted_and_listed(segment, first, count, data):
    """Below any row there are as many as there are; listed they are the rows again."""
    first_chunk = segment * CHUNKS + first
    past_chunk = min(first_chunk + count, (segment + 1) * CHUNKS)
    begin, past = first_chunk * CHUNK_ROWS, past_chunk * CHUNK_ROWS
    edges = [*range(begin, past, CHUNK_ROWS // 2), past - 1]
    rows = sorted(data.draw(st.sets(st.sampled_from(edges) | st.integers(begin, past - 1))))
    hits = hits_of(np.array(rows, dtype=np.int64), first_chunk, past_chunk)
    assert (first_chunk, past_chunk) == (hits.first_chunk, hits.past_chunk)
    for row in {begin, past, *edges, *(row + 1 for row in rows), *rows}:
        assert sum(one < row for one in rows) == hits.below(row)
    listed = hits.rows(0, len(rows))
    assert rows == listed.tolist()
    assert np.int64 == listed.dtype
    assert rows == [hits.row(at) for at in range(len(rows))]
    assert rows[1:3] == hits.rows(1, min(3, len(rows))).tolist()
    assert hits.nbytes > 2 * len(rows)


def test_segment_hits_of_a_full_segment_count_its_last_row():
    """An offset of a segment fits two bytes, and the row behind it is no offset."""
    rows = np.arange(SEGMENT_ROWS, 2 * SEGMENT_ROWS)
    hits = hits_of(rows, CHUNKS, 2 * CHUNKS)
    assert SEGMENT_ROWS == hits.below(2 * SEGMENT_ROWS)
    assert SEGMENT_ROWS - 1 == hits.below(2 * SEGMENT_ROWS - 1)
    assert 2 * SEGMENT_ROWS - 1 == hits.row(SEGMENT_ROWS - 1)
