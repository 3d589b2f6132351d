"""Keys of joins: equal exactly where values are, in the order that values are, and ends of bands at any ends."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, strategies as st

from psoup.engine.data import join_keys
from psoup.engine.data.join_keys import band_ends, band_values, index_keys, key_of, matched_codes
from psoup.engine.query.factor import BandFactor
from psoup.engine.query.join_shape import shape_of
from psoup.engine.query.values.expression import ColumnRef, column_refs
from psoup.engine.tuples.schema import ColumnType
from tests.engine.columns import FLOAT_MAX, column_of, pool
from tests.engine.joins.folds import Tables

INT64, FLOAT64 = ColumnType.INT64, ColumnType.FLOAT64
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def equal(one, other, double):
    """Return whether two values are equal, as doubles where they are compared so."""
    return float(one) == float(other) if double else one == other


@st.composite
def key_columns(draw):
    """Draw columns of two sides: types, whether compared as doubles, and values of each row."""
    kinds = draw(
        st.lists(
            st.sampled_from([*((kind, kind) for kind in ColumnType), (INT64, FLOAT64)]),
            min_size=1,
            max_size=3,
        )
    )
    doubles = [FLOAT64 in pair for pair in kinds]
    sides = []
    for place in (0, 1):
        values = [st.sampled_from(pool(pair[place])) for pair in kinds]
        sides.append(draw(st.lists(st.tuples(*values), max_size=12)))
    columns = [
        [column_of(pair[i], [one[k] for one in sides[i]]) for k, pair in enumerate(kinds)]
        for i in (0, 1)
    ]
    return doubles, sides, columns


def same(one, other, doubles):
    return all(equal(*pair) for pair in zip(one, other, doubles, strict=True))


@given(key_columns())
def test_matched_codes_of_any_columns_oracle_are_equal_where_all_values_are(drawn):
    """Numbers, mixed ones, texts, truths, instants, several together: within a side and across both."""
    doubles, (left, right), columns = drawn
    codes = matched_codes(columns[0], columns[1], doubles)
    rows, coded = [*left, *right], [*codes[0].tolist(), *codes[1].tolist()]
    for one, code in zip(rows, coded, strict=True):
        assert [same(one, other, doubles) for other in rows] == [code == own for own in coded]


@given(key_columns())
def test_index_keys_of_any_columns_oracle_are_equal_where_all_values_are(drawn):
    """They are made for each side alone; with digests of 64 bits these few do not collide."""
    doubles, (left, right), columns = drawn
    rows = [*left, *right]
    keys = [key for side in columns for key in index_keys(side, doubles).tolist()]
    for one, key in zip(rows, keys, strict=True):
        assert [same(one, other, doubles) for other in rows] == [key == own for own in keys]


def test_index_keys_of_several_values_tell_their_places_apart():
    """(1, 2) and (2, 1), ('a', '') and ('', 'a') are others; a digest is the same in every process."""
    numbers = [column_of(INT64, values) for values in ([1, 2, 1, 0], [2, 1, 1, 0])]
    assert 4 == len(set(index_keys(numbers, [False, False]).tolist()))
    texts = [column_of(ColumnType.STRING, values) for values in (["a", "", "b"], ["", "a", "b"])]
    assert 3 == len(set(index_keys(texts, [False, False]).tolist()))
    (key,) = index_keys([column_of(ColumnType.STRING, ["EWR"])], [False]).tolist()
    assert -5_584_038_344_204_349_970 == key


def test_matched_codes_of_codes_too_many_for_64_bits_stay_apart():
    """Three columns that span all of int64 each: codes are made dense before they are put together."""
    rng = Random(1)
    rows = [
        tuple(rng.choice([LOWEST, HIGHEST, rng.randrange(2**62), 0]) for _ in range(3))
        for _ in range(200)
    ]
    rows += rng.choices(rows, k=100)
    columns = [column_of(INT64, [one[k] for one in rows]) for k in range(3)]
    some = [column.part(slice(150)) for column in columns]
    rest = [column.part(slice(150, None)) for column in columns]
    left, right = matched_codes(some, rest, [False] * 3)
    coded = [*left.tolist(), *right.tolist()]
    assert len(set(rows)) == len(set(zip(rows, coded, strict=True))) == len(set(coded))


@pytest.mark.parametrize("spans_max", [2**62, 10])
def test_matched_codes_made_dense_or_not_oracle_are_the_same(monkeypatch, spans_max):
    """Where the product of two spans is too large, both are numbered anew."""
    monkeypatch.setattr(join_keys, "_CODES_MAX", spans_max)
    rng = Random(2)
    rows = [tuple(rng.randrange(4) for _ in range(3)) for _ in range(60)]
    columns = [column_of(INT64, [one[k] for one in rows]) for k in range(3)]
    left, right = matched_codes(columns, [column.part(slice(0)) for column in columns], [False] * 3)
    assert 0 == len(right)
    assert len(set(rows)) == len(set(left.tolist())) == len(set(zip(rows, left, strict=True)))


# --- Bands ----------------------------------------------------------------------------------------

INTS = st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 1, 2**62, HIGHEST - 1, HIGHEST]) | st.integers(
    -6, 6
)
FLOATS = (
    st.sampled_from([-FLOAT_MAX, FLOAT_MAX, 5e-324, -5e-324, 0.0, -0.0, 1e16, 1e300, 0.1, 0.3])
    | st.integers(-6, 6).map(lambda halves: halves / 2)
    | st.floats(allow_nan=False, allow_infinity=False)
)
STEPS = st.sampled_from(
    [-(2**64), -(2**63) - 5, -(2**63), -7, -1, 0, 1, 7, 2**63 - 1, 2**63, 2**63 + 5, 2**64]
) | st.integers(-3, 3)


def inside(band, left, right):
    """Return whether the difference of two values lies between the ends of a band."""
    difference = Fraction(left) - Fraction(right)
    above = band.low is None or difference > band.low
    below = band.high is None or difference < band.high
    if band.low is not None and difference == band.low:
        above = band.low_closed or not band.exact
    if band.high is not None and difference == band.high:
        below = band.high_closed or not band.exact
    return above and below


def band_drawn(kinds, low, high, closed=(True, True), *, exact):
    left, right = (ColumnRef(i, "x", kind) for i, kind in enumerate(kinds))
    low_closed, high_closed = closed
    return BandFactor(left, right, (), low, high, low_closed, high_closed, exact)


def asked(band, kinds, known, value, others):
    """Return which values of the other side lie in the span that a value of one side asks for."""
    double = FLOAT64 in kinds
    side = band.left if known == 0 else band.right
    least, most = band_ends(band, known=side, column=column_of(kinds[known], [value]))
    keys = band_values(column_of(kinds[1 - known], others), double=double)
    return [int(least[0]) <= key <= int(most[0]) for key in keys.tolist()]


@given(
    st.none() | STEPS, st.none() | STEPS, INTS, st.lists(INTS, max_size=12), st.sampled_from([0, 1])
)
def test_band_ends_of_integers_oracle_are_exact_wherever_they_lie(low, high, value, others, known):
    """Of a band wider than int64, or that leaves it on either side, too: but for the last value of all, exactly."""
    kinds = (INT64, INT64)
    band = band_drawn(kinds, low, high, exact=False)
    for one, is_found in zip(others, asked(band, kinds, known, value, others), strict=True):
        is_inside = inside(band, *((value, one) if known == 0 else (one, value)))
        assert is_inside == is_found or (is_found and one in (LOWEST, HIGHEST))


@given(
    st.sampled_from([(INT64, INT64), (FLOAT64, FLOAT64), (INT64, FLOAT64), (FLOAT64, INT64)]),
    st.sampled_from([(0, None), (None, 0), (0, 0)]),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([0, 1]),
    st.data(),
)
def test_band_ends_of_plain_comparisons_oracle_are_exact(kinds, ends, closed, known, data):
    """`<`, `<=`, `>`, `>=`, and two of them: at both zeros, the ends of the types, among all neighbours."""
    drawn = [data.draw(INTS if kind is INT64 else FLOATS) for kind in (kinds[known],)]
    others = data.draw(st.lists(INTS if kinds[1 - known] is INT64 else FLOATS, max_size=12))
    value = drawn[0]
    closed = tuple(end is None or own for end, own in zip(ends, closed, strict=True))
    band = band_drawn(kinds, ends[0], ends[1], closed, exact=True)
    double = FLOAT64 in kinds
    expected = []
    for other in others:
        pair = (value, other) if known == 0 else (other, value)
        expected.append(inside(band, *(map(float, pair) if double else pair)))
    assert expected == asked(band, kinds, known, value, others)


@given(
    st.sampled_from([(FLOAT64, FLOAT64), (INT64, FLOAT64), (FLOAT64, INT64)]),
    st.none() | FLOATS,
    st.none() | FLOATS,
    st.sampled_from([0, 1]),
    st.data(),
)
def test_band_ends_of_doubles_oracle_leave_out_nothing_inside(kinds, low, high, known, data):
    """Whatever rounding does to an end, near the largest double as well, what lies in the band is asked for."""
    value = data.draw(INTS if kinds[known] is INT64 else FLOATS)
    others = data.draw(st.lists(INTS if kinds[1 - known] is INT64 else FLOATS, max_size=8))
    for by in (low, high):  # where an end lies exactly, and next to it
        if by is not None and kinds[1 - known] is FLOAT64:
            moved = float(value) - by if known == 0 else float(value) + by
            others += [one for one in (moved,) if abs(one) <= FLOAT_MAX]
    band = band_drawn(kinds, low, high, exact=False)
    found = asked(band, kinds, known, value, others)
    for other, is_found in zip(others, found, strict=True):
        pair = (float(value), float(other))
        assert is_found or not inside(band, *(pair if known == 0 else pair[::-1]))


def test_band_ends_of_doubles_are_narrow():
    """Of a band of 1 around 1,000 nothing is asked for that lies a millionth outside."""
    kinds = (FLOAT64, FLOAT64)
    band = band_drawn(kinds, -1.0, 1.0, exact=False)
    others = [998.999999, 999.0, 1000.0, 1001.0, 1001.000001]
    assert [False, True, True, True, False] == asked(band, kinds, 0, 1000.0, others)


def test_key_of_a_tie_has_the_sides_of_each_source():
    """Either source gets its own expressions, and what is compared as a double is so on both sides."""
    tables = Tables("r", "s")
    clause = tables.clause(
        "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.f AND x.t = y.t AND x.f > y.f + 1"
    )
    tie = shape_of(clause).tie((0, 1))
    for source in (0, 1):
        key = key_of(tie, source)
        assert key.asks
        assert key.band_double
        assert sorted(key.doubles) == [False, True]
        read = [*key.equal, key.band]
        assert {0} == {one.source for one in read if isinstance(one, ColumnRef)}, "any place"
        columns = {0: {"i", "t", "f"}, 1: {"f", "t"}}[source]
        assert columns == {ref.name for one in read if one for ref in column_refs(one)}
        assert key == key_of(shape_of(clause).tie((1, 0)), source)
    assert not key_of(
        shape_of(tables.clause("SELECT 1 AS a FROM r WHERE i = 1")).tie((0, 0)), 0
    ).asks
