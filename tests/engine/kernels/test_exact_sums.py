"""Exact sums beside fractions, compiled and plain: folds, digits, quotients, variances."""

import math
from fractions import Fraction

import numpy as np
import pytest

from psoup.engine.aggregates.groups import in_order
from psoup.engine.kernels import digits as numbers, exact_sums, float_sums
from psoup.engine.kernels.float_sums import ROOM_BITS, exponents
from tests.engine.columns import FLOAT_MAX
from tests.engine.kernels import twins

WAYS = [False, True]
UNIT = -2_176


@pytest.fixture(params=WAYS, ids=["compiled", "plain"])
def kernels(request):
    """The kernels compiled, or as the Python functions they were compiled from."""
    if not request.param:
        yield
        return
    with twins.all_plain(exact_sums, float_sums, numbers), np.errstate(over="ignore"):
        yield


def number(row, unit=0):
    """Return the number that digits stand for."""
    return sum(int(digit) * Fraction(2) ** (32 * place + unit) for place, digit in enumerate(row))


def digits_of(values, width):
    """Return whole numbers as carried digits."""
    rows = [
        [value >> (32 * place) & 0xFFFF_FFFF for place in range(width - 1)]
        + [value >> (32 * (width - 1))]
        for value in values
    ]
    return np.array(rows, dtype=np.int64).reshape(len(values), width)


def drawn(seed, count=40):
    """Return floats of all exponents, zeros and subnormal ones among them."""
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.uniform(-1, 1, count), rng.integers(-1_080, 1_024, count))
    values[:3] = (0.0, -0.0, -5e-324)
    return values


@pytest.mark.usefixtures("kernels")
def test_floats_and_their_squares_differential_are_fractions():
    """Values of any exponents, in two groups."""
    values, labels = drawn(1), np.arange(40) % 2
    made, squares = np.zeros((2, 105), dtype=np.int64), np.zeros((2, 210), dtype=np.int64)
    assert float_sums.add_floats(values, labels, UNIT, made, 0, 105)
    exact_sums.add_float_squares(values.view(np.int64), labels, UNIT, squares)
    numbers.carry(made)
    for group in range(2):
        own = [Fraction(value) for value in values[labels == group].tolist()]
        assert sum(own) == number(made[group], UNIT)
        assert sum(one * one for one in own) == number(squares[group], 2 * UNIT)
    assert ((made[:, :-1] >= 0) & (made[:, :-1] < 2**32)).all()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("whole", [False, True])
def test_weighted_values_and_those_in_spans_differential_are_fractions(whole):
    """Weights up to their bounds, spans that overlap, values at the ends of their types."""
    rng, count, unit = np.random.default_rng(2), 40, 0 if whole else UNIT
    values = rng.integers(-(2**63), 2**63 - 1, count) if whole else drawn(3)
    values[3:6] = (-(2**63), 2**63 - 1, -(2**32)) if whole else values[3:6]
    labels, own = np.arange(count) % 2, [Fraction(value) for value in values.tolist()]
    weights = rng.integers(0, 2**62, count)
    weights[:4] = (0, 1, 2**32 - 1, 2**32)
    made = np.zeros((2, 107), dtype=np.int64)
    exact_sums.add_weighted(values.view(np.int64), weights, labels, unit, made, whole=whole)
    low = rng.integers(0, count, count)
    high, times = low + 1 + rng.integers(0, count - low), weights % (2**31 - 1)
    begins, ends = (in_order(places, count + 1) for places in (low, high))
    spanned = np.zeros((2, 107), dtype=np.int64)
    bits = values.view(np.int64)
    exact_sums.add_spans(bits, begins, ends, times, labels, unit, spanned, whole=whole)
    for some in (made, spanned):
        numbers.carry(some)
    for group in range(2):
        places = np.flatnonzero(labels == group).tolist()
        assert sum(own[place] * int(weights[place]) for place in places) == number(
            made[group], unit
        )
        assert sum(
            sum(own[low[place] : high[place]]) * int(times[place]) for place in places
        ) == number(spanned[group], unit)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("largest", "span"), [(-500, 0), (0, 20), (900, 45), (0, 80), (0, 99), (1_020, 9), (-1_020, 9)]
)
def test_sums_of_floats_differential_are_fractions(largest, span):
    """Two folds, three, or none as exponents lie too far apart or at an end; by label and run by run; zeros."""
    rng = np.random.default_rng(span)
    values = np.ldexp(rng.uniform(-1, 1, 60), largest - rng.integers(0, span + 1, 60))
    values[7] = values[50:] = -0.0
    labels, edges = np.repeat([0, 1, 3], [25, 25, 10]), np.array([0, 25, 50, 50, 60])
    lowest, top = map(int, exponents(values))
    unit = lowest // 32 * 32
    past = 1 + (top - ROOM_BITS - unit) // 32 + 3
    by_label, by_run = np.zeros((2, 4, past + 1), dtype=np.int64)
    assert float_sums.add_floats(values, labels, unit, by_label, 1, past)
    assert float_sums.add_floats_of_runs(values, edges, unit, by_run, 1, past)
    for made in (by_label, by_run):
        numbers.carry_all(made, np.array([[1, past]]))
        assert not made[:, 0].any()
        assert not made[:, past].any()
        for group in range(4):
            own = values[labels == group].tolist()
            assert sum(map(Fraction, own)) == number(made[group, 1:past], unit)
    for digits in ((unit, 1, past - 1), (unit + 32, 1, past)):
        spare = np.zeros((4, past), dtype=np.int64)
        assert not float_sums.add_floats(values, labels, digits[0], spare, *digits[1:])
        assert not float_sums.add_floats_of_runs(values, edges, digits[0], spare, *digits[1:])


