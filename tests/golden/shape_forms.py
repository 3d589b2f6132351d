"""The forms of what is done with rows, by name: which of them a text has, and which there are.

Aggregates, groups, order, row windows, hops and LEFT JOIN; those of rows alone are in `tests/agreement/spark/forms.py`.
"""

import re
from collections.abc import Iterator, Mapping

from psoup.engine.query.parameters import Parameters
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.syntax import (
    AggregateSyntax,
    ColumnSyntax,
    ExpressionSyntax,
    NumberSyntax,
    QuerySyntax,
)
from psoup.engine.query.text.syntax_parts import aggregates_in, shown_expressions
from psoup.engine.query.values.expression import AggregateFunction

_SPELLED: Mapping[str, str] = {
    ":name": r":[a-z]",
    "$name": r"\$[a-z]",
    "ASC": r"\bASC\b",
    "NULLS LAST": r"\bNULLS LAST\b",
    "[ROWS n] before the alias": r"ROWS \d+\] (AS )?[a-z]\b",
    "[ROWS n] behind the alias": r"\b(AS [a-z]|trades [a-z]) \[[^\]]*ROWS",
}
"""Forms of which the syntax tree says no more, as patterns of a text."""
_DISTINCT = ("COUNT", "SUM", "AVG", "MIN", "MAX")


def shape_forms_of(text: str, parameters: Parameters) -> set[str]:
    """Return the forms that a text has which psoup takes."""
    syntax = parse(text, parameters)
    found = {name for name, pattern in _SPELLED.items() if re.search(pattern, text)}
    calls = [call for one in shown_expressions(syntax) for call in aggregates_in(one)]
    for call in calls:
        found |= set(_aggregate(call))
    if calls and not syntax.shape.keys:
        found.add("aggregates without GROUP BY")
    found |= {f"GROUP BY {_what(key, syntax)}" for key in syntax.shape.keys}
    found |= {"GROUP BY several"} if len(syntax.shape.keys) > 1 else set()
    for entry in syntax.shape.order:
        found.add(f"ORDER BY {_what(entry.what, syntax)}")
        found.add("DESC" if entry.descending else "ascending")
        found |= {"NULLS FIRST"} if entry.nulls_first else set()
    shape = syntax.shape
    has = {"HAVING": shape.having, "LIMIT": shape.limit, "OFFSET": shape.offset or None}
    found |= {name for name, part in has.items() if part is not None}
    return found | set(_sources(syntax)) | set(_hops(syntax))


def all_shape_forms() -> set[str]:
    """Return every form there is."""
    found = set(_SPELLED)
    found |= {f"{function}{how}" for function in AggregateFunction for how in ("", " FILTER")}
    found |= {"COUNT(*)", *(f"{name} DISTINCT" for name in _DISTINCT)}
    found |= {"aggregates without GROUP BY", "GROUP BY several", "HAVING", "LIMIT", "OFFSET"}
    places = ("column", "alias", "position", "expression")
    found |= {f"{by} BY {what}" for by in ("GROUP", "ORDER") for what in places}
    found |= {"DESC", "ascending", "NULLS FIRST", "EVERY", "EVERY .. ALIGN"}
    found |= {"ROWS", "PARTITION BY", "ROWS of a join", "LEFT JOIN", "ROWS of a LEFT JOIN"}
    return found


def _aggregate(call: AggregateSyntax) -> Iterator[str]:
    yield str(call.function) if call.arguments else f"{call.function}(*)"
    if call.distinct:
        yield f"{call.function} DISTINCT"
    if call.filter is not None:
        yield f"{call.function} FILTER"


def _what(expression: ExpressionSyntax, syntax: QuerySyntax) -> str:
    """Return what stands in GROUP BY or ORDER BY: a name of an output is an alias where no column has it."""
    aliases = {one.alias.text for one in syntax.outputs if one.alias is not None}
    shown = {one.what.name.text for one in syntax.outputs if isinstance(one.what, ColumnSyntax)}
    match expression:
        case NumberSyntax():
            return "position"
        case ColumnSyntax(qualifier=None, name=name) if name.text in aliases - shown:
            return "alias"
        case ColumnSyntax():
            return "column"
        case _:
            return "expression"


def _sources(syntax: QuerySyntax) -> Iterator[str]:
    is_left = any(source.left for source in syntax.sources)
    if is_left:
        yield "LEFT JOIN"
    for source in syntax.sources:
        if source.rows is None:
            continue
        yield "PARTITION BY" if source.rows.keys else "ROWS"
        if len(syntax.sources) > 1:
            yield "ROWS of a LEFT JOIN" if is_left else "ROWS of a join"


def _hops(syntax: QuerySyntax) -> Iterator[str]:
    if syntax.window is not None and syntax.window.hops is not None:
        yield "EVERY" if syntax.window.hops.align is None else "EVERY .. ALIGN"
