"""Queries whose answers are rows as they are found, told from those that group, order or limit them."""

from psoup.engine.errors import UnsupportedSqlError
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import Refused, Span
from psoup.engine.query.text.syntax_parts import aggregates_in, shown_expressions


def check_rows_alone(text: str, query: BoundQuery, *, detail: str, remedy: str) -> None:
    """Raise UnsupportedSqlError where a query does more with its hits than SELECT and DISTINCT do.

    Args:
        text: of the query.
        query: what it is bound to.
        detail: what the error says. It points at the first row window, at the stream of a LEFT JOIN, at what
            stands behind WHERE, or at the first aggregate.
        remedy: what to do.

    Cost: that of parsing where it is refused.
    """
    if query.shape.selects_only:
        return
    syntax = parse(text)
    windows = [one.rows.span for one in syntax.sources if one.rows is not None]
    windows += [one.stream.span for one in syntax.sources if one.left]
    calls = [call.span for one in shown_expressions(syntax) for call in aggregates_in(one)]
    behind = [] if syntax.shape.span is None else [syntax.shape.span]
    place = next(iter([*windows, *behind, *calls]), Span(0, 0))
    raise Refused(UnsupportedSqlError, detail, place, remedy).in_text(text)
