"""Joins by a band of time, in Spark SQL also by equality: Spark looks equals up, and compares a band pair by pair.

`a.ts BETWEEN b.ts - x AND b.ts + y` bounds `a.ts - b.ts` by `[low, high]`. Time is cut into buckets as long as that: a
tuple of `a` is in one, and all that it may meet of `b` reaches into it from two at most. A tuple of `b` stands once for
each bucket that it reaches into, so a pair meets once, in the bucket of its tuple of `a`; whether it is a match the
text's own conditions say.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.limits import DAY_US
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import BandFactor, EquiFactor
from psoup.engine.query.values.expression import ColumnRef, sources_of
from psoup.engine.tuples.schema import ColumnType, StreamSchema
from psoup.pipeline.spark.sql.expressions import name_sql

_APART_MAX_US: Final = 10_000 * 366 * DAY_US
"""No two instants of the years 1 to 9999 are further apart; with this added a BIGINT still has it."""


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """Two columns of time, each of one source: `left` - `right` lies in `[low_us, high_us]`.

    `name` is that of the column that both sources get, as SQL.
    """

    left: ColumnRef
    right: ColumnRef
    low_us: int
    high_us: int
    name: str

    def columns_of(self, source: int) -> list[str]:
        """Return the column that a source gets, as SQL; none where it is of neither side.

        A tuple of `left`'s source has its bucket, a BIGINT, NULL where it has no time. One of `right`'s stands once for
        each bucket in which it may meet another, and nowhere where it has no time.
        """
        if source == self.left.source:
            bucket = self._bucket(f"unix_micros({name_sql(self.left.name)})")
            return [f"{bucket} AS {self.name}"]
        if source == self.right.source:
            time = f"unix_micros({name_sql(self.right.name)})"
            first = self._bucket(f"({time} + {self.low_us}L)")
            last = self._bucket(f"({time} + {self.high_us}L)")
            return [f"explode(sequence({first}, {last})) AS {self.name}"]
        return []

    def condition(self, names: Sequence[str]) -> str:
        """Return that a pair is of one bucket; `names` are those of the sources, as SQL."""
        return f"{names[self.left.source]}.{self.name} = {names[self.right.source]}.{self.name}"

    def _bucket(self, time: str) -> str:
        width = max(1, self.high_us - self.low_us)
        return (
            f"(({time} - pmod({time}, {width}L)) DIV {width}L)"  # rounds down, before 1970 as well
        )


def time_buckets(
    clause: StandingQueryClause, schemas: Collection[StreamSchema]
) -> tuple[TimeBuckets, ...]:
    """Return what stands for the bands of time of a join: as many as hold together what no equality does.

    Their columns are named as none of these streams names one.
    """
    together = {source: source for source in range(len(clause.sources))}  # one number: held so
    for factor in clause.factors:
        if isinstance(factor, EquiFactor):
            (left,), (right,) = sources_of(factor.left), sources_of(factor.right)
            _hold(together, left, right)
    prefix = _free_prefix(schemas)
    repeated: set[int] = set()  # whose tuples stand more than once; twice over, pairs would too
    found: list[TimeBuckets] = []
    for factor in clause.factors:
        name = name_sql(f"{prefix}{len(found)}")
        one = _bounded(factor, name) if isinstance(factor, BandFactor) else None
        if one is None or together[one.left.source] == together[one.right.source]:
            continue
        if one.right.source in repeated:
            one = TimeBuckets(one.right, one.left, -one.high_us, -one.low_us, name)
        if one.right.source not in repeated:
            repeated.add(one.right.source)
            _hold(together, one.left.source, one.right.source)
            found.append(one)
    return tuple(found)


def _bounded(factor: BandFactor, name: str) -> TimeBuckets | None:
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
        return TimeBuckets(left, right, low, high, name)
    return None


def _hold(together: dict[int, int], left: int, right: int) -> None:
    """Note that two sources, and all that each is held to, are held together."""
    former, number = together[right], together[left]
    for source, one in together.items():
        if one == former:
            together[source] = number


def _free_prefix(schemas: Collection[StreamSchema]) -> str:
    """Return how no column of these begins."""
    prefix = "_bucket"
    names = [column.name for schema in schemas for column in schema.columns]
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix
