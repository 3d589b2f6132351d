"""Factor tables against single comparisons: intervals of every type, joined, forgotten."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.limits import CHUNK_ROWS
from engine.query.expression import CompareOp
from engine.query.value_set import EVERY_VALUE, INT64_MAX, INT64_MIN, NO_VALUE, values_where
from engine.stems.factor_table import GONE, FactorTable, closed_intervals, interval_dtype
from engine.tuples.chunk import ChunkColumn
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType
from tests.engine.columns import (
    FLOAT_MAX,
    chunk_values,
    column_of,
    pool,
    satisfying,
    value_sets,
)
from tests.engine.kernels import twins

KINDS = list(ColumnType)
EVERY_ROW = set(range(CHUNK_ROWS))
COLUMNS = {kind: chunk_values(kind, seed=5, nulls=0.05) for kind in KINDS}
"""A chunk of each type in which every value of its pool occurs."""
ORDERED = {kind: ChunkColumn(column_of(kind, values)) for kind, values in COLUMNS.items()}


def narrowed(table, column, *, first_slot=0, slots=6):
    lineage = Lineage.full(first_slot, np.ones(slots, dtype=np.bool_))
    table.narrow(column, lineage)
    found = [twins.bits_of(row) for row in lineage.words]
    assert [bool(rows) for rows in found] == lineage.alive.tolist()
    return found


def expected(kind, factors, *, first_slot=0, slots=6):
    values = COLUMNS[kind]
    return [
        satisfying(values, factors[slot]) if slot in factors else EVERY_ROW
        for slot in range(first_slot, first_slot + slots)
    ]


def tables(kind):
    return st.dictionaries(st.integers(0, 5).map(Slot), value_sets(kind), max_size=6)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_factor_table_of_any_factors_differential_agrees_with_single_comparisons(kind, data):
    """Factors in any order of slots, whatever tile of slots is asked about."""
    factors = data.draw(tables(kind))
    shuffled = {slot: factors[slot] for slot in data.draw(st.permutations(list(factors)))}
    table = FactorTable.of(kind, shuffled)
    assert len(factors) == len(table)
    first = data.draw(st.integers(0, 3))
    for place, count in ((0, 6), (first, 2)):
        found = narrowed(table, ORDERED[kind], first_slot=place, slots=count)
        assert expected(kind, factors, first_slot=place, slots=count) == found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_factor_table_joined_and_forgetting_differential_agrees_with_single_comparisons(kind, data):
    """Slots that are gone pass; a joined table has the factors of both, and none that was forgotten."""
    factors = data.draw(tables(kind))
    table = FactorTable.of(kind, factors)
    for slot in (
        data.draw(st.lists(st.sampled_from(sorted(factors)), unique=True)) if factors else ()
    ):
        table.forget(slot)
        del factors[slot]
        assert expected(kind, factors) == narrowed(table, ORDERED[kind])
    free = sorted(set(range(6)) - set(factors))
    other = {Slot(s): v for s, v in data.draw(tables(kind)).items() if s in free}
    joined = table.joined(FactorTable.of(kind, other))
    assert GONE not in joined.slots.tolist()
    assert sorted(factors | other) == joined.slots.tolist()
    assert expected(kind, factors | other) == narrowed(joined, ORDERED[kind])
    assert joined.nbytes >= 0


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


def test_closed_intervals_at_the_ends_of_the_types():
    """An open end of all numbers is the last finite one, that of integers the last there is."""
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


def test_factor_table_past_the_last_double_is_empty_without_a_warning():
    """Nothing lies above the largest double or below the smallest, and asking is no overflow."""
    for op, constant in ((CompareOp.GT, FLOAT_MAX), (CompareOp.LT, -FLOAT_MAX)):
        table = FactorTable.of(ColumnType.FLOAT64, {Slot(0): values_where(op, constant)})
        assert [set()] == narrowed(table, ORDERED[ColumnType.FLOAT64], slots=1)


def test_factor_table_prepares_a_chunk_once_for_all_tiles(monkeypatch):
    """Places are looked up once a chunk, and again for the next one."""
    table = FactorTable.of(ColumnType.INT64, {Slot(0): values_where(CompareOp.GT, 1)})
    columns = [ChunkColumn(column_of(ColumnType.INT64, [i] * CHUNK_ROWS)) for i in (0, 2)]
    looked = []
    real = ChunkColumn.below

    def below(column, bounds):
        looked.append(column)
        return real(column, bounds)

    monkeypatch.setattr(ChunkColumn, "below", below)
    for column in (columns[0], columns[0], columns[1], columns[0]):
        held = EVERY_ROW if column is columns[1] else set()
        assert [held] == narrowed(table, column, slots=1)
    assert [columns[0], columns[1], columns[0]] == looked


def test_factor_table_forgetting_a_slot_that_is_not_there_is_refused():
    """A slot that is settled has a factor: anything else is a bug of the caller."""
    table = FactorTable.of(ColumnType.INT64, {Slot(1): EVERY_VALUE, Slot(3): EVERY_VALUE})
    with pytest.raises(AssertionError):
        table.forget(Slot(2))
