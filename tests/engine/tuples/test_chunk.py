"""A chunk's columns as whole numbers, against sorting and counting in Python."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.tuples.chunk import Chunk, ChunkColumn, padded
from psoup.engine.tuples.schema import ColumnType
from tests.engine.columns import chunk_values, column_of, pool
from tests.engine.kernels import twins

KINDS = list(ColumnType)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_chunk_column_of_any_values_oracle_has_keys_ordered_as_its_values(kind, data):
    """Equal values have one key and greater ones a greater one; NULLs stand apart, whatever their keys."""
    among = data.draw(st.lists(st.sampled_from(pool(kind)), max_size=5))
    nulls = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    values = chunk_values(kind, seed=data.draw(st.integers(0, 2**32)), among=among, nulls=nulls)
    column = ChunkColumn(column_of(kind, values))
    assert np.int64 == column.keys.dtype
    assert (CHUNK_ROWS,) == column.keys.shape
    assert {i for i, v in enumerate(values) if v is None} == twins.bits_of(column.null_rows)
    pairs = {(v, k) for v, k in zip(values, column.keys.tolist(), strict=True) if v is not None}
    distinct = sorted({value for value, _ in pairs})
    assert len(distinct) == len(pairs), "equal values have equal keys"
    by_value = [key for _, key in sorted(pairs)]
    assert sorted(set(by_value)) == by_value, "keys ascend as values do"
    assert (min(by_value, default=0), max(by_value, default=-1)) == column.span
    if kind is ColumnType.STRING:
        assert distinct == column.texts
        assert list(range(len(distinct))) == by_value
    else:
        assert column.texts is None


def test_chunk_column_of_texts_is_ordered_by_code_point():
    """The empty text first, U+0000 counts, characters past U+FFFF come after those below."""
    texts = ["\U00010000", "\uffff", "a\0", "a", "\0", ""]
    column = ChunkColumn(column_of(ColumnType.STRING, (texts * CHUNK_ROWS)[:CHUNK_ROWS]))
    in_order = ["", "\0", "a", "a\0", "\uffff", "\U00010000"]
    assert in_order == column.texts
    assert [in_order.index(text) for text in texts] == column.keys[: len(texts)].tolist()


def test_chunk_column_of_zeros_has_one_key_for_both():
    """0.0 and -0.0 are equal, so nothing tells them apart."""
    column = ChunkColumn(column_of(ColumnType.FLOAT64, [0.0, -0.0] * (CHUNK_ROWS // 2)))
    assert 1 == len(set(column.keys.tolist()))


@pytest.mark.parametrize("count", [0, CHUNK_ROWS - 1, CHUNK_ROWS + 1])
def test_chunk_column_of_a_part_of_a_chunk_is_refused(count):
    """Only whole chunks meet standing clauses."""
    with pytest.raises(AssertionError):
        ChunkColumn(column_of(ColumnType.INT64, [0] * count))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 3, CHUNK_ROWS])
def test_padded_column_begins_as_it_was_and_has_a_chunk(kind, count):
    """Values of any type, NULL among them; what follows is NULL."""
    values = [
        None,
        *(
            [True, False]
            if kind is ColumnType.BOOL
            else "ab"
            if kind is ColumnType.STRING
            else [1, 2]
        ),
    ]
    column = column_of(kind, [values[n % 3] for n in range(count)])
    made = padded(column)
    assert CHUNK_ROWS == len(made)
    assert column.to_list() == made.to_list()[:count]
    assert [None] * (CHUNK_ROWS - count) == made.to_list()[count:]


def test_chunk_reads_each_column_once_and_only_when_asked():
    """A column that no clause asks about costs nothing, one that several ask about is read once."""
    asked = []
    column = column_of(ColumnType.INT64, list(range(CHUNK_ROWS)))

    def columns(name):
        asked.append(name)
        return column

    chunk = Chunk(3 * CHUNK_ROWS, columns)
    assert ([], 3, 3 * CHUNK_ROWS) == (asked, chunk.number, chunk.first_row)
    assert chunk.column("a") is chunk.column("a")
    assert ["a"] == asked
    assert [7, 4_095] == chunk.values("b", np.array([7, 4_095])).to_list()
    assert column is chunk.values("b", np.arange(CHUNK_ROWS))
    for rows in (np.arange(CHUNK_ROWS)[::-1], np.zeros(CHUNK_ROWS, dtype=np.int64)):
        with pytest.raises(AssertionError, match="in their order"):
            chunk.values("b", rows)
    assert ["a", "b"] == asked
    with pytest.raises(AssertionError):
        Chunk(5, columns)
