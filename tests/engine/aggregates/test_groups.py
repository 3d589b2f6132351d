"""Rows in groups: numbered in order of their keys, NULL last, equal values together."""

import numpy as np
import pytest

from psoup.engine.aggregates import ordinals
from psoup.engine.aggregates.groups import grouped
from psoup.engine.kernels.grouping import TOO_MANY_STEPS
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.columns import chunk_values, column_of


def unsigned(value):
    """Return a value; zero without its sign."""
    return value + 0.0 if isinstance(value, float) else value


def in_order(rows):
    """Return distinct rows in order, NULL last."""
    return sorted(
        set(rows), key=lambda row: [(value is None, 0 if value is None else value) for value in row]
    )


@pytest.mark.parametrize(
    "kinds", [[kind] for kind in Type] + [[Type.STRING, Type.FLOAT64], list(Type)]
)
@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
def test_grouped_differential_numbers_distinct_keys_in_order(kinds, nulls):
    """Keys of every type, alone and together, with extremes: as Python sorts them."""
    for seed in range(4):
        drawn = [
            chunk_values(kind, seed=seed * 9 + place, count=200, nulls=nulls)
            for place, kind in enumerate(kinds)
        ]
        rows = list(zip(*([unsigned(value) for value in one] for one in drawn), strict=True))
        found = grouped([column_of(kind, one) for kind, one in zip(kinds, drawn, strict=True)], 200)
        expected = in_order(rows)
        assert len(expected) == found.count
        assert expected == list(zip(*(key.to_list() for key in found.keys), strict=True))
        assert [expected.index(row) for row in rows] == found.labels.tolist()


def test_grouped_by_zeros_has_one_group_without_a_sign():
    """-0.0 equals 0.0, and is shown as 0.0."""
    found = grouped([column_of(Type.FLOAT64, [-0.0, 0.0, -0.0])], 3)
    assert [0, 0, 0] == found.labels.tolist()
    assert ["0x0.0p+0"] == [float(value).hex() for value in found.keys[0].values]


def test_grouped_without_keys_is_one_group_also_of_nothing():
    """GROUP BY () has a row over no rows; keys without rows have no group."""
    assert (1, ()) == (grouped([], 0).count, grouped([], 0).keys)
    assert [0, 0, 0] == grouped([], 3).labels.tolist()
    assert 0 == grouped([column_of(Type.INT64, []), column_of(Type.STRING, [])], 0).count


@pytest.mark.parametrize("spread", [1, 10**9])
def test_grouped_by_wide_numbers_of_many_groups_is_unique(spread):
    """Where no table of their span can be: hashed, and put in order; 100,000 groups."""
    keys = np.random.default_rng(1).integers(-50_000, 50_000, 300_000) * spread
    found = grouped([Column(Type.INT64, keys)], len(keys))
    distinct, labels = np.unique(keys, return_inverse=True)
    assert np.array_equal(distinct, found.keys[0].values)
    assert np.array_equal(labels, found.labels)


def test_grouped_by_numbers_that_collide_is_unique_all_the_same(monkeypatch):
    """Numbers that were chosen to meet in a hash table are sorted."""
    keys = np.random.default_rng(2).integers(-(2**62), 2**62, 1_000).repeat(2)
    expected = np.unique(keys, return_inverse=True)[1]
    assert np.array_equal(expected, grouped([Column(Type.INT64, keys)], len(keys)).labels)
    monkeypatch.setattr(ordinals, "number_distinct", lambda *_: TOO_MANY_STEPS)
    assert np.array_equal(expected, grouped([Column(Type.INT64, keys)], len(keys)).labels)


def test_grouped_by_few_texts_of_a_large_dictionary_reads_those_alone():
    """A dictionary may hold far more texts than a page has rows."""
    texts = [f"t{number}" for number in range(70_000)]
    codes = np.array([69_999, 5, 69_999, 10], dtype=np.int32)
    found = grouped([Column(Type.STRING, codes, None, texts)], 4)
    assert ["t10", "t5", "t69999"] == found.keys[0].to_list()
    assert [2, 1, 2, 0] == found.labels.tolist()


def test_grouped_by_texts_whose_nulls_have_no_text_leaves_their_codes_alone():
    """Under NULL a code may be that of no text."""
    column = Column(Type.STRING, np.array([0, 99], dtype=np.int32), np.array([True, False]), ["a"])
    found = grouped([column], 2)
    assert [0, 1] == found.labels.tolist()
    assert ["a", None] == found.keys[0].to_list()


def test_edges_of_rows_in_order_are_where_groups_begin():
    """Labels that ascend tell where the rows of each group lie."""
    edges = grouped([column_of(Type.INT64, [4, 4, 9])], 3).members.edges
    assert edges is not None
    assert [0, 2, 3] == edges.tolist()
    assert grouped([column_of(Type.INT64, [9, 4, 4])], 3).members.edges is None
