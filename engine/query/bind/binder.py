"""Query text against the declared streams: to a clause, a shape, a window, canonical text and warnings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from psoup.engine import limits
from psoup.engine.errors import UnknownColumnError, UnsupportedSqlError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.factoring import factors_of
from psoup.engine.query.bind.conditions.size import check_size, too_complex
from psoup.engine.query.bind.expressions.expression_binder import Leaf, Lookup, bind_predicate
from psoup.engine.query.bind.left_join_binder import bind_left_join
from psoup.engine.query.bind.query_warnings import query_warnings
from psoup.engine.query.bind.row_window_binder import bind_row_windows
from psoup.engine.query.bind.scope import Scope, Streams
from psoup.engine.query.bind.shapes.grouping import aggregates_of
from psoup.engine.query.bind.shapes.shape_binder import bind_shape
from psoup.engine.query.bind.window_binder import bind_windows
from psoup.engine.query.canonical import (
    sql_condition,
    sql_expression,
    sql_name,
    sql_query,
    sql_text,
)
from psoup.engine.query.clause import BoundQuery, StandingQueryClause
from psoup.engine.query.factor import BooleanFactor
from psoup.engine.query.join_graph import unbound_source
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters
from psoup.engine.query.shape import Output
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax import AggregateSyntax, ColumnSyntax, Name, QuerySyntax
from psoup.engine.query.values.expression import ColumnRef, Expression

Bind = Callable[[str, Streams], BoundQuery]
"""`bind`, or what remembers its answers."""

Column = Callable[[ColumnSyntax], ColumnRef]
"""From a column's name to the column; refuses a name that is none."""

_SQL_SHOWN_LENGTH_MAX = 100
_HAVING = "conditions on aggregates stand in HAVING, behind GROUP BY"
_ALONE = "without that every stream needs a condition of its own"


def bind(text: str, streams: Streams, parameters: Parameters = NO_PARAMETERS) -> BoundQuery:
    """Return the query that `text` means over the declared `streams`, with a constant in place of each parameter.

    Texts that mean the same in an obvious way (`normal_form.py`) have equal clauses; binding `canonical`
    gives an equal query.

    Raises:
        SqlError: one of its children, with position, excerpt and hint. Nothing else, whatever the text.

    Cost: linear in the text, but for sorting factors.
    """
    try:
        syntax = parse(text, parameters)
        return bind_syntax(syntax, Scope(syntax.sources, streams))
    except Refused as refused:
        raise refused.in_text(text) from None


def bind_syntax(syntax: QuerySyntax, scope: Scope) -> BoundQuery:
    """Return the query that the syntax means where names mean what they do in `scope`. Raises Refused."""
    shape = bind_shape(syntax, scope)
    row_windows = bind_row_windows(syntax, scope)
    if row_windows:
        shape = replace(shape, row_windows=row_windows)
    where = bind_where(syntax, scope, shape.outputs)
    windows, sources = bind_windows(syntax), scope.sources
    condition = where
    if syntax.sources[-1].left:
        lookup = in_conditions(scope.column, _by_name(shape.outputs))
        last = len(sources) - 1
        left_join, condition = bind_left_join(syntax.sources[last], last, where, lookup)
        shape = replace(shape, left_join=left_join)
        _check_connected(left_join.alone, syntax, scope.names[:last])
    canonical = sql_query(
        shape, sources, _or_none(where), ranges=windows.ranges, window=windows.query
    )
    size = len(canonical.encode())
    if size > limits.QUERY_TEXT_BYTES_MAX:
        raise too_complex(
            "Bytes of the canonical text", size, limits.QUERY_TEXT_BYTES_MAX, Span(0, 0)
        )
    factors = factors_of(condition)
    if len(sources) > 1:
        _check_connected(factors, syntax, scope.names)
    clause = StandingQueryClause(sql_condition(sources, _or_none(condition)), sources, factors)
    warnings = query_warnings(clause, windows, scope.schemas, shape.left_join)
    return BoundQuery(clause, shape, windows.query, canonical, warnings, windows.ranges)


