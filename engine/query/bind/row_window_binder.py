"""The row windows of FROM: from syntax to the counts and keys of each source."""

from psoup.engine.errors import UnknownColumnError, UnsupportedSqlError
from psoup.engine.query.bind.conditions.size import check_size
from psoup.engine.query.bind.expressions.expression_binder import bind_expression, over_rows
from psoup.engine.query.bind.scope import Scope, resolve
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.row_window import RowWindow, RowWindows
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import ColumnSyntax, QuerySyntax, RowsSyntax
from psoup.engine.query.values.expression import ColumnRef, Constant, Expression

_NO_AGGREGATE = ("PARTITION BY holds no aggregates.", "partition by columns, or expressions")


def bind_row_windows(syntax: QuerySyntax, scope: Scope) -> RowWindows:
    """Return the row window of each source; () where no source has one.

    Keys are told apart by their canonical texts, and stand in order of these: the order does not matter.

    Raises:
        Refused: as `bind_expression`; `unknown-column` for a column of another source; `unsupported-sql` for a key
            that holds an aggregate, or is a constant; `query-too-complex`.
    """
    if all(source.rows is None for source in syntax.sources):
        return ()
    return tuple(
        [
            None if source.rows is None else _bound(source.rows, scope, place)
            for place, source in enumerate(syntax.sources)
        ]
    )


def _bound(syntax: RowsSyntax, scope: Scope, place: int) -> RowWindow:
    def own(column: ColumnSyntax) -> ColumnRef:
        names, named = scope.names, column.qualifier
        if (
            named is not None
            and not resolve(named, names[place : place + 1])
            and resolve(named, names)
        ):
            raise Refused(
                UnknownColumnError,
                "A window reads the columns of its own stream alone.",
                named.span,
                "partition by columns of the stream before the bracket",
            )
        return scope.columns_of(place)(column)

    lookup = over_rows(own, *_NO_AGGREGATE)
    keys: dict[str, Expression] = {}
    for one in syntax.keys:
        key = bind_expression(one, lookup)
        check_size(key, one.span)
        if isinstance(key, Constant):
            raise Refused(
                UnsupportedSqlError,
                "A key of PARTITION BY is a constant.",
                one.span,
                "leave it out: it is the same in every row",
            )
        keys[sql_expression(key)] = key
    return RowWindow(syntax.count, tuple([keys[text] for text in sorted(keys)]))
