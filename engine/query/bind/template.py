"""What the queries of one simple skeleton share, and the numbers of one put into it.

A skeleton (`skeletons.py`) is a text with holes where numbers stand in its WHERE. It is simple where FROM has one
stream, WHERE is an AND of comparisons of a column with a number, and every hole is one of these numbers. Then all
texts of the skeleton are bound alike:

- The scanner sees the same tokens, for a hole is one whole number in each of them, with its sign or without:
  what stands around it ends no number and no word, and no number begins or ends a string or a comment.
- The parser sees the same tree: it never looks at a number, and takes a sign wherever a number is compared.
- Each comparison stays one, beside a constant of the column's own type; a number that is refused or becomes
  something else (`alike`) is left to the binder.
- Comparisons are sorted by their texts. None begins as another does up to its number, so the numbers decide
  neither over their order nor over which of them are the same.
- No comparison is TRUE of NULL, so no factor is ever left out, and all of them are sets of values: there is
  nothing to warn of but the window, and a set of no values.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from psoup.engine import limits
from psoup.engine.query.bind.expressions.coercion import column_number
from psoup.engine.query.bind.query_warnings import NEVER_TRUE, never_true_warnings
from psoup.engine.query.bind.scope import Streams
from psoup.engine.query.canonical import sql_condition, sql_expression, sql_head
from psoup.engine.query.clause import BoundQuery, StandingQueryClause
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax import (
    BetweenSyntax,
    ColumnSyntax,
    CompareSyntax,
    ExpressionSyntax,
    LogicalSyntax,
)
from psoup.engine.query.values.expression import ColumnRef, CompareOp, Value
from psoup.engine.query.values.value_set import values_where_all
from psoup.engine.tuples.schema import StreamSchema

_Compared = tuple[ExpressionSyntax, CompareOp, ExpressionSyntax]


class _Test(NamedTuple):
    """`column op number`: its canonical text up to the number of the hole."""

    text: str
    column: ColumnRef
    op: CompareOp
    hole: int


class Template:
    """A simple skeleton over one declaration. Nobody changes it once it is made."""

    __slots__ = (
        "_condition",
        "_factors",
        "_head",
        "_kinds",
        "_query",
        "_schema",
        "_tail",
        "_tests",
        "_warnings",
    )

    def __init__(self, query: BoundQuery, schema: StreamSchema, tests: Sequence[_Test]) -> None:
        """Keep what `query`, one of the skeleton, shares with the others; `tests` by their holes."""
        clause = query.clause
        condition = sql_condition(clause.sources, None)
        head = sql_head(query.shape, clause.sources)
        self._query = query
        self._schema = schema
        self._condition = f"{condition} WHERE "
        self._head = f"{head} WHERE "
        self._tail = query.canonical[len(head) + len(clause.text) - len(condition) :]
        self._warnings = tuple(one for one in query.warnings if one.code != NEVER_TRUE)
        self._kinds = [test.column.type for test in tests]
        self._tests = sorted(tests)
        self._factors = [
            (column, [(test.op, test.hole) for test in self._tests if test.column == column])
            for column in _columns(query).values()
        ]

    def holds(self, streams: Streams) -> bool:
        """Return whether the stream that is read is declared as it was."""
        (source,) = self._query.clause.sources
        return streams.get(source.stream) == (source.stream_id, self._schema)

    def filled(self, numbers: Sequence[str]) -> BoundQuery | None:
        """Return the query of these numbers; None where one is not, or does not become, its column's type."""
        values: list[Value] = []
        try:
            for number, kind in zip(numbers, self._kinds, strict=True):
                value = column_number(number, kind)
                if value is None:
                    return None
                values.append(value)
        except Refused:
            return None
        query, clause = self._query, self._query.clause
        where = " AND ".join([test.text + repr(values[test.hole]) for test in self._tests])
        factors = [
            AttributeFactor(column, values_where_all([(op, values[hole]) for op, hole in sides]))
            for column, sides in self._factors
        ]
        return BoundQuery(
            StandingQueryClause(self._condition + where, clause.sources, tuple(factors)),
            query.shape,
            query.window,
            f"{self._head}{where}{self._tail}",
            (*self._warnings, *never_true_warnings(factors)),
        )


def template_of(
    text: str, holes: Sequence[Span], query: BoundQuery, streams: Streams
) -> Template | None:
    """Return the template of a text's skeleton; None where it is not simple.

    Args:
        text: one text of the skeleton.
        holes: where its numbers stand, each between what is no part of a number, a word or a sign.
        query: what the text is bound to over `streams`.
        streams: the declared streams.
    """
    if len(query.clause.sources) > 1:
        return None
    syntax = parse(text)
    (source,) = query.clause.sources
    columns = _columns(query)
    exact = syntax.sources[0].stream.text == source.stream  # whatever else is declared
    if syntax.where is None or not exact or len(columns) < len(query.clause.factors):
        return None
    if len(query.canonical) > limits.SKELETON_LENGTH_MAX:
        return None  # of the others none comes near QUERY_TEXT_BYTES_MAX, however long its numbers
    compared = list(_compared(syntax.where))
    if [number.span for _, _, number in compared] != holes:
        return None  # what spans a number's characters and no others is that number
    tests: list[_Test] = []
    for hole, (side, op, _) in enumerate(compared):
        column = columns.get(side.name.text) if isinstance(side, ColumnSyntax) else None
        if column is None:
            return None  # named by other capitals
        tests.append(_Test(f"{sql_expression(column)} {op} ", column, op, hole))
    texts = sorted([test.text for test in tests])
    if any(after.startswith(before) for before, after in pairwise(texts)):
        return None
    return Template(query, streams[source.stream][1], tests)


def _columns(query: BoundQuery) -> dict[str, ColumnRef]:
    """Return the columns of which the query asks for a set of values, by name, in the factors' order."""
    found = [factor for factor in query.clause.factors if isinstance(factor, AttributeFactor)]
    return {factor.column.name: factor.column for factor in found}


def _compared(where: ExpressionSyntax) -> Iterator[_Compared]:
    """Yield what an AND of comparisons compares, left to right; anything else beside itself."""
    match where:
        case LogicalSyntax(conjunction=True, operands=parts):
            for part in parts:
                yield from _compared(part)
        case CompareSyntax():
            yield where.left, where.op, where.right
        case BetweenSyntax(negated=False):
            yield where.operand, CompareOp.GE, where.low
            yield where.operand, CompareOp.LE, where.high
        case _:
            yield where, CompareOp.EQ, where