def in_conditions(column: Column, named: Mapping[str, Output] = MappingProxyType({})) -> Lookup:
    """Return the lookup of WHERE and ON, which hold no aggregates.

    It says more where a name is an output's, one of `named` by its name in lower case, or may be meant as text.
    """

    def found(leaf: Leaf) -> Expression:
        if isinstance(leaf, AggregateSyntax):
            detail = "WHERE and ON hold no aggregates."
            raise Refused(UnsupportedSqlError, detail, leaf.span, _HAVING)
        try:
            return column(leaf)
        except Refused as refused:
            name = leaf.name
            if refused.error is not UnknownColumnError or leaf.qualifier is not None:
                raise
            output = named.get(name.text.casefold())
            if output is not None:
                raise _output_in_condition(name, output) from None
            if refused.hint is not None and not name.quoted and "did you mean" not in refused.hint:
                refused.hint += f"; a text stands in single quotes: {sql_text(name.text[:_SQL_SHOWN_LENGTH_MAX])}"
            raise

    return found


def _output_in_condition(name: Name, output: Output) -> Refused:
    meant = sql_expression(output.expression)[:_SQL_SHOWN_LENGTH_MAX]
    is_aggregate = bool(aggregates_of(output.expression))
    return Refused(
        UnknownColumnError,
        "WHERE and ON read the columns of streams, not the names that AS gives to outputs.",
        name.span,
        _HAVING if is_aggregate else "write the expression in place of its name",
        quoting=f"{name.text[:_SQL_SHOWN_LENGTH_MAX]!r} is the name of an output, and WHERE reads columns.",
        hint=None if is_aggregate else f"write what it stands for: {meant}",
    )


def _or_none(where: Expression) -> Expression | None:
    """Return a condition; None for one that asks for nothing."""
    return None if where == form.TRUE else where


def _by_name(outputs: Sequence[Output]) -> Mapping[str, Output]:
    """Return outputs by their names in lower case."""
    return {output.name.casefold(): output for output in outputs}


def bind_where(syntax: QuerySyntax, scope: Scope, outputs: Sequence[Output] = ()) -> Expression:
    """Return WHERE and what stands behind ON but of LEFT JOIN, in normal form; TRUE where there is neither.

    A refusal of a name says more where it is that of one of `outputs`.
    """
    named = _by_name(outputs)
    bound: list[Expression] = []
    spans: list[Span] = []
    for past, source in enumerate(syntax.sources, 1):
        if source.on is not None and not source.left:
            bound.append(bind_predicate(source.on, in_conditions(scope.columns_up_to(past), named)))
            spans.append(source.on.span)
    if syntax.where is not None:
        bound.append(bind_predicate(syntax.where, in_conditions(scope.column, named)))
        spans.append(syntax.where.span)
    if not bound:
        return form.TRUE
    where = form.where_form(bound[0] if len(bound) == 1 else form.conjunction(bound))
    check_size(where, spans[0].to(spans[-1]))
    return where


def _check_connected(
    factors: tuple[BooleanFactor, ...], syntax: QuerySyntax, names: Sequence[str]
) -> None:
    """Refuse a cross product of the first sources, which have these names."""
    apart = unbound_source(factors, len(names))
    if apart is None:
        return
    raise Refused(
        UnsupportedSqlError,
        "Nothing joins this stream to the others.",
        syntax.sources[apart].stream.span,
        f"compare columns of both, not within OR: WHERE a.x = b.y; {_ALONE}",
        quoting=f"Nothing joins {names[apart][:_SQL_SHOWN_LENGTH_MAX]!r} to {names[0][:_SQL_SHOWN_LENGTH_MAX]!r}.",
        hint="compare columns of both, not within OR: "
        f"WHERE {sql_name(names[0])}.column = {sql_name(names[apart])}.column; {_ALONE}",
    )
