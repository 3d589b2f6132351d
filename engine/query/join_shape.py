"""The shape of a join: which sources are tied by which factors, and what is asked of each source alone.

Clauses with one FROM list and the same join factors have one shape and form a group; what else they ask, of single
sources and of composites, is each clause's own.
Source: Chandrasekaran & Franklin 2002, 2.4 (a bitmap for each FROM list); papers 1.1 PS-7 (shared factors).
"""

from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import replace

from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import (
    AttributeFactor,
    BandFactor,
    BooleanFactor,
    EquiFactor,
    JoinFactor,
    ResidualFactor,
    columns_read,
)
from psoup.engine.query.values.expression import (
    ColumnRef,
    Compare,
    CompareOp,
    Expression,
    sources_of,
)
from psoup.engine.tuples.schema import ColumnType, StreamId
from psoup.engine.tuples.value_type import value_type

GroupKey = tuple[tuple[StreamId, ...], tuple[JoinFactor, ...]]
"""FROM list and join factors: clauses that agree in both are joined together."""

Step = tuple[int, int]
"""A source whose rows are known, and the source whose rows are looked for next."""


@value_type
class Tie:
    """What ties source `of` to source `to`: how rows of the one ask for rows of the other.

    Attributes:
        equal: pairs of expressions that have to be equal, the first over `of`, the second over `to`.
        band: the difference of two expressions that has to lie in a span; None = any. Where it is not exact its
            conditions may have to be asked of the pairs that it finds.
        rest: conditions that a pair found by these has to satisfy besides.
    """

    of: int
    to: int
    equal: tuple[tuple[Expression, Expression], ...]
    band: BandFactor | None
    rest: tuple[Expression, ...]

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """Return everything that is asked of a pair, as conditions."""
        equal = [Compare(CompareOp.EQ, *sides) for sides in self.equal]
        return (*equal, *(() if self.band is None else self.band.conditions), *self.rest)


class JoinShape:
    """The sources of a join and their ties. A value."""

    __slots__ = ("_ties", "count", "factors", "streams")

    def __init__(self, streams: tuple[StreamId, ...], factors: tuple[JoinFactor, ...]) -> None:
        """Sort the join factors by the two sources that they tie."""
        self.streams = streams
        self.factors = factors
        self.count = len(streams)
        self._ties: dict[Step, Tie] = {}
        by_pair: dict[tuple[int, int], list[JoinFactor]] = {}
        for factor in factors:
            pair = source_of(factor.left), source_of(factor.right)
            by_pair.setdefault(pair, []).append(factor)
        for (first, second), tied in by_pair.items():
            self._ties[first, second] = _tie(first, second, tied)
            self._ties[second, first] = _tie(second, first, tied)

    @property
    def key(self) -> GroupKey:
        """Return what clauses of one group have in common."""
        return self.streams, self.factors

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the join factors as SQL."""
        conditions = [
            (Compare(CompareOp.EQ, factor.left, factor.right),)
            if isinstance(factor, EquiFactor)
            else factor.conditions
            for factor in self.factors
        ]
        return tuple(" AND ".join(map(sql_expression, some)) for some in conditions)

    def tie(self, step: Step) -> Tie:
        """Return what ties two sources; where no factor does, a tie that asks for nothing."""
        return self._ties.get(step) or Tie(*step, (), None, ())

    def steps(self, known: AbstractSet[int]) -> list[Step]:
        """Return the steps that may follow where the rows of `known` sources are: tied ones, if there are any."""
        tied = [step for step in self._ties if step[0] in known and step[1] not in known]
        if tied:
            return sorted(tied)
        first = min(known)
        return [(first, source) for source in range(self.count) if source not in known]

    def closing(self, step: Step, known: AbstractSet[int]) -> Step | None:
        """Return the tie that closes a circle with a step, both by equality; None where there is none.

        It is that of the first other source that is known.
        """
        (of, to), tie = step, self.tie(step)
        if not tie.equal or tie.band is not None:
            return None
        others = [one for one in sorted(known) if one != of and (one, to) in self._ties]
        return next(((one, to) for one in others if self._ties[one, to].equal), None)

    def checks(
        self, step: Step, known: AbstractSet[int], closed: int | None = None
    ) -> tuple[Expression, ...]:
        """Return what has to be asked of composites that a step has made, besides the keys and band it went by.

        And besides the equalities with source `closed`, if one is given.
        """
        of, to = step
        asked = list(self.tie(step).rest)
        for other in sorted(known):
            if other != of and (other, to) in self._ties:
                tie = self._ties[other, to]
                asked += tie.conditions[len(tie.equal) if other == closed else 0 :]
        return tuple(asked)


def _tie(of: int, to: int, factors: Sequence[JoinFactor]) -> Tie:
    forward = of < to
    equal = tuple(
        (one.left, one.right) if forward else (one.right, one.left)
        for one in factors
        if isinstance(one, EquiFactor)
    )
    bands = [one for one in factors if isinstance(one, BandFactor)]
    bands.sort(key=lambda band: not band.is_bounded)  # the narrowest to go by
    band = bands[0] if bands else None
    rest = [condition for one in bands[1:] for condition in one.conditions]
    return Tie(of, to, equal, band, tuple(rest))


def shape_of(clause: StandingQueryClause) -> JoinShape:
    """Return the shape of a clause over several sources."""
    streams = tuple(source.stream_id for source in clause.sources)
    tied = tuple(f for f in clause.factors if isinstance(f, EquiFactor | BandFactor))
    return JoinShape(streams, tied)


def sides_of(clause: StandingQueryClause) -> tuple[StandingQueryClause, ...]:
    """Return for each source the clause of what is asked of it alone. What reads no column is asked of the first."""
    factors: list[list[BooleanFactor]] = [[] for _ in clause.sources]
    for factor in clause.factors:
        if isinstance(factor, AttributeFactor):
            factors[factor.column.source].append(factor)
        elif isinstance(factor, ResidualFactor):
            sources = sources_of(factor.expression)
            if len(sources) <= 1:
                factors[min(sources, default=0)].append(factor)
    return tuple(
        replace(clause, text="", sources=(source,), factors=tuple(own))
        for source, own in zip(clause.sources, factors, strict=True)
    )


def across(clause: StandingQueryClause) -> tuple[Expression, ...]:
    """Return what a clause asks of composites and no index can be asked: conditions over several sources."""
    return tuple(
        factor.expression
        for factor in clause.factors
        if isinstance(factor, ResidualFactor) and len(sources_of(factor.expression)) > 1
    )


class JoinPlan:
    """What joining the rows of a clause's sources needs to know of it, worked out once. A value.

    Attributes:
        shape: what ties the sources.
        sides: by source the clause of what is asked of it alone.
        across: conditions over several sources that no index can be asked.
        names: by source the columns that it reads.
    """

    __slots__ = ("across", "names", "shape", "sides")

    def __init__(self, clause: StandingQueryClause) -> None:
        """Work it out for a clause over several sources."""
        self.shape = shape_of(clause)
        self.sides = sides_of(clause)
        self.across = across(clause)
        read = frozenset[ColumnRef]().union(*map(columns_read, clause.factors))
        self.names = tuple(
            {ref.name for ref in read if ref.source == place}
            for place in range(len(clause.sources))
        )


def source_of(expression: Expression) -> int:
    """Return the one source whose columns a side of a join factor reads."""
    (source,) = sources_of(expression)
    return source


def is_double(sides: Iterable[Expression]) -> bool:
    """Return whether these sides are compared as doubles: one of them is one."""
    return any(side.type is ColumnType.FLOAT64 for side in sides)
