"""Groups made of pieces of their rows, which any number of tasks find: each makes partials, others merge them.

A partial is of groups whose keys have one digit in common, its bucket, so that who merges a bucket has whole groups.
Beside those of the visible rows there are partials of rows that the clock will bring: of these a group takes the first
instant at which one enters, for `_x`.
"""

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import Grouping
from psoup.engine.aggregates.groups import grouped
from psoup.engine.aggregates.partials.partial import Partial, finished, merged, partial_of
from psoup.engine.invocation.row_digest import DIGEST_BYTES, digests
from psoup.engine.invocation.shaped.grouping import (
    FIRST_TO_LEAVE,
    ComputedGroups,
    computed_groups,
    first_to_leave,
    grouping_of,
)
from psoup.engine.limits import MIB
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import AggregateCall, GroupKey
from psoup.engine.shaping.found_rows import FoundRows, columns_read, found_rows, no_rows
from psoup.engine.shaping.placed_rows import placed
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.joined_columns import stacked

Integers = NDArray[np.int64]

BUCKET: Final = "bucket"
PARTIALS: Final = pa.schema(
    [(BUCKET, pa.int32()), ("visible", pa.bool_()), ("partial", pa.binary())]
)
"""Columns in which partials travel."""
HELD_BYTES_MAX: Final = 64 * MIB
"""Partials of a task are merged when they have this size, and handed on when that leaves half of it."""
_GROUPS_AT_ONCE: Final = 65_536
"""Groups whose outputs are computed together."""
_BUCKET_DIGITS: Final = 2

Overflowed = Callable[[Sequence[int]], None]
"""Is told the places, among a shape's aggregates, of those that are NULL somewhere because they overflow."""


