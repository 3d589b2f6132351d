"""Records of clauses and queries, and declarations, decoded once for as long as they are asked for again."""

import threading
from collections.abc import Callable
from typing import TypeVar

from engine import limits
from engine.results.delta import ClauseRecord, QueryRecord, StreamRecord
from engine.results.recent import Recent, RecentStatistics
from engine.tuples.schema import StreamSchema
from storage.encoding import decode_clause, decode_counters, decode_declaration, decode_query

Record = TypeVar("Record")


class Records:
    """Decodes; keeps RECORDS_CACHE_MAX of each kind by their bytes, so that none can be stale. Thread-safe."""

    def __init__(self) -> None:
        """Begin empty."""
        most = limits.RECORDS_CACHE_MAX
        self._clauses: Recent[bytes, ClauseRecord] = Recent(most, threading.Lock())
        self._queries: Recent[bytes, QueryRecord] = Recent(most, threading.Lock())
        self._schemas: Recent[bytes, StreamSchema] = Recent(most, threading.Lock())

    def clause(self, value: bytes) -> ClauseRecord:
        """Return the record that `encode_clause` wrote."""
        return _kept(self._clauses, value, decode_clause)

    def query(self, value: bytes) -> QueryRecord:
        """Return the record that `encode_query` wrote."""
        return _kept(self._queries, value, decode_query)

    def stream(self, record: bytes, declaration: bytes) -> StreamRecord:
        """Return the record that `encode_stream` and `encode_declaration` wrote.

        Every batch changes the record, so it is not kept; the declaration never changes.
        """
        return decode_counters(record, _kept(self._schemas, declaration, decode_declaration))

    def statistics(self) -> tuple[RecentStatistics, RecentStatistics, RecentStatistics]:
        """Return what is kept of clauses, queries and declarations."""
        return (
            self._clauses.statistics(),
            self._queries.statistics(),
            self._schemas.statistics(),
        )

    def check(self) -> None:
        """Assert that the bounds are kept."""
        self._clauses.check()
        self._queries.check()
        self._schemas.check()


def _kept(cache: Recent[bytes, Record], raw: bytes, decode: Callable[[bytes], Record]) -> Record:
    found = cache.get(raw)
    if found is None:
        found = decode(raw)
        cache.put(raw, found)
    return found
