"""Rows of a LEFT JOIN that stand alone, in Spark SQL: those of the left beside NULLs, and when they do.

A row of the left stands alone while the windows show it and none of its partners. So its partners are gathered with
their instants. A row without a visible partner stands alone until the first one enters, or it leaves. Any other one
does, if at all, when its partners have left: when the first gap between them comes (`LeftJoinedRows`, which says the
same of rows in memory).
"""

from collections.abc import Callable, Iterator
from typing import Final

from psoup.engine.query.text.syntax import ColumnSyntax, ExpressionSyntax, LogicalSyntax
from psoup.engine.query.text.syntax_parts import operands
from psoup.engine.shaping.found_rows import LEAVES_NEVER_US
from psoup.engine.tuples.schema import ColumnType, StreamSchema
from psoup.pipeline.spark.sql.buckets import free_prefix
from psoup.pipeline.spark.sql.sources import ARRIVAL, ID, JoinedSources, greatest_sql, least_sql
from psoup.pipeline.spark.sql.terms import TYPE_NAMES, name_sql

_NEVER: Final = f"{LEAVES_NEVER_US}L"
_FOLLOWED: Final = "(past, one) -> IF(one.enters <= past, greatest(past, one.leaves), past)"
"""Moves the end of the time with partners behind that of a partner that enters before it."""


def alone_sql(
    joined: JoinedSources,
    unspread: JoinedSources,
    now: str,
    listed: Callable[[str, str], str],
) -> str:
    """Return a SELECT of the rows that stand alone, now or later.

    Args:
        joined: FROM of the query, with all tuples that the clock brings.
        unspread: the same without buckets, which repeat tuples.
        now: the instant to answer for, in microseconds.
        listed: the select list, from the instants at which a row enters and leaves.
    """
    lefts = unspread.sources[:-1]
    partners = name_sql(free_prefix("_partners", joined.scope.schemas))
    ids = [f"{partners}.id{place}" for place in range(len(lefts))]
    same = [f"{one} = {other}" for one, other in zip(unspread.ids, ids, strict=False)]
    nothing = _nothing(joined.scope.schemas[-1])
    sources = (
        f"FROM {unspread.joined(len(lefts))} LEFT JOIN ({_partners(joined, now)}) AS {partners}"
        f" ON {' AND '.join(same)} CROSS JOIN {nothing} AS {joined.sources[-1].name}"
    )
    enters = greatest_sql([source.enters for source in lefts])
    leaving = [instant for source in lefts for instant in source.leaves]
    leaves = least_sql(leaving) if leaving else "CAST(NULL AS BIGINT)"
    is_alone = f"({enters} <= {now} AND NOT coalesce({partners}.visible, FALSE))"
    parted = (
        f"coalesce(aggregate({partners}.spans, greatest({enters}, {now}), {_FOLLOWED}), {enters})"
    )
    conditions = [f"({is_alone} OR {parted} < coalesce({leaves}, {_NEVER}))", *_alone(unspread)]
    if joined.syntax.where is not None:
        conditions.append(f"({joined.expression(joined.syntax.where)})")
    shown = listed(
        f"IF({is_alone}, {enters}, {parted})",
        f"IF({is_alone}, least({leaves}, {partners}.coming), {leaves})",
    )
    return f"SELECT {shown} {sources} WHERE {' AND '.join(conditions)}"


def _partners(joined: JoinedSources, now: str) -> str:
    """Return the rows of the left with partners, by their ids, and of their partners the instants.

    These are whether one is visible, when the first of the others enters, and between which each is shown.
    """
    ids = [f"{sql} AS id{place}" for place, sql in enumerate(joined.ids[:-1])]
    on = joined.where(_alone(joined))
    pairs = f"SELECT {', '.join(ids)}, {joined.enters} AS enters, {joined.leaves} AS leaves {on}"
    names = ", ".join(f"id{place}" for place in range(len(ids)))
    listed = [
        names,
        f"max(enters <= {now}) AS visible",
        f"min(IF(enters > {now}, enters, NULL)) AS coming",
        f"array_sort(collect_list(struct(enters, coalesce(leaves, {_NEVER}) AS leaves))) AS spans",
    ]
    held = "leaves IS NULL OR enters < leaves"
    return " ".join(
        ["SELECT", ", ".join(listed), "FROM", f"({pairs})", "WHERE", held, "GROUP BY", names]
    )


def _alone(joined: JoinedSources) -> list[str]:
    """Return the conjuncts of WHERE that read no column of the last source."""
    last = len(joined.sources) - 1
    return [
        f"({joined.expression(one)})"
        for one in _conjuncts(joined.syntax.where)
        if all(joined.scope.column(column).source < last for column in _columns(one))
    ]


def _conjuncts(where: ExpressionSyntax | None) -> Iterator[ExpressionSyntax]:
    if isinstance(where, LogicalSyntax) and where.conjunction:
        for one in where.operands:
            yield from _conjuncts(one)
    elif where is not None:
        yield where


def _columns(expression: ExpressionSyntax) -> Iterator[ColumnSyntax]:
    if isinstance(expression, ColumnSyntax):
        yield expression
    for part in operands(expression):
        yield from _columns(part)


def _nothing(schema: StreamSchema) -> str:
    """Return a table of one row, a tuple of a stream of which everything is NULL."""
    kinds = {ID: ColumnType.INT64, ARRIVAL: ColumnType.TIMESTAMP}
    kinds |= {column.name: column.type for column in schema.columns}
    cells = [
        f"CAST(NULL AS {TYPE_NAMES[kind]}) AS {name_sql(name)}" for name, kind in kinds.items()
    ]
    return f"(SELECT {', '.join(cells)})"
