"""Factors as arrays against single comparisons: intervals of every type, joined, chosen from."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.values.expression import CompareOp
from psoup.engine.query.values.factor_table import (
    Factors,
    closed_intervals,
    interval_dtype,
    joined,
    keys_of,
)
from psoup.engine.query.values.value_set import (
    EVERY_VALUE,
    EVERYTHING,
    INT64_MAX,
    INT64_MIN,
    NO_VALUE,
    NULL_ALONE,
    values_where,
)
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import ColumnType
from tests.engine.columns import FLOAT_MAX, pool, value_sets
from tests.strategies import fewer

KINDS = list(ColumnType)


def told(factors):
    """Return what arrays say: by slot, in their order, the intervals and whether NULL satisfies."""
    ends = list(
        zip(
            factors.lows.tolist(),
            factors.highs.tolist(),
            factors.bounded.tolist(),
            strict=True,
        )
    )
    found, at = {}, 0
    for slot, size, null in zip(
        factors.slots.tolist(), factors.sizes.tolist(), factors.nulls.tolist(), strict=True
    ):
        assert slot not in found, "each slot once"
        own = [(low, high if bounded else None) for low, high, bounded in ends[at : at + size]]
        found[slot] = own, null
        at += size
    assert at == len(ends), "every interval is somebody's"
    return found


def expected(kind, factors):
    """Return what arrays of these sets have to say."""
    said = {}
    for slot, values in factors.items():
        ends = list(closed_intervals(kind, values))
        if kind is ColumnType.FLOAT64:
            keys = keys_of(kind, [end for pair in ends for end in pair]).tolist()
            ends = list(zip(keys[::2], keys[1::2], strict=True))
        said[slot] = ends, values.null
    return said


def factors_drawn(kind, slots=range(6)):
    return st.dictionaries(st.sampled_from(list(slots)).map(Slot), value_sets(kind), max_size=6)


@pytest.mark.parametrize("kind", KINDS)
@fewer(12)
@given(data=st.data())
def test_factors_of_any_sets_differential_say_what_the_sets_say(kind, data):
    """Slots in any order keep it, each with its intervals; types of arrays are the same without any."""
    factors = data.draw(factors_drawn(kind))
    shuffled = {slot: factors[slot] for slot in data.draw(st.permutations(list(factors)))}
    made = Factors.of(kind, shuffled)
    assert expected(kind, shuffled) == told(made)
    assert list(shuffled) == made.slots.tolist()
    dtypes = [array.dtype for array in (made.slots, made.sizes, made.nulls, made.bounded)]
    assert [np.int32, np.int32, np.bool_, np.bool_] == dtypes
    keys = np.object_ if kind is ColumnType.STRING else np.int64
    assert [keys, keys] == [made.lows.dtype, made.highs.dtype]


@pytest.mark.parametrize("kind", KINDS)
@fewer(12)
@given(data=st.data())
def test_factors_joined_differential_say_what_the_sets_say(kind, data):
    """Parts in any order are one."""
    parts = [
        data.draw(factors_drawn(kind, slots=range(6 * i, 6 * i + 6)))
        for i in range(data.draw(st.integers(1, 3)))
    ]
    together = joined([Factors.of(kind, part) for part in parts])
    everything = {slot: values for part in parts for slot, values in part.items()}
    assert expected(kind, everything) == told(together)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_closed_intervals_of_any_set_oracle_hold_its_values_and_no_other(kind, data):
    """Both ends inside, whatever ends the set had; of texts the first one behind, or none."""
    asked = data.draw(value_sets(kind))
    ends = list(closed_intervals(kind, asked))
    for value in pool(kind):
        if kind is ColumnType.STRING:
            inside = any(low <= value and (past is None or value < past) for low, past in ends)
        else:
            inside = any(low <= value <= high for low, high in ends)
        assert asked.contains(value) == inside, value


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not ColumnType.STRING])
@fewer(12)
@given(data=st.data())
def test_factors_of_any_set_oracle_hold_the_keys_of_its_values_and_no_other(kind, data):
    """What is compared with are keys: a value's key lies in an interval where the value belongs to the set."""
    asked = data.draw(value_sets(kind))
    made = Factors.of(kind, {Slot(0): asked})
    ends = list(zip(made.lows.tolist(), made.highs.tolist(), strict=True))
    for value, key in zip(pool(kind), keys_of(kind, pool(kind)).tolist(), strict=True):
        assert asked.contains(value) == any(low <= key <= high for low, high in ends), value
    assert all(made.bounded.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_a_type_are_ordered_as_its_values_are(kind):
    """Greater values have greater keys, equal ones the same; of texts the keys are the texts."""
    values = pool(kind)
    keys = keys_of(kind, values).tolist()
    for one, key in zip(values, keys, strict=True):
        for other, other_key in zip(values, keys, strict=True):
            assert (one < other, one == other) == (key < other_key, key == other_key)
    if kind is ColumnType.STRING:
        assert values == keys
    assert 0 == len(keys_of(kind, []))


def test_closed_intervals_at_the_ends_of_the_types():
    """An open end of all doubles is the last finite one, that of integers the last there is, that of texts none."""
    assert [(INT64_MIN, INT64_MAX)] == list(closed_intervals(ColumnType.INT64, EVERY_VALUE))
    assert [(-FLOAT_MAX, FLOAT_MAX)] == list(closed_intervals(ColumnType.FLOAT64, EVERY_VALUE))
    assert [("", None)] == list(closed_intervals(ColumnType.STRING, EVERY_VALUE))
    assert [] == list(closed_intervals(ColumnType.BOOL, NO_VALUE))
    above = values_where(CompareOp.GT, 0.0)
    assert [(5e-324, FLOAT_MAX)] == list(closed_intervals(ColumnType.FLOAT64, above))
    after = values_where(CompareOp.GT, "a")
    assert [("a\0", None)] == list(closed_intervals(ColumnType.STRING, after))
    assert [np.int64, np.float64, np.int64, np.object_, np.int64] == [
        interval_dtype(kind) for kind in ColumnType
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_factors_of_sets_without_intervals_have_none(kind):
    """Nothing at all, and NULL alone: there is nothing to compare with, and NULL is told apart."""
    factors = {Slot(4): NO_VALUE, Slot(2): NULL_ALONE, Slot(9): EVERYTHING}
    made = Factors.of(kind, factors)
    assert [0, 0, 1] == made.sizes.tolist()
    assert [False, True, True] == made.nulls.tolist()


def test_factors_past_the_last_double_hold_no_value_without_a_warning():
    """Nothing lies above the largest double or below the smallest, and asking is no overflow."""
    keys = keys_of(ColumnType.FLOAT64, pool(ColumnType.FLOAT64)).tolist()
    for op, constant in ((CompareOp.GT, FLOAT_MAX), (CompareOp.LT, -FLOAT_MAX)):
        made = Factors.of(ColumnType.FLOAT64, {Slot(0): values_where(op, constant)})
        ((low, high),) = zip(made.lows.tolist(), made.highs.tolist(), strict=True)
        assert not [key for key in keys if low <= key <= high]
