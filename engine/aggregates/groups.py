"""Rows in groups of equal keys, and the rows of them that an aggregate reads."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.ordinals import column_of, numbered, ordinals
from psoup.engine.kernels.gather import ascends
from psoup.engine.kernels.grouping import rows_by_group
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]


@value_type
class Groups:
    """n rows in g groups.

    Attributes:
        labels: (n,) int64 in `[0, g)`: the group of each row. Groups are numbered in order of their keys, compared one
            after the other, NULLs last; strings by code point, false before true.
        keys: for each key of GROUP BY the g values of the groups; a zero is 0.0.
        count: g.
        edges: (g + 1,) where the rows of each group begin, and the last ones end, if labels ascend; else None.
    """

    labels: Integers
    keys: tuple[Column, ...]
    count: int
    edges: Integers | None = None


@value_type
class Members:
    """The rows that an aggregate reads.

    Attributes:
        rows: (m,) their places among all rows, ascending; None = all rows.
        labels, count, edges: as in `Groups`, of these rows.
    """

    rows: Integers | None
    labels: Integers
    count: int
    edges: Integers | None = None

    def __len__(self) -> int:
        """Return how many rows these are."""
        return len(self.labels)

    def of(self, values: Integers) -> Integers:
        """Return those of (n,) or (p, n) values of all rows that belong to these."""
        return values if self.rows is None else values[..., self.rows]


def grouped(keys: Sequence[Column], count: int) -> Groups:
    """Return `count` rows in groups; NULL equals NULL, and -0.0 equals 0.0. Without keys one group, also of no rows.

    Cost: 2 ns a row for a key of narrow span or of few texts, 4 to 20 ns by hashing else; as much for each further key.
    """
    if not keys:
        return Groups(np.zeros(count, dtype=np.int64), (), 1, np.array([0, count], dtype=np.int64))
    labels, values = _distinct(keys[0])
    groups, found = len(values), [values]
    for key in keys[1:]:
        others, values = _distinct(key)
        # Both are numbers below `count` + 1: the product is far from the end of int64.
        labels, pairs = numbered(labels * len(values) + others)
        former, own = np.divmod(pairs, len(values)) if len(pairs) else (pairs, pairs)
        found = [*(column.take(former) for column in found), values.take(own)]
        groups = len(pairs)
    return Groups(labels, tuple(found), groups, _edges(labels, groups))


def members(groups: Groups, taken: NDArray[np.bool_] | None) -> Members:
    """Return the rows for which `taken` is true; None = all. Cost: O(n), nothing for all."""
    if taken is None or taken.all():
        return Members(None, groups.labels, groups.count, groups.edges)
    rows = np.flatnonzero(taken)
    edges = None if groups.edges is None else np.searchsorted(rows, groups.edges)
    return Members(rows, groups.labels[rows], groups.count, edges)


def in_order(labels: Integers, groups: int) -> tuple[Integers, Integers]:
    """Return rows in order of their groups, ascending in each, and the (g + 1,) edges of the groups among them.

    Cost: 5 ns a row.
    """
    rows, edges = np.empty(len(labels), dtype=np.int64), np.zeros(groups + 1, dtype=np.int64)
    rows_by_group(labels, edges, rows)
    return rows, edges


def _distinct(key: Column) -> tuple[Integers, Column]:
    """Return the number of each value among the distinct ones in order, NULL last, and these."""
    if key.valid is None:
        return _distinct_values(key)
    held = np.flatnonzero(key.valid)
    own, values = _distinct_values(key.take(held))
    values = Column(key.type, values.values, None, values.dictionary)
    if len(held) == len(key):
        return own, values
    labels = np.full(len(key), len(values), dtype=np.int64)
    labels[held] = own
    with_null = np.append(values.values, np.zeros(1, dtype=values.values.dtype))
    valid = np.arange(len(with_null)) < len(values)
    return labels, Column(key.type, with_null, valid, values.dictionary)


def _distinct_values(key: Column) -> tuple[Integers, Column]:
    """Return the same of a column whose values are all held."""
    found = ordinals(key)
    if found.texts is not None:  # each text that occurs, once and in order
        codes = np.arange(len(found.texts), dtype=np.int64)
        return found.keys, column_of(ColumnType.STRING, codes, found.texts, None)
    labels, distinct = numbered(found.keys)
    return labels, column_of(key.type, distinct, None, None)


def _edges(labels: Integers, groups: int) -> Integers | None:
    """Return where the rows of each group begin and the last ones end; None where labels do not ascend."""
    if not len(labels) or labels[0] or labels[-1] != groups - 1 or not ascends(labels):
        return None
    return np.searchsorted(labels, np.arange(groups + 1))
