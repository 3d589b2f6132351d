"""LEFT JOIN: from ON and WHERE to the condition of the pairs, and to what is asked after the join."""

from typing import NamedTuple

from psoup.engine.errors import UnsupportedSqlError
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.factoring import factors_of
from psoup.engine.query.bind.conditions.size import check_size
from psoup.engine.query.bind.expressions.expression_binder import Lookup, bind_predicate
from psoup.engine.query.factor import BandFactor, BooleanFactor, EquiFactor
from psoup.engine.query.left_join import LeftJoin
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import SourceSyntax
from psoup.engine.query.values.expression import Expression, sources_of


class BoundLeftJoin(NamedTuple):
    """A LEFT JOIN, and the condition of its pairs in normal form."""

    left_join: LeftJoin
    condition: Expression


def bind_left_join(
    source: SourceSyntax, place: int, where: Expression, lookup: Lookup
) -> BoundLeftJoin:
    """Return the LEFT JOIN of a source.

    Args:
        source: the one that is joined.
        place: where it stands in FROM.
        where: WHERE in normal form, with what stands behind ON of inner joins.
        lookup: of the columns that ON reads.

    Raises:
        Refused: as `bind_predicate`; `unsupported-sql` where ON has neither an equality nor a band of the source and
            another; `query-too-complex`.
    """
    assert source.on is not None, "the grammar wants ON"
    on = form.where_form(bind_predicate(source.on, lookup))
    check_size(on, source.on.span)
    if on == form.FALSE:
        raise Refused(
            UnsupportedSqlError,
            "The ON of a LEFT JOIN is true of no rows.",
            source.on.span,
            "every row of the left would stand alone: select from its stream alone",
        )
    if not any(_ties(one, place) for one in factors_of(on)):
        raise Refused(
            UnsupportedSqlError,
            "The ON of a LEFT JOIN has no comparison of its stream with one before it.",
            source.on.span,
            "compare the streams by = or by a span, not within OR: ON a.x = b.y",
        )
    conjuncts = form.conjuncts(where)
    alone = form.conjunction(one for one in conjuncts if place not in sources_of(one))
    rest = form.conjunction(one for one in conjuncts if place in sources_of(one))
    # The texts of the query and of its condition are bound again.
    check_size(form.conjunction([on, where]), source.on.span)
    left_join = LeftJoin(on, factors_of(alone), None if rest == form.TRUE else rest)
    return BoundLeftJoin(left_join, form.where_form(form.conjunction([on, alone])))


def _ties(factor: BooleanFactor, place: int) -> bool:
    """Return whether a factor is an equality or a band of a source and another."""
    if not isinstance(factor, EquiFactor | BandFactor):
        return False
    return place in sources_of(factor.left) | sources_of(factor.right)
