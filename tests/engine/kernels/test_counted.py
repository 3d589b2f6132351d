"""Values of a narrow span counted into cells between edges, against comparing each value with each bound."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.kernels import counted
from tests.engine.kernels import twins
from tests.engine.kernels.twins import integers

ENDS = [-(2**63), 2**63 - 1]


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.sampled_from([(0, 0), (-3, 4), (2**63 - 8, 2**63 - 1), (-(2**63), -(2**63) + 90)]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.data(),
)
def test_counted_rows_of_any_bounds_differential_are_those_below(seed, span, nulls, data):
    """Below, and below or equal, outside of the span too: each edge has its bitmap, and rows come by cell."""
    least, most = span
    near = st.sampled_from([*ENDS, least, most]) | st.integers(least, most)
    lows, highs = (data.draw(st.lists(near, max_size=6)) for _ in range(2))
    rng = np.random.default_rng(seed)
    values = integers([least + step for step in rng.integers(0, most - least + 1, 4_096).tolist()])
    null_rows = set(np.flatnonzero(rng.random(4_096) < nulls).tolist())
    values[sorted(null_rows)] = ENDS[seed % 2]
    held = [(row, v) for row, v in enumerate(values.tolist()) if row not in null_rows]
    expected = [{row for row, v in held if v < low} for low in lows]
    expected += [{row for row, v in held if v <= high} for high in highs]
    parts = np.zeros((most - least + 3, 8), dtype=np.uint64)
    for mode in twins.modes(counted):
        cells = np.zeros(most - least + 3, dtype=np.int32)
        edges = np.full(len(expected), -7, dtype=np.int32)
        counted.find_edges(integers(lows), least, most, edges, cells, up_to=False)
        counted.find_edges(integers(highs), least, most, edges[len(lows) :], cells, up_to=True)
        asked = sorted(set(edges.tolist()))
        assert asked == np.flatnonzero(cells).tolist(), mode
        assert len(asked) == counted.number_cells(cells), mode
        bitmaps = np.full((len(asked) + 1, 64), 7, dtype=np.uint64)
        counts, rows = np.zeros((2, 4_096), dtype=np.int32)
        words = twins.words_from(null_rows, 64)
        counted.put_into_cells(values, words, least, cells, parts, bitmaps[:-1], counts, rows)
        assert not parts.any(), "the room is as it was"
        assert [7] * 64 == bitmaps[-1].tolist(), "what nobody asked for is not written"
        assert list(range(4_096)) == sorted(rows.tolist()), mode
        numbers = np.full(len(edges), -7, dtype=np.int32)
        counted.rows_below(edges, cells, counts, 3, numbers)
        for below, count, number in zip(expected, edges.tolist(), numbers.tolist(), strict=True):
            assert below == twins.bits_of(bitmaps[number - 3]) == set(rows[:count].tolist()), mode


@pytest.mark.parametrize("span", [1, 4_096])
def test_counted_rows_of_a_whole_span_are_in_order(span):
    """Where every edge is asked for rows come in order of values, each number of rows with its bitmap."""
    values = np.random.default_rng(7).integers(0, span, 4_096)
    cells = np.ones(span + 2, dtype=np.int32)
    cells[-1] = 0
    parts, bitmaps = np.zeros((span + 2, 8), np.uint64), np.empty((span + 1, 64), np.uint64)
    counts, rows = np.zeros(span + 1, dtype=np.int32), np.empty(4_096, dtype=np.int32)
    assert span + 1 == counted.number_cells(cells)
    counted.put_into_cells(values, parts[0].repeat(8), 0, cells, parts, bitmaps, counts, rows)
    assert np.argsort(values, kind="stable").tolist() == rows.tolist()
    assert [0, *np.cumsum(np.bincount(values, minlength=span))] == counts.tolist()
    for edge in (0, span // 2, span):
        assert set(np.flatnonzero(values < edge).tolist()) == twins.bits_of(bitmaps[edge])
