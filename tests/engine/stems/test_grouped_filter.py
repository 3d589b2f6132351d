"""The grouped filter against its naive twin, over every type, with and without bit rows."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.kernels import bits
from engine.query.expression import CompareOp
from engine.query.value_set import NULL_ALONE, ValueSet, values_among, values_where
from engine.stems.grouped_filter import RECENT_SLOTS_MAX, GroupedFilter
from engine.tuples.batch import DTYPES, Column
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType
from tests.engine.filters import PlainFilter
from tests.strategies import POOLS

SLOTS = 200
COMPARING = 0
"""A cap on bit rows that is too small for any: ranks are compared."""


def column_of(kind, values):
    """Return Python values, None for NULL, as a column whose dictionary also holds unused texts."""
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    dictionary = None
    if kind is ColumnType.STRING:
        texts = sorted({value for value in values if value is not None} | {"", "unused"})
        dictionary = texts
        filled = [0 if value is None else texts.index(value) for value in values]
    else:
        filled = [0 if value is None else value for value in values]
    return Column(kind, np.array(filled, DTYPES[kind]), None if valid.all() else valid, dictionary)


def full(tuples):
    return Lineage(np.full((tuples, bits.words_of(SLOTS)), 2**64 - 1, dtype=np.uint64))


def probed(attribute_filter, column):
    lineage = full(len(column))
    attribute_filter.probe(column, lineage)
    return bits.unpack(lineage.words, SLOTS).tolist()


@st.composite
def value_sets(draw, kind):
    """Draw what a WHERE of any shape may ask of an attribute: unions, holes, points, NULL."""
    often, edges = POOLS[kind]
    constants = st.sampled_from(often + edges)
    parts = st.one_of(
        st.builds(values_where, st.sampled_from(list(CompareOp)), constants),
        st.builds(values_among, st.lists(constants, max_size=4)),
        st.just(NULL_ALONE),
        st.just(ValueSet(())),
    )
    made = draw(parts)
    for _ in range(draw(st.integers(0, 2))):
        made = made.union(draw(parts)) if draw(st.booleans()) else made.intersect(draw(parts))
    return made


@pytest.mark.parametrize("bytes_max", [2**20, COMPARING], ids=["rows", "ranks"])
@pytest.mark.parametrize("kind", list(ColumnType))
@settings(max_examples=40)
@given(data=st.data())
def test_grouped_filter_under_any_changes_differential_agrees_with_plain(kind, bytes_max, data):
    """Factors come, go and come again in reused slots; every probe says what single comparisons say."""
    often, edges = POOLS[kind]
    values = st.one_of(st.none(), st.sampled_from(often + edges))
    real, plain = GroupedFilter(kind, bytes_max=bytes_max), PlainFilter(kind)
    for _ in range(data.draw(st.integers(1, 6))):
        slot = Slot(data.draw(st.sampled_from([0, 1, 63, 64, 199])))
        if slot in plain.factors:
            real.evict(slot)
            plain.evict(slot)
        else:
            values_asked = data.draw(value_sets(kind))
            real.build(slot, values_asked)
            plain.build(slot, values_asked)
        real.check()
        column = column_of(kind, data.draw(st.lists(values, max_size=12)))
        assert probed(plain, column) == probed(real, column)
        real.check()


@pytest.mark.parametrize("bytes_max", [2**20, COMPARING], ids=["rows", "ranks"])
@pytest.mark.parametrize("kind", [ColumnType.FLOAT64, ColumnType.INT64, ColumnType.STRING])
def test_grouped_filter_with_many_slots_differential_agrees_with_plain(kind, bytes_max):
    """The settled table and the recent one together say what single comparisons say, through evictions."""
    rng = np.random.default_rng(11)

    def constant():
        number = int(rng.integers(0, 50))
        return {"float64": number / 4, "int64": number, "string": f"k{number:02d}"}[kind.value]

    real, plain = GroupedFilter(kind, bytes_max=bytes_max), PlainFilter(kind)
    column = column_of(kind, [constant() for _ in range(30)] + [None])
    for turn in range(3):
        for slot in range(SLOTS):
            if slot in plain.factors and rng.random() < 0.7:
                real.evict(Slot(slot))
                plain.evict(Slot(slot))
            if slot not in plain.factors:
                low, high = sorted([constant(), constant()])
                asked = values_where(CompareOp.GE, low).intersect(values_where(CompareOp.LT, high))
                real.build(Slot(slot), asked)
                plain.build(Slot(slot), asked)
            if slot % 50 == turn:
                assert probed(plain, column) == probed(real, column)
        real.check()
        assert probed(plain, column) == probed(real, column)


def test_grouped_filter_past_its_cap_holds_no_bit_rows():
    """A table that would exceed the cap is not made; one byte more of room, and it is."""
    for bytes_max, expected in ((2 * 2 * 8 - 1, 0), (4 * 8, 4 * 8)):
        made = GroupedFilter(ColumnType.INT64, bytes_max=bytes_max)
        made.build(Slot(0), values_where(CompareOp.LT, 5))
        probed(made, column_of(ColumnType.INT64, [4, 5]))
        assert expected == made.statistics().table_bytes


def test_grouped_filter_conjuncts_on_one_attribute_must_both_hold():
    """`a > 3 AND a < 6` is one interval: 1 satisfies one conjunct and is not let through."""
    made = GroupedFilter(ColumnType.INT64)
    both = values_where(CompareOp.GT, 3).intersect(values_where(CompareOp.LT, 6))
    made.build(Slot(0), both)
    column = column_of(ColumnType.INT64, [1, 3, 4, 5, 6, 9])
    assert [False, False, True, True, False, False] == [row[0] for row in probed(made, column)]


def test_grouped_filter_never_sets_a_bit():
    """A lineage without bits has none after a probe that every value satisfies."""
    made = GroupedFilter(ColumnType.INT64)
    made.build(Slot(0), values_where(CompareOp.GE, 0))
    lineage = Lineage(np.zeros((2, 1), dtype=np.uint64))
    made.probe(column_of(ColumnType.INT64, [1, 2]), lineage)
    assert [[0], [0]] == lineage.words.tolist()


def test_grouped_filter_many_registrations_between_probes_derive_one_table():
    """Registrations cost no table; the next probe makes one, whatever their number."""
    made = GroupedFilter(ColumnType.INT64)
    for slot in range(1_000):
        made.build(Slot(slot), values_where(CompareOp.GT, slot))
    assert 0 == made.statistics().derived
    lineage = Lineage(np.full((1, 16), 2**64 - 1, dtype=np.uint64))
    made.probe(column_of(ColumnType.INT64, [500]), lineage)
    assert 1 == made.statistics().derived
    assert 500 + 24 == bits.popcount(lineage.words)  # 24 bits of the last word belong to no slot


def test_grouped_filter_registrations_among_probes_settle_rarely():
    """A registration between two probes makes the small table again, not the large one."""
    made = GroupedFilter(ColumnType.INT64)
    for slot in range(1_000):
        made.build(Slot(slot), values_where(CompareOp.GT, slot))
    column = column_of(ColumnType.INT64, [3])
    lineage = Lineage(np.full((1, 32), 2**64 - 1, dtype=np.uint64))
    made.probe(column, lineage)
    settled = made._settled_table
    for slot in range(1_000, 1_000 + RECENT_SLOTS_MAX):
        made.build(Slot(slot), values_where(CompareOp.GT, slot))
        made.probe(column, lineage)
    assert settled is made._settled_table
    made.build(Slot(2_000), values_where(CompareOp.GT, 1))
    made.probe(column, lineage)
    assert settled is not made._settled_table


def test_grouped_filter_mostly_evicted_lets_its_constants_go():
    """A table of constants that nobody asks for any more is made again without them."""
    made = GroupedFilter(ColumnType.INT64)
    for slot in range(200):
        made.build(Slot(slot), values_where(CompareOp.GT, slot))
    column = column_of(ColumnType.INT64, [150])
    probed(made, column)
    before = made.statistics().table_bytes
    for slot in range(190):
        made.evict(Slot(slot))
        made.check()
    assert [True] * 190 + [False] * 10 == probed(made, column)[0]
    assert made.statistics().table_bytes < before // 4
