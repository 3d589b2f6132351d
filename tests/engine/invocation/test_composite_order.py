"""Places of composites sorted by several columns, in one number each or column by column, against Python's sort."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.invocation.composite_hits import KEY_BITS, sorted_places

WIDE = 2 ** (KEY_BITS - 1)


@given(
    st.lists(st.integers(1, WIDE), min_size=1, max_size=4).flatmap(
        lambda tops: st.lists(
            st.tuples(*(st.integers(-top if top < 9 else 0, top) for top in tops)),
            min_size=1,
            max_size=30,
            unique=True,
        )
    )
)
def test_places_sorted_by_columns_of_any_span_oracle_is_sorting_tuples(listed):
    """First column first; whether one number holds them all or not."""
    columns = list(np.array(listed, dtype=np.int64).T)
    places = sorted_places(columns).tolist()
    assert sorted(listed) == [listed[place] for place in places]


@pytest.mark.parametrize("bits", [(31, 32), (31, 33), (63, 0), (63, 1), (1, 62), (2, 62), (0, 0)])
def test_places_of_columns_that_just_fit_one_number_are_sorted_at_once(bits, monkeypatch):
    """Up to 63 bits of spans are one sort; the next wider ones are told apart as well."""
    listed = [(0, 0), *{(2 ** bits[0] - 1, 0), (0, 2 ** bits[1] - 1)} - {(0, 0)}]
    asked: list[int] = []
    lexsort = np.lexsort

    def counted(columns):
        asked.append(len(columns))
        return lexsort(columns)

    monkeypatch.setattr(np, "lexsort", counted)
    places = sorted_places(list(np.array(listed, dtype=np.int64).T)).tolist()
    assert sorted(listed) == [listed[place] for place in places]
    assert (sum(bits) > KEY_BITS) == bool(asked)
