"""`memory://`: both contracts inside the process, nothing kept. Also the model other stores are
compared with.

One lock for everything: an append, a publish and each read are one step.
"""  # noqa: D205

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence

from engine import limits
from engine.clock import Clock
from engine.errors import EngineError
from engine.log.contract import Appended, LogStatistics
from engine.log.operation import Content, Operation, QueryId, Rows
from engine.results.contract import Checkpoint, Counts, Cut, Gen, ResultsStatistics, Snapshot
from engine.results.delta import BatchRecord, ClauseRecord, Delta, QueryRecord, StreamRecord
from engine.results.hits import ClauseId
from engine.results.page import Page
from engine.tuples.batch import Seq, TupleId
from engine.tuples.schema import StreamId
from storage import refusals
from storage.catalogue import Catalogue
from storage.invariants import check_records
from storage.store import Durability, StoreHealth


class MemoryStore:
    """A store that lives as long as the process."""

    def __init__(self, clock: Clock) -> None:
        """Begin an empty history at the clock's present instant."""
        lock = threading.RLock()
        self._log = MemoryLog(clock, lock)
        self._results = MemoryResults(clock, lock, self._log)

    @property
    def log(self) -> "MemoryLog":
        """The log."""
        return self._log

    @property
    def results(self) -> "MemoryResults":
        """The Results Structure."""
        return self._results

    @property
    def durability(self) -> Durability:
        """MEMORY: nothing outlives the process."""
        return Durability.MEMORY

    def health(self) -> StoreHealth:
        """Return a healthy store without bounds of its own."""
        return StoreHealth()

    def reopen(self) -> None:
        """Do nothing: it cannot have been away."""

    def close(self) -> None:
        """Do nothing: the memory goes with the last reference."""


