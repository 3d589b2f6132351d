"""What the author of an accepted query should know: reach, cost, and conditions that nothing meets."""

from collections.abc import Sequence

from psoup.engine.query.bind.conditions.normal_form import value_of
from psoup.engine.query.bind.window_binder import Windows, retention_warnings
from psoup.engine.query.canonical import sql_expression, sql_name
from psoup.engine.query.clause import QueryWarning, Source, StandingQueryClause
from psoup.engine.query.factor import (
    AttributeFactor,
    BandFactor,
    BooleanFactor,
    DerivedFactor,
    ResidualFactor,
)
from psoup.engine.query.join_graph import is_bounded
from psoup.engine.query.left_join import LeftJoin
from psoup.engine.query.values.expression import Expression, reads_columns, sources_of
from psoup.engine.query.window import WindowKind
from psoup.engine.tuples.schema import StreamSchema

NEVER_TRUE = "never-true"
_SQL_SHOWN_LENGTH_MAX = 100


def query_warnings(
    clause: StandingQueryClause,
    windows: Windows,
    schemas: Sequence[StreamSchema],
    left_join: LeftJoin | None = None,
) -> tuple[QueryWarning, ...]:
    """Return the warnings of a bound query, in which streams have the clause's aliases."""
    found = retention_warnings(windows, schemas)
    found += never_true_warnings(clause.factors if left_join is None else left_join.alone)
    if len(schemas) > 1:
        found += _join_warnings(clause, windows)
    for factor in clause.factors:
        if isinstance(factor, ResidualFactor) and not isinstance(factor, DerivedFactor):
            found += _index_warnings(factor.expression, clause.sources)
    return tuple(found)


def never_true_warnings(factors: Sequence[BooleanFactor]) -> list[QueryWarning]:
    """Return one warning where a factor is never TRUE, so that the query answers no row whatever arrives."""
    impossible = next((factor for factor in factors if is_never_true(factor)), None)
    if impossible is None:
        return []
    because = "a condition is FALSE, or compares with NULL: IS NULL is what asks for NULL"
    if isinstance(impossible, AttributeFactor):
        column = sql_name(impossible.column.name)[:_SQL_SHOWN_LENGTH_MAX]
        because = f"no value of {column} meets all that WHERE asks of it"
    elif isinstance(impossible, DerivedFactor):
        function = sql_expression(impossible.attribute.function)[:_SQL_SHOWN_LENGTH_MAX]
        because = f"no value of {function} meets all that WHERE asks of it"
    elif isinstance(impossible, BandFactor):
        because = "no two values meet all that the comparison of two streams asks of them"
    return [QueryWarning(NEVER_TRUE, f"no row is ever answered: {because}")]


def is_never_true(factor: BooleanFactor) -> bool:
    """Return whether no tuple meets a factor, as its constants alone say."""
    match factor:
        case AttributeFactor(values=values) | DerivedFactor(values=values):
            return values.is_empty
        case BandFactor(low=low, high=high) if low is not None and high is not None:
            closed = factor.low_closed and factor.high_closed
            return low > high or (factor.exact and low == high and not closed)
        case ResidualFactor(expression=expression) if not reads_columns(expression):
            return value_of(expression) is not True
        case _:
            return False


def _join_warnings(clause: StandingQueryClause, windows: Windows) -> list[QueryWarning]:
    found: list[QueryWarning] = []
    if windows.query.kind is WindowKind.NONE and not windows.ranges:
        found.append(
            QueryWarning(
                "join-unbounded",
                "joins all that its streams keep: BEGIN (...) END (...) bounds it, or [RANGE ...] behind a stream",
            )
        )
    if not is_bounded(clause):
        found.append(
            QueryWarning(
                "join-not-kept",
                "no = and no band with two ends connects all of its streams: unless materialize asks for more, its "
                "rows are found when it is invoked",
            )
        )
    return found


def _index_warnings(expression: Expression, sources: tuple[Source, ...]) -> list[QueryWarning]:
    if not reads_columns(expression):
        return []
    read = sorted(sources_of(expression)) or range(len(sources))
    names = [sources[place].alias for place in read]
    of = f"row of {names[0]}" if len(names) == 1 else f"combination of {', '.join(names)}"
    shown = sql_expression(expression)[:_SQL_SHOWN_LENGTH_MAX]
    return [
        QueryWarning("not-indexed", f"runs for every {of} that the other factors leave: {shown}")
    ]
