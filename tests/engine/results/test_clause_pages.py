"""A clause's own pages against sets of rows, by every policy."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.kernels.bits import CHUNK_WORDS
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.results.clause_pages import RUN_CHUNKS, ClausePages, runs_of
from psoup.engine.results.match_block import Keeping
from psoup.engine.results.page import LIST_ROWS_MAX
from tests.engine.kernels import twins
from tests.engine.results.blocks import plain_page, rows_drawn

SIZES = [0, 1, LIST_ROWS_MAX, LIST_ROWS_MAX + 1, CHUNK_ROWS]


def pages_of(first_chunk, rows_by_chunk, keeping):
    """Return pages made of the words that a scan would give."""
    words = [twins.words_from(rows, CHUNK_WORDS) for rows in rows_by_chunk]
    counts = np.array([len(rows) for rows in rows_by_chunk], dtype=np.int32)
    made = ClausePages.of(first_chunk, np.concatenate(words), counts, keeping)
    made.check()
    return made


def expected_page(rows, keeping):
    """Return what the policy says of these hits, as `plain_page` does."""
    listed = len(rows) <= LIST_ROWS_MAX or keeping is Keeping.LISTS
    if not listed and keeping is Keeping.SPARSE:
        return "unkept"
    return "list" if listed else "bitmap", sorted(rows)


@pytest.mark.parametrize("keeping", list(Keeping))
@settings(max_examples=25)
@given(data=st.data())
def test_clause_pages_of_any_hits_oracle_keep_them_by_policy(keeping, data):
    """Every chunk with hits has its page, in the form that the policy gives it; others have none."""
    sizes = data.draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=7))
    first = data.draw(st.sampled_from([0, 5, RUN_CHUNKS + 3]))
    rows = [rows_drawn(first + at, size) for at, size in enumerate(sizes)]
    pages = pages_of(first, rows, keeping)
    expected = {
        first + at: expected_page(one, keeping) for at, one in enumerate(rows) if len(one) > 0
    }
    assert expected == {chunk: plain_page(page) for chunk, page in pages.pages()}
    assert len(expected) == len(pages)
    for chunk in range(first - 2, first + len(sizes) + 2):
        page = pages.page(chunk)
        assert expected.get(chunk) == (None if page is None else plain_page(page))
    kept = [told for told in expected.values() if told != "unkept"]
    payload = sum(2 * len(hits) if form == "list" else CHUNK_ROWS // 8 for form, hits in kept)
    assert payload + 9 * len(sizes) == pages.nbytes


def test_clause_pages_of_bitmaps_alone_are_the_words_themselves():
    """Nothing is copied where every chunk is dense."""
    words = np.full(2 * CHUNK_WORDS, 2**64 - 1, dtype=np.uint64)
    counts = np.full(2, CHUNK_ROWS, dtype=np.int32)
    assert np.shares_memory(words, ClausePages.of(0, words, counts, Keeping.SMALLER).bitmaps)


def test_clause_pages_know_their_run_and_their_last_segment():
    """A run goes with the last segment of which it has chunks."""
    chunks = SEGMENT_ROWS // CHUNK_ROWS
    for first, length, run, last in (
        (0, 1, 0, 0),
        (chunks - 1, 2, 0, 1),
        (RUN_CHUNKS, chunks, 1, 16),
        (2 * RUN_CHUNKS - 1, 1, 1, 31),
    ):
        pages = pages_of(first, [{1}] * length, Keeping.SMALLER)
        assert (run, last) == (pages.run, pages.last_segment)


@pytest.mark.parametrize(
    ("segments", "runs"),
    [(range(0), []), (range(1), [0]), (range(15, 17), [0, 1]), (range(16, 48), [1, 2])],
)
def test_runs_of_segments_are_those_that_they_lie_in(segments, runs):
    """None for none, and each once."""
    assert runs == list(runs_of(segments))
