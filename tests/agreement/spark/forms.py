"""The forms of the dialect, by name: which of them a text has, and which there are.

What there is follows from the syntax tree's own types and enums, so that a form that is added to the grammar
stands in the list before anything is run that has it.
"""

from collections.abc import Iterator
from typing import get_args

from psoup.engine.query.functions.table import FUNCTIONS
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.syntax import (
    AggregateSyntax,
    ArithmeticSyntax,
    BetweenSyntax,
    BooleanSyntax,
    BoundSyntax,
    CallSyntax,
    ColumnSyntax,
    CompareSyntax,
    DistinctSyntax,
    ExpressionSyntax,
    InSyntax,
    IntervalSyntax,
    IsSyntax,
    IsWhat,
    LikeSyntax,
    LogicalSyntax,
    NullSyntax,
    NumberSyntax,
    OutputSyntax,
    QuerySyntax,
    SourceSyntax,
    StarSyntax,
)
from psoup.engine.query.text.syntax_parts import operands
from psoup.engine.query.values.expression import ArithmeticOp, CompareOp

_NEGATED = {False: "", True: "NOT "}


def forms_of(text: str) -> set[str]:
    """Return the forms that a text has which psoup takes."""
    syntax = parse(text)
    found = {"SELECT DISTINCT" if syntax.distinct else "SELECT", _window(syntax)}
    found.add(f"FROM {len(syntax.sources)}")
    found.add("no WHERE" if syntax.where is None else "WHERE")
    for entry in syntax.outputs:
        found |= _output(entry)
    for place, source in enumerate(syntax.sources):
        found |= _source(source, first=place == 0)
    names = [source.stream.text.casefold() for source in syntax.sources]
    found |= {"a stream twice"} if len(set(names)) < len(names) else set()
    conditions = [source.on for source in syntax.sources if source.on is not None]
    shown = [one.what for one in syntax.outputs if not isinstance(one.what, StarSyntax)]
    where = [] if syntax.where is None else [syntax.where]
    for expression in [*shown, *conditions, *where]:
        found |= {form for node in _nodes(expression) for form in _node(node)}
    return found


def all_forms() -> set[str]:
    """Return every form there is."""
    found = {"SELECT", "SELECT DISTINCT", "WHERE", "no WHERE", "*", "alias.*", "output", "AS"}
    found |= {f"FROM {count}" for count in range(1, 5)}
    found |= {"a stream twice", "alias", "JOIN ON", ", or CROSS JOIN", "RANGE"}
    found |= {"no window", "BEGIN constant END constant", "BEGIN constant END NOW"}
    found |= {"BEGIN NOW - r END NOW", "BEGIN NOW - r END NOW - r", "BEGIN constant END NOW - r"}
    found |= {"BEGIN NOW END NOW"}
    named = {ArithmeticSyntax, BetweenSyntax, BooleanSyntax, ColumnSyntax, CompareSyntax, InSyntax}
    named |= {CallSyntax, DistinctSyntax, IsSyntax, LikeSyntax, LogicalSyntax, NumberSyntax}
    named |= {AggregateSyntax}  # rows alone are translated to Spark SQL
    found |= {kind.__name__ for kind in get_args(ExpressionSyntax) if kind not in named}
    found |= {f"{name}(...)" for name in FUNCTIONS if name not in ("CASE", "CAST")}
    found |= {f"a {op} b" for op in (*ArithmeticOp, *CompareOp)}
    found |= {"a + INTERVAL", "a - INTERVAL", "INTERVAL + a"}
    found |= {"column", "alias.column", "5", "-5", "2.5", "-2.5", "TRUE", "FALSE", "AND", "OR"}
    for negated in _NEGATED.values():
        found |= {f"a {negated}{what}" for what in ("BETWEEN", "IN", "IN NULL", "LIKE", "ESCAPE")}
        found |= {f"a {negated}ILIKE", f"a IS {negated}DISTINCT"}
        found |= {f"a IS {negated}{what}" for what in IsWhat}
    return found


def _window(syntax: QuerySyntax) -> str:
    if syntax.window is None:
        return "no window"
    return f"BEGIN {_bound(syntax.window.begin)} END {_bound(syntax.window.end)}"


def _bound(bound: BoundSyntax) -> str:
    if bound.constant is not None:
        return "constant"
    return "NOW - r" if bound.offset_us else "NOW"


def _output(entry: OutputSyntax) -> set[str]:
    if isinstance(entry.what, StarSyntax):
        return {"*" if entry.what.qualifier is None else "alias.*"}
    return {"output" if entry.alias is None else "AS"}


def _source(source: SourceSyntax, *, first: bool) -> set[str]:
    found = {"alias"} if source.alias is not None else set()
    found |= {"RANGE"} if source.range is not None else set()
    if not first:
        found.add(", or CROSS JOIN" if source.on is None else "JOIN ON")
    return found


def _nodes(expression: ExpressionSyntax) -> Iterator[ExpressionSyntax]:
    yield expression
    for part in operands(expression):
        yield from _nodes(part)


def _node(node: ExpressionSyntax) -> set[str]:
    match node:
        case ArithmeticSyntax(op=op, right=right, left=left):
            sides = [
                "INTERVAL" if isinstance(one, IntervalSyntax) else None for one in (left, right)
            ]
            return {f"{sides[0] or 'a'} {op} {sides[1] or ('a' if sides[0] else 'b')}"}
        case CompareSyntax(op=op):
            return {f"a {op} b"}
        case CallSyntax(name=name):
            return {f"{name}(...)"}
        case DistinctSyntax(negated=negated):
            return {f"a IS {_NEGATED[negated]}DISTINCT"}
        case IsSyntax(what=what, negated=negated):
            return {f"a IS {_NEGATED[negated]}{what}"}
        case BetweenSyntax() | InSyntax() | LikeSyntax():
            return {f"a {_NEGATED[node.negated]}{_match(node)}"}
        case _:
            return {_leaf(node)}


def _leaf(node: ExpressionSyntax) -> str:
    match node:
        case ColumnSyntax(qualifier=qualifier):
            return "column" if qualifier is None else "alias.column"
        case NumberSyntax(text=text):
            return ("-" if text[0] == "-" else "") + ("5" if node.is_integer else "2.5")
        case BooleanSyntax(value=value):
            return str(value).upper()
        case LogicalSyntax(conjunction=conjunction):
            return "AND" if conjunction else "OR"
        case _:
            return type(node).__name__


def _match(node: BetweenSyntax | InSyntax | LikeSyntax) -> str:
    match node:
        case BetweenSyntax():
            return "BETWEEN"
        case InSyntax(options=options):
            return "IN NULL" if any(isinstance(one, NullSyntax) for one in options) else "IN"
        case LikeSyntax(insensitive=True):
            return "ILIKE"
        case LikeSyntax(escape=escape):
            return "LIKE" if escape is None else "ESCAPE"