@pytest.mark.usefixtures("kernels")
def test_exponents_tell_where_the_bits_of_values_lie():
    """Zeros are multiples of everything; subnormal numbers have the least exponent."""
    assert (0, 0) == exponents(np.array([0.0, -0.0]))
    assert (-52, 1) == exponents(np.array([1.0, -1.5, 0.0]))
    assert (-1_074, 1_024) == exponents(np.array([FLOAT_MAX, -5e-324]))


@pytest.mark.usefixtures("kernels")
def test_merge_rows_adds_words_and_keeps_the_least_of_the_others():
    """Two rows of one group, one of another, none of the last."""
    rows = np.array([[1, -5, 9, -2], [2, 7, 3, 4], [3, 1, 8, 8]])
    found = np.array([[0, 0, 99, 99]] * 3)
    numbers.merge_rows(rows, np.array([1, 0, 1]), 2, found)
    assert [[2, 7, 3, 4], [4, -4, 8, -2], [0, 0, 99, 99]] == found.tolist()


@pytest.mark.usefixtures("kernels")
def test_sums_and_squares_of_ints_differential_are_whole_numbers():
    """The ends of int64 too, by label and run by run."""
    rng = np.random.default_rng(5)
    values = rng.integers(-(2**63), 2**63 - 1, 30)
    values[:3] = (-(2**63), 2**63 - 1, -(2**32))
    labels, edges = np.repeat([0, 1, 2], 10), np.array([0, 10, 20, 30])
    by_label, by_run = np.zeros((2, 3, 4), dtype=np.int64)
    squares = np.zeros((3, 5), dtype=np.int64)
    exact_sums.add_ints(values, labels, by_label, 0)
    exact_sums.add_ints_of_runs(values, edges, by_run, 0)
    exact_sums.add_int_squares(values, labels, squares)
    numbers.carry(by_label)
    numbers.carry(by_run)
    assert np.array_equal(by_label, by_run)
    for group in range(3):
        own = values[labels == group].tolist()
        assert sum(own) == number(by_run[group])
        assert sum(value * value for value in own) == number(squares[group])


@pytest.mark.usefixtures("kernels")
def test_add_numbers_adds_those_of_equal_labels():
    """Carried numbers with and without sign."""
    values = [5, -7, 2**70, -(2**70) - 1]
    made = np.zeros((2, 4), dtype=np.int64)
    numbers.add_numbers(digits_of(values, 4), np.array([0, 0, 1, 1]), 0, made)
    numbers.carry(made)
    assert [-2, -1] == [number(row) for row in made]
    numbers.add_numbers(digits_of([3], 2), np.array([1]), 2, made)
    numbers.carry(made)
    assert [-2, 3 * 2**64 - 1] == [number(row) for row in made]
    counts = np.array([1, 0, 4])
    exact_sums.add_counts(np.array([2, 3, 5]), np.array([2, 0, 2]), counts)
    assert [4, 0, 11] == counts.tolist()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("unit", [0, -64, -1_088, 832])
def test_quotients_differential_are_rounded_once(unit):
    """Small and large numbers and divisors, ties, both signs, past both ends of float64."""
    rng = np.random.default_rng(unit + 2_000)
    values = [0, 1, -1, 2**53 + 1, 2**53 + 3, -(2**54) - 2, 2**190 + 1, 2**191]
    values += [
        int(one) << int(by)
        for one, by in zip(rng.integers(-(2**62), 2**62, 60), rng.integers(0, 128, 60), strict=True)
    ]
    for divisors in (
        np.ones(len(values)),
        rng.integers(1, 2**61, len(values)),
        rng.integers(1, 9, len(values)),
    ):
        by = divisors.astype(np.int64)
        found = np.empty(len(values))
        numbers.quotients(digits_of(values, 7), unit, by, found)
        for value, divisor, got in zip(values, by.tolist(), found.tolist(), strict=True):
            exact = Fraction(value, divisor) * Fraction(2) ** unit
            try:
                assert (float(exact) + 0.0).hex() == got.hex()
            except OverflowError:
                assert math.isnan(got)


@pytest.mark.usefixtures("kernels")
def test_spreads_differential_is_count_times_squares_less_the_square():
    """Sums of either sign."""
    counts, sums = [3, 5, 2**31 - 1], [-(2**80) + 5, 2**40, -1]
    squares = [2**170, 2**90 + 7, 2**64]
    found = np.zeros((3, 13), dtype=np.int64)
    numbers.spreads(digits_of(sums, 4), digits_of(squares, 8), np.array(counts), found)
    expected = [
        count * square - total * total
        for count, square, total in zip(counts, squares, sums, strict=True)
    ]
    assert expected == [number(row) for row in found]


@pytest.mark.usefixtures("kernels")
def test_whole_numbers_tells_which_fit():
    """One more than either end of int64 does not, nor does what repeats the lower bits above."""
    values = [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 2**96, -(2**96), 2**64 - 1]
    found, fits = np.empty(10, dtype=np.int64), np.empty(10, dtype=np.bool_)
    numbers.whole_numbers(digits_of(values, 5), found, fits)
    inside = [-(2**63) <= value < 2**63 for value in values]
    assert inside == fits.tolist()
    assert [value for value in values if -(2**63) <= value < 2**63] == found[fits].tolist()


@pytest.mark.usefixtures("kernels")
def test_count_rows_counts_labels():
    """A group without rows has none."""
    counts = np.zeros(4, dtype=np.int64)
    exact_sums.count_rows(np.array([1, 3, 1]), counts)
    assert [0, 2, 0, 1] == counts.tolist()
