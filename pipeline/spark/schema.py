"""Spark's columns and psoup's: which type becomes which, and what to do where none does.

Both ways: what is written is checked against the stream's declaration before a row is sent, what is read
gets the type that holds every value.
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
"""How a column of a type that no stream has becomes one that some stream has, by the type's name."""


def psoup_type(given: DataType) -> ColumnType | None:
    """Return the type that a Spark column is written as, None where psoup has none for it."""
    return _WRITTEN_AS.get(type(given))


def spark_type(kind: ColumnType) -> DataType:
    """Return the Spark type that a psoup column is read as."""
    return _READ_AS[kind]


def struct_type(columns: Sequence[ColumnSchema]) -> StructType:
    """Return psoup's columns as Spark's."""
    return StructType([StructField(c.name, spark_type(c.type), c.nullable) for c in columns])


def arrow_schema_of(columns: Sequence[ColumnSchema]) -> pa.Schema:
    """Return the exact Arrow schema of rows of these columns."""
    return pa.schema([pa.field(c.name, ARROW_TYPES[c.type], nullable=c.nullable) for c in columns])


def as_declared(batch: pa.RecordBatch, declared: pa.Schema) -> pa.RecordBatch:
    """Return Spark's rows with the declared columns: their order, their types, times in UTC.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit, which `check_columns` has ruled out.
    """
    arrays = [batch.column(field.name).cast(field.type) for field in declared]
    return pa.RecordBatch.from_arrays(arrays, schema=declared)


def columns_to_declare(schema: StructType, *, time: str | None) -> tuple[ColumnSchema, ...]:
    """Return the columns of a stream made for a DataFrame.

    NULL is allowed where Spark allows it, but not in the time column.

    Raises:
        SchemaMismatchError: names every column whose type psoup does not have, and what to make of it.
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
    """Refuse a DataFrame whose columns are not exactly the stream's, in whatever order.

    Raises:
        SchemaMismatchError: one line for every column, with both types and what to do.
    """
    types = {column.name: column.type for column in declared}
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
        fits = False
        missing = f'.withColumn("{name}", lit(None).cast("{_READ_AS[kind].simpleString()}"))'
        lines.append(_line(name, None, kind, f"add it, as in {missing}"))
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
    """Return what to write for a column that does not fit; `wanted` None = the stream lacks it."""
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
