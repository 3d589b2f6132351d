"""The groups of a stream's partials, each with a number: keys are compared when groups come, later their numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from sys import getsizeof
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.extremes import column_bytes
from psoup.engine.aggregates.grouping import Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import Groups, Members, edges_of, grouped
from psoup.engine.aggregates.ordinals import numbered
from psoup.engine.aggregates.partials.partial import Partial, merged_states
from psoup.engine.kernels.gather import ascends
from psoup.engine.kernels.grouping import look_up, mark
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.tuples.batch import Column, empty_column
from psoup.engine.tuples.joined_columns import stacked
from psoup.engine.tuples.schema import ColumnType

Integers = NDArray[np.int64]

_UNKNOWN: Final = -1
_DICTIONARIES_MAX: Final = 2
"""Dictionaries whose codes are remembered as numbers: the ends of a window lie in two segments."""
_TEXTS_A_GROUP_MAX: Final = 2
"""Of a dictionary that is remembered: with far more texts than groups it would take more room than it is worth."""
_WASTED_MIN: Final = 4_096
_SHARE_MIN: Final = 2
"""A table of more than _WASTED_MIN groups of which fewer than one in so many is used is made anew."""


class GroupTable:
    """Groups, numbered in the order in which they came. It grows by becoming another table, in which numbers stay.

    Shared by threads: what it remembers each of them would find.

    Attributes:
        keys: for each key of GROUP BY its value of each group; () = there is one group.
        count: how many groups there are.
    """

    __slots__ = ("_numbers", "_of_codes", "_order", "_order_is_known", "count", "keys", "nbytes")

    def __init__(self, keys: Sequence[Column], count: int) -> None:
        """Take the keys of groups, which are distinct."""
        self.keys = tuple(keys)
        self.count = count
        self._order: Integers | None = None
        self._order_is_known = False
        self._numbers: dict[object, int] | None = None
        self._of_codes: tuple[tuple[Sequence[str], Integers], ...] = ()
        self.nbytes = sum(map(column_bytes, self.keys))
        """Bytes of the arrays and of texts, with room for what is remembered of dictionaries, and for these."""
        if self._by_text:
            self._numbers = {text: number for number, text in enumerate(self.keys[0].to_list())}
            self.nbytes *= 1 + _DICTIONARIES_MAX * _TEXTS_A_GROUP_MAX
            self.nbytes += getsizeof(self._numbers)

    @staticmethod
    def of_kinds(kinds: Sequence[ColumnType]) -> "GroupTable":
        """Return a table for keys of these types, without groups; where there are no keys, with the only one."""
        return GroupTable([empty_column(kind) for kind in kinds], 0 if kinds else 1)

    def without_groups(self) -> "GroupTable":
        """Return a table for the same keys that has no groups."""
        return self.of_kinds([key.type for key in self.keys])

    @property
    def _by_text(self) -> bool:
        return len(self.keys) == 1 and self.keys[0].type is ColumnType.STRING

    def grouped(self, grouping: Grouping, rows: RowsToAggregate) -> tuple["GroupTable", Groups]:
        """Return rows in groups whose key is their number, and the table that has all of them.

        Cost: that of `Grouping.groups`, and a comparison with the groups there are; for one key of texts two passes
        over its codes, and one look-up for each text of a dictionary that is not remembered.
        """
        if not grouping.keys:
            return self, grouping.groups(rows)
        keys = [evaluate(key, rows.columns, rows.count) for key in grouping.keys]
        if self._by_text and keys[0].valid is None and rows.count:
            return self._grouped_by_codes(keys[0])
        groups = grouped(keys, rows.count)
        table, numbers = self._with(groups.keys, groups.count)
        return table, Groups((Column(ColumnType.INT64, numbers),), groups.members)

    def numbered(
        self, pieces: Sequence[tuple[Groups, Partial]]
    ) -> tuple["GroupTable", Sequence[Partial]]:
        """Return partials with the numbers of their groups, and the table that has all of them.

        Args:
            pieces: groups, and a partial that knows them by their places (`placed`); one piece at least.

        Cost: that of `grouped` for these groups and those there are, all at once: a table that grows by a few of them
        at a time would be copied as often.
        """
        partials = [partial for _, partial in pieces]
        if not self.keys:
            return self, partials
        named = [groups for groups, _ in pieces]
        if self._by_text and all(one.keys[0].valid is None for one in named):
            return self._numbered_texts([one.keys[0] for one in named], partials)
        keys = [stacked(some) for some in zip(*(one.keys for one in named), strict=True)]
        every = grouped(keys, sum(one.count for one in named))
        table, numbers = self._with(every.keys, every.count)
        firsts = np.cumsum([0, *(one.count for one in named[:-1])])
        own = numbers[every.labels]
        return table, [
            replace(one, keys=(Column(ColumnType.INT64, own[one.keys[0].values + first]),))
            for one, first in zip(partials, firsts.tolist(), strict=True)
        ]

    def _numbered_texts(
        self, named: Sequence[Column], partials: Sequence[Partial]
    ) -> tuple["GroupTable", Sequence[Partial]]:
        """Return partials with the numbers of their groups, which have these texts, and the table that has all.

        Segments that follow each other mostly share a dictionary: its texts are looked up once.
        """
        distinct, places = _distinct_keys(named)
        if not self.count and len(distinct) == 1:  # with its dictionary, which others know
            count = len(named[0])
            table, numbers = GroupTable(named[:1], count), [np.arange(count)]
        else:
            texts: list[list[Any]] = [key.to_list() for key in distinct]
            table = self._with_texts(dict.fromkeys(chain.from_iterable(texts)))
            numbers = [table.numbers_of(some) for some in texts]
        return table, [
            replace(one, keys=(Column(ColumnType.INT64, numbers[place][one.keys[0].values]),))
            for one, place in zip(partials, places, strict=True)
        ]

    def merged(self, parts: Sequence[Partial]) -> Partial:
        """Return each group of some partials once, in order of the keys: at least one, of groups that have numbers.

        Cost: O(groups of all), some nanoseconds for each group and state.
        """
        if not self.keys:
            of_one = [np.zeros(part.count, dtype=np.int64) for part in parts]
            return merged_states(parts, of_one, (), 1)
        labels, shown = self._labels([part.keys[0].values for part in parts])
        if shown is None:
            return merged_states(parts, labels, self.keys, self.count)
        keys = tuple([key.take(shown) for key in self.keys])
        return merged_states(parts, labels, keys, len(shown))

    def united(self, parts: Sequence[Partial]) -> Partial:
        """Return each group of some partials once, known by its number, in the order of these.

        The key is not (). Cost: that of `merged`.
        """
        every = [part.keys[0].values for part in parts]
        labels, numbers = numbered(np.concatenate(every))
        cuts = np.cumsum([len(some) for some in every[:-1]])
        keys = (Column(ColumnType.INT64, numbers),)
        return merged_states(parts, np.split(labels, cuts), keys, len(numbers))

    def wastes(self, partials: Sequence[Partial]) -> bool:
        """Return whether most of many groups are none of some partials', which know their own by number.

        Cost: 0.5 ns for each of the partials'.
        """
        if not self.keys or self.count <= _WASTED_MIN:
            return False
        seen = np.zeros(self.count, dtype=np.bool_)
        for partial in partials:
            mark(partial.keys[0].values, 0, seen)
        return bool(_SHARE_MIN * np.count_nonzero(seen) < self.count)

    def compacted(self, partials: Sequence[Partial]) -> tuple["GroupTable", list[Partial]]:
        """Return a table with the groups of some partials alone, and these with their numbers there."""
        every = [partial.keys[0].values for partial in partials]
        numbers, kept = numbered(np.concatenate(every))
        table = GroupTable([key.take(kept) for key in self.keys], len(kept))
        own = np.split(numbers, np.cumsum([len(some) for some in every[:-1]]))
        return table, [
            replace(partial, keys=(Column(ColumnType.INT64, some),))
            for partial, some in zip(partials, own, strict=True)
        ]

    def _grouped_by_codes(self, key: Column) -> tuple["GroupTable", Groups]:
        """Return rows in groups of texts, none of which is NULL."""
        codes, dictionary = key.values, key.dictionary
        assert dictionary is not None, "a string column has its dictionary"
        seen = np.zeros(len(dictionary), dtype=np.bool_)
        mark(codes, 0, seen)
        used = np.flatnonzero(seen)
        table, numbers = self.with_texts(dictionary, used)
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(numbers)
            used, numbers = used[order], numbers[order]
        places = np.empty(len(dictionary), dtype=np.int64)
        places[used] = np.arange(len(used))
        labels = np.empty(len(codes), dtype=np.int64)
        look_up(codes, 0, places, labels)
        members = Members(None, labels, len(used), edges_of(labels, len(used)))
        return table, Groups((Column(ColumnType.INT64, numbers),), members)

    def with_texts(
        self, dictionary: Sequence[str], used: Integers
    ) -> tuple["GroupTable", Integers]:
        """Return a table that has the texts of some codes, which ascend, and their numbers; the key is one of texts."""
        for known, of_codes in self._of_codes:
            if known is dictionary and used[-1] < len(of_codes):
                numbers = of_codes[used]
                if (numbers != _UNKNOWN).all():
                    return self, numbers
        texts = [dictionary[code] for code in used.tolist()]
        table = self._with_texts(texts)
        if table is not self:
            return table.with_texts(dictionary, used)
        numbers = self.numbers_of(texts)
        if len(dictionary) <= _TEXTS_A_GROUP_MAX * self.count:
            of_codes = np.full(len(dictionary), _UNKNOWN, dtype=np.int64)
            of_codes[used] = numbers
            self._remember(dictionary, of_codes)
        return self, numbers

    def _with_texts(self, texts: Iterable[str]) -> "GroupTable":
        """Return a table that has groups of some texts; the key is one of texts."""
        of_texts = self._numbers
        assert of_texts is not None, "the key is one of texts"
        fresh = sorted(text for text in texts if text not in of_texts)
        if not fresh:
            return self
        codes = np.arange(len(fresh), dtype=np.int32)
        return self._grown((Column(ColumnType.STRING, codes, None, fresh),), len(fresh))

    def numbers_of(self, texts: Sequence[str]) -> Integers:
        """Return the numbers of texts that the table has."""
        of_texts = self._numbers
        assert of_texts is not None, "the key is one of texts"
        return np.array([of_texts[text] for text in texts], dtype=np.int64)

    def _remember(self, dictionary: Sequence[str], of_codes: Integers) -> None:
        """Keep the numbers of the codes of a dictionary for those who read its rows again."""
        others = [pair for pair in self._of_codes if pair[0] is not dictionary]
        self._of_codes = ((dictionary, of_codes), *others[: _DICTIONARIES_MAX - 1])

    def _with(self, keys: Sequence[Column], count: int) -> tuple["GroupTable", Integers]:
        """Return a table that has groups with these keys, which are distinct, and their numbers."""
        if not self.count:
            return GroupTable(keys, count), np.arange(count)
        pairs = zip(self.keys, keys, strict=True)
        labels = grouped([stacked(pair) for pair in pairs], self.count + count).labels
        of_labels = np.full(self.count + count, _UNKNOWN, dtype=np.int64)
        of_labels[labels[: self.count]] = np.arange(self.count)
        numbers = of_labels[labels[self.count :]]
        fresh = np.flatnonzero(numbers == _UNKNOWN)
        if not len(fresh):
            return self, numbers
        numbers[fresh] = self.count + np.arange(len(fresh))
        return self._grown([key.take(fresh) for key in keys], len(fresh)), numbers

    def _grown(self, keys: Sequence[Column], count: int) -> "GroupTable":
        if not self.count:
            return GroupTable(keys, count)
        pairs = zip(self.keys, keys, strict=True)
        return GroupTable([stacked(pair) for pair in pairs], self.count + count)

    def _labels(self, numbers: Sequence[Integers]) -> tuple[Sequence[Integers], Integers | None]:
        """Return for the groups of each part a label in order of the keys, and their numbers; None = all, as they are.

        Where there are more groups than are asked for, those alone are looked at.
        """
        if self.count > sum(map(len, numbers)):
            every, shown = numbered(np.concatenate(numbers))
            places = np.argsort(self._ranks[shown])
            labels = np.empty(len(shown), dtype=np.int64)
            labels[places] = np.arange(len(shown))
            cuts = np.cumsum([len(some) for some in numbers[:-1]])
            return np.split(labels[every], cuts), shown[places]
        seen = np.zeros(self.count, dtype=np.bool_)
        for some in numbers:
            mark(some, 0, seen)
        order = self._in_order
        if seen.all() and order is None:
            return numbers, None
        shown = np.flatnonzero(seen) if order is None else order[seen[order]]
        places = np.empty(self.count, dtype=np.int64)
        places[shown] = np.arange(len(shown))
        return [places[some] for some in numbers], shown

    @property
    def _ranks(self) -> Integers:
        """Return the place of each group in order of the keys."""
        return grouped(self.keys, self.count).labels

    @property
    def _in_order(self) -> Integers | None:
        """Return the numbers of the groups in order of the keys; None = they ascend."""
        if not self._order_is_known:
            order = np.argsort(self._ranks)
            self._order = None if ascends(order) else order
            self._order_is_known = True
        return self._order


def _distinct_keys(named: Sequence[Column]) -> tuple[list[Column], list[int]]:
    """Return keys without those that have the texts of the one before, and the place of each key among these."""
    distinct: list[Column] = []
    places = []
    for key in named:
        if not distinct or not _have_same_texts(distinct[-1], key):
            distinct.append(key)
        places.append(len(distinct) - 1)
    return distinct, places


def _have_same_texts(key: Column, other: Column) -> bool:
    """Return whether it is plain that two keys of groups have the same texts, in the same order.

    Its codes are 0, 1, 2 and so on, as `grouped` makes them: a key that is as long as its dictionary has all
    of its texts, in their order.
    """
    if key is other:
        return True
    texts = key.dictionary
    if texts is None or texts is not other.dictionary or not len(key) == len(other) == len(texts):
        return False
    assert all(one.values[-1] == len(texts) - 1 for one in (key, other)), "codes ascend from 0"
    return True
