"""Pages: the smaller of two forms, the same hits in either."""

import numpy as np
import pytest

from engine.limits import CHUNK_ROWS
from engine.results.page import LIST_ROWS_MAX, page_of


@pytest.mark.parametrize("count", [0, 1, LIST_ROWS_MAX, LIST_ROWS_MAX + 1, CHUNK_ROWS])
def test_page_of_any_number_of_hits_gives_them_back(count):
    """Up to a sixteenth of the rows a list, past it a bitmap: the same rows either way."""
    hits = np.sort(np.random.default_rng(count).permutation(CHUNK_ROWS)[:count]).astype(np.uint16)
    page = page_of(hits)
    assert (count > LIST_ROWS_MAX) == (page.bitmap is not None)
    assert (count, [7 + hit for hit in hits.tolist()]) == (page.count, page.rows(7).tolist())
    assert min(2 * count, CHUNK_ROWS // 8) == page.nbytes
