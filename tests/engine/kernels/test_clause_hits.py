"""Forms, places and lists of a clause's chunks, against sets of rows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels.clause_hits import place, write_lists
from psoup.engine.kernels.hits import SLACK
from tests.engine.kernels import twins

LIST, DENSE = 5, 6


@pytest.mark.parametrize("list_max", [0, 3, 4_096])
@given(data=st.data())
def test_place_and_write_lists_of_any_chunks_oracle_keep_every_hit(list_max, data):
    """Lists lie one behind the other, chunks without hits have empty ones, what is no list is numbered."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 3, 4, 64, 4_096]), max_size=6))
    rows = [sorted(rng.permutation(4_096)[:size].tolist()) for size in sizes]
    words = np.concatenate(
        [np.empty(0, dtype=np.uint64), *(twins.words_from(set(one), 64) for one in rows)]
    )
    counts = np.array(sizes, dtype=np.int32)
    lists = [one for one in rows if 0 < len(one) <= list_max]
    for kernel, writer in (
        (place, write_lists),
        (twins.plainly(place), twins.plainly(write_lists)),
    ):
        forms = np.full(len(sizes), 9, dtype=np.uint8)
        places = np.full(len(sizes), -9, dtype=np.int32)
        listed, others = kernel(counts, list_max, (LIST, DENSE), forms, places)
        assert (sum(map(len, lists)), sum(size > list_max for size in sizes)) == (listed, others)
        found = np.empty(listed + SLACK, dtype=np.uint16)
        writer(words, counts, list_max, found)
        assert [row for one in lists for row in one] == found[:listed].tolist()
        dense = 0
        for one, form, begin in zip(rows, forms.tolist(), places.tolist(), strict=True):
            if len(one) > list_max:
                assert (DENSE, dense) == (form, begin)
                dense += 1
            else:
                assert LIST == form
                assert one == found[begin : begin + len(one)].tolist()