class MemoryLog:
    """The Log in the process."""

    def __init__(self, clock: Clock, lock: threading.RLock) -> None:
        """Begin before the first operation."""
        self._clock = clock
        self._lock = lock
        self._catalogue = Catalogue()
        self._entries: dict[Seq, Operation] = {}
        self._head = Seq(0)
        self._applied = Seq(0)
        self._arrival_us = 0
        self._next_tuple_id = TupleId(1)
        self._bytes = 0
        self._unapplied_bytes = 0
        self._controls_from = Seq(1)
        self._appended = 0
        self._duplicates = 0

    def append(self, content: Content) -> Appended:
        """Append one operation, or refuse it and change nothing (`Log.append`)."""
        with self._lock:
            original = self._catalogue.admit(content)
            if original is not None:
                self._duplicates += 1
                return Appended(
                    original.seq, self._arrival_us, duplicate=True, query_id=original.query_id
                )
            if (
                self._head - self._applied >= limits.BACKLOG_OPERATIONS_MAX
                or self._unapplied_bytes >= limits.BACKLOG_BYTES_MAX
            ):
                raise refusals.backlog_full()
            seq = Seq(self._head + 1)
            self._arrival_us = max(self._arrival_us, self._clock.now_us())
            operation = Operation(seq, self._arrival_us, self._next_tuple_id, content)
            self._entries[seq] = operation
            self._bytes += body_bytes(content)
            self._unapplied_bytes += body_bytes(content)
            if isinstance(content, Rows):
                self._next_tuple_id = TupleId(self._next_tuple_id + content.rows)
            self._catalogue.enter(seq, content)
            self._appended += 1
            self._head = seq
            return Appended(seq, self._arrival_us)

    def append_many(self, contents: Sequence[Content]) -> Sequence[Appended | EngineError]:
        """Append operations in one step, each stored or refused by itself (`Log.append_many`)."""
        with self._lock:
            return [self._outcome(content) for content in contents]

    def head(self) -> Seq:
        """Return the largest seq."""
        return self._head

    def read(self, after: Seq, *, operations_max: int, bytes_max: int) -> Sequence[Operation]:
        """Return the operations after `after` (`Log.read`)."""
        with self._lock:
            found: list[Operation] = []
            size = 0
            for seq in range(after + 1, min(after + operations_max, self._head) + 1):
                operation = self._entries.get(Seq(seq))
                if operation is None:
                    break
                size += body_bytes(operation.content)
                if found and size > bytes_max:
                    break
                found.append(operation)
            if not found and after < self._head:
                raise refusals.read_across_trimmed(after=after)
            return found

    def read_at(self, seqs: Sequence[Seq]) -> Iterator[Operation]:
        """Yield the operations at `seqs`; KeyError where one has been trimmed."""
        for seq in seqs:
            with self._lock:
                operation = self._entries[seq]
            yield operation

    def held_batches(self, up_to: Seq) -> Sequence[Seq]:
        """Return the seqs of the batches up to `up_to` that are not forgotten, ascending."""
        with self._lock:
            return sorted(
                seq
                for seq, held in self._entries.items()
                if seq <= up_to and isinstance(held.content, Rows)
            )

    def trim(self, *, batches: Sequence[Seq], below: Seq) -> None:
        """Forget batches, and control entries below `below` (`Log.trim`)."""
        with self._lock:
            last = max([*batches, Seq(below - 1)])
            if last > self._applied:
                raise refusals.trim_past_applied(applied=self._applied, seq=last)
            for seq in batches:
                self._forget(seq)
            for number in range(self._controls_from, below):
                seq = Seq(number)
                held = self._entries.get(seq)
                if held is not None and not isinstance(held.content, Rows):
                    self._forget(seq)
            self._controls_from = max(self._controls_from, below)

    def statistics(self) -> LogStatistics:
        """Return counters."""
        with self._lock:
            return LogStatistics(
                self._head, len(self._entries), self._bytes, self._appended, self._duplicates
            )

    def check(self) -> None:
        """Assert the log's invariants."""
        with self._lock:
            self._catalogue.check()
            operations = [self._entries[seq] for seq in sorted(self._entries)]
            for before, after in itertools.pairwise(operations):
                assert before.arrival_us <= after.arrival_us, "arrival times never decrease"
                assert before.first_tuple_id <= after.first_tuple_id
            assert all(seq == held.seq for seq, held in self._entries.items())
            assert self._applied <= self._head
            unapplied = [held for held in operations if held.seq > self._applied]
            assert len(unapplied) == self._head - self._applied, "only applied entries are trimmed"
            assert self._unapplied_bytes == sum(body_bytes(held.content) for held in unapplied)
            assert self._bytes == sum(body_bytes(held.content) for held in operations)

    def move_applied(self, applied: Seq) -> None:
        """Take note that operations up to `applied` are published. Called under the lock."""
        for seq in range(self._applied + 1, applied + 1):
            self._unapplied_bytes -= body_bytes(self._entries[Seq(seq)].content)
        self._applied = applied

    def _outcome(self, content: Content) -> Appended | EngineError:
        try:
            return self.append(content)
        except EngineError as refusal:
            return refusal

    def _forget(self, seq: Seq) -> None:
        operation = self._entries.pop(seq, None)
        if operation is not None:
            self._bytes -= body_bytes(operation.content)


