"""Time-band joins in Spark SQL, with an additional equality: Spark hashes equalities, and compares bands pair by pair.

`a.ts BETWEEN b.ts - x AND b.ts + y` bounds `a.ts - b.ts` by `[low, high]`. Time is cut into buckets of that length.
A tuple of `a` lies in one bucket, and its matches in `b` reach into it from two at most. A tuple of `b` is repeated for
each bucket that it may reach, so a pair meets once, in the bucket of its tuple of `a`. The conditions of the text
then decide whether the pair is a match.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.limits import DAY_US
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import BandFactor, EquiFactor
from psoup.engine.query.values.expression import ColumnRef, sources_of
from psoup.engine.tuples.schema import ColumnType, StreamSchema
from psoup.pipeline.spark.sql.terms import name_sql

_APART_MAX_US: Final = 10_000 * 366 * DAY_US
"""The largest distance of two instants of the years 1 to 9999; a BIGINT can hold an instant plus this."""


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """A bucket equality for two time columns of two sources: `left` - `right` lies in `[low_us, high_us]`.

    `name` is the SQL name of the bucket column that both sources get.
    """

    left: ColumnRef
    right: ColumnRef
    low_us: int
    high_us: int
    name: str

    def columns_of(self, source: int) -> list[str]:
        """Return the bucket column of a source, as SQL; none if the source is on neither side.

        A tuple of the left source has its bucket, a BIGINT, or NULL without a time. A tuple of the right source is
        repeated for each bucket in which it may match, and left out without a time.
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
        """Return the condition that a pair has the same bucket; `names` are the SQL names of the sources."""
        return f"{names[self.left.source]}.{self.name} = {names[self.right.source]}.{self.name}"

    def _bucket(self, time: str) -> str:
        width = max(1, self.high_us - self.low_us)
        return (
            f"(({time} - pmod({time}, {width}L)) DIV {width}L)"  # rounds down, before 1970 as well
        )


def time_buckets(
    clause: StandingQueryClause, schemas: Collection[StreamSchema]
) -> tuple[TimeBuckets, ...]:
    """Return the fewest time-bucket equalities that connect sources no equality joins.

    The names of their columns are those of no column of the streams.
    """
    together = {source: source for source in range(len(clause.sources))}  # one number: held so
    for factor in clause.factors:
        if isinstance(factor, EquiFactor):
            (left,), (right,) = sources_of(factor.left), sources_of(factor.right)
            _hold(together, left, right)
    prefix = free_prefix("_bucket", schemas)
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
    """Return the bucket equality of a factor; None: the factor is no time band with two bounds."""
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
    """Merge the groups of connected sources of two sources."""
    former, number = together[right], together[left]
    for source, one in together.items():
        if one == former:
            together[source] = number


def free_prefix(prefix: str, schemas: Collection[StreamSchema]) -> str:
    """Return a prefix with which no name of these columns begins: the given one, or a longer one."""
    names = [column.name for schema in schemas for column in schema.columns]
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix
