"""Polars' ways: expressions over whole columns, all queries of a batch in one select."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl  # type: ignore[import-not-found,unused-ignore]

from benchmarks.ways import Way, counts_answer, rows_answer
from benchmarks.workloads import ATTRIBUTES, Columns, Query


def expression(query: Query) -> pl.Expr:
    """Return the query as one boolean expression."""
    found = pl.lit(True)  # noqa: FBT003 (a literal of a column, not a flag)
    for number, (name, low, high) in enumerate(query.bounds):
        column = pl.col(name)
        if low is not None and high is not None:
            one = column == low if low == high else column.is_between(low, high)
        else:
            one = column >= low if high is None else column <= high
        found = one if number == 0 else found & one
    return found


def frame(columns: Columns) -> pl.DataFrame:
    """Return the tuples with their row numbers."""
    rows = len(columns[ATTRIBUTES[0]])
    return pl.DataFrame({"n": np.arange(rows), **{name: columns[name] for name in ATTRIBUTES}})


class Expressions(Way):
    """All queries as expressions of one select over the batch: a boolean column each."""

    def __init__(self, queries: Sequence[Query], columns: Columns) -> None:
        """Make the expressions."""
        self._expressions = [expression(one).alias(str(i)) for i, one in enumerate(queries)]
        self._batch = frame(columns)

    def run(self, state: None) -> pl.DataFrame:
        """Select all columns at once."""
        return self._batch.select(self._expressions)

    def answer(self, outcome: pl.DataFrame) -> bytes:
        """Return the counts."""
        return counts_answer(np.array([column.sum() for column in outcome.get_columns()]))


class Filters(Way):
    """Each query once over stored columns: the rows, or their number."""

    def __init__(self, queries: Sequence[Query], columns: Columns, *, count_only: bool) -> None:
        """Make the expressions."""
        self._expressions = [expression(query) for query in queries]
        self._stored = frame(columns)
        self._count_only = count_only

    def run(self, state: None) -> list[Any]:
        """Filter once per query."""
        if self._count_only:
            return [self._stored.select(one.sum()).item() for one in self._expressions]
        return [self._stored.filter(one) for one in self._expressions]

    def answer(self, outcome: list[Any]) -> bytes:
        """Return the rows, or the counts."""
        if self._count_only:
            return counts_answer(outcome)
        return rows_answer([(one["n"], [one[name] for name in ATTRIBUTES]) for one in outcome])


class Masks(Way):
    """A boolean column per query, kept: what a registration is to a frame."""

    def __init__(self, queries: Sequence[Query], columns: Columns) -> None:
        """Make the expressions."""
        self._expressions = [expression(query) for query in queries]
        self._stored = frame(columns)

    def run(self, state: None) -> list[pl.DataFrame]:
        """Select the columns one by one, as queries come."""
        return [self._stored.select(one) for one in self._expressions]

    def answer(self, outcome: list[pl.DataFrame]) -> bytes:
        """Return the counts."""
        return counts_answer([int(one.to_series().sum()) for one in outcome])
