"""Rows as JSON: one object, an array of objects, or one object per line. Columns are built whole.

Where a column does not come out, its values are judged one by one, and only those that orjson may have
changed are looked up as they were written: floats so large that they may have been integers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain
from operator import itemgetter

import numpy as np
import pyarrow as pa

from app.errors import BadBodyError
from app.wire.json_body import JsonRows, read_array, read_lines
from app.wire.row_errors import (
    TYPE_MISMATCH,
    UNKNOWN_COLUMN,
    LinesOf,
    RowError,
    RowErrors,
    WrongValue,
    pointer,
    shown,
    value_error,
)
from app.wire.values import fast_column, judge
from engine import limits
from engine.tuples.schema import ColumnSchema, StreamSchema

Object = Mapping[str, object]
_VAST = 2.0**63
"""orjson makes floats of integers from 2^64 on and of negative ones beyond -2^63."""
_SLICE_ROWS = 1_000
"""Of a column that is wrong somewhere, slices that are right are passed over."""


def arrays_from_json(
    body: bytes, schema: StreamSchema, *, lines: bool
) -> tuple[list[pa.Array], LinesOf | None]:
    """Return one Arrow array per column, and where each row stands in the body.

    Cost: where values do not fit, one more pass over the rows of each column that they are in.

    Raises:
        BadBodyError: not JSON, nested too deep, too many members, a literal too long.
        BodyTooLargeError: more than BATCH_ROWS_MAX rows.
        RowsRejectedError: rows that are no objects, or values that do not fit.
    """
    read = read_lines(body) if lines else read_array(body)
    objects = _objects(read.rows)
    known = {column.name for column in schema.columns}
    columns, complete = _columns(objects, schema)
    arrays = list(map(fast_column, schema.columns, columns))
    doubtful = [_is_doubtful(array) for array in arrays]
    fits = len(objects) == len(read.rows) and (
        complete or known.issuperset(chain.from_iterable(objects))
    )
    if fits and not any(doubtful):
        return arrays, read.lines_of
    read.check_depth()
    errors = RowErrors()
    _judge_shapes(read, errors)
    errors.add_each(
        _unknown_members(read.rows, known), _unknown_error(read, schema), place=len(known)
    )
    for place, column in enumerate(schema.columns):
        if doubtful[place]:
            errors.add_each(_wrong_values(read, column), _value_error(read, column), place=place)
    errors.raise_if_any(read.lines_of)
    if any(array is None for array in arrays):
        raise BadBodyError("The rows could not be read.", reason="rows")
    return arrays, read.lines_of


def _objects(rows: Sequence[object]) -> Sequence[Object]:
    """Return the rows that are objects."""
    if set(map(type, rows)) <= {dict}:
        return rows  # type: ignore[return-value]
    return [row for row in rows if isinstance(row, dict)]


def _columns(objects: Sequence[Object], schema: StreamSchema) -> tuple[list[list[object]], bool]:
    """Return the values by column, and whether every object has all members and no others."""
    names = [column.name for column in schema.columns]
    try:
        columns = [list(map(itemgetter(name), objects)) for name in names]
    except KeyError:
        return [[row.get(name) for row in objects] for name in names], False
    return columns, sum(map(len, objects)) == len(names) * len(objects)


def _is_doubtful(array: pa.Array | None) -> bool:
    """Return whether values of a column may be wrong, judged by what `fast_column` made of it."""
    if array is None:
        return True
    if not pa.types.is_floating(array.type):
        return False
    values = np.abs(array.to_numpy(zero_copy_only=False))
    return bool(np.fmax.reduce(values, initial=0.0) >= _VAST)  # passes over NULL, which is NaN


def _may_differ(value: object) -> bool:
    """Return whether a value may be another one as it was written: vast, or something may be within."""
    if isinstance(value, float):
        return not -_VAST < value < _VAST
    return isinstance(value, (list, dict))


def _judge_shapes(read: JsonRows, errors: RowErrors) -> None:
    """Judge the rows themselves, whatever they hold."""
    if any(isinstance(row, dict) and len(row) > limits.JSON_MEMBERS_MAX for row in read.rows):
        raise BadBodyError(
            "A row has too many members.", reason="members", limit=limits.JSON_MEMBERS_MAX
        )

    def error(index: int) -> RowError:
        row = read.rows[index]
        got = read.exact(index) if _may_differ(row) else row
        return RowError(index, "", TYPE_MISMATCH, "an object", shown(got))

    others = (i for i, row in enumerate(read.rows) if not isinstance(row, dict))
    errors.add_each(others, error, place=-1)


def _unknown_members(
    rows: Sequence[object], known: AbstractSet[str]
) -> Iterator[tuple[int, str, object]]:
    """Yield (row, name, value) of each member that no column has the name of."""
    for i, row in enumerate(rows):
        if isinstance(row, dict) and not row.keys() <= known:
            yield from ((i, name, value) for name, value in row.items() if name not in known)


def _wrong_values(read: JsonRows, column: ColumnSchema) -> Iterator[WrongValue]:
    """Yield (row, code, value) of each value that does not fit."""
    name = column.name
    for first in range(0, len(read.rows), _SLICE_ROWS):
        rows = read.rows[first : first + _SLICE_ROWS]
        array = fast_column(column, [row.get(name) for row in _objects(rows)])
        if not _is_doubtful(array):
            continue
        for i, row in enumerate(rows, first):
            if not isinstance(row, dict):
                continue
            value = row.get(name)
            if isinstance(value, float) and _may_differ(value):
                value = _written(read, i, name)
            code = judge(column, value)
            if code is not None:
                yield i, code, value


def _unknown_error(
    read: JsonRows, schema: StreamSchema
) -> Callable[[tuple[int, str, object]], RowError]:
    listed = ", ".join(column.name for column in schema.columns)

    def error(found: tuple[int, str, object]) -> RowError:
        index, name, value = found
        got = _written(read, index, name) if _may_differ(value) else value
        return RowError(index, pointer(name), UNKNOWN_COLUMN, listed, shown(got))

    return error


def _value_error(read: JsonRows, column: ColumnSchema) -> Callable[[WrongValue], RowError]:
    def error(found: WrongValue) -> RowError:
        index, code, value = found
        got = _written(read, index, column.name) if _may_differ(value) else value
        return value_error(column, (index, code, got))

    return error


def _written(read: JsonRows, index: int, name: str) -> object:
    """Return a member of a row, that is an object, as it was written."""
    row: Object = read.exact(index)  # type: ignore[assignment]
    return row.get(name)
