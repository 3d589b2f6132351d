"""Rows in groups of equal keys, and the rows of them that an aggregate reads."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.ordinals import (
    TABLE_SPAN_MIN,
    coded_texts,
    column_of,
    numbered,
    ordinals,
)
from psoup.engine.kernels.exact_sums import count_rows
from psoup.engine.kernels.gather import ascends
from psoup.engine.kernels.grouping import divide, first_of_groups, look_up, renumber, rows_by_group
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]


_GLANCE: Final = 64
"""Rows that mostly tell whether all are in order."""


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


class Members:
    """The rows that an aggregate reads. A value: what is asked of it again is worked out once.

    Attributes:
        rows: (m,) their places among all rows, ascending; None = all rows.
        count: g.
        edges: (g + 1,) where the rows of each group begin, and the last ones end, if groups ascend; else None.
    """

    __slots__ = ("_counts", "_labels", "count", "edges", "rows")

    def __init__(
        self,
        rows: Integers | None,
        labels: NDArray[Any] | None,
        count: int,
        edges: Integers | None = None,
        counts: Integers | None = None,
    ) -> None:
        """Take the rows and (m,) the group of each, None where `edges` tell it; and `counts`, where they are known.

        Labels are int64, or int32 where they are codes of texts.
        """
        self.rows = rows
        self._labels = labels
        self.count = count
        self.edges = edges
        self._counts = counts

    def __len__(self) -> int:
        """Return how many rows these are."""
        if self._labels is not None:
            return len(self._labels)
        assert self.edges is not None, "labels or edges are there"
        return self.edges.item(-1)

    @property
    def labels(self) -> Integers:
        """Return the group of each row."""
        if self._labels is None:
            self._labels = np.repeat(np.arange(self.count), self.counts)
        elif self._labels.dtype != np.int64:
            self._labels = self._labels.astype(np.int64)
        return self._labels

    @property
    def codes(self) -> NDArray[Any]:
        """Return the group of each row, as narrow as it is there: int32 or int64."""
        return self.labels if self._labels is None else self._labels

    @property
    def counts(self) -> Integers:
        """Return how many rows each group has: (g,), of several states, so not to be written."""
        if self._counts is None:
            if self.edges is not None:
                self._counts = self.edges[1:] - self.edges[:-1]
            else:
                self._counts = np.zeros(self.count, dtype=np.int64)
                count_rows(self.codes, self._counts)
        return self._counts

    @property
    def first_rows(self) -> Integers:
        """Return the place of the first row of each group among these: each has one at least."""
        if self.edges is not None:
            return self.edges[:-1]
        found = np.full(self.count, -1, dtype=np.int64)
        first_of_groups(self.codes, found)
        return found

    def of(self, values: Integers) -> Integers:
        """Return those of (n,) or (p, n) values of all rows that belong to these."""
        return values if self.rows is None else values[..., self.rows]


def grouped(keys: Sequence[Column], count: int) -> Groups:
    """Return `count` rows in groups; NULL equals NULL, and -0.0 equals 0.0. Without keys one group, also of no rows.

    Cost: 0.5 ns a row for texts without NULLs that are in order, 2 ns for a key of narrow span or of few texts, 4 to 20
    ns by hashing else; as much for each further key.
    """
    if not keys:
        return Groups((), Members(None, None, 1, np.array([0, count], dtype=np.int64)))
    if len(keys) == 1 and (by_code := _grouped_by_code(keys[0])) is not None:
        return by_code
    labels, values = _distinct(keys[0])
    groups, found = len(values), [values]
    for key in keys[1:]:
        others, values = _distinct(key)
        # Both are numbers below `count` + 1: the product is far from the end of int64.
        labels, pairs = numbered(labels * len(values) + others)
        former, own = np.divmod(pairs, len(values)) if len(pairs) else (pairs, pairs)
        found = [*(column.take(former) for column in found), values.take(own)]
        groups = len(pairs)
    return Groups(tuple(found), Members(None, labels, groups, edges_of(labels, groups)))


def _grouped_by_code(key: Column) -> Groups | None:
    """Return rows in groups of texts, none of which is NULL; None for other keys, and for far more texts than rows."""
    if key.dictionary is None or key.valid is not None:
        return None
    found = coded_texts(key.values, key.dictionary)
    if found is None:
        return None
    count, labels, counts = len(found.texts), key.values, found.counts
    if found.places is not None:
        labels, used = np.empty(len(key), dtype=np.int64), np.flatnonzero(found.counts)
        look_up(key.values, 0, found.places, labels)
        counts = np.empty(count, dtype=np.int64)
        counts[found.places[used]] = found.counts[used]
    texts = column_of(key.type, np.arange(count), found.texts, None)
    return Groups((texts,), Members(None, labels, count, edges_of(labels, count), counts))


def placed(groups: Groups) -> Groups:
    """Return the rows in the same groups, known by their places among these; without keys the groups as they are."""
    if not groups.keys:
        return groups
    places = np.arange(groups.count, dtype=np.int64)
    return Groups((Column(ColumnType.INT64, places),), groups.members)


def divided(groups: Groups, edges: Integers) -> tuple[Integers, Groups]:
    """Return the groups of each unit of rows by themselves, units one after the other, and the units of these groups.

    Args:
        groups: of n rows.
        edges: (u + 1,) where the rows of each unit begin, and the last ones end, at n.

    Cost: 1 ns a row where units and groups are few, else 5 to 20 ns; nothing where there is one group.
    """
    units, count = len(edges) - 1, max(groups.count, 1)
    if not groups.keys:
        return np.arange(units), Groups((), Members(None, None, units, edges))
    if units * count <= max(TABLE_SPAN_MIN, 2 * len(groups.members)):
        labels, counts = np.empty(len(groups.members), np.int64), np.zeros(units * count, np.int64)
        divide(groups.members.codes, edges, count, labels, counts)
        pairs = np.flatnonzero(counts)
        if len(pairs) < len(counts):
            renumber(labels, np.cumsum(counts > 0) - 1)
        of_pairs = counts[pairs]
    else:
        of_rows = np.repeat(np.arange(units), np.diff(edges))
        of_rows *= count
        of_rows += groups.labels
        labels, pairs = numbered(of_rows)
        of_pairs = None
    of_units, own = np.divmod(pairs, count)
    keys = tuple([key.take(own) for key in groups.keys])
    members = Members(None, labels, len(pairs), edges_of(labels, len(pairs)), of_pairs)
    return of_units, Groups(keys, members)


def members(groups: Groups, taken: NDArray[np.bool_] | None) -> Members:
    """Return the rows for which `taken` is true; None = all. Cost: O(n), nothing for all."""
    every = groups.members
    if taken is None or taken.all():
        return every
    rows = np.flatnonzero(taken)
    if every.edges is not None:
        return Members(rows, None, every.count, np.searchsorted(rows, every.edges))
    return Members(rows, every.codes[rows], every.count)


def first_values(column: Column, members: Members) -> tuple[Column, Members]:
    """Return the first value of each group, which stands for all of it: the least where values ascend.

    Args:
        column: values of the members, none of them NULL.
        members: each group has one at least.
    """
    edges = np.arange(members.count + 1, dtype=np.int64)
    return column.take(members.first_rows), Members(
        None, None, members.count, edges, members.counts
    )


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


def edges_of(labels: NDArray[Any], groups: int) -> Integers | None:
    """Return where the rows of each group begin and the last ones end; None where labels do not ascend."""
    if not len(labels) or labels[0] or labels[-1] != groups - 1:
        return None
    for some in (labels[:_GLANCE], labels):
        if not ascends(some.astype(np.int64, copy=False)):
            return None
    return np.searchsorted(labels, np.arange(groups + 1))
