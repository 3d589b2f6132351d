"""A column of a segment that is read while it becomes full."""

import numpy as np
import pytest

from psoup.engine.data import scannable, stored_column
from psoup.engine.data.stored_column import StoredColumn
from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType as Type

TEXTS = ("b", "a", "c")


@pytest.mark.parametrize("asked_before", [False, True])
def test_texts_with_nulls_that_are_sealed_while_a_scan_begins_are_those_of_its_rows(
    monkeypatch, asked_before
):
    """The scan goes on with the codes and the texts that it found, whether they were in order already or not."""
    stored, codes = StoredColumn(Type.STRING), np.arange(SEGMENT_ROWS, dtype=np.int32) % 3
    valid = codes != 2
    stored.write(0, SEGMENT_ROWS, Column(Type.STRING, codes, valid, TEXTS))
    if asked_before:
        stored.scannable(SEGMENT_ROWS)

    def sealing(*of):
        monkeypatch.undo()
        stored.seal(0)
        return scannable.null_words(*of)

    monkeypatch.setattr(stored_column, "null_words", sealing)
    for _ in range(2):  # while it is sealed, and once it is
        found = stored.scannable(SEGMENT_ROWS - 1)
        assert found.texts is not None
        assert ["a", "b", "c"] == list(found.texts)
        assert [1, 0, 2] == found.values[:3].tolist()
    assert stored.texts is not None
    assert not stored._ranked[0]
