"""Counts of a unit to microseconds: whole columns and single values agree, and nothing is rounded."""

import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from psoup.engine.limits import TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.tuples.instants import instants_of
from psoup.engine.tuples.time_unit import TimeUnit, instant_of

COUNTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**12), 10**12),
    st.integers(TIMESTAMP_US_MIN - 5, TIMESTAMP_US_MIN + 5),
    st.integers(TIMESTAMP_US_MAX - 5, TIMESTAMP_US_MAX + 5),
)
EDGES = [
    (unit, edge)
    for unit, per_us in ((TimeUnit.S, 10**6), (TimeUnit.MS, 1_000), (TimeUnit.US, 1))
    for edge in (TIMESTAMP_US_MIN // per_us, TIMESTAMP_US_MAX // per_us)
]


@given(st.lists(st.none() | COUNTS, max_size=5), st.sampled_from(TimeUnit))
@example([], TimeUnit.NS)
@example([None], TimeUnit.S)
def test_columns_are_converted_as_their_values_are(counts, unit):
    """All of them and NULL for NULL, or nothing where one value is no instant."""
    each = [None if count is None else instant_of(count, unit) for count in counts]
    wrong = any(us is None and count is not None for us, count in zip(each, counts, strict=True))
    found = instants_of(pa.array(counts, pa.int64()), unit)
    assert (None if wrong else each) == (None if found is None else found.to_pylist())


@pytest.mark.parametrize(("unit", "edge"), EDGES)
def test_the_first_and_the_last_instant_are_taken_and_none_beyond(unit, edge):
    """The years 1 to 9999, in each unit."""
    beyond = edge + (1 if edge > 0 else -1)
    assert None is not instant_of(edge, unit)
    assert None is instant_of(beyond, unit)
    assert None is instants_of(pa.array([0, beyond], pa.int64()), unit)


def test_nanoseconds_that_are_no_whole_microseconds_are_none():
    """Nothing is rounded."""
    assert -2 == instant_of(-2_000, TimeUnit.NS)
    assert None is instant_of(-2_001, TimeUnit.NS)
    assert None is instants_of(pa.array([1_000, 1_001], pa.int64()), TimeUnit.NS)
