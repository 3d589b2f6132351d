"""What is accepted of rows and almost always a mistake: instants in another unit than the one that is read."""

from typing import Final

import pyarrow as pa

from psoup.engine.tuples.schema import ColumnType, StreamSchema
from psoup.engine.tuples.time_unit import COARSE_COUNTS, TimeUnit, likely_unit

TIMESTAMP_UNIT: Final = "timestamp-unit"
_COARSER: Final = frozenset({TimeUnit.S, TimeUnit.MS})
"""Units whose counts of this century are dates of early 1970, read as microseconds."""
_WRITTEN_OUT: Final = (b"1970-0", b"1969-12")
"""How a text of one of these instants begins: early 1970 in UTC, and to the west of it."""


def row_warnings(
    batch: pa.RecordBatch, schema: StreamSchema, text: bytes = b""
) -> list[dict[str, object]]:
    """Return a warning for each timestamp column that was sent in another unit than it is read in, as it seems.

    It seems so where all values are dated as seconds or milliseconds of this century are, read as microseconds. A body
    that writes such an instant out means it.

    Args:
        batch: the rows.
        schema: what they are read as.
        text: the body, where it is of a format in which instants can be written out.

    Cost: O(columns); where the first value looks so two passes over its column, and one over `text` where all do.
    """
    found: list[dict[str, object]] = []
    for place, column in enumerate(schema.columns):
        if column.type is not ColumnType.TIMESTAMP or column.unit is not None:
            continue
        values = batch.column(place)
        first = values[0].value if len(values) else None
        if first is not None and first not in COARSE_COUNTS:  # as good as always
            continue
        unit = _likely_unit(values)
        if unit is not None:
            detail = (
                f"{column.name}: read as microseconds all values lie in early 1970; they look like {unit.spoken}. Declare "
                f'the column with "unit": "{unit}", or send RFC 3339'
            )
            found.append({"code": TIMESTAMP_UNIT, "detail": detail})
    return [] if found and any(begun in text for begun in _WRITTEN_OUT) else found


def _likely_unit(values: pa.Array) -> TimeUnit | None:
    """Return the unit in which all values are of this century, if they are in one."""
    if values.null_count == len(values):
        return None
    us = values.drop_null().view(pa.int64()).to_numpy()
    unit = likely_unit(int(us.min()), int(us.max()))
    return unit if unit in _COARSER else None
