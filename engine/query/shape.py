"""The shape of a query: what an invocation does with the rows that satisfy its condition.

Queries that differ in their shapes alone share one condition (`clause.py`), and with it one evaluation and one set of
hits. A shape is applied in this order: row windows (`row_window.py`), LEFT JOIN (`left_join.py`), rows, groups,
HAVING, select list, DISTINCT, ORDER BY, OFFSET, LIMIT.

Expressions are *over rows*, which read columns of FROM, or *over groups*, which read keys (`GroupKey`) and aggregates
(`AggregateCall`) of a group and no column outside of these.
"""

from dataclasses import dataclass
from typing import Literal

from psoup.engine.query.left_join import LeftJoin
from psoup.engine.query.row_window import RowWindows
from psoup.engine.query.values.expression import AggregateCall, Expression
from psoup.engine.tuples.schema import ColumnType


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer."""

    name: str
    expression: Expression

    @property
    def type(self) -> ColumnType:
        """The type of its values."""
        return self.expression.type


@dataclass(frozen=True, slots=True)
class Ordering:
    """One entry of ORDER BY."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """What is shown of the rows that satisfy a condition. A value.

    Attributes:
        outputs: the select list, `*` resolved; over groups where there are `keys`, else over rows.
        distinct: rows of the answer that are equal in all outputs are shown once.
        keys: GROUP BY, over rows, each key once; () = one group of all rows, also where there are none;
            None = rows are not grouped.
        aggregates: what outputs, HAVING and ORDER BY read of a group, each aggregate once.
        having: the condition of HAVING, over groups; None = every group.
        order: ORDER BY, over what the outputs are over. Ties are broken by tuple time, then by tuple ids; for groups
            by the values of their keys; for DISTINCT by the values of the outputs; NULLs last in both.
        limit: most rows of the answer; None = all.
        offset: rows of the answer that are left out before the first.
        row_windows: by source, the windows that count rows; () where there is none.
        left_join: of the last source to those before it; None = joins are inner ones.
    """

    outputs: tuple[Output, ...]
    distinct: bool = False
    keys: tuple[Expression, ...] | None = None
    aggregates: tuple[AggregateCall, ...] = ()
    having: Expression | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    row_windows: RowWindows = ()
    left_join: LeftJoin | None = None

    @property
    def delta(self) -> Literal["rows", "replace"]:
        """Return what an answer to a cursor holds: rows that have changed, or all rows.

        All of them where LIMIT, OFFSET or a row window cuts, for LEFT JOIN, and where equal groups are shown once: what
        has become of a row then depends on others.
        """
        if self.limit is not None or self.offset or self.looks_past_hits:
            return "replace"
        return "replace" if self.distinct and self.keys is not None else "rows"

    @property
    def selects_only(self) -> bool:
        """Return whether rows are shown in the order of answers, all of them or of equal ones the first."""
        if self.keys is not None or self.order or self.looks_past_hits:
            return False
        return self.limit is None and not self.offset

    @property
    def looks_past_hits(self) -> bool:
        """Return whether which rows are shown depends on tuples that are part of no hit."""
        return bool(self.row_windows) or self.left_join is not None