class MemoryResults:
    """The Results Structure in the process."""

    def __init__(self, clock: Clock, lock: threading.RLock, log: MemoryLog) -> None:
        """Begin before the first operation."""
        self._clock = clock
        self._lock = lock
        self._log = log
        self._gen = Gen(clock.now_us() // 1_000)
        self._applied = Seq(0)
        self._arrival_us = 0
        self._streams: dict[StreamId, StreamRecord] = {}
        self._clauses: dict[ClauseId, ClauseRecord] = {}
        self._queries: dict[QueryId, QueryRecord] = {}
        self._batches: dict[StreamId, dict[Seq, BatchRecord]] = {}
        self._pages: dict[ClauseId, dict[int, Page]] = {}
        self._publishes = 0
        self._pages_written = 0
        self._page_bytes_written = 0
        self._reads = 0

    def publish(self, delta: Delta) -> None:
        """Apply the delta atomically (`ResultsStructure.publish`)."""
        with self._lock:
            if delta.expect != self._applied:
                raise refusals.publish_out_of_order(applied=self._applied, expect=delta.expect)
            if delta.seq > self._log.head():
                raise refusals.publish_past_head(head=self._log.head(), seq=delta.seq)
            self._write(delta)
            self._drop(delta)
            self._applied = delta.seq
            self._arrival_us = delta.arrival_us
            self._log.move_applied(delta.seq)
            self._publishes += 1
            self._pages_written += len(delta.pages)
            self._page_bytes_written += sum(page.nbytes for page in delta.pages.values())

    def cut(self) -> Cut:
        """Return the present position."""
        with self._lock:
            now_us = max(self._clock.now_us(), self._arrival_us)
            return Cut(self._gen, self._applied, self._arrival_us, now_us)

    def snapshot(self, query_id: QueryId) -> Snapshot:
        """Return one query at one cut; NotFoundError if it is not standing."""
        with self._lock:
            self._reads += 1
            query = self._query(query_id)
            clause = self._clauses[query.clause_id]
            streams = tuple(self._streams[stream_id] for stream_id in clause.streams)
            return Snapshot(self.cut(), query, clause, streams)

    def pages(self, clause_id: ClauseId, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return the clause's pages among `chunks`."""
        with self._lock:
            self._reads += 1
            held = self._pages.get(clause_id, {})
            return {chunk: held[chunk] for chunk in chunks if chunk in held}

    def streams(self) -> Sequence[StreamRecord]:
        """Return all streams, ascending by name."""
        with self._lock:
            return sorted(self._streams.values(), key=lambda record: record.schema.name)

    def stream(self, name: str) -> StreamRecord:
        """Return the stream in force under this name; NotFoundError if there is none."""
        for record in self.streams():
            if record.schema.name == name:
                return record
        raise refusals.stream_not_found()

    def queries(self) -> Sequence[QueryRecord]:
        """Return all standing queries, ascending by seq."""
        with self._lock:
            return sorted(self._queries.values(), key=lambda record: record.seq)

    def query(self, query_id: QueryId) -> QueryRecord:
        """Return one standing query; NotFoundError if there is none."""
        with self._lock:
            return self._query(query_id)

    def readers(self, stream_id: StreamId) -> Sequence[QueryRecord]:
        """Return the standing queries that read this stream, ascending by seq."""
        with self._lock:
            return [
                query
                for query in self.queries()
                if stream_id in self._clauses[query.clause_id].streams
            ]

    def counts(self) -> Counts:
        """Return how many streams and queries there are."""
        with self._lock:
            return Counts(len(self._streams), len(self._queries))

    def checkpoint(self) -> Checkpoint:
        """Return everything but the pages."""
        with self._lock:
            return Checkpoint(
                cut=self.cut(),
                streams=tuple(self.streams()),
                clauses=tuple(self._clauses[clause_id] for clause_id in sorted(self._clauses)),
                queries=tuple(self.queries()),
                batches=tuple(
                    self._batches[stream_id][seq]
                    for stream_id in sorted(self._batches)
                    for seq in sorted(self._batches[stream_id])
                ),
            )

    def statistics(self) -> ResultsStatistics:
        """Return counters."""
        with self._lock:
            return ResultsStatistics(
                self._publishes, self._pages_written, self._page_bytes_written, self._reads
            )

    def check(self) -> None:
        """Assert that records and pages refer to each other."""
        with self._lock:
            pages = ((clause_id, n) for clause_id, held in self._pages.items() for n in held)
            check_records(self.checkpoint(), pages)

    def _query(self, query_id: QueryId) -> QueryRecord:
        record = self._queries.get(query_id)
        if record is None:
            raise refusals.query_not_found()
        return record

    def _write(self, delta: Delta) -> None:
        self._streams.update(delta.streams)
        self._clauses.update(delta.clauses)
        self._queries.update(delta.queries)
        for (stream_id, seq), batch in delta.batches.items():
            self._batches.setdefault(stream_id, {})[seq] = batch
        for (clause_id, chunk), page in delta.pages.items():
            self._pages.setdefault(clause_id, {})[chunk] = page

    def _drop(self, delta: Delta) -> None:
        for stream_id in delta.dropped_streams:
            self._streams.pop(stream_id, None)
            self._batches.pop(stream_id, None)
        for clause_id in delta.dropped_clauses:
            self._clauses.pop(clause_id, None)
            self._pages.pop(clause_id, None)
        for query_id in delta.dropped_queries:
            self._queries.pop(query_id, None)
        for stream_id, seq in delta.dropped_batches:
            self._batches.get(stream_id, {}).pop(seq, None)
        for clause_id, chunk in delta.dropped_chunks:
            self._pages.get(clause_id, {}).pop(chunk, None)


def body_bytes(content: Content) -> int:
    """Return what an operation counts in the log's bytes: its body; only batches have one."""
    return len(content.body) if isinstance(content, Rows) else 0
