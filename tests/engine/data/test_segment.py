"""What segments let go of: arrays that nobody reads any more."""

import weakref

from psoup.engine.data.data_stem import DataSteM
from psoup.engine.limits import SEGMENT_ROWS
from tests.engine.batches import SCHEMA, batch_of


def rows_of(count):
    return [(number, number, "abc"[number % 3]) for number in range(count)]


def test_segment_that_is_evicted_goes_though_the_next_one_is_open():
    """The open one has its texts, to share them once it is full, and none of its arrays."""
    stem = DataSteM(SCHEMA)
    stem.build(batch_of(rows_of(SEGMENT_ROWS + 10)))
    arrays = [weakref.ref(one) for one in (stem.segments[0].times, stem.segments[0].tuple_ids)]
    stem.evict(SEGMENT_ROWS)
    assert [1] == list(stem.segments)
    assert all(array() is None for array in arrays)


def test_codes_in_order_of_arrival_go_when_a_segment_is_full():
    """Narrow ones are read in their place."""
    stem, rows = DataSteM(SCHEMA), rows_of(SEGMENT_ROWS)
    stem.build(batch_of(rows[:-1]))
    codes = weakref.ref(stem.segments[0]._columns["t"].values)
    assert codes() is not None
    stem.build(batch_of(rows[-1:], first_tuple_id=SEGMENT_ROWS))
    assert codes() is None
