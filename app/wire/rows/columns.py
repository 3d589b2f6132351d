"""Rows as JSON by columns: one object whose members are columns, each an array of values, all of one length.

The cheapest text there is to read: a name is there once, and the values of one type stand together. A column that is
left out is all NULL, as in CSV and Arrow, and names are judged before any value is.
"""

import functools
from collections.abc import Mapping, Sequence

import pyarrow as pa

from psoup.app.errors import BadBodyError
from psoup.app.wire.bounds import check_row_count
from psoup.app.wire.rows.errors import MISSING, UNKNOWN_COLUMN, RowErrors, reject_columns
from psoup.app.wire.rows.json_judge import error_as_written, is_doubtful, wrong_values
from psoup.app.wire.rows.json_text import JsonColumns, read_columns
from psoup.app.wire.rows.values import fast_column
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.json_text import Form, arrays_from_json_text
from psoup.engine.tuples.schema import StreamSchema


def arrays_from_columns(body: bytes, schema: StreamSchema) -> list[pa.Array]:
    """Return one Arrow array per column, each of its exact type.

    Columns are found by their name, in any order; an object without members has no rows.

    Cost: about 2 ns a byte; ten times that where texts have escapes, and where a value does not fit.

    Raises:
        BadBodyError: not JSON, nested too deep, a literal too long; not one object of arrays of one length, each named
            once.
        BodyTooLargeError: more than BATCH_ROWS_MAX rows.
        RowsRejectedError: columns that do not exist or are missing, values that do not fit.
    """
    arrays = arrays_from_json_text(body, schema, Form.COLUMNS)
    return _judged(read_columns(body), schema) if arrays is None else arrays


def _judged(read: JsonColumns, schema: StreamSchema) -> list[pa.Array]:
    """Return the columns, or refuse them."""
    _check_names(list(read.members), schema)
    read.check_names()
    columns = _arrays_of(read.members)
    rows = _length(columns)
    check_row_count(rows)
    arrays, errors = [], RowErrors()
    for place, column in enumerate(schema.columns):
        values = columns.get(column.name)
        if values is None:
            arrays.append(pa.nulls(rows, ARROW_TYPES[column.type]))
            continue
        array = fast_column(column, values)
        if is_doubtful(array):
            read.check_depth()
            written = functools.partial(read.written, column.name)
            wrong = wrong_values(column, values, range(rows), written)
            errors.add_each(wrong, error_as_written(column, written), place=place)
        arrays.append(array)
    errors.raise_if_any(None)
    if any(array is None for array in arrays):
        raise BadBodyError("The columns could not be read.", reason="columns")
    return arrays


def _check_names(names: Sequence[str], schema: StreamSchema) -> None:
    known = [column.name for column in schema.columns]
    unknown = [name for name in names if name not in known]
    reject_columns(unknown, UNKNOWN_COLUMN, known).raise_if_any(None)
    missing = [c.name for c in schema.columns if not c.nullable and c.name not in names]
    reject_columns(missing, MISSING, known).raise_if_any(None)


def _arrays_of(members: Mapping[str, object]) -> Mapping[str, Sequence[object]]:
    """Return the columns' values.

    Raises:
        BadBodyError: a member is no array.
    """
    columns = {}
    for name, values in members.items():
        if not isinstance(values, list):
            raise BadBodyError(
                "A column is not an array of values.", reason="not an array", column=name
            )
        columns[name] = values
    return columns


def _length(columns: Mapping[str, Sequence[object]]) -> int:
    """Return how many rows there are.

    Raises:
        BadBodyError: columns differ in that.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if not lengths:
        return 0
    short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    if lengths[short] < lengths[long]:
        raise BadBodyError(
            "The columns do not have the same number of values: one has"
            f" {lengths[short]}, another {lengths[long]}.",
            reason="lengths",
            columns=[short, long],
        )
    return lengths[long]
