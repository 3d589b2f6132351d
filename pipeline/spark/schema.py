"""Spark's column types and psoup's, in both directions.

A DataFrame is checked against the stream's declaration before a row is sent. Columns that are read get the Spark type
that holds every value.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import SchemaMismatchError

_WRITTEN_AS: Final[dict[type[DataType], ColumnType]] = {
    BooleanType: ColumnType.BOOL,
    ByteType: ColumnType.INT64,
    DoubleType: ColumnType.FLOAT64,
    FloatType: ColumnType.FLOAT64,
    IntegerType: ColumnType.INT64,
    LongType: ColumnType.INT64,
    ShortType: ColumnType.INT64,
    StringType: ColumnType.STRING,
    TimestampNTZType: ColumnType.TIMESTAMP,  # without a zone: taken as UTC
    TimestampType: ColumnType.TIMESTAMP,
}
_READ_AS: Final[dict[ColumnType, DataType]] = {
    ColumnType.BOOL: BooleanType(),
    ColumnType.FLOAT64: DoubleType(),
    ColumnType.INT64: LongType(),
    ColumnType.STRING: StringType(),
    ColumnType.TIMESTAMP: TimestampType(),
}
_EXPRESSIONS: Final[dict[str, str]] = {
    "array": 'to_json("{0}")',
    "binary": 'base64("{0}")',
    "date": 'col("{0}").cast("timestamp")',
    "decimal": 'col("{0}").cast("double")',
    "map": 'to_json("{0}")',
    "struct": 'to_json("{0}")',
    "variant": 'to_json("{0}")',
}
"""Expressions that turn a column of an unsupported type into a supported one, by the type's name."""


def psoup_type(given: DataType) -> ColumnType | None:
    """Return the psoup type of a Spark column; None: unsupported."""
    return _WRITTEN_AS.get(type(given))


def spark_type(kind: ColumnType) -> DataType:
    """Return the Spark type of a psoup column."""
    return _READ_AS[kind]


def struct_type(columns: Sequence[ColumnSchema]) -> StructType:
    """Return the Spark schema of psoup's columns."""
    return StructType([StructField(c.name, spark_type(c.type), c.nullable) for c in columns])


def arrow_schema_of(columns: Sequence[ColumnSchema]) -> pa.Schema:
    """Return the Arrow schema of these columns."""
    return pa.schema([pa.field(c.name, ARROW_TYPES[c.type], nullable=c.nullable) for c in columns])


def as_declared(batch: pa.RecordBatch, declared: pa.Schema) -> pa.RecordBatch:
    """Return Spark's rows with the declared columns, in order, cast to their types, times in UTC.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit; `check_columns` excludes that.
    """
    arrays = [batch.column(field.name).cast(field.type) for field in declared]
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


def columns_to_declare(schema: StructType, *, time: str | None) -> tuple[ColumnSchema, ...]:
    """Return the columns of a new stream for a DataFrame.

    A column allows NULL if Spark's does; the time column does not.

    Raises:
        SchemaMismatchError: names every column of an unsupported type, with an expression to convert it.
    """
    lines = [
        _line(field.name, field.dataType, None, f"psoup has no such type: {_fix(field, None)}")
        for field in schema
        if psoup_type(field.dataType) is None
    ]
    if lines:
        raise SchemaMismatchError(
            "A stream cannot be declared with the DataFrame's columns:" + "".join(lines)
        )
    return tuple(
        ColumnSchema(field.name, kind, field.nullable and field.name != time)
        for field in schema
        if (kind := psoup_type(field.dataType)) is not None
    )


def check_columns(stream: str, declared: Sequence[ColumnSchema], schema: StructType) -> None:
    """Refuse a DataFrame whose columns are not the stream's, in any order; those that allow NULL may be left out.

    Raises:
        SchemaMismatchError: has a line for every column, with both types and what to do.
    """
    types = {column.name: column.type for column in declared}
    required = {column.name for column in declared if not column.nullable}
    lines = []
    fits = True
    for field in schema:
        wanted = types.pop(field.name, None)
        if wanted is not None and psoup_type(field.dataType) is wanted:
            verdict = "fits"
        else:
            fits, verdict = False, _fix(field, wanted, names=[c.name for c in declared])
        lines.append(_line(field.name, field.dataType, wanted, verdict))
    for name, kind in types.items():
        fits = fits and name not in required
        lines.append(_line(name, None, kind, "add it" if name in required else "NULL in each row"))
    if not fits:
        raise SchemaMismatchError(
            f"The DataFrame's columns are not those of stream {stream!r}; nothing was sent."
            + "".join(lines)
        )


def _line(name: str, given: DataType | None, kind: ColumnType | None, verdict: str) -> str:
    left = "not there" if given is None else given.simpleString()
    right = "not there" if kind is None else kind.value
    return f"\n  {name}: in Spark {left}, in the stream {right}: {verdict}"


def _fix(field: StructField, wanted: ColumnType | None, *, names: Sequence[str] = ()) -> str:
    """Return code that mends a column that does not fit; `wanted` None: the stream lacks the column."""
    if wanted is not None:
        cast = f'col("{field.name}").cast("{_READ_AS[wanted].simpleString()}")'
        return f'.withColumn("{field.name}", {cast})'
    alike = next((name for name in names if name.lower() == field.name.lower()), None)
    if alike is not None:
        return f'names are compared exactly: .withColumnRenamed("{field.name}", "{alike}")'
    if names:
        return f'.drop("{field.name}"), or declare the stream with it'
    kind = field.dataType.typeName().partition("(")[0]
    expression = _EXPRESSIONS.get(kind, 'col("{0}").cast("string")').format(field.name)
    return f'.withColumn("{field.name}", {expression})'
