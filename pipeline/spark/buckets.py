"""Joins by a band of time, in Spark SQL also by equality: Spark looks equals up, and compares a band pair by pair.

`a.ts BETWEEN b.ts - x AND b.ts + y` bounds `a.ts - b.ts` by `[low, high]`. Time is cut into buckets as long as that: a
tuple of `a` is in one, and all that it may meet of `b` reaches into it from two at most. A tuple of `b` stands once for
each bucket that it reaches into, so a pair meets once, in the bucket of its tuple of `a`; whether it is a match the
text's own conditions say.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from engine.limits import DAY_US
from engine.query.clause import StandingQueryClause
from engine.query.expression import ColumnRef, sources_of
from engine.query.factor import BandFactor, EquiFactor
from engine.tuples.schema import ColumnType, StreamSchema
from pipeline.spark.expressions import name_sql

_APART_MAX_US: Final = 10_000 * 366 * DAY_US
"""No two instants of the years 1 to 9999 are further apart; with this added a BIGINT still has it."""


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """Two columns of time, each of one source: `left` - `right` lies in `[low_us, high_us]`."""

    left: ColumnRef
    right: ColumnRef
    low_us: int
    high_us: int

    @property
    def of_left(self) -> str:
        """The bucket of a tuple of `left`'s source, a BIGINT; NULL where it has no time."""
        return self._bucket(f"unix_micros({name_sql(self.left.name)})")

    @property
    def of_right(self) -> str:
        """A row for each bucket in which a tuple of `right`'s source may meet another; none where it has no time."""
        time = f"unix_micros({name_sql(self.right.name)})"
        first = self._bucket(f"({time} + {self.low_us}L)")
        last = self._bucket(f"({time} + {self.high_us}L)")
        return f"explode(sequence({first}, {last}))"

    def _bucket(self, time: str) -> str:
        width = max(1, self.high_us - self.low_us)
        return (
            f"(({time} - pmod({time}, {width}L)) DIV {width}L)"  # rounds down, before 1970 as well
        )


def time_buckets(clause: StandingQueryClause) -> tuple[TimeBuckets, ...]:
    """Return what stands for the bands of time of a join: as many as hold together what no equality does."""
    together = {source: source for source in range(len(clause.sources))}
    """Sources that are held together have one number."""
    for factor in clause.factors:
        if isinstance(factor, EquiFactor):
            (left,), (right,) = sources_of(factor.left), sources_of(factor.right)
            _hold(together, left, right)
    repeated: set[int] = set()
    """Sources whose tuples stand once for each of several buckets: twice over, pairs would meet more than once."""
    found: list[TimeBuckets] = []
    for factor in clause.factors:
        one = _bounded(factor) if isinstance(factor, BandFactor) else None
        if one is None or together[one.left.source] == together[one.right.source]:
            continue
        if one.right.source in repeated:
            one = TimeBuckets(one.right, one.left, -one.high_us, -one.low_us)
        if one.right.source not in repeated:
            repeated.add(one.right.source)
            _hold(together, one.left.source, one.right.source)
            found.append(one)
    return tuple(found)


def _bounded(factor: BandFactor) -> TimeBuckets | None:
    """Return a band of time between columns with two ends; None where the factor is none."""
    left, right, low, high = factor.left, factor.right, factor.low, factor.high
    if (
        isinstance(left, ColumnRef)
        and isinstance(right, ColumnRef)
        and isinstance(low, int)
        and isinstance(high, int)
        and left.type is ColumnType.TIMESTAMP
        and low <= high
    ):
        low, high = (max(-_APART_MAX_US, min(end, _APART_MAX_US)) for end in (low, high))
        return TimeBuckets(left, right, low, high)
    return None


def _hold(together: dict[int, int], left: int, right: int) -> None:
    """Note that two sources, and all that each is held to, are held together."""
    former, number = together[right], together[left]
    for source, one in together.items():
        if one == former:
            together[source] = number


def free_prefix(schemas: Collection[StreamSchema]) -> str:
    """Return how no column of these begins."""
    prefix = "_bucket"
    names = [column.name for schema in schemas for column in schema.columns]
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def columns_of(buckets: Sequence[TimeBuckets], source: int, prefix: str) -> list[str]:
    """Return the columns that a source gets, as SQL: at most one of them makes rows."""
    columns = []
    for number, one in enumerate(buckets):
        name = name_sql(f"{prefix}{number}")
        if one.left.source == source:
            columns.append(f"{one.of_left} AS {name}")
        if one.right.source == source:
            columns.append(f"{one.of_right} AS {name}")
    return columns


def conditions_of(buckets: Sequence[TimeBuckets], names: Sequence[str], prefix: str) -> list[str]:
    """Return what these columns have to be equal in; `names` are those of the sources, as SQL."""
    return [
        f"{names[one.left.source]}.{column} = {names[one.right.source]}.{column}"
        for number, one in enumerate(buckets)
        for column in (name_sql(f"{prefix}{number}"),)
    ]
