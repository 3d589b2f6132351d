"""Rows without groups: the select list and ORDER BY, computed for rows as they are found."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.invocation.position.answer import NO_PART
from psoup.engine.query.shape import Shape
from psoup.engine.shaping.found_rows import columns_read, found_rows
from psoup.engine.shaping.placed_rows import placed
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_BETWEEN = "-"


def placed_rows(
    shape: Shape, sources: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield rows of the answer of a shape without groups, out of those that are found.

    Args:
        shape: of the query.
        sources: how many FROM has.
        batches: of rows that are visible, none of them to come.
    """
    for rows in found_rows(batches, columns_read(shape), sources):
        texts = [
            pa.array(ids, mask=ids == NO_PART).cast(pa.string()).fill_null("")
            for ids in rows.tuple_ids
        ]
        yield placed(
            shape,
            len(rows),
            rows.column,
            ties=[Column(ColumnType.INT64, one) for one in (rows.times, *rows.tuple_ids)],
            ids=texts[0] if sources == 1 else pc.binary_join_element_wise(*texts, _BETWEEN),
            leaves_us=rows.leaves_us,
        )
