"""Factors of joins: which form each conjunct takes, and that none lets a pair through or holds one back."""

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.factor import AttributeFactor, BandFactor, EquiFactor, ResidualFactor
from psoup.engine.query.values.expression import sources_of
from psoup.engine.tuples.schema import ColumnType
from tests.engine.query.join_strategies import join_conditions, join_tests, joined, rows, sides
from tests.reference_values import Row, factor_holds, value_of

FROM = "FROM s AS a, l AS b"


def only_factor(condition: str) -> str:
    """Return the one factor of a condition over `a` and `b` as text."""
    query = joined(f"SELECT a.i {FROM} WHERE {condition}")
    (factor,) = query.clause.factors
    match factor:
        case EquiFactor(left=left, right=right):
            return f"{sql_expression(left)} = {sql_expression(right)}"
        case BandFactor(left=left, right=right):
            ends = f"{'[' if factor.low_closed else '('}{factor.low} {factor.high}{']' if factor.high_closed else ')'}"
            about = "exact" if factor.exact else str(len(factor.conditions))
            return f"{sql_expression(left)} | {sql_expression(right)} {ends} {about}"
        case ResidualFactor(expression=expression):
            return f"? {sql_expression(expression)}"
        case AttributeFactor(column=column):
            return sql_expression(column)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # Equalities: sides in the order of FROM, whatever is said first.
        ("b.i = a.i", "s.i = l.i"),
        ("a.f = b.i", "s.f = l.i"),
        ("a.t = b.t", "s.t = l.t"),
        ("b.at = a.ts + INTERVAL '1' HOUR", "s.ts + INTERVAL '1' HOUR = l.at"),
        ("a.i + a.j = b.i * b.own", "s.i + s.j = l.i * l.own"),
        # Pure comparisons.
        ("a.i < b.i", "s.i | l.i [None 0) exact"),
        ("b.i <= a.i", "s.i | l.i [0 None] exact"),
        ("a.i <= b.f AND a.i >= b.f", "s.i | l.f [0.0 0.0] exact"),
        ("a.i <= b.i AND a.i > b.i", "s.i | l.i (0 0] exact"),
        ("a.i * 2 < b.i + b.own", "s.i * 2 | l.i + l.own [None 0) exact"),
        ("a.ts < b.at", "s.ts | l.at [None 0) exact"),
        # Constants peeled off: integers are exact, and < is one less.
        ("a.i < b.i + 5", "s.i | l.i [None 4] 1"),
        ("a.i > b.i + 7", "s.i | l.i [8 None] 1"),
        ("a.i - 1 + 3 <= 2 + b.i", "s.i | l.i [None 0] 1"),
        ("b.i + 5 > a.i", "s.i | l.i [None 4] 1"),
        ("a.i BETWEEN b.i - 5 AND b.i + 5", "s.i | l.i [-5 5] 2"),
        ("a.i BETWEEN b.i AND b.i + 5 AND a.i < b.i + 3", "s.i | l.i [0 2] 3"),
        ("a.ts BETWEEN b.at AND b.at + INTERVAL '5' SECOND", "s.ts | l.at [0 5000000] 2"),
        # DOUBLEs: wider by what rounding may move.
        ("a.f <= b.f + 5", "s.f | l.f [None 10.0] 1"),
        ("a.f - 1 <= b.f", "s.f | l.f [None 2.0] 1"),
        ("a.f <= b.i + 5", "s.f | l.i [None 1029.0] 1"),
        ("a.f <= b.i + 5.0", "s.f | l.i [None 10.0] 1"),
        ("a.f <= b.i + 5.5", "s.f | l.i [None 11.0] 1"),
        ("a.i <= b.i + 0.5", "s.i | l.i [None 1025] 1"),
        # Differences and sizes.
        ("a.i - b.i < 5", "s.i | l.i [None 4] 1"),
        ("b.i - a.i < 5", "s.i | l.i [-4 None] 1"),
        ("5 > b.i - a.i", "s.i | l.i [-4 None] 1"),
        ("a.i - b.i = 5", "s.i | l.i [5 5] 1"),
        ("a.i - 2 - (b.i + 1) + 4 >= 5", "s.i | l.i [4 None] 1"),
        ("a.i - b.i <= 2.5", "s.i | l.i [None 2] 1"),
        ("a.i - b.i + 0.5 < 2", "s.i | l.i [None 2] 1"),
        ("ABS(a.i - b.i) < 5", "s.i | l.i [-4 4] 1"),
        ("5 >= ABS(b.i - a.i)", "s.i | l.i [-5 5] 1"),
        ("ABS(a.i - b.i) = 5", "s.i | l.i [-5 5] 1"),
        ("ABS(a.i - b.i) + 1 < 5", "s.i | l.i [-3 3] 1"),
        ("ABS(a.i - (b.i - 10)) <= 2", "s.i | l.i [-12 -8] 1"),
        ("ABS(a.i - b.i) < -5", "s.i | l.i [6 -6] 1"),
        ("a.f - b.f < 5", f"s.f | l.f [None {math.nextafter(5, 6)}] 1"),
        # What no index of one side answers.
        ("a.i <> b.i", "? l.i <> s.i"),
        ("a.t < b.t", "? l.t > s.t"),
        ("a.b > (b.i = 1)", "? (l.i = 1) < s.b"),
        ("a.i + b.i = 5", "? s.i + l.i = 5"),
        ("a.i + b.i < b.own", "? l.own > s.i + l.i"),
        ("ABS(a.i - b.i) > 5", "? ABS(s.i - l.i) > 5"),
        ("a.i - b.i <> 5", "? s.i - l.i <> 5"),
        ("a.i - b.i < 1e17", "? s.i - l.i < 1e+17"),
        ("a.i - b.i - 1e17 < 5", "? s.i - l.i - 1e+17 < 5.0"),
        ("a.i * b.i < 5", "? s.i * l.i < 5"),
        ("(a.i + b.i) - b.own < 5", "? s.i + l.i - l.own < 5"),
        ("5 - (a.i - b.i) < 5", "? 5 - (s.i - l.i) < 5"),
        ("a.f < b.f + 1e308 + 1e308", "? l.f + 1e+308 + 1e+308 > s.f"),
    ],
)
def test_conjunct_of_two_sources_takes_the_form_that_an_index_answers(condition, expected):
    """One factor each; the comparisons of the same two sides are one."""
    assert expected == only_factor(condition)


