"""Columns of streams and answers as Arrow knows them: a stream's definition from a schema, the schema of an answer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as kinds

from psoup.client.errors import DefinitionError
from psoup.client.messages import JsonObject

ARROW_TYPES: Final[Mapping[str, pa.DataType]] = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
"""Types of columns, by their names on the wire."""
_KINDS: Final = (
    (kinds.is_boolean, "bool"),
    (lambda kind: kinds.is_integer(kind) and kind != pa.uint64(), "int64"),
    (lambda kind: kinds.is_floating(kind) or kinds.is_decimal(kind), "float64"),
    (lambda kind: kinds.is_string(kind) or kinds.is_large_string(kind), "string"),
    (kinds.is_string_view, "string"),
    (lambda kind: kinds.is_timestamp(kind) or kinds.is_date(kind), "timestamp"),
)

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


def schema_of(rows: Any) -> pa.Schema:  # noqa: ANN401 (rows are of any library)
    """Return the schema of a frame or a table, without the index of a frame.

    Raises:
        DefinitionError: it has none, such as a list of objects, whose types are not known.
    """
    if type(rows).__module__.partition(".")[0] == "pandas":
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


def answer_schema(columns: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """Return the Arrow schema of the columns in a query's description."""
    return pa.schema([(column["name"], ARROW_TYPES[column["type"]]) for column in columns])


def _type_name(field: pa.Field) -> str:
    kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    for is_kind, name in _KINDS:
        if is_kind(kind):
            return name
    raise DefinitionError(
        f"Column {field.name!r} is of the type {kind}, which no column of a stream has: expected integers, floats,"
        " booleans, texts or timestamps. Cast it, or leave it out."
    )
