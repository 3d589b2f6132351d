"""Columns of a stream, computed from columns of a source by Spark SQL expressions."""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, functions

EVERY: Final = "*"
"""As a name among the expressions: all columns of the source, ahead of the others."""


def column(name: str) -> Column:
    """Return the column of exactly this name, in which dots and blanks have no meaning."""
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


def mapped(
    rows: DataFrame, expressions: Mapping[str, str], *, where: str | None = None
) -> DataFrame:
    """Return one column for each expression, in order; without expressions, the rows' own columns.

    Args:
        rows: of the source.
        expressions: Spark SQL over the source's columns, by the name of the new column. The name `EVERY` stands for
            all columns of the source; an expression replaces a source column of its name.
        where: condition over the source's columns; rows that do not meet it are dropped.
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
