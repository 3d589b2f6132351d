"""Rows as JSON: one object, an array of objects, or one object per line.

What is written plainly becomes columns without an object in between. For the rest orjson makes objects and columns are
built of them whole; where one does not come out, its values are judged one by one.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain
from operator import itemgetter

import pyarrow as pa

from psoup.app.errors import BadBodyError
from psoup.app.wire.rows.errors import (
    TYPE_MISMATCH,
    UNKNOWN_COLUMN,
    LinesOf,
    RowError,
    RowErrors,
    known_columns,
    pointer,
    shown,
)
from psoup.app.wire.rows.json_judge import error_as_written, is_doubtful, may_differ, wrong_values
from psoup.app.wire.rows.json_text import (
    JsonRows,
    lines_of_rows,
    read_array,
    read_lines,
    too_many_members,
)
from psoup.app.wire.rows.values import fast_column
from psoup.engine import limits
from psoup.engine.tuples.json_text import Form, arrays_from_json_text
from psoup.engine.tuples.schema import StreamSchema

Object = Mapping[str, object]


def arrays_from_json(
    body: bytes, schema: StreamSchema, *, lines: bool
) -> tuple[list[pa.Array], LinesOf | None]:
    """Return one Arrow array per column, and where each row stands in the body.

    Cost: about 2 ns a byte; ten times that where texts have escapes, and where values do not fit.

    Raises:
        BadBodyError: not JSON, nested too deep, too many members, a literal too long.
        BodyTooLargeError: more than BATCH_ROWS_MAX rows.
        RowsRejectedError: rows that are no objects, or values that do not fit.
    """
    arrays = arrays_from_json_text(body, schema, Form.LINES if lines else Form.ARRAY)
    if arrays is not None:
        return arrays, lines_of_rows(body) if lines else None
    read = read_lines(body) if lines else read_array(body)
    return _judged(read, schema), read.lines_of


def _judged(read: JsonRows, schema: StreamSchema) -> list[pa.Array]:
    """Return the columns, or refuse the rows."""
    objects = _objects(read.rows)
    known = {column.name for column in schema.columns}
    columns, complete = _columns(objects, schema)
    arrays = list(map(fast_column, schema.columns, columns))
    doubtful = [is_doubtful(array) for array in arrays]
    fits = len(objects) == len(read.rows) and (
        complete or known.issuperset(chain.from_iterable(objects))
    )
    if fits and not any(doubtful):
        return arrays
    read.check_depth()
    errors = RowErrors()
    _judge_shapes(read, errors)
    errors.add_each(
        _unknown_members(read.rows, known), _unknown_error(read, schema), place=len(known)
    )
    indices = [i for i, row in enumerate(read.rows) if isinstance(row, dict)]
    for place, column in enumerate(schema.columns):
        if doubtful[place]:
            written = functools.partial(_written, read, name=column.name)
            wrong = wrong_values(column, columns[place], indices, written)
            errors.add_each(wrong, error_as_written(column, written), place=place)
    errors.raise_if_any(read.lines_of)
    if any(array is None for array in arrays):
        raise BadBodyError("The rows could not be read.", reason="rows")
    return arrays


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


def _judge_shapes(read: JsonRows, errors: RowErrors) -> None:
    """Judge the rows themselves, whatever they hold."""
    for index, row in enumerate(read.rows):
        if isinstance(row, dict) and len(row) > limits.JSON_MEMBERS_MAX:
            raise too_many_members(f"Row {index}, counted from 0,")

    def error(index: int) -> RowError:
        row = read.rows[index]
        got = read.exact(index) if may_differ(row) else row
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


def _unknown_error(
    read: JsonRows, schema: StreamSchema
) -> Callable[[tuple[int, str, object]], RowError]:
    columns = [column.name for column in schema.columns]

    def error(found: tuple[int, str, object]) -> RowError:
        index, name, value = found
        got = _written(read, index, name) if may_differ(value) else value
        expected = known_columns(name, columns)
        return RowError(index, pointer(name), UNKNOWN_COLUMN, expected, shown(got))

    return error


def _written(read: JsonRows, index: int, name: str) -> object:
    """Return a member of a row, that is an object, as it was written."""
    row: Object = read.exact(index)  # type: ignore[assignment]
    return row.get(name)
