"""One query with groups at one position, being answered: counted, or a page of its groups.

A row of the answer is a group of rows that are visible. It is known by a digest of the values of its keys, and says
when the clock alone changes it next: when the first of its rows leaves, or of those that are to come enters.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.answer import Answer, PagePosition, Request, Since
from psoup.engine.invocation.answering import full_whole, nothing_yet, tuples_of_nothing
from psoup.engine.invocation.cache import InvocationCache, Table, Whole
from psoup.engine.invocation.changes import first_of
from psoup.engine.invocation.continuing import is_quiet
from psoup.engine.invocation.pinning import earliest
from psoup.engine.invocation.row_digest import digests
from psoup.engine.invocation.shaped.content import content_of
from psoup.engine.invocation.shaped.group_changes import Touching, since_nothing, touching
from psoup.engine.invocation.shaped.grouping import (
    ComputedGroups,
    Numbers,
    computed_groups,
    first_changes,
    grouped_rows,
    in_answer_order,
)
from psoup.engine.invocation.shaped.shaped_query import ShapedQuery
from psoup.engine.query.reading import Reading
from psoup.engine.results.contract import Snapshot
from psoup.engine.tuples.batch import Column, empty_column
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]
Columns = tuple[tuple[str, Column], ...]


class GroupedInvocation(ShapedQuery):
    """One query with groups at one position, being answered. Used by one thread, once."""

    __slots__ = ()

    def page(self, request: Request) -> Answer:
        """Return one page of the groups, with everything that is the same on all pages of the answer.

        Raises as `invoke` does. Cost: that of the visible rows and of their aggregates; O(page) while the groups are
        kept.
        """
        query_id = self._snapshot.query.query_id
        table = self._cache.table(query_id, self._at)
        if table is None:
            table = self._finder.settled(lambda: self._table(request.limit))
            if self._at.offset or table.count > request.limit:
                self._cache.keep_order(query_id, self._at, table)
        at, limit = self._at, 0 if request.count_only else request.limit
        past = min(table.count, at.offset + limit)
        following: PagePosition | None = None
        if past < table.count and not request.count_only:
            following = at.behind(past, table.oldest_rows)
        columns, row_ids = _page(table, slice(at.offset, past))
        return self._answer(
            table,
            tuple_ids=_no_tuples(row_ids),
            columns=() if request.count_only else columns,
            leaves_us=table.leaves_us[at.offset : past],
            request=request,
            following=following,
            row_ids=row_ids,
        )

    def _table(self, limit: int) -> Table:
        """Return what pages are cut from: what has changed, or from now on everything."""
        since = self._at.since
        if since is None:
            return self._full()
        if self.reading.shape.delta == "replace":
            if self._stands(since):
                return self._empty(self._unchanged())
        else:
            touched = touching(self._finder, self._snapshot, self._at, since)
            if touched is not None and touched.is_nothing(since) and is_quiet(self._at, since):
                return self._empty(self._unchanged())
            if touched is not None:
                table = self._told(touched, since)
                removed = table.whole.removed
                if removed is None or len(removed) <= limit:
                    return table
        self._at = self._at.full()
        return self._full()

    def _full(self) -> Table:
        """Return all groups."""
        every = self._groups(self._shown.no_rows())
        # Rows that are to come decide when a group changes.
        newest_rows = self._newest_rows(every.rows) + self._newest_rows(every.coming)
        whole = full_whole(
            self._at,
            len(every.numbers),
            newest_rows,
            every.enters_us,
            every.leaves_us,
            first_us=every.leaves_us,
        )
        oldest_rows = self._oldest_rows(every.rows, comes=every.enters_us is not None)
        return self._table_of(every, every.numbers, whole, oldest_rows)

    def _told(self, touched: Touching, since: Since) -> Table:
        """Return the groups that are touched, and the ids of those that are gone."""
        rows = [touched.entered, touched.forgotten]
        if touched.lost is not None:
            rows += [touched.coming, touched.lost]
        every, at = self._groups(np.concatenate(rows, axis=-1)), self._at
        changes_us = earliest(every.enters_us, every.leaves_us)
        whole = Whole(len(every.numbers), changes_us, ("changed", at.gen, at.seq, at.now_us))
        taken = np.setdiff1d(
            every.others[: sum(one.shape[-1] for one in rows[:2])], every.found.shown
        )
        if len(taken):
            ids = [key.take(taken) for key in every.found.keys]
            whole = replace(whole, removed=digests(ids, len(taken)))
        if touched.lost is None:
            self._at = replace(at, since=since_nothing(at))
            told, floors = every.numbers, at.parts
        else:
            told, floors = every.numbers[np.isin(every.numbers, every.others)], touched.floors
        return self._table_of(every, told, whole, tuple([part.floor_row for part in floors]))

    def _groups(self, others: Rows) -> "_Groups":
        """Return the groups of the visible rows; `others` are grouped beside them."""
        found_rows, shape = self._shown, self.reading.shape
        rows, (coming, enters_us) = found_rows.visible(), found_rows.coming()
        shown = rows.shape[-1]
        grouping = np.concatenate((rows, coming, others), axis=-1)
        groups = grouped_rows(shape, found_rows.tuples(grouping, self.reading.key_names))
        found = computed_groups(shape, groups, found_rows.tuples(rows, self.reading.value_names))
        leaves_us = found_rows.leaves(rows)
        return _Groups(
            rows,
            coming,
            found,
            in_answer_order(shape, found),
            first_changes(groups, leaves_us, enters_us, shown),
            groups.labels[shown + len(enters_us) :],
            first_of(enters_us),
            first_of(leaves_us),
        )

    def _table_of(
        self, every: "_Groups", numbers: Numbers, whole: Whole, oldest_rows: tuple[int, ...]
    ) -> Table:
        """Return some of the groups as what pages are cut from."""
        until_us = every.until_us[numbers]
        columns, ids = _shown(self.reading, every.found, numbers)
        if self.reading.shape.delta == "replace":
            values = content_of([column for _, column in columns], until_us)
            whole = replace(whole, state=(self._at.gen, values, len(numbers)))
        whole = replace(whole, overflowed=every.found.overflowed)
        return Table(columns, ids, len(numbers), until_us, oldest_rows, whole)

    def _empty(self, whole: Whole) -> Table:
        """Return no groups."""
        none = np.empty(0, dtype=np.int64)
        columns = tuple([(one.name, empty_column(one.type)) for one in self.reading.shape.outputs])
        ids = tuple([column for _, column in columns])
        return Table(columns, ids, 0, none, (0,) * len(self._at.parts), whole)


@value_type
class _Groups:
    """The groups of a position.

    Attributes:
        rows: the visible ones.
        coming: those that the clock will bring.
        found: the groups, with their aggregates.
        numbers: of those that the whole answer has, in its order.
        until_us: by number, the first instant at which the clock alone changes a group.
        others: the numbers of the groups of some other rows.
        enters_us, leaves_us: when the clock brings the next row, and takes the next one; None = never.
    """

    rows: Rows
    coming: Rows
    found: ComputedGroups
    numbers: Numbers
    until_us: Rows
    others: Numbers
    enters_us: int | None
    leaves_us: int | None


def groups_of_nothing(
    source: TupleSource, snapshot: Snapshot, *, request: Request, cache: InvocationCache
) -> Answer:
    """Return the answer of a query with groups whose streams have no tuple to tell NOW by.

    Without GROUP BY it is one group of no rows: COUNT is 0, other aggregates are NULL.
    """
    answer = nothing_yet(source, snapshot, request=replace(request, count_only=True), cache=cache)
    reading = cache.reading(snapshot)
    shape, stands = reading.shape, answer.stands
    assert stands is not None
    groups = grouped_rows(shape, tuples_of_nothing(source, snapshot, reading.key_names))
    values = tuples_of_nothing(source, snapshot, reading.value_names)
    found = computed_groups(shape, groups, values)
    numbers = in_answer_order(shape, found)
    count = len(numbers)
    columns, ids = _shown(reading, found, numbers[: 0 if answer.unchanged else count])
    row_ids = digests(ids, 0 if answer.unchanged else count)
    return replace(
        answer,
        count=count,
        columns=() if request.count_only else columns,
        tuple_ids=_no_tuples(row_ids),
        row_ids=row_ids,
        stands=stands if answer.unchanged else replace(stands, count=count),
    )


def _shown(
    reading: Reading, found: ComputedGroups, numbers: Numbers
) -> tuple[Columns, tuple[Column, ...]]:
    """Return the outputs of some groups, and the values that they are known by."""
    shape = reading.shape
    columns = tuple(
        [(output.name, found.computed(output.expression, numbers)) for output in shape.outputs]
    )
    if shape.distinct:
        return columns, tuple([column for _, column in columns])
    return columns, tuple([key.take(numbers) for key in found.keys])


def _page(table: Table, some: slice) -> tuple[Columns, NDArray[np.bytes_]]:
    """Return the outputs of some groups of an answer, and their digests."""
    columns = tuple([(name, column.part(some)) for name, column in table.columns])
    count = len(range(table.count)[some])
    return columns, digests([column.part(some) for column in table.ids], count)


def _no_tuples(row_ids: NDArray[np.bytes_]) -> Rows:
    """Return what stands for the tuple ids of groups, which are of many tuples."""
    return np.zeros(len(row_ids), dtype=np.int64)
