"""Casts columns to the types of a stream if no value loses anything."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, functions, types

from psoup.pipeline.spark.transforms.mapping import column

_EXACT_IN_DOUBLE = (types.ByteType, types.ShortType, types.IntegerType, types.FloatType)
_WRITTEN_AS_TIMES = (types.DateType, types.StringType, types.TimestampNTZType)


def fitted(rows: DataFrame, declared: types.StructType | None) -> DataFrame:
    """Return the rows with the types of the stream's columns, and NULL in columns that they lack.

    Cast are dates, times without zone and texts to instants (UTC), small numbers to float64, and decimals to any type.
    Other columns, and columns that the stream lacks, stay unchanged: the writer refuses them by name.

    Args:
        rows: as mapped.
        declared: the stream's columns as a Spark schema; None: these rows will declare the stream.
    """
    wanted = {field.name: field.dataType for field in declared or ()}
    there = [_fitting(field, wanted) for field in rows.schema.fields]
    absent = [
        functions.lit(None).cast(kind).alias(name)
        for name, kind in wanted.items()
        if name not in rows.columns
    ]
    return rows.select(*there, *absent)


def _fitting(field: types.StructField, wanted: Mapping[str, types.DataType]) -> Column:
    """Return the column under its name, cast if the cast loses nothing."""
    given, target = field.dataType, wanted.get(field.name)
    if isinstance(given, types.DecimalType):
        target = types.DoubleType()
    elif isinstance(given, types.DateType) and target is None:
        target = types.TimestampType()
    fits = (
        isinstance(given, types.DecimalType)
        or (isinstance(target, types.DoubleType) and isinstance(given, _EXACT_IN_DOUBLE))
        or (isinstance(target, types.TimestampType) and isinstance(given, _WRITTEN_AS_TIMES))
    )
    return (
        column(field.name).cast(target).alias(field.name) if fits and target else column(field.name)
    )
