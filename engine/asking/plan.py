"""The plan of a query: what the Query SteM's indexes take of its condition, and what is evaluated behind them."""

from collections.abc import Sequence
from enum import StrEnum

from psoup.engine.clauses.pivot_table import asks_one, pivots_among
from psoup.engine.query.bind.conditions.factoring import factors_of
from psoup.engine.query.bind.conditions.normal_form import conjunction
from psoup.engine.query.bind.predicates import Predicates
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.clause import Source
from psoup.engine.query.factor import BandFactor, EquiFactor, IndexedFactor
from psoup.engine.query.reading import Reading
from psoup.engine.query.values.expression import Expression, sources_of
from psoup.engine.tuples.chunk import Attribute
from psoup.engine.tuples.value_type import value_type


class IndexKind(StrEnum):
    """How tuples of a stream find the clause."""

    HASH = "hash"
    """By the one value that the driver asks for, where many clauses ask for many values of that column."""
    ORDERED = "ordered"
    """Where its bounds lie in the order of the column's values."""
    NONE = "none"
    """Not at all: what it asks is evaluated for every tuple."""


@value_type
class SourcePlan:
    """How tuples of one source of FROM meet the clause.

    Attributes:
        source: the source.
        driver: what is asked of the column, or function of one, that finds the clause, as SQL; None = none does.
        index: how it is found.
        residual: what is asked of the source besides, as SQL.
    """

    source: Source
    driver: str | None
    index: IndexKind
    residual: tuple[str, ...]


@value_type
class QueryPlan:
    """How tuples meet the clause of a query.

    Attributes:
        sources: by source of FROM.
        joined_on: the equalities and bands by which tuples of several sources find each other, as SQL.
        residual: what is asked of tuples that have found each other, as SQL.
    """

    sources: tuple[SourcePlan, ...]
    joined_on: tuple[str, ...]
    residual: tuple[str, ...]


def plan_of(reading: Reading, predicates: Predicates) -> QueryPlan:
    """Return the plan of a query of these predicates. Cost: O(predicates)."""
    clause = reading.clause
    alone: list[list[Expression]] = [[] for _ in clause.sources]
    joined_on: list[Expression] = []
    residual: list[Expression] = []
    joins_left = reading.shape.left_join is not None
    for predicate in (*predicates.on, *predicates.where):
        read = sources_of(predicate)
        if joins_left and len(clause.sources) - 1 in read and predicate not in predicates.on:
            residual.append(predicate)  # asked of the rows of the join
        elif len(read) <= 1:
            alone[min(read, default=0)].append(predicate)
        elif all(isinstance(one, EquiFactor | BandFactor) for one in factors_of(predicate)):
            joined_on.append(predicate)
        else:
            residual.append(predicate)
    sources = tuple(map(_source_plan, clause.sources, alone))
    return QueryPlan(sources, _texts(joined_on), _texts(residual))


def _source_plan(source: Source, asked: Sequence[Expression]) -> SourcePlan:
    """Return the plan of a source of which these predicates are asked."""
    factors = factors_of(conjunction(asked))
    indexed = [one for one in factors if isinstance(one, IndexedFactor)]
    pivot = next(pivots_among(indexed), None) if len(indexed) == len(factors) else None
    driver = pivot or next(filter(asks_one, indexed), None) or next(iter(indexed), None)
    if driver is None:
        return SourcePlan(source, None, IndexKind.NONE, _texts(asked))
    drives = [one for one in asked if _attribute_of(one) == driver.attribute]
    residual = [one for one in asked if one not in drives]
    index = IndexKind.ORDERED if pivot is None else IndexKind.HASH
    return SourcePlan(source, " AND ".join(_texts(drives)), index, _texts(residual))


def _attribute_of(predicate: Expression) -> Attribute | None:
    """Return the attribute by which the index takes a predicate, None where it does not."""
    factors = factors_of(predicate)
    (factor,) = factors if len(factors) == 1 else (None,)
    return factor.attribute if isinstance(factor, IndexedFactor) else None


def _texts(predicates: Sequence[Expression]) -> tuple[str, ...]:
    return tuple(map(sql_expression, predicates))
