"""Warnings as the author of a text reads them: with the aliases of the text, and the place that is meant.

What a query is kept as has neither: texts that mean the same are one query, with one set of warnings.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Final

from psoup.engine.query.bind.binder import bind_syntax, in_conditions
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.factoring import factors_of
from psoup.engine.query.bind.expressions.expression_binder import Lookup, bind_predicate
from psoup.engine.query.bind.query_warnings import NEVER_TRUE, is_never_true
from psoup.engine.query.bind.scope import Scope, Streams
from psoup.engine.query.canonical import sql_name, sql_text
from psoup.engine.query.clause import BoundQuery, QueryWarning
from psoup.engine.query.factor import BooleanFactor, IndexedFactor, columns_read
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import (
    ParameterSpan,
    Refused,
    Span,
    excerpt_of,
    position_of,
)
from psoup.engine.query.text.syntax import (
    ExpressionSyntax,
    LogicalSyntax,
    QuerySyntax,
    StringSyntax,
)
from psoup.engine.query.text.syntax_parts import operands, shown_expressions
from psoup.engine.query.values.expression import Expression, column_refs

TEXT_LIKE_COLUMN: Final = "text-like-column"
_TEXT: Final = re.compile(r"'((?:[^']|'')*)'")


def written_warnings(
    text: str, streams: Streams, bound: BoundQuery, parameters: Parameters = NO_PARAMETERS
) -> tuple[QueryWarning, ...]:
    """Return the warnings of `bound`, which `text` is bound to over `streams`, in the words of the text.

    Cost: that of binding where there are warnings of a join, a condition that is never TRUE, or a text that is
    called as a column; else one pass over a text with single quotes.
    """
    is_join = len(bound.clause.sources) > 1
    columns = _columns_like_texts(text, streams, bound)
    if not columns and not any(is_join or one.code == NEVER_TRUE for one in bound.warnings):
        return bound.warnings
    syntax = parse(text, parameters)
    texts = tuple(_text_warnings(text, syntax, columns))
    scope = Scope(syntax.sources, streams, written=True)
    try:
        found = bind_syntax(syntax, scope)
    except Refused:  # its own aliases make the text too long
        return (*bound.warnings, *texts)
    if not any(one.code == NEVER_TRUE for one in found.warnings):
        return (*found.warnings, *texts)
    place = _never_true_span(syntax, scope, found.clause.factors)
    never_true = tuple(
        dataclasses.replace(one, position=position_of(text, place), excerpt=excerpt_of(text, place))
        if one.code == NEVER_TRUE
        else one
        for one in found.warnings
    )
    return (*never_true, *texts)


def _columns_like_texts(text: str, streams: Streams, bound: BoundQuery) -> dict[str, str]:
    """Return the columns that a text in single quotes may mean, by their name in lower case."""
    written = {one.casefold() for one in _TEXT.findall(text)} if "'" in text else set()
    if not written:
        return {}
    return {
        column.name.casefold(): column.name
        for source in bound.clause.sources
        for column in streams[source.stream][1].columns
        if column.name.casefold() in written
    }


def _text_warnings(
    text: str, syntax: QuerySyntax, columns: Mapping[str, str]
) -> Iterator[QueryWarning]:
    """Yield a warning for each text of an expression that is written as a column is called."""
    pending = list(shown_expressions(syntax))
    pending += [one.on for one in syntax.sources if one.on is not None]
    pending += [] if syntax.where is None else [syntax.where]
    while pending:
        expression = pending.pop(0)
        pending += operands(expression)
        if not isinstance(expression, StringSyntax) or isinstance(expression.span, ParameterSpan):
            continue
        if expression.value.casefold() in columns:
            column = sql_name(columns[expression.value.casefold()])
            detail = f"{sql_text(expression.value)} is a text; the column is written {column}"
            place = expression.span
            yield QueryWarning(
                TEXT_LIKE_COLUMN, detail, position_of(text, place), excerpt_of(text, place)
            )


def _never_true_span(syntax: QuerySyntax, scope: Scope, factors: tuple[BooleanFactor, ...]) -> Span:
    """Return where the condition stands that is never TRUE; of several that are not together, all of them."""
    read: list[Span] = []
    impossible = [
        column
        for one in factors
        if isinstance(one, IndexedFactor) and one.values.is_empty
        for column in columns_read(one)
    ]
    parts = list(_conditions(syntax, scope))
    for span, condition in parts:
        if any(map(is_never_true, factors_of(form.where_form(condition)))):
            return span
        if not impossible or not column_refs(condition).isdisjoint(impossible):
            read.append(span)
    return min(read, key=lambda span: span.start).to(max(read, key=lambda span: span.past))


def _conditions(syntax: QuerySyntax, scope: Scope) -> Iterator[tuple[Span, Expression]]:
    """Yield each conjunct of ON and WHERE, and where it stands."""
    for past, source in enumerate(syntax.sources, 1):
        if source.on is not None:
            yield from _conjuncts(source.on, in_conditions(scope.columns_up_to(past)))
    if syntax.where is not None:
        yield from _conjuncts(syntax.where, in_conditions(scope.column))


def _conjuncts(syntax: ExpressionSyntax, lookup: Lookup) -> Iterator[tuple[Span, Expression]]:
    if isinstance(syntax, LogicalSyntax) and syntax.conjunction:
        for part in syntax.operands:
            yield from _conjuncts(part, lookup)
    else:
        yield syntax.span, bind_predicate(syntax, lookup)
