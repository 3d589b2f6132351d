"""Which sources of a FROM the factors of its WHERE connect.

A *join factor* is an equality, a band, or another conjunct that is a single comparison over several sources.
A FROM that they do not connect is a cross product; a join that equalities and two-ended bands connect is
bounded: from a tuple of any source, key indexes lead to the others.
"""

from collections.abc import Iterable, Sequence

from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import (
    AttributeFactor,
    BandFactor,
    BooleanFactor,
    EquiFactor,
    ResidualFactor,
)
from psoup.engine.query.values.expression import Compare, Constant, sources_of


def sources_read(factor: BooleanFactor) -> frozenset[int]:
    """Return the places in FROM of the sources whose tuples the factor looks at."""
    match factor:
        case AttributeFactor(column=column):
            return frozenset({column.source})
        case EquiFactor() | BandFactor():
            return sources_of(factor.left) | sources_of(factor.right)
        case ResidualFactor(expression=expression):
            return sources_of(expression)


def is_bounded(clause: StandingQueryClause) -> bool:
    """Return whether equalities and two-ended bands connect all sources; True for one source alone."""
    edges = [
        sources_read(factor)
        for factor in clause.factors
        if isinstance(factor, EquiFactor) or (isinstance(factor, BandFactor) and factor.is_bounded)
    ]
    return _apart_from_first(edges, len(clause.sources)) is None


def unbound_source(factors: Sequence[BooleanFactor], sources: int) -> int | None:
    """Return the place in FROM of a source that makes it a cross product; None where it is none.

    It is none where join factors connect all sources, where each source has a factor of its own, and where
    nothing satisfies WHERE.
    """
    apart = _apart_from_first([sources_read(one) for one in factors if _is_join(one)], sources)
    if apart is None or any(_is_constant(factor) for factor in factors):
        return None
    alone = [read for factor in factors if len(read := sources_read(factor)) == 1]
    restricted = frozenset[int]().union(*alone)
    return None if len(restricted) == sources else apart


def _is_join(factor: BooleanFactor) -> bool:
    if isinstance(factor, ResidualFactor):
        return isinstance(factor.expression, Compare) and len(sources_read(factor)) > 1
    return not isinstance(factor, AttributeFactor)


def _is_constant(factor: BooleanFactor) -> bool:
    """Return whether this is the factor FALSE: no other constant is one."""
    return isinstance(factor, ResidualFactor) and isinstance(factor.expression, Constant)


def _apart_from_first(edges: Iterable[frozenset[int]], sources: int) -> int | None:
    """Return the first place that no chain of edges connects with place 0; None where all are."""
    waiting = list(edges)
    reached = frozenset({0})
    while met := [edge for edge in waiting if not edge.isdisjoint(reached)]:
        reached = reached.union(*met)
        waiting = [edge for edge in waiting if not edge <= reached]
    return next((place for place in range(sources) if place not in reached), None)
