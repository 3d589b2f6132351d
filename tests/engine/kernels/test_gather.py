"""Values picked out by row, against single look-ups; compiled, and as plain Python with arrays for addresses."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.kernels import gather as module
from psoup.engine.kernels.gather import BYTES, LONGS, SHORTS, ascends, gather
from psoup.engine.limits import SEGMENT_ROWS
from tests.engine.kernels import twins

SEGMENTS, COLUMNS = 3, 4


def values_of(segment, column):
    """Return values of a column; the second and third by codes, but for one segment."""
    span = {1: 256, 2: 65_536}.get(column, 2**62) if segment else 2**62
    return np.random.default_rng((segment, column)).integers(-7, span - 7, SEGMENT_ROWS)


HELD = [[values_of(segment, column) for column in range(COLUMNS)] for segment in range(SEGMENTS)]
CODED = {
    (s, c): (HELD[s][c] + 7).astype(np.uint8 if c == 1 else np.uint16)
    for s in (1, 2)
    for c in (1, 2)
}


def columns_of(*, plain):
    """Return how and where HELD lies; for plain Python the arrays themselves."""
    table = np.empty((SEGMENTS, COLUMNS, 3), dtype=object if plain else np.int64)
    for s, columns in enumerate(HELD):
        for c, column in enumerate(columns):
            array = CODED.get((s, c), column)
            form = {1: BYTES, 2: SHORTS, 8: LONGS}[array.itemsize]
            table[s, c] = (
                form,
                array if plain else array.ctypes.data,
                -7 if array.itemsize < 8 else 0,
            )
    return table


def plain_gather(*arguments):
    """Run the kernel as Python, all of it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_pick", "_copy"):
            patch.setattr(module, name, twins.plainly(getattr(module, name)))
        return twins.plainly(gather)(*arguments)


rows_held = st.lists(st.integers(0, SEGMENTS * SEGMENT_ROWS - 1), min_size=1, max_size=30)


@given(rows_held, st.lists(st.integers(0, COLUMNS - 1), max_size=5), st.integers(0, 4))
def test_gather_of_any_rows_differential_agrees_with_single_look_ups(offsets, columns, first):
    """Rows of one segment or of several, in any order, some twice; any columns."""
    first_row = first * SEGMENT_ROWS
    rows = np.array(offsets, dtype=np.int64) + first_row
    expected = twins.gathered(HELD, columns, first_row, rows.tolist())
    for kernel, plain in ((gather, False), (plain_gather, True)):
        found = np.full((len(columns), len(rows)), -1, dtype=np.int64)
        wanted = np.array(columns, dtype=np.int64)
        span = kernel(columns_of(plain=plain), wanted, first_row, rows, found)
        assert (rows.min(), rows.max()) == span
        assert expected == found.tolist()


@pytest.mark.parametrize("offset", [-1, SEGMENTS * SEGMENT_ROWS, -(2**40), 2**40])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_gather_of_a_row_that_is_not_held_writes_nothing(offset, place):
    """Below the first segment or past the last one, wherever it stands among the rows: told, nothing read."""
    rows = np.array([5, SEGMENT_ROWS, 7], dtype=np.int64)
    rows[place] = offset
    for kernel, plain in ((gather, False), (plain_gather, True)):
        found = np.full((1, 3), -1, dtype=np.int64)
        assert (0, -1) == kernel(columns_of(plain=plain), np.array([2]), 0, rows, found)
        assert [[-1, -1, -1]] == found.tolist()


def test_gather_at_the_edges_of_segments_differential_reads_the_right_one():
    """The first and the last row of each segment, back and forth."""
    edges = [s * SEGMENT_ROWS + at for s in range(SEGMENTS) for at in (0, SEGMENT_ROWS - 1)]
    rows = np.array(edges + edges[::-1], dtype=np.int64)
    found = np.empty((1, len(rows)), dtype=np.int64)
    gather(columns_of(plain=False), np.array([1]), 0, rows, found)
    assert twins.gathered(HELD, [1], 0, rows.tolist()) == found.tolist()


@pytest.mark.parametrize("begin", [0, 3, SEGMENT_ROWS - 2, SEGMENT_ROWS, 2 * SEGMENT_ROWS - 1])
def test_gather_of_rows_without_a_gap_differential_agrees_with_single_look_ups(begin):
    """Within a segment, and over the end of one; a row that is missing, or stands twice, makes a gap."""
    columns = list(range(COLUMNS))
    for rows in (
        np.arange(begin, begin + 40),
        np.delete(np.arange(begin, begin + 40), 7),
        np.sort(np.append(np.arange(begin, begin + 40), begin + 9)),
    ):
        expected = twins.gathered(HELD, columns, 0, rows.tolist())
        for kernel, plain in ((gather, False), (plain_gather, True)):
            found = np.full((COLUMNS, len(rows)), -1, dtype=np.int64)
            span = kernel(columns_of(plain=plain), np.array(columns), 0, rows, found)
            assert (begin, begin + 39) == span
            assert expected == found.tolist()


def test_gather_of_rows_without_a_gap_past_a_segment_that_is_not_held():
    """Told, as of any other rows."""
    columns = columns_of(plain=False)
    columns[1, :, 0] = module.NOWHERE
    rows = np.arange(SEGMENT_ROWS - 5, SEGMENT_ROWS + 5)
    found = np.empty((1, 10), dtype=np.int64)
    assert (0, -1) == gather(columns, np.array([0]), 0, rows, found)


@given(st.lists(st.integers(-3, 3), max_size=12))
def test_ascends_of_any_values_agrees_with_sorting(values):
    """Equal neighbours ascend, one value and none do."""
    given_values = np.array(values, dtype=np.int64)
    assert (sorted(values) == values) == ascends(given_values)
    assert (sorted(values) == values) == twins.plainly(ascends)(given_values)
