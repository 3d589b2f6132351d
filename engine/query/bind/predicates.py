"""The predicates of a query as its text has them: what a person is told of its condition, one by one.

A clause keeps factors, which are what SteMs take: all that it asks of one column is one set of values there, and a set
knows TRUE alone. Predicates keep the text of each conjunct, and are TRUE, FALSE or unknown.
"""

from typing import NamedTuple

from psoup.engine.query.bind.binder import bind_where, in_conditions
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.left_join_binder import bind_left_join
from psoup.engine.query.bind.scope import Scope, Streams
from psoup.engine.query.clause import Source, StandingQueryClause
from psoup.engine.query.parameters import Parameters, RegisteredText
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import QuerySyntax
from psoup.engine.query.values.expression import Expression


class Predicates(NamedTuple):
    """The conjuncts of a query's condition in normal form, each a BOOLEAN expression over rows.

    Attributes:
        on: of the ON of a LEFT JOIN, else ().
        where: of WHERE, and of the ON of inner joins.
        sources: those of FROM, under the names that the predicates give them.
    """

    on: tuple[Expression, ...]
    where: tuple[Expression, ...]
    sources: tuple[Source, ...]


def predicates_of(canonical: str, streams: Streams) -> Predicates:
    """Return the predicates of a query that is bound.

    Args:
        canonical: its canonical text.
        streams: at least those that it reads, as they were declared when it was bound.

    Cost: about that of `bind`.
    """
    syntax = parse(canonical)
    return _predicates(syntax, Scope(syntax.sources, streams))


def written_predicates(text: RegisteredText, streams: Streams) -> Predicates | None:
    """Return the predicates of a registered text, under the names that it gives to the streams of FROM.

    None where it does not bind any more: a column that was added since has made one of its names ambiguous.
    """
    try:
        syntax = parse(text.sql, text.params)
        return _predicates(syntax, Scope(syntax.sources, streams, written=True))
    except Refused:
        return None


def has_own_names(
    text: str, streams: Streams, parameters: Parameters, clause: StandingQueryClause
) -> bool:
    """Return whether a text that is bound to `clause` calls streams of FROM otherwise than that does.

    Cost: that of parsing, where there are several.
    """
    if len(clause.sources) == 1:
        return False
    scope = Scope(parse(text, parameters).sources, streams, written=True)
    return scope.sources != clause.sources


def _predicates(syntax: QuerySyntax, scope: Scope) -> Predicates:
    where = bind_where(syntax, scope)
    if not syntax.sources[-1].left:
        return Predicates((), form.conjuncts(where), scope.sources)
    last = len(syntax.sources) - 1
    left_join, _ = bind_left_join(syntax.sources[last], last, where, in_conditions(scope.column))
    return Predicates(form.conjuncts(left_join.on), form.conjuncts(where), scope.sources)
