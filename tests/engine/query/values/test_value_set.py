"""Value sets against Python sets: a small universe per type, edges and NULL among it."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.values.expression import CompareOp
from psoup.engine.query.values.value_set import (
    EVERY_VALUE,
    EVERYTHING,
    INT64_MAX,
    INT64_MIN,
    NO_VALUE,
    NULL_ALONE,
    Interval,
    ValueSet,
    intersection,
    values_among,
    values_between,
    values_where,
    values_where_all,
)
from tests.reference_values import _compare

UNIVERSES: dict[str, list[Any]] = {
    "int64": [INT64_MIN, INT64_MIN + 1, -1, 0, 1, 2, 5, INT64_MAX - 1, INT64_MAX],
    "float64": [-1e308, -1.5, -0.0, 0.0, 5e-324, 0.5, 2.0, 1e308],
    "bool": [False, True],
    "string": ["", "a", "aa", "ab", "b", "é", "日", "𝄞"],
}


@st.composite
def sets_and_members(draw, kind):
    """Draw a value set made by the algebra, and the members that Python says it has."""
    universe = UNIVERSES[kind]
    constants = st.sampled_from(universe)
    match draw(st.integers(0, 6)):
        case 0:
            among = draw(st.lists(constants, max_size=4))
            return values_among(among), {v for v in universe if v in among}
        case 1:
            one, members = draw(sets_and_members(kind))
            return one.complement(), set(universe) - members
        case 2:
            (one, left), (other, right) = draw(st.tuples(*[sets_and_members(kind)] * 2))
            return one.union(other), left | right
        case 3:
            (one, left), (other, right) = draw(st.tuples(*[sets_and_members(kind)] * 2))
            return intersection((one, other)), left & right
        case 4:
            low, past = draw(constants), draw(st.none() | constants)
            found = {v for v in universe if v >= low and (past is None or v < past)}
            return values_between(low, past), found
        case _:
            comparison = st.tuples(st.sampled_from(list(CompareOp)), constants)
            asked = draw(st.lists(comparison, min_size=1, max_size=3))
            meeting = values_where(*asked[0]) if len(asked) == 1 else values_where_all(asked)
            return meeting, {v for v in universe if all(_compare(op, v, one) for op, one in asked)}


@pytest.mark.parametrize("kind", UNIVERSES)
def test_oracle_value_set_of_any_algebra_holds_what_a_python_set_holds(kind):
    """Constructors, union, intersection and complement agree with sets over the universe."""

    @given(sets_and_members(kind))
    def check(drawn):
        found, members = drawn
        assert members == {v for v in UNIVERSES[kind] if found.contains(v)}
        assert not found.contains(None)
        assert_normal(found)

    check()


@pytest.mark.parametrize("kind", UNIVERSES)
def test_oracle_intersection_of_any_number_of_sets_holds_what_all_of_them_hold(kind):
    """None, one and many; of single intervals, which are cut without a sweep, and of others."""

    @given(st.lists(sets_and_members(kind), max_size=4))
    def check(drawn):
        members = set(UNIVERSES[kind]).intersection(*(members for _, members in drawn))
        found = intersection([one for one, _ in drawn])
        assert members == {v for v in UNIVERSES[kind] if found.contains(v)}
        assert found.null == (drawn == [])
        assert_normal(found)

    check()


@pytest.mark.parametrize("kind", UNIVERSES)
def test_value_set_reached_on_two_ways_is_equal(kind):
    """De Morgan holds as equality of values: the normal form is one."""

    @given(sets_and_members(kind), sets_and_members(kind))
    def check(one, other):
        left, right = one[0], other[0]
        assert left.union(right).complement() == intersection(
            (left.complement(), right.complement())
        )
        assert left == left.complement().complement()
        assert left.union(right) == right.union(left)

    check()


def assert_normal(found: ValueSet) -> None:
    """Assert that the intervals are ascending, not empty, and do not touch."""
    for interval in found.intervals:
        assert interval.low is not None or not interval.low_closed
        assert interval.high is not None or not interval.high_closed
        low, high = _end(interval.low), _end(interval.high)
        if low is not None and high is not None:
            assert low <= high
            assert low < high or (interval.low_closed and interval.high_closed)
    for one, following in zip(found.intervals, found.intervals[1:], strict=False):
        high, low = _end(one.high), _end(following.low)
        assert high is not None
        assert low is not None
        assert high <= low
        assert high < low or not (one.high_closed or following.low_closed)


def _end(value: Any) -> Any:
    """Return an end of an interval as something of its own type, which compares."""
    return value


@pytest.mark.parametrize(
    ("op", "constant", "intervals"),
    [
        (CompareOp.GT, 3, [Interval(4, True, None, False)]),
        (CompareOp.LT, 3, [Interval(None, False, 2, True)]),
        (CompareOp.NE, 3, [Interval(None, False, 2, True), Interval(4, True, None, False)]),
        (CompareOp.GE, INT64_MIN, [Interval(None, False, None, False)]),
        (CompareOp.LT, INT64_MIN, []),
        (CompareOp.GT, INT64_MAX, []),
        (CompareOp.LE, 2.5, [Interval(None, False, 2.5, True)]),
        (CompareOp.GT, -0.0, [Interval(0.0, False, None, False)]),
        (CompareOp.EQ, True, [Interval(True, True, None, False)]),
        (CompareOp.EQ, False, [Interval(None, False, False, True)]),
        (CompareOp.LT, False, []),
        (CompareOp.GE, "", [Interval(None, False, None, False)]),
        (CompareOp.GT, "", [Interval("", False, None, False)]),
        (CompareOp.EQ, "", [Interval(None, False, "", True)]),
    ],
)
def test_values_where_at_the_edges_is_in_normal_form(op, constant, intervals):
    """Discrete ends are closed, ends at the edge of the type are open-ended, -0.0 is 0.0."""
    assert tuple(intervals) == values_where(op, constant).intervals


def test_value_set_null_belongs_where_it_is_put_alone():
    """NULL passes union and intersection by itself, and a complement never holds it."""
    assert EVERYTHING == EVERY_VALUE.union(NULL_ALONE)
    assert NO_VALUE == intersection((EVERY_VALUE, NULL_ALONE))
    assert NULL_ALONE == intersection((EVERYTHING, NULL_ALONE))
    assert EVERY_VALUE == NULL_ALONE.complement()
    assert [True, False, False] == [s.is_all for s in (EVERYTHING, EVERY_VALUE, NULL_ALONE)]
    assert [True, False] == [s.is_empty for s in (NO_VALUE, NULL_ALONE)]
    assert NULL_ALONE.contains(None)
