"""How often each query was invoked by this process since its start."""

import heapq
import threading
from collections.abc import Iterable

from psoup.engine import limits
from psoup.engine.log.operation import QueryId


class InvocationCounts:
    """Invocations by query, and of all queries. Any thread may note and read.

    Of more queries than may stand at once the half that was invoked least is forgotten: removed ones are among them.
    """

    def __init__(self) -> None:
        """Begin at 0."""
        self.count = 0
        """Of all queries, of those that are forgotten too."""
        self._by_query: dict[QueryId, int] = {}
        self._lock = threading.Lock()

    def note(self, query_id: QueryId) -> None:
        """Count one invocation."""
        with self._lock:
            self.count += 1
            self._by_query[query_id] = self._by_query.get(query_id, 0) + 1
            if len(self._by_query) > limits.QUERIES_COUNT_MAX:
                kept = heapq.nlargest(
                    limits.QUERIES_COUNT_MAX // 2, self._by_query, key=self._by_query.__getitem__
                )
                self._by_query = {one: self._by_query[one] for one in kept}

    def of(self, query_ids: Iterable[QueryId]) -> dict[QueryId, int]:
        """Return how often each was invoked."""
        with self._lock:
            return {query_id: self._by_query.get(query_id, 0) for query_id in query_ids}
