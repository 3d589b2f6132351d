"""ORDER BY: the places of values in an order that is total, all of them or the first."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.invocation.shaped.sorting import FEW, SortKey, sorted_places
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType
from tests.reference_shapes import compared

VALUES = {
    ColumnType.INT64: st.sampled_from([-(2**63), -1, 0, 1, 7, 2**63 - 1]),
    ColumnType.FLOAT64: st.sampled_from([-1e308, -0.0, 0.0, 5e-324, 2.5]),
    ColumnType.BOOL: st.booleans(),
    ColumnType.STRING: st.sampled_from(["", "a", "B", "ä", "\U0001f600", "ab"]),
    ColumnType.TIMESTAMP: st.integers(-5, 5),
}


def column(kind: ColumnType, values: list[object]) -> Column:
    """Return values as a column, whose dictionary is in no order and has texts that none uses."""
    valid = np.array([one is not None for one in values], dtype=np.bool_)
    if kind is ColumnType.STRING:
        texts = ["unused", *dict.fromkeys(str(one) for one in reversed(values) if one is not None)]
        codes = [0 if one is None else texts.index(str(one)) for one in values]
        return Column(kind, np.array(codes, np.int32), valid, tuple(texts))
    return Column(kind, np.array([one or 0 for one in values], DTYPES[kind]), valid)


@st.composite
def tables(draw):
    """Draw columns of NULLs and values, how each is sorted by, and how many of the first are wanted."""
    count = draw(st.integers(0, 40))
    keys = []
    for kind in draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3)):
        some = st.one_of(st.none(), VALUES[kind])
        values = draw(st.lists(some, min_size=count, max_size=count))
        keys.append((kind, values, draw(st.booleans()), draw(st.booleans())))
    first = st.one_of(st.none(), st.integers(0, 45), st.integers(0, count // FEW))
    return count, keys, draw(first)


@given(tables())
def test_places_are_those_of_a_stable_sort_naive_twin(table):
    """Whatever the types, NULLs and directions; the first of them are the first of all of them."""
    count, keys, first = table
    how = [(descending, nulls_first) for _, _, descending, nulls_first in keys]
    rows = [tuple(values[row] for _, values, _, _ in keys) for row in range(count)]
    expected = sorted(
        range(count),
        key=_key(rows, how),
    )
    given_keys = [SortKey(column(kind, values), *rest) for kind, values, *rest in keys]
    found = sorted_places(given_keys, count, first=first)
    assert expected[:first] == found.tolist()


def _key(rows, how):
    from functools import cmp_to_key

    return cmp_to_key(lambda left, right: compared(rows[left], rows[right], how))


@pytest.mark.parametrize("nulls", [0, 2, 20])
def test_few_of_many_equal_values_are_the_first_of_them(nulls):
    """Of those that are equal to the last that is wanted none is passed over, be they values or NULLs."""
    values: list[object] = [*[1] * 20, *[None] * nulls, 0]
    key = SortKey(column(ColumnType.INT64, values), nulls_first=True)
    expected = [*range(20, 20 + nulls), 20 + nulls, 0, 1, 2]
    assert expected[:4] == sorted_places([key], len(values), first=4).tolist()


@pytest.mark.parametrize("first", [None, 0, 2, 9])
def test_without_keys_places_are_as_they_were(first):
    """There is nothing to sort by."""
    assert list(range(5))[:first] == sorted_places([], 5, first=first).tolist()
