"""Which bodies of rows are checked in the event loop: those whose bytes bound the work."""

import pytest

from psoup.app.backend.catalogue import Declaration
from psoup.app.routes.received_rows import SMALL_BYTES_MAX, SMALL_VALUES_MAX, is_small
from psoup.app.wire.rows.body import ARROW, COLUMNS, CSV, JSON, NDJSON
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema


def declaration(columns: int) -> Declaration:
    """Return a stream of so many columns."""
    declared = tuple(ColumnSchema(f"c{i}", ColumnType.INT64, nullable=True) for i in range(columns))
    return Declaration(StreamId(1), StreamSchema("s", declared, None, ClockKind.SERVER))


@pytest.mark.parametrize("media_type", [JSON, NDJSON, CSV, COLUMNS])
def test_a_text_is_small_by_its_bytes(media_type):
    """Up to the bound, and not beyond it."""
    assert is_small(b" " * SMALL_BYTES_MAX, media_type, declaration(1))
    assert not is_small(b" " * (SMALL_BYTES_MAX + 1), media_type, declaration(1))


def test_rows_of_many_columns_are_small_by_their_values():
    """`{},{},...` has a value for each column of each row, in three bytes a row."""
    columns = 64
    assert is_small(b" " * (SMALL_VALUES_MAX // columns), JSON, declaration(columns))
    assert not is_small(b" " * (SMALL_VALUES_MAX // columns + 1), JSON, declaration(columns))


def test_an_arrow_body_is_never_small():
    """It may be compressed: a few bytes of it may be many rows."""
    assert not is_small(b" ", ARROW, declaration(1))
