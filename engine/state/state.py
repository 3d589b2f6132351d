"""State(k): everything the fold of operations 1 … k has made. The verbs change it, nothing else does.

Records are what a store keeps as well; SteMs are derived from them and from the tuples, so a restart can make
them again.
"""

import itertools
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from sortedcontainers import SortedSet

from psoup.engine.clauses.grouped_filter import GroupedFilters
from psoup.engine.clauses.query_stem import QuerySteM, is_cheap
from psoup.engine.clauses.stream_clauses import IndexMaker
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.binder import Bind, bind
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.results.composite_ledger import CompositeLedger
from psoup.engine.results.composites import CompositeKey
from psoup.engine.results.delta import (
    BatchRecord,
    ClauseKey,
    ClauseRecord,
    QueryRecord,
    StreamRecord,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.sources.stored_tuples import StoredTuples
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import ClockKind, StreamId, StreamSchema


@dataclass(slots=True)
class StreamState:
    """One stream.

    Attributes:
        record: what is published of it.
        stem: its tuples.
        reader: reads the bodies of its batches.
        row_bytes: what a row counts in `retention.bytes`, texts and added columns aside (`batch_bytes`).
        keeps_by_arrival: retention depends on the time of arrival.
        retained: batches with a row at or above the floor, oldest first; their bytes are the record's.
        retired: batches below the floor that are still held, oldest first.
        leaving: full segments out of retention that are still held, oldest first: (number, arrival time
            of the operation that let it go).
        clauses: clauses over it, in order of registration.
        paged: those that have pages of their own, and in which segments.
    """

    record: StreamRecord
    stem: DataSteM
    reader: BatchReader
    row_bytes: int
    keeps_by_arrival: bool
    retained: deque[BatchRecord] = field(default_factory=deque)
    retired: deque[BatchRecord] = field(default_factory=deque)
    leaving: deque[tuple[int, int]] = field(default_factory=deque)
    clauses: dict[ClauseId, None] = field(default_factory=dict)
    paged: dict[ClauseId, range] = field(default_factory=dict)

    def declare(self, schema: StreamSchema) -> None:
        """Take tuples and keep them as `schema` says from now on; columns it adds are NULL in those held."""
        self.keeps_by_arrival = keeps_by_arrival(schema)
        if schema.columns != self.stem.schema.columns:
            self.stem.add_columns(schema)
            self.reader = BatchReader(schema)

    @property
    def is_settled(self) -> bool:
        """Return whether nothing goes as time passes, until rows come."""
        return not (self.leaving or self.keeps_by_arrival)

    @property
    def open_chunk(self) -> int:
        """Number of the chunk that the next row falls into."""
        return self.record.rows // CHUNK_ROWS

    def check(self) -> None:
        """Assert the invariants of the record against the tuples and the batches."""
        self.stem.check()
        record = self.record
        assert self.stem.schema.columns == self.reader.schema.columns == record.schema.columns
        assert record.rows == self.stem.past_row, "rows are counted once"
        assert record.dropped_row <= record.floor_row <= record.rows, "floors are in order"
        assert record.dropped_row % SEGMENT_ROWS == 0, "whole segments are dropped"
        assert self.stem.first_row <= record.dropped_row or not self.stem.segments
        held = [*self.retired, *self.retained]
        for one, following in itertools.pairwise(held):
            assert one.past_row == following.first_row, "batches follow each other"
        for held_batch in self.retained:
            assert held_batch.past_row > record.floor_row, "a retained batch has a retained row"
        for held_batch in self.retired:
            assert record.dropped_row < held_batch.past_row <= record.floor_row, (
                "held, not retained"
            )
        assert record.bytes == sum(one.bytes for one in self.retained), "bytes are counted"
        assert record.rows == 0 or record.high_water_us is not None


def keeps_by_arrival(schema: StreamSchema) -> bool:
    """Return whether retention depends on the time of arrival."""
    return schema.clock is ClockKind.SERVER and schema.retention.time_us is not None


class StandingClause:
    """A clause and the handles that share it."""

    __slots__ = ("queries", "record")

    def __init__(self, record: ClauseRecord) -> None:
        """Begin without a handle."""
        self.record = record
        self.queries: dict[QueryId, None] = {}


class State:
    """All streams, clauses and queries, and the SteMs they are joined in."""

    def __init__(
        self,
        make_index: IndexMaker = GroupedFilters,
        bind: Bind = bind,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin before the first operation; `bind` makes clauses of the texts that the log keeps.

        Where threads read tuples meanwhile, `make_lock` makes their locks.
        """
        self._make_lock = make_lock
        self.bind = bind
        self.applied = Seq(0)
        self.arrival_us = 0
        self.streams: dict[StreamId, StreamState] = {}
        self.names: dict[str, StreamId] = {}
        self.clauses: dict[ClauseId, StandingClause] = {}
        self.shared: dict[ClauseKey, ClauseId] = {}
        self.queries: dict[QueryId, QueryRecord] = {}
        self.expiring: SortedSet[tuple[int, QueryId]] = SortedSet()
        """Queries with a time to live, by when it is over (µs)."""
        self.expired: SortedSet[tuple[int, QueryId]] = SortedSet()
        """Queries that are remembered to have expired, by when that was (µs)."""
        self.query_stem = QuerySteM(make_index)
        self.composites = CompositeLedger()
        self.tuples = StoredTuples()
        self.unsettled: set[StreamId] = set()
        """Streams that retention looks at with the next operation: those with fresh rows, and those not settled."""
        self.going: list[tuple[StreamId, int | None]] = []
        """Tuples dropped and still held: of a stream those below a row, or all of them (None)."""

    def hold_stream(self, record: StreamRecord) -> StreamState:
        """Add a stream; its first row to come is `record.dropped_row`."""
        schema = record.schema
        stem = DataSteM(schema, first_row=record.dropped_row, guard=self._make_lock())
        stream = StreamState(
            record,
            stem,
            BatchReader(schema),
            row_bytes=schema.row_bytes,
            keeps_by_arrival=keeps_by_arrival(schema),
        )
        self.streams[record.stream_id] = stream
        self.unsettled.add(record.stream_id)
        self.names[record.schema.name] = record.stream_id
        self.tuples.hold(record.stream_id, stem)
        return stream

    def hold_clause(self, record: ClauseRecord) -> StandingClause:
        """Add a clause that has no handle yet; its SteM is the eddy's to fill."""
        standing = StandingClause(record)
        self.clauses[record.clause_id] = standing
        self.shared[standing.record.key] = record.clause_id
        paged = record.paged_segments
        for stream_id in record.streams:
            stream = self.streams[stream_id]
            stream.clauses[record.clause_id] = None
            if paged:
                stream.paged[record.clause_id] = paged
        return standing

    def hold_query(self, record: QueryRecord) -> None:
        """Add a handle to a clause that is held, or give one another record; its streams' records count it."""
        self._await_expiry(self.queries.get(record.query_id), record)
        self.queries[record.query_id] = record
        self.clauses[record.clause_id].queries[record.query_id] = None

    def release_query(self, query_id: QueryId) -> ClauseId | None:
        """Take a handle out; return its clause if that went with it, None if others share it."""
        query = self.queries.pop(query_id)
        self._await_expiry(query, None)
        clause_id = query.clause_id
        standing = self.clauses[clause_id]
        del standing.queries[query_id]
        if standing.queries:
            return None
        del self.clauses[clause_id]
        del self.shared[standing.record.key]
        self.query_stem.evict(clause_id)
        for stream_id in dict.fromkeys(standing.record.streams):
            del self.streams[stream_id].clauses[clause_id]
            self.streams[stream_id].paged.pop(clause_id, None)
        return clause_id

    def _await_expiry(self, before: QueryRecord | None, after: QueryRecord | None) -> None:
        """Bring `expiring` up to date where the record `before` gives way to `after`."""
        if before is not None and before.expires_us is not None:
            self.expiring.discard((before.expires_us, before.query_id))
        if after is not None and after.expires_us is not None:
            self.expiring.add((after.expires_us, after.query_id))

    def held_from(self, stream_id: StreamId) -> int:
        """Return the first row of a stream that is held: the same in every fold of the same log."""
        return self.streams[stream_id].record.dropped_row

    def drop_composites(self, record: ClauseRecord) -> list[CompositeKey]:
        """Forget the composites of a clause that meets tuples no more; return the pages that go with it."""
        if record.join is None:
            return []
        group = record.join.group
        gone = self.composites.own(group, record.clause_id, len(record.streams))
        if all(one.group_id != group for one in self.query_stem.groups):
            gone += self.composites.all(group)
        return gone

    def release_stream(self, stream_id: StreamId) -> None:
        """Take a stream without clauses out of everything."""
        stream = self.streams.pop(stream_id)
        assert not stream.clauses, "clauses go before their streams"
        del self.names[stream.record.schema.name]
        self.unsettled.discard(stream_id)
        self.going.append((stream_id, None))

    def let_go(self) -> None:
        """Hold dropped tuples no longer; without any, does nothing."""
        for stream_id, below_row in self.going:
            if below_row is None:
                self.tuples.release(stream_id)
            else:
                self.tuples[stream_id].evict(below_row)
        self.going.clear()

    def check(self) -> None:
        """Assert that records, SteMs and handles agree. O(everything), for tests."""
        self.query_stem.check()
        kept = [c for c in self.clauses.values() if is_kept(c.record)]
        assert self.query_stem.statistics().clauses == len(kept)
        joined = {c.record.clause_id: c.record.join for c in kept if c.record.join is not None}
        self.composites.check({clause_id: join.group for clause_id, join in joined.items()})
        assert self.names == {s.record.schema.name: i for i, s in self.streams.items()}
        assert self.shared == {standing.record.key: i for i, standing in self.clauses.items()}
        for stream_id, stream in self.streams.items():
            stream.check()
            assert stream.is_settled or stream_id in self.unsettled, "retention overlooks no stream"
            assert stream_id == stream.record.stream_id
            assert self.tuples[stream_id] is stream.stem
            readers = [i for i, c in self.clauses.items() if stream_id in c.record.streams]
            assert sorted(readers) == sorted(stream.clauses), "a stream knows its clauses"
            handles = sum(len(self.clauses[clause_id].queries) for clause_id in readers)
            assert handles == stream.record.queries, "a stream counts its queries"
        for clause_id, standing in self.clauses.items():
            assert clause_id == standing.record.clause_id
            assert standing.queries, "a clause goes with its last handle"
        for query_id, query in self.queries.items():
            assert query_id in self.clauses[query.clause_id].queries, "a query has its clause"
        expiring = {(q.expires_us, i) for i, q in self.queries.items() if q.expires_us is not None}
        assert expiring == set(self.expiring), "a query is known to expire"
        assert all((q.ttl_us is None) is (q.expires_us is None) for q in self.queries.values())
        assert len(self.queries) == sum(len(c.queries) for c in self.clauses.values())


def is_kept(record: ClauseRecord) -> bool:
    """Return whether a clause meets tuples as they come."""
    if len(record.streams) > 1:
        return record.join is not None and record.join.suspended is None
    return record.materialize is not Materialize.NONE


def first_kept_row(
    stream: StreamState, clause: StandingQueryClause, materialize: Materialize
) -> int:
    """Return the row from which on hits of a fresh clause are kept.

    With `auto` a cheap clause meets old data at its invocations only: a scan is as fast then, and of 100,000 clauses
    few are invoked at once. Other clauses begin with the chunk of the first retained row, the whole chunk, so that a
    page depends on its clause and its chunk alone.
    """
    nothing = materialize is Materialize.NONE
    if nothing or (materialize is Materialize.AUTO and is_cheap(clause)):
        return stream.open_chunk * CHUNK_ROWS
    return stream.record.floor_row // CHUNK_ROWS * CHUNK_ROWS
