"""The select list: from syntax to named outputs."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from psoup.engine import limits
from psoup.engine.errors import UnknownColumnError, UnsupportedSqlError
from psoup.engine.query.bind.conditions.size import check_size, too_complex
from psoup.engine.query.bind.expressions.expression_binder import Leaf, Lookup, bind_expression
from psoup.engine.query.bind.scope import Scope
from psoup.engine.query.bind.shapes.aggregate_binder import bind_aggregate
from psoup.engine.query.canonical import default_name, sql_expression, sql_name
from psoup.engine.query.shape import Output
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import (
    AggregateSyntax,
    ColumnSyntax,
    ExpressionSyntax,
    Name,
    OutputSyntax,
    StarSyntax,
)
from psoup.engine.query.values.expression import Expression
from psoup.engine.tuples.schema import RESERVED_COLUMNS

_NAME_SHOWN_LENGTH_MAX = 100


class ListedOutput(NamedTuple):
    """One column of the answer, and the entry of the select list that it is written as."""

    output: Output
    written: ExpressionSyntax | StarSyntax


def bind_select_list(syntax: tuple[OutputSyntax, ...], scope: Scope) -> tuple[ListedOutput, ...]:
    """Return the outputs, `*` resolved; aggregates among them are leaves over rows.

    Two outputs of one name are refused: an answer's rows are objects, and a silent rename would make a
    column's name depend on its place. Only `*` over several sources names columns after their source, where
    names alone do not tell them apart. A bare NULL is a BOOLEAN.

    Raises:
        Refused: as `bind_expression` and `bind_aggregate`; `unsupported-sql` for names, `query-too-complex`.
    """
    found: dict[str, ListedOutput] = {}
    lookup = with_aggregates(scope, _columns_beside(found, scope))
    for entry in syntax:
        span = entry.what.span if entry.alias is None else entry.alias.span
        for listed in _listed(entry, scope, lookup):
            name = listed.output.name
            if name in found:
                raise Refused(
                    UnsupportedSqlError,
                    "Two outputs have one name.",
                    span,
                    "give one of them another name by AS",
                    quoting=f"Two outputs are named {name[:_NAME_SHOWN_LENGTH_MAX]!r}.",
                    hint=f"give one of them an alias: AS {sql_name(name[:100] + '_2')}",
                )
            found[name] = listed
    if len(found) > limits.QUERY_OUTPUTS_MAX:
        raise too_complex("Outputs", len(found), limits.QUERY_OUTPUTS_MAX, syntax[-1].what.span)
    return tuple(found.values())


def _columns_beside(
    found: Mapping[str, ListedOutput], scope: Scope
) -> Callable[[ColumnSyntax], Expression]:
    """Return the lookup of columns, which says more where a name is that of an output of `found`."""

    def column(leaf: ColumnSyntax) -> Expression:
        try:
            return scope.column(leaf)
        except Refused as refused:
            name = leaf.name.text
            if refused.error is not UnknownColumnError or leaf.qualifier or name not in found:
                raise
            meant = sql_expression(found[name].output.expression)[:_NAME_SHOWN_LENGTH_MAX]
            raise Refused(
                UnknownColumnError,
                "An output reads the columns of streams, not the names that AS gives to other outputs.",
                leaf.span,
                "write the expression in place of its name",
                quoting=f"{name[:_NAME_SHOWN_LENGTH_MAX]!r} is the name of an output, and outputs read columns.",
                hint=f"write what it stands for: {meant}",
            ) from None

    return column


def with_aggregates(scope: Scope, column: Callable[[ColumnSyntax], Expression]) -> Lookup:
    """Return the lookup of expressions with aggregates: these read columns of FROM, the rest what `column` finds."""

    def found(leaf: Leaf) -> Expression:
        if isinstance(leaf, AggregateSyntax):
            return bind_aggregate(leaf, scope.column)
        return column(leaf)

    return found


def _listed(entry: OutputSyntax, scope: Scope, lookup: Lookup) -> tuple[ListedOutput, ...]:
    if isinstance(entry.what, StarSyntax):
        starred = scope.all_columns(entry.what.qualifier)
        if len(scope.sources) > 1:
            for output in starred:  # some are named after aliases, which may be any text
                _check_name(Name(output.name, quoted=True, span=entry.what.span))
        return tuple([ListedOutput(output, entry.what) for output in starred])
    expression = bind_expression(entry.what, lookup)
    check_size(expression, entry.what.span)
    if entry.alias is None:
        return (ListedOutput(Output(default_name(expression), expression), entry.what),)
    _check_name(entry.alias)
    return (ListedOutput(Output(entry.alias.text, expression), entry.what),)


def _check_name(name: Name) -> None:
    if (
        name.text in RESERVED_COLUMNS
        or not name.text.isprintable()
        or len(name.text) > limits.COLUMN_NAME_LENGTH_MAX
    ):
        raise Refused(
            UnsupportedSqlError,
            "An output cannot be named so.",
            name.span,
            f"1 to {limits.COLUMN_NAME_LENGTH_MAX} printable characters; _id and _x are psoup's own",
            quoting=f"An output cannot be named {name.text[:40]!r}.",
        )
