"""Runs of rows that a span of time may lie in, against a look at every row."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.data import reach as reaching
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.reach import FullSegments, reach
from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from tests.engine.batches import SCHEMA, batch_of


def held(times, *, first_row=0):
    """Return the segments of rows dated so, one row after the other."""
    stem = DataSteM(SCHEMA, first_row=first_row)
    stem.build(batch_of([(time_us, 0, None) for time_us in times], first_tuple_id=1))
    return stem.segments


def ordered(count, *, late=()):
    """Return ascending times, 10 apart; at some rows one that is as late as the first."""
    return [0 if row in late else row * 10 for row in range(count)]


ROWS = 2 * SEGMENT_ROWS + CHUNK_ROWS + 100
LATE = {3 * CHUNK_ROWS + 5, SEGMENT_ROWS + 7}
TIMES = ordered(ROWS, late=LATE)
SEGMENTS = held(TIMES)
FULL = FullSegments.of((0, 1), SEGMENTS)
DATED = np.array(TIMES)

EDGES = sorted(
    edge
    for row in (0, CHUNK_ROWS, SEGMENT_ROWS, 2 * SEGMENT_ROWS, ROWS)
    for edge in (row - 1, row, row + 1)
    if 0 <= edge <= ROWS
)
rows_drawn = st.one_of(st.sampled_from(EDGES), st.integers(0, ROWS))


@given(rows_drawn, rows_drawn, st.none() | rows_drawn, rows_drawn, st.integers(-1, 1))
def test_reach_of_any_span_oracle_leaves_no_row_out_and_promises_no_other(
    one, other, begin, end, shift
):
    """Rows in no run are dated otherwise; those of a run that is inside are all dated so."""
    first_row, past_row = min(one, other), max(one, other) + 1
    past_row = min(past_row, ROWS)
    if first_row == past_row:
        return
    begin_us = None if begin is None else begin * 10 + shift
    end_us = end * 10 + shift
    found = reach(
        SEGMENTS, first_row=first_row, past_row=past_row, begin_us=begin_us, end_us=end_us
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reaching, "MANY", 0)
        together = reach(SEGMENTS, first_row, past_row, begin_us, end_us, full=FULL)
    assert found == together
    dated = (DATED <= end_us) & (begin_us is None or DATED >= begin_us)
    outside = np.ones(ROWS, dtype=np.bool_)
    for first, past, inside in found:
        assert first_row <= first < past <= past_row
        outside[first:past] = False
        assert not inside or dated[first:past].all()
    assert not (dated & outside)[first_row:past_row].any()
    for (_, past, inside), (first, _, following) in itertools.pairwise(found):
        assert past < first or (past == first and inside != following), "runs are as long as can be"


def test_reach_looks_at_chunks_where_an_end_cuts_a_segment():
    """Chunks inside are promised, the one that is cut is not, those outside are left out."""
    times = ordered(SEGMENT_ROWS)
    found = reach(
        held(times),
        first_row=10,
        past_row=SEGMENT_ROWS,
        begin_us=(2 * CHUNK_ROWS + 5) * 10,
        end_us=4 * CHUNK_ROWS * 10,
    )
    assert [
        (2 * CHUNK_ROWS, 3 * CHUNK_ROWS, False),
        (3 * CHUNK_ROWS, 4 * CHUNK_ROWS, True),
        (4 * CHUNK_ROWS, 5 * CHUNK_ROWS, False),
    ] == found


def test_reach_of_segments_inside_is_one_run():
    """Segments that lie inside as a whole are not looked into, and join."""
    found = reach(SEGMENTS, first_row=3, past_row=ROWS - 2, begin_us=None, end_us=max(TIMES))
    assert [(3, ROWS - 2, True)] == found


@pytest.mark.parametrize("begin_us", [None, 0, ROWS * 20])
def test_reach_into_segments_that_are_gone_is_refused(begin_us):
    """Whatever span is asked for: rows asked about are held, or the answer would not be whole."""
    left = {number: one for number, one in SEGMENTS.items() if number}
    for rows in ((SEGMENT_ROWS - 1, SEGMENT_ROWS + 1), (ROWS - 1, 3 * SEGMENT_ROWS + 1)):
        with pytest.raises(PageExpiredError):
            reach(left, first_row=rows[0], past_row=rows[1], begin_us=begin_us, end_us=10)
