"""Select list, groups, order and limit, against the names of FROM: to the shape of a query."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from psoup.engine import limits
from psoup.engine.errors import UnsupportedSqlError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.size import check_size, too_complex
from psoup.engine.query.bind.expressions.expression_binder import (
    bind_expression,
    bind_predicate,
    over_rows,
)
from psoup.engine.query.bind.scope import Scope
from psoup.engine.query.bind.shapes.grouping import aggregates_of, is_made_of, over_groups
from psoup.engine.query.bind.shapes.select_list import bind_select_list, with_aggregates
from psoup.engine.query.bind.shapes.shape_names import ShapeNames, output_at
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.shape import Ordering, Output, Shape
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax import (
    AggregateSyntax,
    ColumnSyntax,
    ExpressionSyntax,
    OrderSyntax,
    QuerySyntax,
    StarSyntax,
)
from psoup.engine.query.text.syntax_parts import aggregates_in, operands, shown_expressions
from psoup.engine.query.values.expression import ColumnRef, Constant, Expression

_NAME_SHOWN_LENGTH_MAX = 100
_NO_AGGREGATE = ("GROUP BY holds no aggregates.", "conditions on aggregates stand in HAVING")

Keys = tuple[Expression, ...]
_Written = ExpressionSyntax | StarSyntax


class _Entry(NamedTuple):
    """One entry of ORDER BY, bound over rows, and the expression that it is written as."""

    ordering: Ordering
    written: ExpressionSyntax


def bind_shape(syntax: QuerySyntax, scope: Scope) -> Shape:
    """Return what the syntax says of select list, groups, order and limit.

    Raises:
        Refused: as `bind_select_list`; `unsupported-sql` for a column that is neither grouped by nor aggregated, a key
            that holds an aggregate or is a constant, a place that no output has, an order by a constant, or of DISTINCT
            rows by what they do not show; `query-too-complex` for too many aggregates.
    """
    listed = bind_select_list(syntax.outputs, scope)
    outputs = tuple([one.output for one in listed])
    says = syntax.shape
    is_grouped = bool(says.keys) or says.having is not None
    is_grouped = is_grouped or any(map(aggregates_in, shown_expressions(syntax)))
    if says.span is None and not is_grouped:
        return Shape(outputs, syntax.distinct)
    names = ShapeNames(scope, outputs)
    entries = _entries(says.order, scope, names, outputs)
    if syntax.distinct:
        _check_entries_shown(entries, outputs)
    order = tuple([one.ordering for one in entries])
    shape = Shape(outputs, syntax.distinct, order=order, limit=says.limit, offset=says.offset)
    if not is_grouped:
        return shape
    keys = _keys(says.keys, names, outputs)
    return _Grouping(scope, keys).grouped(
        shape,
        written=[one.written for one in listed],
        having=_having(says.having, scope, names, keys),
        entries=entries,
    )


class _Grouping:
    """The keys of a GROUP BY, and how expressions over rows become ones over its groups."""

    def __init__(self, scope: Scope, keys: Keys) -> None:
        self._scope = scope
        self._keys = keys

    def grouped(
        self,
        shape: Shape,
        written: Sequence[_Written],
        having: tuple[Expression, ExpressionSyntax] | None,
        entries: Sequence[_Entry],
    ) -> Shape:
        """Return a shape over rows as one over groups; `written` is what its outputs are written as."""
        outputs = tuple(
            [
                Output(one.name, self._over(one.expression, syntax))
                for one, syntax in zip(shape.outputs, written, strict=True)
            ]
        )
        order = tuple(
            [
                replace(one.ordering, expression=self._over(one.ordering.expression, one.written))
                for one in entries
            ]
        )
        kept = None if having is None else self._over(*having)
        bound = [*(one.expression for one in outputs), *(one.expression for one in order)]
        bound += [] if kept is None else [kept]
        calls = tuple(dict.fromkeys([call for one in bound for call in aggregates_of(one)]))
        if len(calls) > limits.QUERY_AGGREGATES_MAX:
            span = written[-1].span
            raise too_complex("Aggregates", len(calls), limits.QUERY_AGGREGATES_MAX, span)
        if not self._keys and not calls:
            kept = kept or form.TRUE  # else nothing would say that there is one group
        elif kept == form.TRUE:
            kept = None
        return replace(
            shape, outputs=outputs, keys=self._keys, aggregates=calls, having=kept, order=order
        )

    def _over(self, expression: Expression, written: _Written) -> Expression:
        def ungrouped(ref: ColumnRef) -> Refused:
            name = sql_expression(ref)[:_NAME_SHOWN_LENGTH_MAX]
            return Refused(
                UnsupportedSqlError,
                "A column stands outside of aggregates, and rows are not grouped by it.",
                self._place_of(ref, written),
                "write it behind GROUP BY, or an aggregate of it such as MAX(x) or LAST(x)",
                quoting=f"{name} stands outside of aggregates, and rows are not grouped by it.",
                hint=f"write {name} behind GROUP BY, or an aggregate of it: LAST({name})",
            )

        return over_groups(expression, self._keys, ungrouped)

    def _place_of(self, ref: ColumnRef, written: _Written) -> Span:
        """Return where a column stands outside of aggregates; all that is written where it has another name there."""
        pending: list[ExpressionSyntax] = [] if isinstance(written, StarSyntax) else [written]
        while pending:
            one = pending.pop(0)
            if isinstance(one, ColumnSyntax) and self._is(ref, one):
                return one.span
            if not isinstance(one, AggregateSyntax):
                pending = [*operands(one), *pending]
        return written.span

    def _is(self, ref: ColumnRef, syntax: ColumnSyntax) -> bool:
        try:
            return self._scope.column(syntax) == ref
        except Refused:  # the name of an output
            return False


def _keys(syntax: Sequence[ExpressionSyntax], names: ShapeNames, outputs: Sequence[Output]) -> Keys:
    """Return the keys of GROUP BY, each once."""
    found: dict[Expression, None] = {}
    for one in syntax:
        key = output_at(one, outputs, "GROUP BY")
        if key is None:
            key = bind_expression(one, over_rows(names.column_first, *_NO_AGGREGATE))
            check_size(key, one.span)
        if aggregates_of(key):
            raise Refused(UnsupportedSqlError, _NO_AGGREGATE[0], one.span, _NO_AGGREGATE[1])
        if isinstance(key, Constant):
            raise Refused(
                UnsupportedSqlError,
                "A key of GROUP BY is a constant.",
                one.span,
                "leave it out: it is the same in every row",
            )
        found[key] = None
    return tuple(found)


def _having(
    syntax: ExpressionSyntax | None, scope: Scope, names: ShapeNames, keys: Keys
) -> tuple[Expression, ExpressionSyntax] | None:
    """Return the condition of HAVING, over rows, in normal form, and as it is written; None where there is none."""
    if syntax is None:
        return None
    lookup = with_aggregates(scope, names.key_first(keys))
    found = form.where_form(bind_predicate(syntax, lookup))
    check_size(found, syntax.span)
    return found, syntax


def _entries(
    syntax: Sequence[OrderSyntax], scope: Scope, names: ShapeNames, outputs: Sequence[Output]
) -> tuple[_Entry, ...]:
    """Return the entries of ORDER BY, over rows, each expression once, without outputs that are constants."""
    found: dict[Expression, _Entry] = {}
    lookup = with_aggregates(scope, names.column_first)
    for entry in syntax:
        what = entry.what
        meant = output_at(what, outputs, "ORDER BY")
        if meant is None and isinstance(what, ColumnSyntax):
            meant = names.output_first(what)
        if meant is None:
            meant = bind_expression(what, lookup)
            check_size(meant, what.span)
            if isinstance(meant, Constant):
                raise Refused(
                    UnsupportedSqlError,
                    "ORDER BY a constant orders nothing.",
                    what.span,
                    "write a column, an output, or the place of an output: 1",
                )
        if not isinstance(meant, Constant):
            ordering = Ordering(meant, entry.descending, entry.nulls_first)
            found.setdefault(meant, _Entry(ordering, what))
    return tuple(found.values())


def _check_entries_shown(entries: Sequence[_Entry], outputs: Sequence[Output]) -> None:
    """Refuse an order of DISTINCT rows by what equal rows may differ in."""
    shown = [output.expression for output in outputs]
    for entry in entries:
        if not is_made_of(entry.ordering.expression, shown):
            raise Refused(
                UnsupportedSqlError,
                "ORDER BY of SELECT DISTINCT reads what is not selected.",
                entry.written.span,
                "select it as well, or order by an output",
            )