def only_bands(query: BoundQuery) -> list[BandFactor]:
    """Return the bands of a query."""
    return [factor for factor in query.clause.factors if isinstance(factor, BandFactor)]


@pytest.mark.parametrize("step", [2**62, 2**63 - 1])
def test_band_of_integers_wider_than_any_difference_is_open(step):
    """Ends are at most 2**64 from 0, and none where every difference is inside."""
    (factor,) = only_bands(
        joined(f"SELECT a.i {FROM} WHERE a.i <= b.i + {step} + {step} + {step} AND a.i >= b.i")
    )
    low, high = (0, 3 * step if 3 * step < 2**64 else None)
    assert (low, high) == (factor.low, factor.high)
    (factor,) = only_bands(
        joined(f"SELECT a.i {FROM} WHERE a.i - {step} - {step} - {step} >= b.i + {step}")
    )
    assert min(4 * step, 2**64) == factor.low


@given(data=st.data())
def test_oracle_factors_of_a_join_hold_where_its_where_is_true(data):
    """The conjunction of all factors is the WHERE, for every combination of rows."""
    aliases = ["a", "b", "c"][: data.draw(st.integers(2, 3))]
    origins = ", ".join(
        f"{stream} AS {alias}" for stream, alias in zip("sls", aliases, strict=False)
    )
    condition = data.draw(join_conditions(aliases))
    drawn = [data.draw(rows()) for _ in aliases]
    query = joined(f"SELECT ({condition}) AS w FROM {origins} WHERE {condition}")
    (output,) = query.shape.outputs
    expected = value_of(output.expression, drawn) is True
    assert expected == all(factor_holds(factor, drawn) for factor in query.clause.factors)


