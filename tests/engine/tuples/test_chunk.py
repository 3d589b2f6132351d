"""A chunk's columns in order, against sorting and counting in Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.limits import CHUNK_ROWS
from engine.tuples.block import Block
from engine.tuples.chunk import Chunk, ChunkColumn
from engine.tuples.lineage import Lineage
from engine.tuples.schema import ColumnType
from tests.engine.columns import chunk_values, column_of, pool
from tests.engine.kernels import twins

KINDS = list(ColumnType)
OBJECTS = {ColumnType.STRING: np.object_, ColumnType.FLOAT64: np.float64}


def bounds_of(kind, values):
    made: Any = np.empty(len(values), dtype=OBJECTS.get(kind, np.int64))
    made[:] = values
    return made


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_chunk_column_of_any_values_oracle_is_in_order_and_counts_below(kind, data):
    """Rows with a value once each, ascending; NULLs apart; places below any bounds as counted."""
    among = data.draw(st.lists(st.sampled_from(pool(kind)), max_size=5))
    nulls = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    values = chunk_values(kind, seed=data.draw(st.integers(0, 2**32)), among=among, nulls=nulls)
    column = ChunkColumn(column_of(kind, values))
    held = [i for i, value in enumerate(values) if value is not None]
    assert held == sorted(column.order.tolist())
    assert np.int32 == column.order.dtype
    ordered = [values[i] for i in column.order.tolist()]
    assert sorted(ordered) == ordered
    assert {i for i, v in enumerate(values) if v is None} == twins.bits_of(column.null_rows)
    bounds = sorted(set(data.draw(st.lists(st.sampled_from(pool(kind)), max_size=6))))
    distinct = sorted(set(ordered))
    counted = {value: ordered.count(value) for value in distinct}
    asked = bounds_of(kind, bounds)
    below = [sum(counted[value] for value in distinct if value < bound) for bound in bounds]
    assert below == column.below(asked).tolist()
    if kind is not ColumnType.STRING:
        up_to = [sum(counted[value] for value in distinct if value <= bound) for bound in bounds]
        assert up_to == column.up_to(asked).tolist()


def test_chunk_column_of_texts_is_ordered_by_code_point():
    """The empty text first, U+0000 counts, characters past U+FFFF come after those below."""
    texts = ["\U00010000", "\uffff", "a\0", "a", "\0", ""]
    column = ChunkColumn(column_of(ColumnType.STRING, (texts * CHUNK_ROWS)[:CHUNK_ROWS]))
    ordered = [texts[i % len(texts)] for i in column.order.tolist()]
    assert ["", "\0", "a", "a\0", "\uffff", "\U00010000"] == list(dict.fromkeys(ordered))


@pytest.mark.parametrize("count", [0, CHUNK_ROWS - 1, CHUNK_ROWS + 1])
def test_chunk_column_of_a_part_of_a_chunk_is_refused(count):
    """Only whole chunks meet standing clauses."""
    with pytest.raises(AssertionError):
        ChunkColumn(column_of(ColumnType.INT64, [0] * count))


def test_chunk_orders_each_column_once_and_only_when_asked():
    """A column that no clause asks about costs nothing, one that several ask about one sort."""
    asked = []
    column = column_of(ColumnType.INT64, list(range(CHUNK_ROWS)))

    def columns(name):
        asked.append(name)
        return column

    chunk = Chunk(3 * CHUNK_ROWS, columns)
    assert ([], 3, 3 * CHUNK_ROWS) == (asked, chunk.number, chunk.first_row)
    block = Block(chunk, Lineage.full(0, np.ones(1, dtype=np.bool_)))
    assert block.chunk.ordered("a") is chunk.ordered("a")
    assert ["a"] == asked
    assert [7, 4_095, 7] == chunk.values("b", np.array([7, 4_095, 7])).to_list()
    with pytest.raises(AssertionError):
        Chunk(5, columns)
