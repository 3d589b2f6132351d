"""Polars' ways to joins."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Sequence
from typing import Any

import polars as pl  # type: ignore[import-not-found,unused-ignore]

from benchmarks.ways import Way, counts_answer, pairs_answer
from benchmarks.ways_joins_arrays import COMPARISONS, read
from benchmarks.workloads_joins import NUMBER, Table, within


class JoinWhere(Way):
    """Each query as a join by inequality of two frames."""

    def __init__(self, tables: Sequence[Table], conditions: Sequence[str]) -> None:
        """Make the plans."""
        left, right = (
            pl.DataFrame(dict(one.columns)).rename({NUMBER: f"{one.name}_n"}).lazy()
            for one in tables
        )
        self._plans = []
        for condition in conditions:
            compared, constant = read(condition)
            asked = COMPARISONS[compared](pl.col("a"), pl.col("b") + constant)
            self._plans.append(left.join_where(right, asked).select("r_n", "s_n"))

    def run(self, state: None) -> list[Any]:
        """Join for each query."""
        return [plan.collect() for plan in self._plans]

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the pairs."""
        return pairs_answer([(one["r_n"], one["s_n"]) for one in outcome])


class HashJoin(Way):
    """One join of a batch with what is stored, by one key; the pairs with what queries ask of either side."""

    def __init__(
        self,
        arriving: Table,
        stored: Table,
        key: str,
        bounds: Sequence[tuple[int, int]],
    ) -> None:
        """Take both tables; the answer is how many pairs have `r.a` in each of the bounds."""
        self._left = pl.DataFrame(dict(arriving.columns)).select(key, "a", NUMBER)
        self._right = pl.DataFrame(dict(stored.columns)).select(key, pl.col(NUMBER).alias("other"))
        self._key = key
        self._bounds = bounds

    def run(self, state: None) -> Any:  # noqa: ANN401 (a frame of a package that may be absent)
        """Join."""
        return self._left.join(self._right, on=self._key)

    def answer(self, outcome: Any) -> bytes:  # noqa: ANN401
        """Return the counts."""
        values = outcome["a"].to_numpy()
        return counts_answer([within(values, *bounds) for bounds in self._bounds])
