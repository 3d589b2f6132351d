"""One query with groups at one position, being answered: counted, or a page of its groups.

A row of the answer is a group of rows that are visible. It is known by a digest of the values of its keys, and says
when the clock alone changes it next: when the first of its rows leaves, or of those that are to come enters.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.grouping import Grouping
from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.answering import full_whole, nothing_yet, tuples_of_nothing
from psoup.engine.invocation.cache import InvocationCache, Table, Whole
from psoup.engine.invocation.changes import first_of
from psoup.engine.invocation.distinct import shown_once
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.position.answer import Answer, PagePosition, Request, Since
from psoup.engine.invocation.position.continuing import is_quiet
from psoup.engine.invocation.position.pinning import earliest
from psoup.engine.invocation.row_digest import digests
from psoup.engine.invocation.several_streams.join_changes import JoinChanges
from psoup.engine.invocation.shaped.content import content_of
from psoup.engine.invocation.shaped.extent import Extent, extent_of
from psoup.engine.invocation.shaped.group_changes import Touching, since_nothing, touching
from psoup.engine.invocation.shaped.grouping import (
    NEVER_US,
    ComputedGroups,
    Numbers,
    computed_groups,
    grouping_of,
    in_answer_order,
    rows_to_aggregate,
)
from psoup.engine.invocation.shaped.groups_beside import NOT_VISIBLE, GroupsBeside, groups_beside
from psoup.engine.invocation.shaped.partnered_groups import groups_of_partners
from psoup.engine.invocation.shaped.shaped_query import ShapedQuery
from psoup.engine.invocation.shaped.visible_groups import (
    Partials,
    VisibleGroups,
    groups_of_rows,
    groups_of_stream,
)
from psoup.engine.query.reading import Reading
from psoup.engine.results.contract import Snapshot
from psoup.engine.tuples.batch import Column, empty_column
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]
Columns = tuple[tuple[str, Column], ...]


class GroupedInvocation(ShapedQuery):
    """One query with groups at one position, being answered. Used by one thread, once."""

    __slots__ = ("_made",)

    _made: Partials | None
    """Partials that were made for the answer; None = none were."""

    def page(self, request: Request) -> Answer:
        """Return one page of the groups, with everything that is the same on all pages of the answer.

        Raises as `invoke` does. Cost: that of the visible rows and of their aggregates; O(page) while the groups are
        kept.
        """
        query_id = self._snapshot.query.query_id
        table = self._cache.table(query_id, self._at)
        if table is None:
            self._made = None
            table = self._finder.settled(lambda: self._table(request.limit))
            self._keep_partials()
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
            return self._replaced(since, self._full, self._empty)
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
        newest_rows = self._newest_rows(every.extent) + self._newest_rows(every.coming)
        whole = full_whole(
            self._at,
            len(every.numbers),
            newest_rows,
            every.enters_us,
            every.leaves_us,
            first_us=every.leaves_us,
        )
        oldest_rows = self._oldest_rows(every.extent, comes=every.enters_us is not None)
        return self._table_of(every, every.numbers, whole, oldest_rows)

    def _told(self, touched: Touching, since: Since) -> Table:
        """Return the groups that are touched, and the ids of those that are gone."""
        rows = [touched.entered, touched.forgotten]
        taking = sum(one.shape[-1] for one in rows)
        if touched.lost is not None:
            rows += [touched.coming, touched.lost]
        every, at = self._groups(np.concatenate(rows, axis=-1)), self._at
        changes_us = earliest(every.enters_us, every.leaves_us)
        whole = Whole(len(every.numbers), changes_us, ("changed", at.gen, at.seq, at.now_us))
        others = slice(every.coming.count, None)
        if taking and every.beside is not None:
            some = slice(others.start, others.start + taking)
            count, keys = every.beside.keys_without(some, every.found.shown)
            if count:
                whole = replace(whole, removed=digests(keys, count))
        if touched.lost is None:
            self._at = replace(at, since=since_nothing(at))
            told, floors = every.numbers, at.parts
        else:
            told, floors = every.numbers[:0], touched.floors
            if every.beside is not None:
                told = every.numbers[np.isin(every.numbers, every.beside.numbers_of(others))]
        return self._table_of(every, told, whole, tuple([part.floor_row for part in floors]))

    def _groups(self, others: Rows) -> "_Groups":
        """Return the groups of the visible rows; `others` are grouped beside them."""
        shown, shape = self._shown, self.reading.shape
        grouping = self.reading.of_shape(grouping_of)
        visible = self._visible(grouping)
        coming, enters_us = shown.coming()
        beside: GroupsBeside | None = None
        until_us = visible.leaves_us
        if until_us is None:
            until_us = np.full(visible.groups.count, NEVER_US, dtype=np.int64)
        leaves_us = _first_before(until_us)
        if coming.shape[-1] or others.shape[-1]:
            rows = np.concatenate((coming, others), axis=-1)
            parts = shown.tuples(rows, self.reading.key_names)
            beside = groups_beside(grouping, visible.groups, parts)
            numbers = beside.numbers_of(slice(0, len(enters_us)))
            seen = numbers != NOT_VISIBLE
            np.minimum.at(until_us, numbers[seen], enters_us[seen])
        found = computed_groups(shape, visible.groups)
        return _Groups(
            visible.extent,
            extent_of(coming),
            found,
            in_answer_order(shape, found),
            until_us,
            beside,
            first_of(enters_us),
            leaves_us,
        )

    def _visible(self, grouping: Grouping) -> VisibleGroups:
        """Return the groups of the visible rows."""
        shown, names, snapshot = self._shown, self.reading.group_names, self._snapshot
        if isinstance(shown, JoinChanges):
            found = groups_of_partners(shown, grouping, self.reading)
            if found is not None:
                return found
        if not isinstance(shown, StreamFinding):
            return groups_of_rows(shown, grouping, names)
        visible = groups_of_stream(
            shown,
            grouping,
            names,
            window=snapshot.query.window,
            known=self._cache.partials.partials(
                snapshot.cut.gen, snapshot.clause.clause_id, grouping
            ),
            lowest_row=snapshot.streams[0].dropped_row,
        )
        self._made = visible.partials
        return visible

    def _keep_partials(self) -> None:
        """Keep partials that were made of rows of which none was dropped meanwhile."""
        if self._made is not None:
            grouping, snapshot = self.reading.of_shape(grouping_of), self._snapshot
            gen, clause_id = snapshot.cut.gen, snapshot.clause.clause_id
            self._cache.partials.keep(gen, clause_id, grouping, self._made)

    def _table_of(
        self, every: "_Groups", numbers: Numbers, whole: Whole, oldest_rows: tuple[int, ...]
    ) -> Table:
        """Return some of the groups as what pages are cut from."""
        until_us = every.until_us[numbers]
        columns, ids = _shown(self.reading, every.found, numbers)
        if self.reading.shape.delta == "replace":
            values = [*ids, *(column for _, column in columns)]
            warned = map(self.reading.shape.aggregates.index, every.found.overflowed)
            content = content_of(values, until_us, np.fromiter(warned, dtype=np.int64))
            whole = replace(whole, state=(self._at.gen, content, len(numbers)), content=content)
        if every.found.overflowed:
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
        extent: the visible rows.
        coming: those that the clock will bring.
        found: the groups, with their aggregates.
        numbers: of those that the whole answer has, in its order.
        until_us: by number, the first instant at which the clock alone changes a group; NEVER_US = it never does.
        beside: the groups of rows that are to come, then of some other rows; None = there are no such rows.
        enters_us, leaves_us: when the clock brings the next row, and takes the next one; None = never.
    """

    extent: Extent
    coming: Extent
    found: ComputedGroups
    numbers: Numbers
    until_us: Rows
    beside: GroupsBeside | None
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
    parts = tuples_of_nothing(source, snapshot, reading.group_names)
    groups = reading.of_shape(grouping_of).aggregated(rows_to_aggregate(parts, parts[0].times))
    found = computed_groups(shape, groups)
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
        columns = tuple([(name, shown_once(column)) for name, column in columns])
        return columns, tuple([column for _, column in columns])
    return columns, tuple([key.take(numbers) for key in found.keys])


def _first_before(instants_us: Rows) -> int | None:
    """Return the earliest of some instants; None = none ever comes."""
    first_us = instants_us.min().item() if len(instants_us) else NEVER_US
    return first_us if first_us < NEVER_US else None


def _page(table: Table, some: slice) -> tuple[Columns, NDArray[np.bytes_]]:
    """Return the outputs of some groups of an answer, and their digests."""
    count = len(range(table.count)[some])
    if count == table.count:
        return table.columns, digests(table.ids, count)
    columns = tuple([(name, column.part(some)) for name, column in table.columns])
    return columns, digests([column.part(some) for column in table.ids], count)


def _no_tuples(row_ids: NDArray[np.bytes_]) -> Rows:
    """Return what stands for the tuple ids of groups, which are of many tuples."""
    return np.zeros(len(row_ids), dtype=np.int64)
