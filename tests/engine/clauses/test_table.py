"""Clause tables: what they are made of is read off their arrays again, one clause at a time."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.clauses.table import GONE, ClauseTable
from psoup.engine.query.values.expression import CompareOp
from psoup.engine.query.values.factor_table import Factors
from psoup.engine.query.values.value_set import (
    EVERY_VALUE,
    NO_VALUE,
    NULL_ALONE,
    ValueSet,
    values_among,
    values_between,
    values_where,
)
from psoup.engine.tuples.chunk import ChunkColumn
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import ColumnType
from tests.engine.columns import chunk_values, column_of, pool, value_sets
from tests.engine.query.values.test_factor_table import expected, told

ATTRIBUTES: Mapping[Any, int] = {kind.name: number for number, kind in enumerate(ColumnType)}
"""One attribute of each type, by its name."""
KINDS = {kind.name: kind for kind in ColumnType}
STRINGS = ColumnType.STRING.name


@st.composite
def clauses_drawn(draw, *, slots=range(8)):
    """Draw clauses by slot, in any order: whether each is open, and what it asks of which attributes."""
    chosen = draw(st.lists(st.sampled_from(list(slots)), unique=True, max_size=6))
    names = st.lists(st.sampled_from(sorted(ATTRIBUTES)), unique=True, max_size=3)
    return {
        Slot(slot): (
            draw(st.booleans()),
            {name: draw(value_sets(KINDS[name])) for name in draw(names)},
        )
        for slot in chosen
    }


def table_of(clauses, attributes=None):
    by_name: dict[str, dict[Slot, ValueSet]] = {}
    for slot, (_, factors) in clauses.items():
        for name, values in factors.items():
            by_name.setdefault(name, {})[slot] = values
    return ClauseTable(
        np.array(list(clauses), dtype=np.int32),
        np.array([is_open for is_open, _ in clauses.values()], dtype=np.bool_),
        {name: Factors.of(KINDS[name], some) for name, some in by_name.items()},
        ATTRIBUTES if attributes is None else attributes,
    )


def read(table, attributes=None):
    """Return (slot, open, {attribute: (intervals, takes NULL)}) of the clauses that are there, in order."""
    names = {n: name for name, n in (ATTRIBUTES if attributes is None else attributes).items()}
    clauses, found = table.clauses, []
    for at, slot in enumerate(clauses.names.tolist()):
        own = {}
        for factor in range(clauses.factors[at], clauses.factors[at + 1]):
            name = names[int(clauses.attributes[factor])]
            assert name not in own, "a clause asks once of each attribute"
            spans = slice(clauses.intervals[factor], clauses.intervals[factor + 1])
            bounds = table.bounds[name]
            highs, bounded = bounds.highs_at(clauses.highs[spans])
            lows = bounds.lows_at(clauses.lows[spans]).tolist()
            ends = zip(lows, highs.tolist(), bounded.tolist(), strict=True)
            intervals = [(low, high if has_end else None) for low, high, has_end in ends]
            own[name] = intervals, bool(clauses.nulls[factor])
        if slot != GONE:
            found.append((slot, bool(clauses.open[at]), own))
    return found


def said(clauses):
    """Return what `read` has to say of these clauses."""
    return [
        (
            slot,
            is_open,
            {n: expected(KINDS[n], {slot: values})[slot] for n, values in factors.items()},
        )
        for slot, (is_open, factors) in sorted(clauses.items())
    ]


def check(table):
    """Assert that bounds are numbered one after the other, each once, ascending."""
    past = 0
    for bounds in table.bounds.values():
        assert past == bounds.first
        past += len(bounds)
        for known in (bounds._lows.tolist(), bounds._highs.tolist()):
            assert sorted(set(known)) == known
    assert past == table.bounds_count
    clauses = table.clauses
    assert len(table) == len(clauses.names) == len(clauses.open) == len(clauses.factors) - 1
    int32 = {"names", "factors", "attributes", "intervals", "lows", "highs"}
    for name, array in clauses._asdict().items():
        assert (np.int32 if name in int32 else np.bool_) == array.dtype, name
        assert array.flags.c_contiguous, name


@given(clauses_drawn())
def test_clause_table_of_any_clauses_differential_says_what_they_ask(clauses):
    """Slots in any order come out ascending, with their factors, NULLs and openness."""
    table = table_of(clauses)
    check(table)
    assert said(clauses) == read(table)
    assert (len(clauses), set(clauses)) == (len(table), table.slots)
    arrays = sum(array.nbytes for array in table.clauses)
    assert arrays <= table.nbytes <= 2 * arrays + 16 * table.bounds_count


@given(clauses_drawn(), st.data())
def test_clause_table_that_forgets_differential_has_the_others(clauses, data):
    """What is forgotten is gone at once, once; slots that were never there are not forgotten."""
    table, left = table_of(clauses), dict(clauses)
    for slot in data.draw(st.lists(st.integers(0, 9), max_size=8)):
        assert (left.pop(Slot(slot), None) is not None) == table.forget(Slot(slot))
        assert said(left) == read(table)
        assert (set(left), len(clauses)) == (table.slots, len(table))
        assert len(clauses) - len(left) == table.forgotten
    check(table)


@given(clauses_drawn(), st.data())
def test_clause_table_parts_of_any_table_differential_make_it_again(clauses, data):
    """Slots, openness and factors without what was forgotten: a table of them asks the same."""
    table, left = table_of(clauses), dict(clauses)
    for slot in data.draw(st.lists(st.sampled_from(sorted(clauses)), unique=True)) if left else ():
        table.forget(slot)
        del left[slot]
    slots, open_slots, factors = table.parts()
    assert sorted(left) == slots.tolist()
    assert [left[slot][0] for slot in sorted(left)] == open_slots.tolist()
    for name, some in factors.items():
        asking = {slot: own[name] for slot, (_, own) in sorted(left.items()) if name in own}
        assert expected(KINDS[name], asking) == told(some)
        assert list(asking) == some.slots.tolist()
    assert {name for _, own in clauses.values() for name in own} == set(factors)
    again = ClauseTable(slots, open_slots, factors, ATTRIBUTES)
    check(again)
    assert said(left) == read(again)


@given(st.data())
def test_clause_tables_merged_differential_ask_what_all_of_them_asked(data):
    """Tables over other attributes and other slots, some forgotten, are one table; and merged once more."""
    tables: list[ClauseTable] = []
    left: dict[Slot, object] = {}
    for i in range(data.draw(st.integers(1, 3))):
        clauses = data.draw(clauses_drawn(slots=range(8 * i, 8 * i + 8)))
        table = table_of(clauses)
        for slot in data.draw(st.lists(st.sampled_from(sorted(clauses)))) if clauses else ():
            if table.forget(slot):
                del clauses[slot]
        tables.append(table)
        left |= clauses
    data.draw(st.randoms()).shuffle(tables)
    together = ClauseTable.merged(tables, ATTRIBUTES)
    check(together)
    assert said(left) == read(together)
    assert (len(left), 0) == (len(together), together.forgotten), "what was forgotten is gone"
    assert said(left) == read(ClauseTable.merged([together], ATTRIBUTES))


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("values", [NO_VALUE, NULL_ALONE, EVERY_VALUE])
def test_clause_table_of_sets_without_bounds_is_made_again(name, values):
    """Nothing, NULL alone and no end on either side: there is little to number, and it is kept."""
    clauses = {Slot(3): (False, {name: values}), Slot(1): (True, {})}
    table = table_of(clauses)
    check(table)
    assert said(clauses) == read(table) == read(ClauseTable.merged([table], ATTRIBUTES))


def test_clause_table_with_nothing_in_it_has_nothing():
    """No clause, or only clauses that ask nothing of attributes: no bounds, and nothing to forget."""
    table = table_of({})
    check(table)
    assert ([], 0, 0, set()) == (read(table), len(table), table.bounds_count, table.slots)
    assert not table.forget(Slot(0))
    assert [] == read(ClauseTable.merged([table, table_of({})], ATTRIBUTES))
    assert [(4, True, {})] == read(
        ClauseTable.merged([table, table_of({Slot(4): (True, {})})], ATTRIBUTES)
    )


def test_clause_table_in_which_all_is_forgotten_has_nothing():
    """Its bounds stand until it is made again without them."""
    table = table_of({Slot(2): (False, {STRINGS: values_where(CompareOp.LT, "b")})})
    assert table.forget(Slot(2))
    assert not table.forget(Slot(2)), "what is gone is not forgotten again"
    assert ([], set()) == (read(table), table.slots)
    again = ClauseTable.merged([table], ATTRIBUTES)
    assert ([], 0) == (read(again), len(again))
    assert again.nbytes < table.nbytes


def test_clause_table_numbers_equal_bounds_once():
    """A thousand clauses over three constants have three bounds on each side."""
    asked = [values_between(i % 3, i % 3 + 5) for i in range(1_000)]
    table = table_of({Slot(i): (False, {"INT64": values}) for i, values in enumerate(asked)})
    assert 3 + 3 + 1 == table.bounds_count == len(table.bounds["INT64"])
    (bounds,) = table.bounds.values()
    lows, highs, inside = bounds.keys(SimpleNamespace(texts=None))
    assert ([0, 1, 2], [4, 5, 6], True) == (lows.tolist(), highs.tolist(), inside)


@given(
    st.lists(value_sets(ColumnType.STRING), min_size=1, max_size=5),
    st.lists(st.sampled_from(pool(ColumnType.STRING)), max_size=6),
)
def test_bounds_of_texts_differential_are_places_among_the_texts_that_occur(asked, among):
    """A text that nobody has lies where it would lie; ends are behind what belongs, so never inside."""
    table = table_of({Slot(i): (False, {STRINGS: one}) for i, one in enumerate(asked)})
    column = ChunkColumn(
        column_of(ColumnType.STRING, chunk_values(ColumnType.STRING, seed=1, among=among))
    )
    assert column.texts is not None
    bounds = table.bounds[STRINGS]
    lows, highs, inside = bounds.keys(column)
    assert inside is False
    for keys, known in ((lows, bounds._lows.tolist()), (highs, bounds._highs.tolist())):
        assert [sum(text < one for text in column.texts) for one in known] == keys.tolist()
        assert np.int64 == keys.dtype
    assert 8 * (len(lows) + len(highs)) == bounds.nbytes


def test_bounds_of_texts_without_an_end_lie_behind_all():
    """The last number is that of no end: every text lies before it, the greatest too."""
    table = table_of({Slot(0): (False, {STRINGS: values_where(CompareOp.GE, "b")})})
    bounds = table.bounds[STRINGS]
    assert (2, 0) == (len(bounds), len(bounds._highs))
    highs, bounded = bounds.highs_at(table.clauses.highs)
    assert ([""], [False]) == (highs.tolist(), bounded.tolist())


def test_clause_table_numbers_attributes_as_it_is_told():
    """Attributes have the numbers of the stream's, whichever of them a table names."""
    numbers = {"a": 7, "INT64": 3, "STRING": 5}
    factors = {"STRING": values_among(["x"]), "INT64": values_among([1])}
    table = table_of({Slot(0): (False, factors)}, numbers)
    assert sorted([5, 3]) == sorted(table.clauses.attributes.tolist())
    names = {n for _, _, own in read(table, numbers) for n in own}
    assert {"STRING", "INT64"} == names == set(table.parts()[2])
