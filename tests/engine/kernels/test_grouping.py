"""Rows by group and the extremes of groups, compiled and plain, beside Python."""

import numpy as np
import pytest

from psoup.engine.kernels import extremes, grouping, span
from psoup.engine.kernels.order import sortable
from tests.engine.kernels import twins


@pytest.fixture(autouse=True, params=[False, True], ids=["compiled", "plain"])
def kernels(request):
    """The kernels compiled, or as the Python functions they were compiled from."""
    if not request.param:
        yield
        return
    with twins.all_plain(grouping, extremes, span), np.errstate(over="ignore"):
        yield


def test_number_distinct_numbers_in_order_of_first_rows():
    """Beyond the first table, which grows; both ends of int64."""
    rng = np.random.default_rng(1)
    values = rng.integers(-(2**63), 2**63 - 1, 1_500)
    values[3:5] = (-(2**63), 2**63 - 1)
    values = np.concatenate([values, values[::-1]])
    labels, distinct = np.empty((2, len(values)), dtype=np.int64)
    count = grouping.number_distinct(values, labels, distinct)
    known: dict[int, int] = {}
    expected = [known.setdefault(value, len(known)) for value in values.tolist()]
    assert (len(known), expected) == (count, labels.tolist())
    assert list(known) == distinct[:count].tolist()


def unmixed(word):
    """Return the number whose hash of 64 bits this is."""
    for multiplier, shifts in (
        (1, (31, 62)),
        (0x94D0_49BB_1331_11EB, (27, 54)),
        (0xBF58_476D_1CE4_E5B9, (30, 60)),
    ):
        word = word * pow(multiplier, -1, 2**64) % 2**64
        word ^= word >> shifts[0] ^ word >> shifts[1]
    return word


def test_number_distinct_of_too_many_collisions_gives_up():
    """Numbers that were chosen to have hashes alike do not hold up the rest: they are sorted instead."""
    hashes = [number << 20 for number in range(1_200)]
    values = np.array([unmixed(one) for one in hashes], dtype=np.uint64).view(np.int64)
    labels, distinct = np.empty((2, len(values)), dtype=np.int64)
    assert grouping.TOO_MANY_STEPS == grouping.number_distinct(values, labels, distinct)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_mark_and_look_up_number_values_of_a_narrow_span(dtype):
    """What occurs is seen, and each row gets the number of its value."""
    values = np.array([5, 7, 5, 4], dtype=dtype)
    seen, found = np.zeros(4, dtype=np.bool_), np.empty(4, dtype=np.int64)
    grouping.mark(values, 4, seen)
    grouping.look_up(values, 4, np.array([10, 11, 12, 13]), found)
    assert [True, True, False, True] == seen.tolist()
    assert [11, 13, 11, 10] == found.tolist()
    grouping.renumber(found, np.arange(20)[::-1].copy())
    assert [8, 6, 8, 9] == found.tolist()


def test_divide_numbers_the_groups_of_each_unit_by_themselves():
    """A unit without rows has numbers of its own, which nothing has."""
    labels, edges = np.array([1, 0, 1, 2]), np.array([0, 3, 3, 4])
    found, counts = np.empty(4, dtype=np.int64), np.zeros(9, dtype=np.int64)
    grouping.divide(labels, edges, 3, found, counts)
    assert [1, 0, 1, 8] == found.tolist()
    assert [1, 2, 0, 0, 0, 0, 0, 0, 1] == counts.tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_first_of_groups_is_the_first_row_of_each(dtype):
    """A group without rows has none; where each has one, the rest is not looked at."""
    found = np.full(5, -1, dtype=np.int64)
    grouping.first_of_groups(np.array([2, 0, 2, 3, 0], dtype=dtype), found)
    assert [1, -1, 0, 3, -1] == found.tolist()
    every = np.full(2, -1, dtype=np.int64)
    grouping.first_of_groups(np.array([1, 1, 0, 0], dtype=dtype), every)
    assert [2, 0] == every.tolist()


def test_rows_by_group_keeps_the_order_of_rows():
    """Rows of a group follow each other, ascending; a group without rows has none."""
    labels = np.array([2, 0, 2, 3, 0])
    edges, rows = np.zeros(5, dtype=np.int64), np.empty(5, dtype=np.int64)
    grouping.rows_by_group(labels, edges, rows)
    assert [0, 2, 2, 4, 5] == edges.tolist()
    assert [1, 4, 0, 2, 3] == rows.tolist()


def test_sort_runs_sorts_those_that_are_short():
    """A run that is longer than told stays."""
    values = np.array([3, 1, 9, 8, 7, 2])
    grouping.sort_runs(values, np.array([0, 2, 2, 5, 6]), 2)
    assert [1, 3, 9, 8, 7, 2] == values.tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_extremes_of_groups_differential_are_min_and_max(dtype):
    """By label and run by run, as keys in the order of the values; a group without values stays as it was."""
    values = (np.random.default_rng(3).integers(-50, 50, 40) / 2).astype(dtype)
    values[:9] = [-0.0, 0.0, -0.0, -0.0, 0.0, -0.0, -0.0, -0.0, -0.0]
    labels, edges = np.repeat([0, 2, 3], [5, 25, 10]), np.array([0, 5, 5, 30, 40])
    floats, words, none = dtype == np.float64, values.view(np.int64), 2**63 - 1
    keys, turned = (sortable(values), extremes.FLOATS) if floats else (values, extremes.WHOLE)
    for flip in (0, -1):
        by_label, by_run = np.full((2, 4, 2), none)
        extremes.least_of_groups(words, labels, by_label, 1, turned, flip)
        extremes.least_of_runs(words, edges, by_run, 1, turned, flip)
        expected = [(keys[labels == group] ^ flip).min(initial=none) for group in range(4)]
        assert [none] * 4 == by_label[:, 0].tolist() == by_run[:, 0].tolist()
        assert expected == by_label[:, 1].tolist() == by_run[:, 1].tolist()


def test_least_of_spans_differential_is_the_least_key_of_each():
    """Spans that overlap, of one key up to all, equal ones behind each other."""
    rng = np.random.default_rng(6)
    for count in (1, 2, 37):
        keys, low = rng.integers(-99, 99, count), np.repeat(rng.integers(0, count, 30), 2)
        high = np.maximum(low + 1, np.repeat(rng.integers(0, count + 1, 30), 2))
        tree, found = np.empty(2 * count, dtype=np.int64), np.empty(60, dtype=np.int64)
        extremes.least_of_spans(keys, low, high, tree, found)
        spans = zip(low.tolist(), high.tolist(), strict=True)
        assert [keys[begin:past].min() for begin, past in spans] == found.tolist()


def test_first_rows_differential_is_the_least_by_all_keys():
    """Ties of the first key are broken by the next, and at last by the row."""
    keys = np.random.default_rng(4).integers(0, 3, (3, 60))
    labels = np.random.default_rng(5).integers(0, 7, 60) % 6
    found = np.full(7, -1, dtype=np.int64)
    extremes.first_rows(keys, labels, found)
    for group in range(7):
        own = [row for row in range(60) if labels[row] == group]
        assert min(own, key=lambda row: (*keys[:, row], row), default=-1) == found[group]
