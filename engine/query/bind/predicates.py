"""The predicates of a query as its text has them: what a person is told of its condition, one by one.

A clause keeps factors, which are what SteMs take: all that it asks of one column is one set of values there, and a set
knows TRUE alone. Predicates keep the text of each conjunct, and are TRUE, FALSE or unknown.
"""

from typing import NamedTuple

from psoup.engine.query.bind import normal_form as form
from psoup.engine.query.bind.binder import bind_where, in_conditions
from psoup.engine.query.bind.left_join_binder import bind_left_join
from psoup.engine.query.bind.scope import Scope, Streams
from psoup.engine.query.text.parser import parse
from psoup.engine.query.values.expression import Expression


class Predicates(NamedTuple):
    """The conjuncts of a query's condition in normal form, each a BOOLEAN expression over rows.

    Attributes:
        on: of the ON of a LEFT JOIN, else ().
        where: of WHERE, and of the ON of inner joins.
    """

    on: tuple[Expression, ...]
    where: tuple[Expression, ...]


def predicates_of(canonical: str, streams: Streams) -> Predicates:
    """Return the predicates of a query that is bound.

    Args:
        canonical: its canonical text.
        streams: at least those that it reads, as they were declared when it was bound.

    Cost: about that of `bind`.
    """
    syntax = parse(canonical)
    scope = Scope(syntax.sources, streams)
    where = bind_where(syntax, scope)
    if not syntax.sources[-1].left:
        return Predicates((), form.conjuncts(where))
    last = len(syntax.sources) - 1
    left_join, _ = bind_left_join(syntax.sources[last], last, where, in_conditions(scope.column))
    return Predicates(form.conjuncts(left_join.on), form.conjuncts(where))
