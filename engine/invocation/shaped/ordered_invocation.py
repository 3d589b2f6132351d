"""One query with ORDER BY, LIMIT or OFFSET over rows, being answered: counted, or a page of its rows.

Sort keys are computed for all visible rows, the select list for those of a page alone. Without LIMIT and OFFSET an
answer to a cursor holds the rows that have changed, as without ORDER BY; with one of them it holds all rows, or says
that nothing has changed: a client that has kept rows of a later answer than its cursor's could not be told otherwise
which of them are not among the first any more.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psoup.engine.invocation.answering import full_whole
from psoup.engine.invocation.cache import Order, Whole
from psoup.engine.invocation.changes import changed, first_of
from psoup.engine.invocation.distinct import groups_of, last_leaving
from psoup.engine.invocation.position.answer import Answer, PagePosition, Request
from psoup.engine.invocation.position.pinning import earliest
from psoup.engine.invocation.row_digest import digests
from psoup.engine.invocation.shaped.content import content_of
from psoup.engine.invocation.shaped.extent import extent_of
from psoup.engine.invocation.shaped.grouping import columns_of
from psoup.engine.invocation.shaped.shaped_query import ShapedQuery
from psoup.engine.invocation.shaped.sorting import SortKey, sorted_places
from psoup.engine.query.values.evaluate import evaluate

Rows = NDArray[np.int64]


class OrderedInvocation(ShapedQuery):
    """One query at one position, its rows in an order of their own. Used by one thread, once."""

    __slots__ = ()

    def page(self, request: Request) -> Answer:
        """Return the rows of one page, with everything that is the same on all pages of the answer.

        Raises as `invoke` does. Cost: that of the visible rows and of their sort keys; O(page) while the order is kept.
        """
        shown, query_id = self._shown, self._snapshot.query.query_id
        order = self._cache.order(query_id, self._at)
        if order is None:
            order = self._finder.settled(lambda: self._order(request.limit))
            if self._at.offset or order.rows.shape[-1] > request.limit:
                self._cache.keep_order(query_id, self._at, order)
        at, limit = self._at, 0 if request.count_only else request.limit
        past = min(order.rows.shape[-1], at.offset + limit)
        rows = order.rows[..., at.offset : past]
        leaving = rows if order.last is None else order.last[..., at.offset : past]
        following: PagePosition | None = None
        if past < order.rows.shape[-1] and not request.count_only:
            following = at.behind(past, order.oldest_rows)
        shape = self.reading.shape
        values = shown.values(rows)
        columns = tuple(zip([output.name for output in shape.outputs], values, strict=True))
        return self._answer(
            order,
            tuple_ids=shown.ids(rows),
            columns=() if request.count_only else columns,
            leaves_us=shown.leaves(leaving),
            request=request,
            following=following,
            row_ids=digests(values) if shape.distinct else None,
        )

    def _order(self, limit: int) -> Order:
        """Return the answer's rows in order: what has changed, or from now on the full answer."""
        at, shape = self._at, self.reading.shape
        since = at.since
        if since is None:
            return self._full()
        if shape.delta == "replace":
            return self._replaced(since, self._full, self._empty)
        order = changed(self._finder, at, since, limit=limit, distinct=shape.distinct)
        if order is not None:
            places = self._places(order.rows, None)
            last = None if order.last is None else order.last.take(places, axis=-1)
            return replace(order, rows=order.rows.take(places, axis=-1), last=last)
        self._at = at.full()
        return self._full()

    def _full(self) -> Order:
        """Return all rows."""
        shown, shape, at = self._shown, self.reading.shape, self._at
        rows, enters_us = shown.visible(), shown.enters_us()
        extent = extent_of(rows)
        oldest_rows = self._oldest_rows(extent, comes=enters_us is not None)
        newest_rows = self._newest_rows(extent)
        last: Rows | None = None
        if shape.distinct:
            rows, last = self._distinct(rows)
        past = None if shape.limit is None else shape.offset + shape.limit
        places = self._places(rows, past)
        rows = rows.take(places, axis=-1)
        if last is not None:
            last = last.take(places, axis=-1)
        leaving = shown.leaves(rows if last is None else last)
        leaves_us = first_of(leaving)
        first_us = leaves_us if last is None else first_of(shown.leaves(rows))
        if shape.delta == "rows":
            count = rows.shape[-1]
            whole = full_whole(at, count, newest_rows, enters_us, leaves_us, first_us=first_us)
            return Order(rows, oldest_rows, whole, last)
        rows = rows[..., shape.offset :]
        last = None if last is None else last[..., shape.offset :]
        leaving = None if leaving is None else leaving[shape.offset :]
        count = rows.shape[-1]
        # Where the first of equal rows leaves, the others may stand behind LIMIT.
        changes_us = earliest(enters_us, earliest(leaves_us, first_us))
        values = shown.values(rows) if shape.distinct else ()  # equal rows are one, wherever it is
        held = (leaving,) if shape.distinct else (rows, leaving)
        content = content_of(values, *held)
        whole = Whole(count, changes_us, (at.gen, content, count), content=content)
        return Order(rows, oldest_rows, whole, last)

    def _empty(self, whole: Whole) -> Order:
        """Return no rows."""
        return Order(self._shown.no_rows(), (0,) * len(self._at.parts), whole)

    def _places(self, rows: Rows, first: int | None) -> Rows:
        """Return where rows stand in ORDER BY; they are in the order of answers without it. `first`: only so many."""
        shown, reading = self._shown, self.reading
        count, shape = rows.shape[-1], reading.shape
        if not shape.order:
            return np.arange(count if first is None else min(count, first), dtype=np.int64)
        read = columns_of(shown.tuples(rows, reading.order_names))
        keys = [
            SortKey(evaluate(one.expression, read, count), one.descending, one.nulls_first)
            for one in shape.order
        ]
        if shape.distinct:
            keys += map(SortKey, shown.values(rows))
        return sorted_places(keys, count, first=first)

    def _distinct(self, rows: Rows) -> tuple[Rows, Rows | None]:
        """Return the first of all that are equal in the select list, and the one of them that leaves last."""
        group, first = groups_of(self._shown.values(rows), rows.shape[-1])
        leaves_us = self._shown.leaves(rows)
        if leaves_us is None:
            return rows.take(first, axis=-1), None
        last = last_leaving(group, leaves_us, len(first))
        return rows.take(first, axis=-1), rows.take(last, axis=-1)
