"""Query text against the declared streams: to a clause, a window, canonical text and warnings."""

from collections.abc import Callable, Mapping, Sequence

from psoup.engine import limits
from psoup.engine.errors import UnknownColumnError, UnsupportedSqlError
from psoup.engine.query.bind import normal_form as form
from psoup.engine.query.bind.expression_binder import Lookup, bind_expression, bind_predicate
from psoup.engine.query.bind.factoring import factors_of
from psoup.engine.query.bind.query_warnings import query_warnings
from psoup.engine.query.bind.scope import Scope, Streams
from psoup.engine.query.bind.size import check_size, too_complex
from psoup.engine.query.bind.window_binder import bind_windows
from psoup.engine.query.canonical import (
    default_name,
    sql_clause,
    sql_expression,
    sql_name,
    sql_text,
    sql_window,
)
from psoup.engine.query.clause import BoundQuery, Output, StandingQueryClause
from psoup.engine.query.factor import BooleanFactor
from psoup.engine.query.join_graph import unbound_source
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax import ColumnSyntax, Name, OutputSyntax, QuerySyntax, StarSyntax
from psoup.engine.query.values.expression import ColumnRef, Expression
from psoup.engine.tuples.schema import RESERVED_COLUMNS

Bind = Callable[[str, Streams], BoundQuery]
"""`bind`, or what remembers its answers."""

_SQL_SHOWN_LENGTH_MAX = 100
_ALONE = "without that every stream needs a condition of its own"


def bind(text: str, streams: Streams, parameters: Parameters = NO_PARAMETERS) -> BoundQuery:
    """Return the query that `text` means over the declared `streams`, with a constant in place of each parameter.

    Texts that mean the same in an obvious way (`normal_form.py`) have equal clauses; binding `canonical`
    gives an equal query.

    Two outputs of one name are refused: an answer's rows are objects, and a silent rename would make a
    column's name depend on its place. Only `*` over several sources names columns after their source, where
    names alone do not tell them apart. A bare NULL in the select list is a BOOLEAN.

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
    outputs = _outputs(syntax.outputs, scope)
    where = _where(syntax, scope, outputs)
    windows = bind_windows(syntax)
    sources, distinct = scope.sources, syntax.distinct
    shown = None if where == form.TRUE else where
    text = sql_clause(distinct=distinct, outputs=outputs, sources=sources, where=shown)
    canonical = text
    if windows.ranges:
        canonical = sql_clause(
            distinct=distinct, outputs=outputs, sources=sources, where=shown, ranges=windows.ranges
        )
    canonical += sql_window(windows.query)
    size = len(canonical.encode())
    if size > limits.QUERY_TEXT_BYTES_MAX:
        raise too_complex(
            "Bytes of the canonical text", size, limits.QUERY_TEXT_BYTES_MAX, Span(0, 0)
        )
    factors = factors_of(where)
    if len(sources) > 1:
        _check_connected(factors, syntax, scope)
    clause = StandingQueryClause(text, sources, factors, outputs, distinct)
    warnings = query_warnings(clause, windows, scope.schemas)
    return BoundQuery(clause, windows.query, canonical, warnings, windows.ranges)


def _outputs(syntax: tuple[OutputSyntax, ...], scope: Scope) -> tuple[Output, ...]:
    found: dict[str, Output] = {}
    for entry in syntax:
        span = entry.what.span if entry.alias is None else entry.alias.span
        for output in _output(entry, scope):
            if output.name in found:
                raise Refused(
                    UnsupportedSqlError,
                    "Two outputs have one name.",
                    span,
                    "give one of them another name by AS",
                    quoting=f"Two outputs are named {output.name[:_SQL_SHOWN_LENGTH_MAX]!r}.",
                    hint=f"give one of them an alias: AS {sql_name(output.name[:100] + '_2')}",
                )
            found[output.name] = output
    if len(found) > limits.QUERY_OUTPUTS_MAX:
        raise too_complex("Outputs", len(found), limits.QUERY_OUTPUTS_MAX, syntax[-1].what.span)
    return tuple(found.values())


def _output(entry: OutputSyntax, scope: Scope) -> tuple[Output, ...]:
    if isinstance(entry.what, StarSyntax):
        starred = scope.all_columns(entry.what.qualifier)
        if len(scope.sources) > 1:
            for output in starred:  # some are named after aliases, which may be any text
                _check_output_name(output.name, entry.what.span)
        return starred
    expression = bind_expression(entry.what, scope.column)
    check_size(expression, entry.what.span)
    if entry.alias is None:
        return (Output(default_name(expression), expression),)
    _check_output_name(entry.alias.text, entry.alias.span)
    return (Output(entry.alias.text, expression),)


def _check_output_name(name: str, span: Span) -> None:
    if (
        name in RESERVED_COLUMNS
        or not name.isprintable()
        or len(name) > limits.COLUMN_NAME_LENGTH_MAX
    ):
        raise Refused(
            UnsupportedSqlError,
            "An output cannot be named so.",
            span,
            f"1 to {limits.COLUMN_NAME_LENGTH_MAX} printable characters; _id and _x are psoup's own",
            quoting=f"An output cannot be named {name[:40]!r}.",
        )


def _in_conditions(lookup: Lookup, named: Mapping[str, Output]) -> Lookup:
    """Return the lookup of WHERE and ON, which says more where the name is an output's, or may be meant as text."""

    def found(syntax: ColumnSyntax) -> ColumnRef:
        try:
            return lookup(syntax)
        except Refused as refused:
            name = syntax.name
            if refused.error is not UnknownColumnError or syntax.qualifier is not None:
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
    return Refused(
        UnknownColumnError,
        "WHERE and ON read the columns of streams, not the names that AS gives to outputs.",
        name.span,
        "write the expression in place of its name",
        quoting=f"{name.text[:_SQL_SHOWN_LENGTH_MAX]!r} is the name of an output, and WHERE reads columns.",
        hint=f"write what it stands for: {meant}",
    )


