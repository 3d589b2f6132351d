"""Columns of streams and answers as Arrow knows them: a stream's definition from a schema, the schema of an answer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as kinds

from psoup.client.connections.messages import JsonObject
from psoup.client.errors import DefinitionError

ARROW_TYPES: Final[Mapping[str, pa.DataType]] = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
"""Types of columns, by their names on the wire."""
_VALUE_BYTES: Final[Mapping[str, int]] = {"bool": 1, "string": 5} | dict.fromkeys(
    ("int64", "float64", "timestamp"), 9
)
"""Bytes of a value in the log, of a text without its characters, and of whether it is NULL; rounded up."""
_KINDS: Final = (
    (kinds.is_boolean, "bool"),
    (kinds.is_integer, "int64"),
    (lambda kind: kinds.is_floating(kind) or kinds.is_decimal(kind), "float64"),
    (lambda kind: kinds.is_string(kind) or kinds.is_large_string(kind), "string"),
    (kinds.is_string_view, "string"),
    (lambda kind: kinds.is_timestamp(kind) or kinds.is_date(kind), "timestamp"),
)
_FITTING: Final[Mapping[str, Sequence[str]]] = {
    "bool": ("bool",),
    "int64": ("int64", "float64", "timestamp"),
    "float64": ("float64", "int64"),
    "string": ("string", "timestamp"),
    "timestamp": ("timestamp",),
}
"""Types of columns that values may go to, by the type of those that they are for; each value has to fit exactly."""

Columns = Mapping[str, str] | Sequence[Mapping[str, object]]
"""`{"px": "float64"}`, or the objects of the HTTP contract, which may have `nullable` and `unit`."""


def definition(
    columns: Columns | None,
    schema: pa.Schema | None,
    like: object,
    **members: object | None,
) -> JsonObject | None:
    """Return the definition of a stream; None: neither columns nor a schema nor rows were given.

    Raises:
        DefinitionError: more than one of them was given, a column has no type that a stream has, or `members`
            were given without columns.
    """
    given = [one for one in (columns, schema, like) if one is not None]
    named = {name: value for name, value in members.items() if value is not None}
    if len(given) > 1:
        raise DefinitionError("Give columns=, schema= or like=, and not several of them.")
    if not given:
        if named:
            raise DefinitionError(
                f"{', '.join(named)} is given without columns: give columns=, schema= or like= to declare the stream."
            )
        return None
    if columns is None:
        arrow = schema_of(like) if schema is None else schema
        columns = {field.name: _type_name(field) for field in arrow}
    return {"columns": column_list(columns), **named}


def column_list(columns: Columns) -> list[JsonObject]:
    """Return columns as the objects of the HTTP contract."""
    if isinstance(columns, Mapping):
        return [{"name": name, "type": kind} for name, kind in columns.items()]
    return [dict(column) for column in columns]


def least_row_bytes(columns: Sequence[Mapping[str, Any]]) -> int:
    """Return the bytes of a row in the log without its texts: those of columns that a row does not name count too."""
    return sum(_VALUE_BYTES[column["type"]] for column in columns)


def schema_of(rows: Any) -> pa.Schema:  # noqa: ANN401 (rows are of any library)
    """Return the schema of a frame or a table, without the index of a frame.

    Raises:
        DefinitionError: it has none, such as a list of objects, whose types are not known.
    """
    with _explained():
        if _is_of_pandas(rows):
            return pa.Schema.from_pandas(rows, preserve_index=False)
        if isinstance(rows, pa.Schema):
            return rows
        if hasattr(rows, "__arrow_c_schema__"):
            return pa.schema(rows)
        if hasattr(rows, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(rows).schema
    raise DefinitionError(
        f"like= is a {type(rows).__name__}, which does not say what types its columns have: expected a frame of pandas"
        ' or polars, or a table of pyarrow. Or give columns={"px": "float64"}.'
    )


def arrow_table(rows: Any) -> pa.Table | None:  # noqa: ANN401 (rows are of any library)
    """Return rows that lie in columns as a table; None: they do not.

    Raises:
        DefinitionError: they are one column without a name, or a column has values of several types.
    """
    with _explained():
        if _is_of_pandas(rows):
            return pa.Table.from_pandas(rows, preserve_index=False)
        if isinstance(rows, pa.RecordBatch):
            return pa.Table.from_batches([rows])
        return pa.table(rows) if hasattr(rows, "__arrow_c_stream__") else None


def fitted(table: pa.Table, columns: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the table with the types of its stream; a column that the stream lacks stays, and the service names it.

    Values keep their meaning: a number does not become a text, nor a duration a number. Whole floats fit int64, as
    pandas makes floats of integers where one is missing.

    Args:
        table: of the rows.
        columns: of the stream's description.

    Raises:
        DefinitionError: a column has another type, or a value that does not fit; says which.
    """
    declared = {column["name"]: column for column in columns}
    for place, name in enumerate(table.column_names):
        column = declared.get(name)
        if column is None or table.column(place).type == ARROW_TYPES[column["type"]]:
            continue
        try:
            table = table.set_column(place, name, _cast(table.column(place), column))
        except (pa.ArrowException, ValueError) as error:
            raise DefinitionError(
                f"Column {name!r} does not fit the stream, where it is of the type {column['type']}: {error}."
                " Nothing was sent."
            ) from error
    return table


def _cast(values: pa.ChunkedArray, column: Mapping[str, Any]) -> pa.ChunkedArray:
    """Return values with the type of a column. Raises ArrowInvalid: they have another meaning, or one does not fit."""
    kind, wanted = values.type, column["type"]
    if kinds.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if not kinds.is_null(kind) and wanted not in _FITTING.get(_name_of(kind) or "", ()):
        raise pa.ArrowInvalid(f"values are of the type {kind}")
    if wanted == "timestamp" and kinds.is_integer(kind):
        counted = pa.timestamp(column.get("unit") or "us", tz="UTC")
        values = values.cast(pa.int64()).cast(counted)
    return values.cast(ARROW_TYPES[wanted])


@contextmanager
def _explained() -> Iterator[None]:
    """Raise what pandas and Arrow say of rows as DefinitionError."""
    try:
        yield
    except (pa.ArrowException, ValueError, TypeError, AttributeError) as error:
        raise DefinitionError(
            f"The rows are no table: {error}. Expected a frame of pandas or polars, or a table of pyarrow, whose columns"
            " have one type each."
        ) from error


def _is_of_pandas(rows: object) -> bool:
    return type(rows).__module__.partition(".")[0] == "pandas"


def answer_schema(columns: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """Return the Arrow schema of the columns in a query's description."""
    return pa.schema([(column["name"], ARROW_TYPES[column["type"]]) for column in columns])


def _type_name(field: pa.Field) -> str:
    kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    name = _name_of(kind)
    if name is not None and kind != pa.uint64():
        return name
    raise DefinitionError(
        f"Column {field.name!r} is of the type {kind}, which no column of a stream has: expected integers, floats,"
        " booleans, texts or timestamps. Cast it, or leave it out."
    )


def _name_of(kind: pa.DataType) -> str | None:
    """Return the type of the columns that such values are for; None: there is none."""
    return next((name for is_kind, name in _KINDS if is_kind(kind)), None)
