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

    Groups are numbered in order of their keys, compared one after the other, NULLs last; strings by code point, false
    before true.

    Attributes:
        keys: for each key of GROUP BY the g values of the groups; a zero is 0.0.
        members: all rows.
    """

    keys: tuple[Column, ...]
    members: "Members"

    @property
    def labels(self) -> Integers:
        """Return the group of each row: (n,) int64 in `[0, g)`."""
        return self.members.labels

    @property
    def count(self) -> int:
        """Return g."""
        return self.members.count


@value_type
class Members:
    """The rows that an aggregate reads.

    Attributes:
        rows: (m,) their places among all rows, ascending; None = all rows.
        given: (m,) the group of each; None where `edges` tell it.
        count: g.
        edges: (g + 1,) where the rows of each group begin, and the last ones end, if groups ascend; else None.
    """

    rows: Integers | None
    given: Integers | None
    count: int
    edges: Integers | None = None

    def __len__(self) -> int:
        """Return how many rows these are."""
        if self.given is not None:
            return len(self.given)
        assert self.edges is not None, "labels or edges are there"
        return int(self.edges[-1])

    @property
    def labels(self) -> Integers:
        """Return the group of each row. Cost: nothing, or 0.6 ns a row where edges tell it."""
        if self.given is not None:
            return self.given
        assert self.edges is not None, "labels or edges are there"
        return np.repeat(np.arange(self.count), np.diff(self.edges))

    def of(self, values: Integers) -> Integers:
        """Return those of (n,) or (p, n) values of all rows that belong to these."""
        return values if self.rows is None else values[..., self.rows]


def grouped(keys: Sequence[Column], count: int) -> Groups:
    """Return `count` rows in groups; NULL equals NULL, and -0.0 equals 0.0. Without keys one group, also of no rows.

    Cost: 2 ns a row for a key of narrow span or of few texts, 4 to 20 ns by hashing else; as much for each further key.
    """
    if not keys:
        return Groups((), Members(None, None, 1, np.array([0, count], dtype=np.int64)))
    labels, values = _distinct(keys[0])
    groups, found = len(values), [values]
    for key in keys[1:]:
        others, values = _distinct(key)
        # Both are numbers below `count` + 1: the product is far from the end of int64.
        labels, pairs = numbered(labels * len(values) + others)
        former, own = np.divmod(pairs, len(values)) if len(pairs) else (pairs, pairs)
        found = [*(column.take(former) for column in found), values.take(own)]
        groups = len(pairs)
    return Groups(tuple(found), Members(None, labels, groups, _edges(labels, groups)))


def divided(groups: Groups, edges: Integers) -> tuple[Integers, Groups]:
    """Return the groups of each unit of rows by themselves, units one after the other, and the units of these groups.

    Args:
        groups: of n rows.
        edges: (u + 1,) where the rows of each unit begin, and the last ones end, at n.

    Cost: 3 ns a row; 0.5 ns where there is one group.
    """
    if not groups.keys:
        return np.arange(len(edges) - 1), Groups((), Members(None, None, len(edges) - 1, edges))
    units = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    units *= max(groups.count, 1)
    units += groups.labels
    labels, pairs = numbered(units)
    of_units, own = np.divmod(pairs, max(groups.count, 1))
    keys = tuple([key.take(own) for key in groups.keys])
    return of_units, Groups(keys, Members(None, labels, len(pairs), _edges(labels, len(pairs))))


def members(groups: Groups, taken: NDArray[np.bool_] | None) -> Members:
    """Return the rows for which `taken` is true; None = all. Cost: O(n), nothing for all."""
    every = groups.members
    if taken is None or taken.all():
        return every
    rows = np.flatnonzero(taken)
    if every.edges is not None:
        return Members(rows, None, every.count, np.searchsorted(rows, every.edges))
    return Members(rows, every.labels[rows], every.count)


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
