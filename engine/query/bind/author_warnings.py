"""Warnings as the author of a text reads them: with the aliases of the text, and the place that is meant.

What a query is kept as has neither: texts that mean the same are one query, with one set of warnings.
"""

import dataclasses
from collections.abc import Iterator

from psoup.engine.query.bind import normal_form as form
from psoup.engine.query.bind.binder import bind_syntax
from psoup.engine.query.bind.expression_binder import Lookup, bind_predicate
from psoup.engine.query.bind.factoring import factors_of
from psoup.engine.query.bind.query_warnings import NEVER_TRUE, is_never_true
from psoup.engine.query.bind.scope import Scope, Streams
from psoup.engine.query.clause import BoundQuery, QueryWarning
from psoup.engine.query.factor import AttributeFactor, BooleanFactor
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import Refused, Span, excerpt_of, position_of
from psoup.engine.query.text.syntax import ExpressionSyntax, LogicalSyntax, QuerySyntax
from psoup.engine.query.values.expression import Expression, column_refs


def written_warnings(text: str, streams: Streams, bound: BoundQuery) -> tuple[QueryWarning, ...]:
    """Return the warnings of `bound`, which `text` is bound to over `streams`, in the words of the text.

    Cost: that of binding where there are warnings of a join, or a condition that is never TRUE; else none.
    """
    is_join = len(bound.clause.sources) > 1
    if not any(is_join or one.code == NEVER_TRUE for one in bound.warnings):
        return bound.warnings
    syntax = parse(text)
    scope = Scope(syntax.sources, streams, written=True)
    try:
        found = bind_syntax(syntax, scope)
    except Refused:  # its own aliases make the text too long
        return bound.warnings
    place = _never_true_span(syntax, scope, found.clause.factors)
    return tuple(
        dataclasses.replace(one, position=position_of(text, place), excerpt=excerpt_of(text, place))
        if one.code == NEVER_TRUE
        else one
        for one in found.warnings
    )


def _never_true_span(syntax: QuerySyntax, scope: Scope, factors: tuple[BooleanFactor, ...]) -> Span:
    """Return where the condition stands that is never TRUE; of several that are not together, all of them."""
    read: list[Span] = []
    impossible = [
        one.column for one in factors if isinstance(one, AttributeFactor) and one.values.is_empty
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
            yield from _conjuncts(source.on, scope.columns_up_to(past))
    if syntax.where is not None:
        yield from _conjuncts(syntax.where, scope.column)


def _conjuncts(syntax: ExpressionSyntax, lookup: Lookup) -> Iterator[tuple[Span, Expression]]:
    if isinstance(syntax, LogicalSyntax) and syntax.conjunction:
        for part in syntax.operands:
            yield from _conjuncts(part, lookup)
    else:
        yield syntax.span, bind_predicate(syntax, lookup)
