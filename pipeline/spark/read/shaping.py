"""Rows of the service as Spark takes them: exactly the columns that were declared, in their order and types."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.types import StructType

from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import SchemaMismatchError
from psoup.pipeline.spark.schema import spark_type

_ARROW: Final = {spark_type(kind).simpleString(): ARROW_TYPES[kind] for kind in ColumnType}


def check_declared(schema: StructType, columns: Sequence[ColumnSchema]) -> None:
    """Refuse declared columns that are not among `columns`, with their types.

    Raises:
        SchemaMismatchError: names each one, what it is, and what it was declared as.
    """
    kinds = {column.name: column.type for column in columns}
    lines = []
    for field in schema:
        kind = kinds.get(field.name)
        there = "not there" if kind is None else spark_type(kind).simpleString()
        given = field.dataType.simpleString()
        if there != given:
            lines.append(f"\n  {field.name}: declared as {given}, in psoup {there}")
    if lines:
        shown = ", ".join(
            f"{name} {spark_type(kind).simpleString()}" for name, kind in kinds.items()
        )
        raise SchemaMismatchError(
            f"The declared columns are not those that are read:{''.join(lines)}\n"
            f"There are: {shown}. Leave .schema(...) out, or load again if the stream was declared anew."
        )


def arrow_schema_declared(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark compares the first batch with, for columns that `check_declared` took."""
    return pa.schema(
        [pa.field(one.name, _ARROW[one.dataType.simpleString()], one.nullable) for one in schema]
    )


def rows_declared(batch: pa.RecordBatch, declared: pa.Schema) -> pa.RecordBatch:
    """Return the rows in exactly the declared columns.

    Raises:
        SchemaMismatchError: a column is not there, or of another type.
    """
    arrays = []
    for field in declared:
        place = batch.schema.get_field_index(field.name)
        column = None if place < 0 else batch.column(place)
        if column is None or column.type != field.type:
            found = "not there" if column is None else str(column.type)
            raise SchemaMismatchError(
                f"Column {field.name!r} was declared as {field.type} and is {found}: the stream was declared"
                " anew since. Load again."
            )
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, schema=declared)