def _where(syntax: QuerySyntax, scope: Scope, outputs: Sequence[Output]) -> Expression:
    """Return WHERE and what stands behind ON, in normal form; TRUE where there is neither."""
    named = {output.name.casefold(): output for output in outputs}
    bound: list[Expression] = []
    spans: list[Span] = []
    for past, source in enumerate(syntax.sources, 1):
        if source.on is not None:
            bound.append(
                bind_predicate(source.on, _in_conditions(scope.columns_up_to(past), named))
            )
            spans.append(source.on.span)
    if syntax.where is not None:
        bound.append(bind_predicate(syntax.where, _in_conditions(scope.column, named)))
        spans.append(syntax.where.span)
    if not bound:
        return form.TRUE
    where = form.where_form(bound[0] if len(bound) == 1 else form.conjunction(bound))
    check_size(where, spans[0].to(spans[-1]))
    return where


def _check_connected(factors: tuple[BooleanFactor, ...], syntax: QuerySyntax, scope: Scope) -> None:
    """Refuse a cross product."""
    apart = unbound_source(factors, len(scope.sources))
    if apart is None:
        return
    names = scope.names
    raise Refused(
        UnsupportedSqlError,
        "Nothing joins this stream to the others.",
        syntax.sources[apart].stream.span,
        f"compare columns of both, not within OR: WHERE a.x = b.y; {_ALONE}",
        quoting=f"Nothing joins {names[apart][:_SQL_SHOWN_LENGTH_MAX]!r} to {names[0][:_SQL_SHOWN_LENGTH_MAX]!r}.",
        hint="compare columns of both, not within OR: "
        f"WHERE {sql_name(names[0])}.column = {sql_name(names[apart])}.column; {_ALONE}",
    )
