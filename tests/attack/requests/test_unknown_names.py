"""Bodies of unknown columns, with names made to be nearly those of columns: refusing them costs little."""

import time

import orjson
import pytest

from psoup.app.wire.rows.body import COLUMNS, CSV, JSON, read_rows
from psoup.engine import limits
from psoup.engine.errors import RowsRejectedError
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.app.support import START_US

CPU_S = 3.0
"""Of a body of some 30 KB: it took four times as long and more."""


def names(length: int, count: int, end: str) -> list[str]:
    """Return different names of one length, all alike."""
    return [f"{i:04}" + ("abcdefgh" * length)[: length - 5] + end for i in range(count)]


@pytest.mark.parametrize("length", [32, limits.COLUMN_NAME_LENGTH_MAX])
@pytest.mark.parametrize("media_type", [CSV, COLUMNS, JSON])
def test_names_that_are_nearly_columns_are_refused_in_little_time(media_type, length):
    """Which column may be meant is asked for what is shown, and only of names that are soon compared."""
    columns = names(length, limits.COLUMNS_COUNT_MAX, "x")
    schema = StreamSchema(
        "s",
        tuple(ColumnSchema(name, ColumnType.INT64) for name in columns),
        None,
        ClockKind.SERVER,
        Retention(),
    )
    wrong = names(length, limits.JSON_MEMBERS_MAX, "y")
    bodies = {
        CSV: ",".join(wrong).encode() + b"\n",
        COLUMNS: orjson.dumps({name: [1] for name in wrong}),
        JSON: orjson.dumps([dict.fromkeys(wrong, 1)]),
    }
    begun = time.process_time()
    with pytest.raises(RowsRejectedError) as refused:
        read_rows(bodies[media_type], media_type, schema, now_us=START_US)
    assert time.process_time() - begun < CPU_S
    assert len(wrong) == refused.value.extras["errors_total"]
