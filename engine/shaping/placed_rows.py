"""Rows of an answer, each with its place in it: Arrow batches to be sorted by bytes, wherever that is done.

The columns are `place`, the bytes by which answers are in order (`byte_order`); `id`, of the row as answers write it;
`leaves`, int64, the instant of its `_x`, NEVER_US: at none; and the outputs, `c0`, `c1` and so on. Of rows that are
equal in all outputs DISTINCT shows the first one: then `same` is what they have in common, and `first` sorts them.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.invocation.distinct import shown_once
from psoup.engine.invocation.shaped.sorting import SortKey
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.evaluate import Columns, evaluate
from psoup.engine.shaping.byte_order import bytes_of
from psoup.engine.tuples.arrow import ARROW_TYPES, column_to_arrow
from psoup.engine.tuples.batch import Column

PLACE: Final = "place"
ID: Final = "id"
LEAVES: Final = "leaves"
SAME: Final = "same"
FIRST: Final = "first"


def output_name(place: int) -> str:
    """Return the name of the column with the values of an output."""
    return f"c{place}"


def placed_schema(shape: Shape) -> pa.Schema:
    """Return the columns of the rows of a shape's answer."""
    compared = [(SAME, pa.binary()), (FIRST, pa.binary())] if shape.distinct else []
    outputs = [
        (output_name(place), ARROW_TYPES[output.type]) for place, output in enumerate(shape.outputs)
    ]
    own = [(PLACE, pa.binary()), (ID, pa.string()), (LEAVES, pa.int64())]
    return pa.schema([*own, *compared, *outputs])


def placed(
    shape: Shape,
    count: int,
    columns: Columns,
    *,
    ties: Sequence[Column],
    ids: pa.StringArray,
    leaves_us: NDArray[np.int64],
) -> pa.RecordBatch:
    """Return `count` rows of the answer, before DISTINCT, OFFSET and LIMIT.

    Args:
        shape: of the query.
        count: how many rows.
        columns: what expressions of the select list and of ORDER BY read.
        ties: values that tell all rows apart, by which they are in order without ORDER BY.
        ids: of the rows.
        leaves_us: when each leaves.
    """
    outputs = [evaluate(output.expression, columns, count) for output in shape.outputs]
    order = [
        SortKey(evaluate(entry.expression, columns, count), entry.descending, entry.nulls_first)
        for entry in shape.order
    ]
    first = list(map(SortKey, ties))
    compared: list[pa.Array] = []
    if shape.distinct:
        outputs = list(map(shown_once, outputs))
        same = list(map(SortKey, outputs))
        compared = [bytes_of(same, count), bytes_of(first, count)]
        order += same if order else first
    else:
        order += first
    place = bytes_of(order, count)
    shown = map(column_to_arrow, outputs)
    arrays = [place, ids, pa.array(leaves_us, pa.int64()), *compared, *shown]
    return pa.RecordBatch.from_arrays(arrays, schema=placed_schema(shape))
