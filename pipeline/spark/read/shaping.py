"""Rows of the service in the form that Spark needs: exactly the declared columns, in their order and types."""

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
    """Refuse declared columns that are missing in `columns`, or have other types there.

    Raises:
        SchemaMismatchError: names each one with both types.
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
    """Return the Arrow schema of the declared columns, with which Spark compares the first batch."""
    return pa.schema(
        [
            pa.field(field.name, _ARROW[field.dataType.simpleString()], field.nullable)
            for field in schema
        ]
    )


def rows_declared(batch: pa.RecordBatch, declared: pa.Schema) -> pa.RecordBatch:
    """Return the rows with exactly the declared columns.

    Raises:
        SchemaMismatchError: a column is missing, or has another type.
    """
    arrays = []
    for field in declared:
        index = batch.schema.get_field_index(field.name)
        column = None if index < 0 else batch.column(index)
        if column is None or column.type != field.type:
            present = "not there" if column is None else str(column.type)
            raise SchemaMismatchError(
                f"Column {field.name!r} was declared as {field.type} and is {present}: the stream was declared"
                " anew since. Load again."
            )
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, schema=declared)
