"""Pages: either form gives the hits back, and one that is not kept has none to tell."""

import numpy as np
import pytest

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Keeping
from psoup.engine.results.page import LIST_ROWS_MAX, UNKEPT, Page, bitmap_of
from tests.engine.kernels import twins
from tests.engine.results.blocks import block_of, rows_drawn


@pytest.mark.parametrize("count", [1, LIST_ROWS_MAX, LIST_ROWS_MAX + 1, CHUNK_ROWS])
def test_page_of_any_number_of_hits_gives_them_back_in_the_smaller_form(count):
    """Up to a sixteenth of the rows a list, past it a bitmap: the same rows either way."""
    hits = rows_drawn(count, count)
    page = block_of({7: hits}, Keeping.SMALLER).page(ClauseId(7))
    assert page is not None
    assert (count > LIST_ROWS_MAX) == (page.bitmap is not None)
    assert (True, count) == (page.kept, page.count)
    assert [7 + hit for hit in sorted(hits)] == page.rows(7).tolist()
    assert min(2 * count, CHUNK_ROWS // 8) == page.nbytes


@pytest.mark.parametrize("rows", [(), (0,), (4_095,), (0, 63, 64, 4_095)])
def test_page_of_words_at_their_edges_gives_the_rows_back(rows):
    """The first and the last row of a chunk survive the way through bytes."""
    page = Page(None, bitmap_of(twins.words_from(set(rows), 64)))
    assert (list(rows), len(rows)) == (page.rows(0).tolist(), page.count)
    assert np.int64 == page.rows(0).dtype


def test_page_that_is_not_kept_has_no_rows_to_tell():
    """It takes nothing, and asking it for rows is a bug of the caller."""
    assert (False, 0, 0) == (UNKEPT.kept, UNKEPT.count, UNKEPT.nbytes)
    with pytest.raises(AssertionError):
        UNKEPT.rows(0)
