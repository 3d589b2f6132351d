"""Columns of a stream out of columns of a source, by Spark SQL expressions."""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, functions

EVERY: Final = "*"
"""As a name among the expressions: all columns of the source, ahead of the others."""


def column(name: str) -> Column:
    """Return the column of exactly this name: dots and blanks in it mean nothing."""
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


def mapped(
    rows: DataFrame, expressions: Mapping[str, str], *, where: str | None = None
) -> DataFrame:
    """Return one column for each expression, in their order; without any, the rows' own.

    Args:
        rows: of the source.
        expressions: Spark SQL over the source's columns, by the name of the column to be. `EVERY` as a
            name stands for all columns of the source; one that is mapped as well is the mapped one.
        where: condition over the source's columns that a row has to meet.
    """
    if where is not None:
        rows = rows.where(where)
    if not expressions:
        return selected(rows, rows.columns)
    taken = dict.fromkeys(rows.columns if EVERY in expressions else ())
    wanted: dict[str, str | None] = {**taken, **expressions}
    wanted.pop(EVERY, None)
    return rows.select(
        *(
            (column(name) if text is None else functions.expr(text)).alias(name)
            for name, text in wanted.items()
        )
    )


def selected(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return these columns of the rows, in this order, and no others."""
    return rows.select(*(column(name) for name in names))
