"""Clauses found by the one value that each asks for, against single comparisons."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.clauses.pivot_table import PIVOTS, PivotTable, asks_one, is_range, pivoted
from psoup.engine.kernels import hits, pivot
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.values.expression import ColumnRef, CompareOp
from psoup.engine.query.values.value_set import (
    EVERY_VALUE,
    EVERYTHING,
    NO_VALUE,
    NULL_ALONE,
    values_among,
    values_where,
)
from psoup.engine.results.match_block import Harvest, Keeping
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import ColumnType
from tests.engine.columns import FLOAT_MAX, chunk_values, column_of, pool, satisfying, value_sets
from tests.engine.kernels import twins
from tests.engine.results.blocks import plain
from tests.strategies import fewer

KINDS = {kind.name: kind for kind in ColumnType} | {"other": ColumnType.INT64}
ATTRIBUTES: Mapping[Any, int] = {name: number for number, name in enumerate(KINDS)}
SLOTS = 10
PIVOTED = sorted(kind.name for kind in PIVOTS)


def values_of(seed, nulls):
    return {
        name: chunk_values(kind, seed=seed + i, nulls=nulls)
        for i, (name, kind) in enumerate(KINDS.items())
    }


VALUES = [values_of(1, 0.1), values_of(20, 0.0), values_of(40, 1.0)]
VALUES.append(VALUES[1] | {"INT64": [7] * CHUNK_ROWS, "STRING": ["a"] * CHUNK_ROWS})
"""Chunks with some NULLs, without any, of nothing else; and one of one value of an attribute."""


def chunk_of(values):
    columns = {name: column_of(KINDS[name], some) for name, some in values.items()}
    return Chunk(0, columns.__getitem__)


CHUNKS = [chunk_of(values) for values in VALUES]


def factor(name, values):
    return AttributeFactor(ColumnRef(0, name, KINDS[name]), values)


@st.composite
def clauses_drawn(draw, attribute, slots=range(SLOTS)):
    """Draw clauses by slot that ask for one value of the attribute, and for ranges of others."""
    ones = [values_among([value]) for value in pool(KINDS[attribute])]
    possible = st.sampled_from([one for one in ones if asks_one(factor(attribute, one))])
    others = [name for name in KINDS if name != attribute]
    clauses = {}
    for slot in draw(st.lists(st.sampled_from(list(slots)), unique=True, max_size=6)):
        asked = [factor(attribute, draw(possible))]
        for name in draw(st.lists(st.sampled_from(others), unique=True, max_size=2)):
            other = factor(name, draw(value_sets(KINDS[name])))
            asked += [other] if is_range(other) else []
        clauses[Slot(slot)] = draw(st.permutations(asked))
    return clauses


def expected(clauses, values):
    """Return the rows of each clause that has some, one by one."""
    found = {}
    for slot, factors in clauses.items():
        rows = set(range(CHUNK_ROWS))
        for one in factors:
            rows &= satisfying(values[one.column.name], one.values)
        if rows:
            found[slot] = ("list", sorted(rows))
    return found


def matched(table, chunk, slots=SLOTS):
    harvest = Harvest()
    table.match(chunk, np.full(slots, Keeping.LISTS, dtype=np.uint8), harvest)
    block = harvest.block(np.arange(slots))
    block.check()
    return plain(block)


@pytest.mark.parametrize("attribute", PIVOTED)
@fewer(10, 25)
@given(data=st.data())
def test_pivot_table_of_any_clauses_differential_finds_what_single_comparisons_find(
    attribute, data
):
    """Chunk after chunk, whether a value occurs or not, is asked for by several or by none."""
    clauses = data.draw(clauses_drawn(attribute))
    table = pivoted(attribute, clauses, ATTRIBUTES)
    assert (len(clauses), set(clauses)) == (len(table), table.slots)
    for values, chunk in zip(VALUES, CHUNKS, strict=True):
        assert expected(clauses, values) == matched(table, chunk)
    with twins.all_plain(pivot, hits):
        plainly = pivoted(attribute, clauses, ATTRIBUTES)
        assert expected(clauses, VALUES[0]) == matched(plainly, CHUNKS[0])


@pytest.mark.parametrize("attribute", PIVOTED)
@fewer(8, 15)
@given(data=st.data())
def test_pivot_tables_that_forget_and_are_merged_differential_have_the_others(attribute, data):
    """What is forgotten is found no more, at once and once; a table of several has what they have left."""
    tables: list[PivotTable] = []
    left: dict[Slot, list[AttributeFactor]] = {}
    for i in range(data.draw(st.integers(1, 3))):
        clauses = data.draw(clauses_drawn(attribute, slots=range(10 * i, 10 * i + 10)))
        table = pivoted(attribute, clauses, ATTRIBUTES)
        for slot in data.draw(st.lists(st.integers(10 * i, 10 * i + 9), max_size=5)):
            assert (clauses.pop(Slot(slot), None) is not None) == table.forget(Slot(slot))
        assert set(clauses) == table.slots
        assert len(table) - len(clauses) == table.forgotten
        assert expected(clauses, VALUES[0]) == matched(table, CHUNKS[0], 30)
        tables.append(table)
        left |= clauses
    together = PivotTable.merged(tables, ATTRIBUTES)
    assert (len(left), set(left), 0) == (len(together), together.slots, together.forgotten)
    for values, chunk in zip(VALUES, CHUNKS, strict=True):
        assert expected(left, values) == matched(together, chunk, 30)
    again = PivotTable.merged([together], ATTRIBUTES)
    assert (again.slots, again.nbytes) == (together.slots, together.nbytes)


@pytest.mark.parametrize(("attribute", "one"), [("STRING", "a"), ("INT64", 0), ("FLOAT64", 0.5)])
def test_pivot_table_never_takes_null_for_a_value(attribute, one):
    """Under NULL lies some value, that of the smallest text or 0: it is not that value."""
    values = [None if i % 3 == 0 else one for i in range(CHUNK_ROWS)]
    clauses = {Slot(0): [factor(attribute, values_among([one]))]}
    found = matched(
        pivoted(attribute, clauses, ATTRIBUTES), chunk_of(VALUES[1] | {attribute: values})
    )
    assert {0: ("list", [i for i in range(CHUNK_ROWS) if i % 3])} == found


def test_pivot_table_of_more_candidates_than_rows_finds_them_all():
    """So many clauses of one value that there are more of them than a chunk has rows."""
    count = CHUNK_ROWS + 5
    clauses = {Slot(i): [factor("INT64", values_among([7]))] for i in range(count)}
    table = pivoted("INT64", clauses, ATTRIBUTES)
    values = [7 if i == 9 else 8 for i in range(CHUNK_ROWS)]
    for _ in range(2):
        found = matched(table, chunk_of(VALUES[1] | {"INT64": values}), count)
        assert dict.fromkeys(range(count), ("list", [9])) == found


def test_pivot_table_reads_the_columns_that_are_asked_for_and_no_other():
    """A column that no clause names costs nothing."""
    read = []

    def columns(name):
        read.append(name)
        return column_of(KINDS[name], VALUES[1][name])

    asked = [factor("INT64", values_among([7])), factor("other", values_where(CompareOp.GT, 1))]
    chunk = Chunk(0, columns)
    matched(pivoted("INT64", {Slot(0): asked}, ATTRIBUTES), chunk)
    assert ["INT64", "other"] == read


@pytest.mark.parametrize("kind", ColumnType)
@fewer(15, 25)
@given(data=st.data())
def test_asks_one_and_is_range_of_any_set_oracle_are_true_of_its_values(kind, data):
    """One value of a type with many, which NULL is not; one interval that can be compared with numbers."""
    values = data.draw(value_sets(kind))
    asked = factor(kind.name, values)
    inside = [value for value in pool(kind) if values.contains(value)]
    if asks_one(asked):
        assert kind in PIVOTS
        assert len({*inside, values.intervals[0].low}) == 1
        assert not values.contains(None)
    if is_range(asked):
        assert kind is not ColumnType.STRING
        assert not values.contains(None)
        among = sorted(pool(kind))
        belongs = [values.contains(value) for value in among]
        runs = [is_in for is_in, _ in itertools.groupby(belongs)]
        assert runs.count(True) <= 1, "what lies between two values of a range is in it"


@pytest.mark.parametrize(
    ("name", "values", "one", "ranged"),
    [
        ("INT64", values_among([3]), True, True),
        ("INT64", values_among([3, 5]), False, False),
        ("INT64", values_among([3, 4]), False, True),
        ("INT64", values_among([3]).union(NULL_ALONE), False, False),
        ("INT64", EVERY_VALUE, False, True),
        ("INT64", EVERYTHING, False, False),
        ("INT64", NO_VALUE, False, False),
        ("FLOAT64", values_among([-0.0]), True, True),
        ("FLOAT64", values_where(CompareOp.GT, FLOAT_MAX), False, True),
        ("STRING", values_among(["a"]), True, False),
        ("STRING", values_where(CompareOp.GT, "a"), False, False),
        ("BOOL", values_among([True]), False, True),
        ("TIMESTAMP", values_among([3]), False, True),
    ],
)
def test_asks_one_and_is_range_of_a_set(name, values, one, ranged):
    """Which sets are looked for by value, and which are compared beside one that is."""
    asked = factor(name, values)
    assert (one, ranged) == (asks_one(asked), is_range(asked))
