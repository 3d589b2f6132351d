"""Values in order and bitmaps of the smallest rows, against counting one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.kernels import order
from tests.engine.kernels import twins

INT_EDGES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]
FLOAT_EDGES = [-np.inf, -1.7976931348623157e308, -1.0, -0.0, 0.0, 5e-324, 1.0, 1e308, np.inf]
DTYPES: dict[str, tuple[Any, list[Any]]] = {
    "int64": (np.int64, INT_EDGES),
    "float64": (np.float64, FLOAT_EDGES),
}


@pytest.mark.parametrize("name", DTYPES)
@settings(max_examples=60)
@given(data=st.data())
def test_places_of_any_bounds_differential_are_counted(name, data):
    """Below, and below or equal: equal values, extremes, both zeros, nothing at all."""
    dtype, edges = DTYPES[name]
    listed = st.lists(st.sampled_from(edges), max_size=20).map(sorted)
    values, bounds = data.draw(listed), data.draw(listed)
    ordered, asked = np.array(values, dtype), np.array(bounds, dtype)
    for kernel, twin in (
        (order.places_below, twins.places_below),
        (order.places_up_to, twins.places_up_to),
    ):
        expected = twin(values, bounds)
        assert expected == kernel(ordered, asked).tolist()
        assert expected == twins.plainly(kernel)(ordered, asked).tolist()
        assert np.int32 == kernel(ordered, asked).dtype


@settings(max_examples=30)
@given(
    st.sampled_from([0, 1, 63, 64, 65, 4_095, 4_096]),
    st.integers(0, 2**32),
    st.data(),
)
def test_prefixes_of_any_places_differential_are_the_first_rows(count, seed, data):
    """Each place asked for has the bitmap of so many rows in order; each bitmap is there once."""
    ranked = np.random.default_rng(seed).permutation(4_096)[:count].astype(np.int32)
    places = st.lists(st.integers(0, count) | st.sampled_from([0, count]), max_size=8)
    low = np.array(data.draw(places), dtype=np.int32)
    high = np.array(data.draw(places), dtype=np.int32)
    bitmaps, low_at, high_at = order.prefixes(ranked, low, high)
    assert len(set(low.tolist()) | set(high.tolist())) == len(bitmaps)
    assert (len(bitmaps), 64) == bitmaps.shape
    for asked, at in ((low, low_at), (high, high_at)):
        for place, row in zip(asked.tolist(), at.tolist(), strict=True):
            assert set(ranked[:place].tolist()) == twins.bits_of(bitmaps[row])
    again = np.empty_like(bitmaps)
    row_of = np.zeros(count + 1, dtype=np.int32)
    plain_low, plain_high = np.empty_like(low), np.empty_like(high)
    assert len(bitmaps) == twins.plainly(order._number)(low, high, row_of, plain_low, plain_high)
    assert (low_at.tolist(), high_at.tolist()) == (plain_low.tolist(), plain_high.tolist())
    twins.plainly(order._fill_prefixes)(ranked, row_of, again)
    assert bitmaps.tolist() == again.tolist()
