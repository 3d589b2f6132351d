"""The grouped filter against its naive twin, over every type, settled, recent and made again."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.limits import CHUNK_ROWS
from engine.query.expression import CompareOp
from engine.query.value_set import EVERY_VALUE, EVERYTHING, values_where
from engine.stems import grouped_filter
from engine.stems.grouped_filter import RECENT_SLOTS_MAX, GroupedFilter
from engine.tuples.chunk import ChunkColumn
from engine.tuples.lineage import Lineage, Slot
from engine.tuples.schema import ColumnType
from tests.engine.columns import chunk_values, column_of, value_sets
from tests.engine.filters import PlainFilter
from tests.engine.kernels import twins

SLOTS = 12
KINDS = list(ColumnType)
ORDERED = {kind: ChunkColumn(column_of(kind, chunk_values(kind, seed=9))) for kind in KINDS}


def probed(attribute_filter, column, *, tiles=((0, SLOTS),)):
    """Return the words of all slots after a probe, tile by tile; others than SLOTS pass."""
    words = []
    for first, count in tiles:
        lineage = Lineage.full(first, np.ones(count, dtype=np.bool_))
        attribute_filter.probe(column, lineage)
        words += lineage.words.tolist()
    return words


def rows_of(words):
    return [twins.bits_of(np.array(row, dtype=np.uint64)) for row in words]


@pytest.mark.parametrize("recent_max", [0, 1, 3, RECENT_SLOTS_MAX])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_grouped_filter_under_any_changes_differential_agrees_with_plain(kind, recent_max, data):
    """Factors come, go and come again in reused slots, settled and recent: every probe says what single
    comparisons say, in one tile and in several."""  # noqa: D205, D209
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouped_filter, "RECENT_SLOTS_MAX", recent_max)
        real, plain = GroupedFilter(kind), PlainFilter(kind)
        for _ in range(data.draw(st.integers(1, 12))):
            slot = Slot(data.draw(st.integers(0, SLOTS - 1)))
            if slot in plain.factors:
                real.evict(slot)
                plain.evict(slot)
            else:
                asked = data.draw(value_sets(kind))
                real.build(slot, asked)
                plain.build(slot, asked)
            real.check()
            assert len(plain) == len(real)
            if data.draw(st.booleans()):
                expected = probed(plain, ORDERED[kind])
                tiles = data.draw(st.sampled_from([((0, SLOTS),), ((0, 5), (5, 1), (6, 6))]))
                assert expected == probed(real, ORDERED[kind], tiles=tiles)
                real.check()


def test_grouped_filter_conjuncts_on_one_attribute_must_both_hold():
    """`a > 3 AND a < 6` is one interval: 1 satisfies one conjunct and is not let through."""
    made = GroupedFilter(ColumnType.INT64)
    made.build(Slot(0), values_where(CompareOp.GT, 3).intersect(values_where(CompareOp.LT, 6)))
    values = [i % 10 for i in range(CHUNK_ROWS)]
    (rows,) = rows_of(
        probed(made, ChunkColumn(column_of(ColumnType.INT64, values)), tiles=((0, 1),))
    )
    assert {i for i, value in enumerate(values) if value in {4, 5}} == rows


def test_grouped_filter_never_sets_a_bit():
    """Rows that were lost before a probe that everything satisfies are lost after it, alive or not."""
    made = GroupedFilter(ColumnType.INT64)
    for slot in range(3):
        made.build(Slot(slot), values_where(CompareOp.GE, 0))
    lineage = Lineage.full(0, np.array([True, True, False]))
    lineage.words[0] = 0
    lineage.words[1] = twins.words_from({5, 4_095}, 64)
    made.probe(ChunkColumn(column_of(ColumnType.INT64, [1] * CHUNK_ROWS)), lineage)
    assert [set(), {5, 4_095}] == rows_of(lineage.words[:2])
    assert [False, True, False] == lineage.alive.tolist()


def test_grouped_filter_that_lets_everything_pass_changes_nothing():
    """A factor that every value satisfies, NULL too, is as good as none; without NULL, NULLs go."""
    made = GroupedFilter(ColumnType.INT64)
    made.build(Slot(0), EVERYTHING)
    made.build(Slot(1), EVERY_VALUE)
    values = [None if i % 3 == 0 else i for i in range(CHUNK_ROWS)]
    all_rows, some, free = rows_of(
        probed(made, ChunkColumn(column_of(ColumnType.INT64, values)), tiles=((0, 3),))
    )
    assert set(range(CHUNK_ROWS)) == all_rows == free
    assert {i for i in range(CHUNK_ROWS) if i % 3} == some


def ascending(count):
    made = GroupedFilter(ColumnType.INT64)
    for slot in range(count):
        made.build(Slot(slot), values_where(CompareOp.GT, slot))
    return made


def test_grouped_filter_many_registrations_between_probes_derive_one_table():
    """Registrations cost no table; the next probe makes one, whatever their number."""
    made = ascending(1_000)
    assert 0 == made.statistics().derived
    column = ChunkColumn(column_of(ColumnType.INT64, [500] * CHUNK_ROWS))
    found = probed(made, column, tiles=((0, 1_000),))
    assert (1, 1_000, 1_000) == (
        made.statistics().derived,
        made.statistics().probed,
        made.statistics().slots,
    )
    assert 500 == sum(row[0] > 0 for row in found)


def test_grouped_filter_registrations_among_probes_settle_rarely():
    """A registration between two probes makes the small table again, not the large one."""
    made = ascending(RECENT_SLOTS_MAX + 1)
    column = ORDERED[ColumnType.INT64]
    probed(made, column)
    settled = made._settled_table
    assert settled is not None
    for slot in range(RECENT_SLOTS_MAX + 1, 2 * RECENT_SLOTS_MAX + 1, 16):
        for more in range(16):
            made.build(Slot(slot + more), values_where(CompareOp.GT, slot))
        probed(made, column)
    assert settled is made._settled_table
    made.build(Slot(9_000), values_where(CompareOp.GT, 1))
    probed(made, column)
    assert settled is not made._settled_table
    made.check()


def test_grouped_filter_mostly_evicted_lets_its_constants_go():
    """A table of constants that nobody asks for any more is made again without them."""
    made = ascending(RECENT_SLOTS_MAX + 1)
    column = ChunkColumn(column_of(ColumnType.INT64, [0] * CHUNK_ROWS))
    probed(made, column)
    before = made.statistics().table_bytes
    for slot in range(RECENT_SLOTS_MAX - 9):
        made.evict(Slot(slot))
        made.check()
    found = probed(made, column, tiles=((RECENT_SLOTS_MAX - 19, 20),))
    assert [True] * 10 + [False] * 10 == [row[0] > 0 for row in found]
    assert made.statistics().table_bytes < before // 4