@given(data=st.data())
def test_oracle_join_factors_read_two_sources_in_the_order_of_from(data):
    """One source each side, the earlier on the left; one band for two sides."""
    query = joined(f"SELECT a.i {FROM} WHERE a.i = b.i AND {data.draw(join_tests('a', 'b'))}")
    sides_seen = set()
    for factor in query.clause.factors:
        if isinstance(factor, EquiFactor | BandFactor):
            assert [{0}, {1}] == [sources_of(factor.left), sources_of(factor.right)]
        if isinstance(factor, BandFactor):
            assert (factor.left, factor.right) not in sides_seen
            sides_seen.add((factor.left, factor.right))
            assert factor.conditions
            assert (factor.low, factor.high) != (None, None)


@st.composite
def bands(draw):
    """Draw a condition that is a band, or several of them."""
    left, right = draw(sides("a")), draw(sides("b"))
    parts = [f"{left} {draw(st.sampled_from(['<', '<=', '>', '>=']))} {right}"]
    parts += draw(st.lists(join_tests("a", "b"), max_size=2))
    return " AND ".join(parts)


def difference_of(factor: BandFactor, drawn: Sequence[Row]) -> Fraction | None:
    """Return left - right, of the sides as DOUBLEs where one of them is; None where one is NULL."""
    is_double = ColumnType.FLOAT64 in (factor.left.type, factor.right.type)
    numbers = []
    for side in (factor.left, factor.right):
        value = value_of(side, drawn)
        if value is None:
            return None
        assert not isinstance(value, str)
        numbers.append(Fraction(float(value) if is_double else value))
    return numbers[0] - numbers[1]


@given(condition=bands(), one=rows(), other=rows())
def test_oracle_difference_of_a_band_lies_between_its_ends_wherever_it_holds(condition, one, other):
    """Reckoned in fractions; and where the band is exact, it holds nowhere else."""
    for factor in only_bands(joined(f"SELECT a.i {FROM} WHERE {condition}")):
        difference = difference_of(factor, [one, other])
        holds = factor_holds(factor, [one, other])
        if difference is None:
            assert not holds
            continue
        above = factor.low is None or difference > factor.low
        below = factor.high is None or difference < factor.high
        if factor.exact:
            assert factor.low in (None, 0)
            assert factor.high in (None, 0)
            above |= factor.low_closed and difference == factor.low
            below |= factor.high_closed and difference == factor.high
            assert holds == (above and below)
        elif holds:
            assert above or difference == factor.low
            assert below or difference == factor.high


@pytest.mark.parametrize("value", [1e16, 1e17, 2.0**60, 1e300, 3.0, 0.1])
@pytest.mark.parametrize("step", [5.0, 0.1, 9.0, 1e-300])
def test_band_of_doubles_holds_what_rounding_lets_through(value, step):
    """A pair at the very edge, where the sum is rounded up past what was added, is TRUE and inside."""
    pair: list[Row] = [{"f": value + step}, {"f": value}]
    condition = f"a.f <= b.f + {step} AND a.f - b.f >= -{step}"
    (factor,) = only_bands(joined(f"SELECT a.i {FROM} WHERE {condition}"))
    assert factor_holds(factor, pair)
    difference = difference_of(factor, pair)
    assert difference is not None
    assert factor.high is not None
    assert factor.low is not None
    assert factor.low <= difference <= factor.high


def test_band_of_doubles_is_wider_than_what_is_added():
    """1e17 + 9 is 1e17 + 16: a span of 9 would not find that pair."""
    pair: list[Row] = [{"f": 1e17 + 9}, {"f": 1e17}]
    (factor,) = only_bands(joined(f"SELECT a.i {FROM} WHERE a.f <= b.f + 9 AND a.f > b.f"))
    assert 16 == difference_of(factor, pair)
    assert factor_holds(factor, pair)
    assert 18.0 == factor.high
