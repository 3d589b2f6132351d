"""Records as they are kept: checked, and those that seldom change decoded once for as long as they are asked for."""

import threading
from collections.abc import Callable
from typing import TypeVar

from psoup.engine import limits
from psoup.engine.recent import Recent, RecentStatistics
from psoup.engine.results.delta import BatchRecord, ClauseRecord, QueryRecord, StreamRecord
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.storage import keys
from psoup.storage.encoding.checksums import opened
from psoup.storage.encoding.records import (
    decode_batch,
    decode_clause,
    decode_counters,
    decode_declaration,
    decode_expired,
    decode_query,
    decode_stream,
)

Record = TypeVar("Record")
Kept = tuple[bytes, bytes]
"""Field and value, as they are kept."""


class Records:
    """Decodes; keeps RECORDS_CACHE_MAX of each kind by place and bytes, so that none can be stale. Thread-safe.

    Every method raises DamagedValueError for what is not what was written under this field.
    """

    def __init__(self) -> None:
        """Begin empty."""
        most = limits.RECORDS_CACHE_MAX
        self._clauses: Recent[Kept, ClauseRecord] = Recent(most, threading.Lock())
        self._queries: Recent[Kept, QueryRecord] = Recent(most, threading.Lock())
        self._schemas: Recent[Kept, StreamSchema] = Recent(most, threading.Lock())

    def clause(self, field: bytes, value: bytes) -> ClauseRecord:
        """Return the record that `encode_clause` wrote."""
        return _kept(self._clauses, keys.CLAUSES, (field, value), decode_clause)

    def query(self, field: bytes, value: bytes) -> QueryRecord:
        """Return the record that `encode_query` wrote."""
        return _kept(self._queries, keys.QUERIES, (field, value), decode_query)

    def stream(self, field: bytes, record: bytes, declaration: bytes) -> StreamRecord:
        """Return the record that `encode_stream` and `encode_declaration` wrote.

        Every batch changes the record, so it is not kept; the declaration seldom changes.
        """
        declared = (field, declaration)
        schema = _kept(self._schemas, keys.DECLARATIONS, declared, decode_declaration)
        return decode_counters(opened(keys.STREAMS, field, record), schema)

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


def open_clause(field: object, value: bytes) -> ClauseRecord:
    """Return a clause's record as it is kept."""
    return decode_clause(opened(keys.CLAUSES, field, value))


def open_query(field: object, value: bytes) -> QueryRecord:
    """Return a query's record as it is kept."""
    return decode_query(opened(keys.QUERIES, field, value))


def open_expired(field: bytes, value: bytes) -> int:
    """Return when the query under this field expired (µs). Raises IntegrityError if the value is damaged."""
    return decode_expired(opened(keys.EXPIRED, field, value))


def open_stream(field: object, record: bytes, declaration: bytes) -> StreamRecord:
    """Return a stream's record as it and its declaration are kept."""
    declared = opened(keys.DECLARATIONS, field, declaration)
    return decode_stream(opened(keys.STREAMS, field, record), declared)


def open_batch(stream_id: StreamId, field: bytes, value: bytes) -> BatchRecord:
    """Return a batch's record as it is kept."""
    record = opened(keys.batches(stream_id), field, value)
    return decode_batch(stream_id, Seq(int(field)), record)


def _kept(
    cache: Recent[Kept, Record], key: str, kept: Kept, decode: Callable[[bytes], Record]
) -> Record:
    found = cache.get(kept)
    if found is None:
        found = decode(opened(key, *kept))
        cache.put(kept, found)
    return found
