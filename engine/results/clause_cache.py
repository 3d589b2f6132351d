"""What a worker keeps between invocations: bound clauses, and the orders of answers being paged through."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.limits import CUT_CACHE_BYTES_MAX, QUERIES_COUNT_MAX
from engine.log.operation import QueryId
from engine.query.binder import Bind, bind
from engine.query.clause import StandingQueryClause
from engine.results.answer import PagePosition
from engine.results.contract import Gen, Snapshot
from engine.results.hits import ClauseId
from engine.results.recent import ENTRY_BYTES, Recent, RecentStatistics


@dataclass(frozen=True, slots=True)
class Order:
    """An answer in order: what its pages are cut from.

    Attributes:
        rows: the row numbers shown.
        oldest_row: the smallest row number among those shown, of equal rows too.
        last: for DISTINCT, for each row shown the latest of those equal to it.
    """

    rows: NDArray[np.int64]
    oldest_row: int
    last: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays and of an entry for them."""
        return ENTRY_BYTES + self.rows.nbytes + (0 if self.last is None else self.last.nbytes)


class ClauseCache:
    """What a worker keeps between invocations: bound clauses, and the orders of answers in progress.

    Everything in it can be made again from what is published.
    """

    def __init__(
        self,
        *,
        order_bytes_max: int = CUT_CACHE_BYTES_MAX,
        bind: Bind = bind,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin empty; orders take `order_bytes_max` at most, all together; `bind` reads clauses.

        Where threads share it, `make_lock` makes their locks.
        """
        self._bind = bind
        self._clauses: Recent[tuple[Gen, ClauseId], StandingQueryClause] = Recent(
            QUERIES_COUNT_MAX, make_lock()
        )
        self.orders: Recent[tuple[QueryId, PagePosition], Order] = Recent(
            order_bytes_max, make_lock()
        )

    def clause(self, snapshot: Snapshot) -> StandingQueryClause:
        """Return the snapshot's clause, bound against the declarations it stands for."""
        key = (snapshot.cut.gen, snapshot.clause.clause_id)
        found = self._clauses.get(key)
        if found is None:
            streams = {one.schema.name: (one.stream_id, one.schema) for one in snapshot.streams}
            found = self._bind(snapshot.clause.text, streams).clause
            self._clauses.put(key, found)
        return found

    def statistics(self) -> tuple[RecentStatistics, RecentStatistics]:
        """Return what is held: clauses by number, orders by bytes."""
        return self._clauses.statistics(), self.orders.statistics()

    def check(self) -> None:
        """Assert that both bounds are kept."""
        self._clauses.check()
        self.orders.check()