class GroupPieces:
    """How the groups of a shape are made in pieces. Holds no rows."""

    def __init__(self, shape: Shape, sources: int, now_us: int) -> None:
        """Take the shape of a query over so many sources, and the instant to answer for."""
        assert shape.keys is not None, "the shape has groups"
        self._shape = shape
        self._sources = sources
        self._now_us = now_us
        self._read = columns_read(shape)
        self._visible = grouping_of(shape)
        self._coming = Grouping(shape.keys, [FIRST_TO_LEAVE])

    def of_nothing(self) -> pa.RecordBatch:
        """Return the partials of no rows: without GROUP BY the one group that there always is, else none."""
        return _written(self._partial(no_rows(self._read, self._sources)), visible=True)

    def partials(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the partials of found rows.

        Cost: that of the rows and their aggregates; holds HELD_BYTES_MAX of partials, twice for a moment.
        """
        visible, coming = _Held(), _Held()
        for rows in found_rows(batches, self._read, self._sources):
            shown = rows.enters_us <= self._now_us
            if shown.any():
                yield from visible.added(self._partial(rows.where(shown)), visible=True)
            if not shown.all():
                rest = rows.where(~shown)
                of_rest = partial_of(self._coming, rest.to_aggregate(rest.enters_us))
                yield from coming.added(of_rest, visible=False)
        yield from visible.rest(visible=True)
        yield from coming.rest(visible=False)

    def placed(
        self, batches: Iterator[pa.RecordBatch], overflowed: Overflowed
    ) -> Iterator[pa.RecordBatch]:
        """Yield the groups that HAVING lets through, as rows of the answer, given all partials of their buckets.

        Cost: that of merging; holds all groups of the buckets.
        """
        held = {True: _Held(), False: _Held()}
        for batch in batches:
            for is_visible, body in zip(
                batch.column(1).to_pylist(), batch.column(2).to_pylist(), strict=True
            ):
                # Written by another task of the same job.
                held[is_visible].add(pickle.loads(body))  # noqa: S301
        partial = held[True].merged()
        if partial is None:
            return
        groups = finished(self._visible, partial)
        until_us = first_to_leave(groups).copy()
        coming = held[False].merged()
        if coming is not None:
            self._bring(until_us, partial, coming)
        found = computed_groups(self._shape, groups)
        overflowed([self._shape.aggregates.index(call) for call in found.overflowed])
        for first in range(0, len(found.shown), _GROUPS_AT_ONCE):
            yield self._rows(found, found.shown[first : first + _GROUPS_AT_ONCE], until_us)

    def _partial(self, rows: FoundRows) -> Partial:
        return partial_of(self._visible, rows.to_aggregate(rows.leaves_us))

    def _bring(self, until_us: Integers, visible: Partial, coming: Partial) -> None:
        """Move the instants at which the clock changes visible groups before those at which rows enter them."""
        keys = [stacked(pair) for pair in zip(visible.keys, coming.keys, strict=True)]
        labels = grouped(keys, visible.count + coming.count).labels
        numbers = np.full(int(labels.max()) + 1, -1, dtype=np.int64)
        numbers[labels[: visible.count]] = np.arange(visible.count)
        of_coming = numbers[labels[visible.count :]]
        enters_us = first_to_leave(finished(self._coming, coming))
        seen = of_coming >= 0
        np.minimum.at(until_us, of_coming[seen], enters_us[seen])

    def _rows(self, found: ComputedGroups, numbers: Integers, until_us: Integers) -> pa.RecordBatch:
        keys = [key.take(numbers) for key in found.keys]

        def read(leaf: GroupKey | AggregateCall) -> Column:
            if isinstance(leaf, GroupKey):
                return keys[leaf.place]
            return found.aggregates[leaf].take(numbers)

        named = keys
        if self._shape.distinct:
            named = [found.computed(one.expression, numbers) for one in self._shape.outputs]
        ids = pa.array(digests(named, len(numbers))).cast(pa.string())
        return placed(
            self._shape, len(numbers), read, ties=keys, ids=ids, leaves_us=until_us[numbers]
        )


@dataclass(slots=True)
class _Held:
    """Partials, merged whenever they take much room."""

    partials: list[Partial] = field(default_factory=list)
    nbytes: int = 0
    nbytes_merged: int = 0

    def add(self, partial: Partial) -> None:
        """Add a partial; merge where that may save room."""
        self.partials.append(partial)
        self.nbytes += partial.nbytes
        if self.nbytes > max(HELD_BYTES_MAX, 2 * self.nbytes_merged):
            self.merged()

    def added(self, partial: Partial, *, visible: bool) -> Iterator[pa.RecordBatch]:
        """Add a partial, and yield all where merging does not make them small."""
        self.add(partial)
        if self.nbytes_merged > HELD_BYTES_MAX // 2:
            yield from self.rest(visible=visible)

    def merged(self) -> Partial | None:
        """Return all partials as one; None: there is none."""
        if not self.partials:
            return None
        one = merged(self.partials)
        self.partials = [one]
        self.nbytes = self.nbytes_merged = one.nbytes
        return one

    def rest(self, *, visible: bool) -> Iterator[pa.RecordBatch]:
        """Yield all partials, and forget them."""
        one = self.merged()
        if one is not None:
            yield _written(one, visible=visible)
        self.partials, self.nbytes, self.nbytes_merged = [], 0, 0


def _written(partial: Partial, *, visible: bool) -> pa.RecordBatch:
    """Return a partial cut into buckets, a row each."""
    if partial.keys:
        digits = digests(partial.keys, partial.count).view("S1")
        digits = digits.reshape(partial.count, 2 * DIGEST_BYTES)
        buckets = np.zeros(partial.count, dtype=np.int32)
        for digit in digits[:, :_BUCKET_DIGITS].T:
            buckets = buckets * 256 + np.ascontiguousarray(digit).view(np.uint8)
    else:
        buckets = np.zeros(partial.count, dtype=np.int32)
    order = np.argsort(buckets, kind="stable")
    numbers, firsts = np.unique(buckets[order], return_index=True)
    parts = np.split(order, firsts[1:]) if len(order) else []
    columns = [
        numbers,
        [visible] * len(parts),
        [_body(partial.take(places)) for places in parts],
    ]
    arrays = [pa.array(one, kind) for one, kind in zip(columns, PARTIALS.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PARTIALS)


def _body(partial: Partial) -> bytes:
    """Return a partial as bytes, without texts that no row has: parts of a partial share those of the whole."""
    body = io.BytesIO()
    pickler = pickle.Pickler(body, protocol=pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {Column: _without_unused}
    pickler.dump(partial)
    return body.getvalue()


def _without_unused(column: Column) -> tuple[type[Column], tuple[object, ...]]:
    """Return how a column is written."""
    if column.dictionary is None:
        return Column, (column.type, column.values, column.valid, None)
    used, codes = np.unique(column.values, return_inverse=True)
    texts = tuple([column.dictionary[code] for code in used.tolist()]) or ("",)
    return Column, (column.type, codes.astype(np.int32), column.valid, texts)
