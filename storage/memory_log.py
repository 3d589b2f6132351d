"""The Log of `memory://`: a dictionary of operations."""

import itertools
import threading
from collections.abc import Iterator, Sequence

from engine import limits
from engine.clock import Clock
from engine.errors import EngineError
from engine.log.contract import Appended, LogStatistics
from engine.log.operation import Content, Operation, Rows
from engine.tuples.batch import Seq, TupleId
from storage import refusals
from storage.catalogue import Catalogue


class MemoryLog:
    """The Log in the process."""

    def __init__(self, clock: Clock) -> None:
        """Begin before the first operation."""
        self._clock = clock
        self.lock = threading.RLock()
        """Held for every step, and for a publish, which is a step of the log as well."""
        self._catalogue = Catalogue()
        self._entries: dict[int, Operation] = {}
        """By seq."""
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
        with self.lock:
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
            if isinstance(content, Rows):
                self._bytes += len(content.body)
                self._unapplied_bytes += len(content.body)
                self._next_tuple_id = TupleId(self._next_tuple_id + content.rows)
            self._catalogue.enter(seq, content)
            self._appended += 1
            self._head = seq
            return Appended(seq, self._arrival_us)

    def append_many(self, contents: Sequence[Content]) -> Sequence[Appended | EngineError]:
        """Append operations in one step, each stored or refused by itself (`Log.append_many`)."""
        with self.lock:
            return [self._outcome(content) for content in contents]

    def head(self) -> Seq:
        """Return the largest seq."""
        return self._head

    def read(self, after: Seq, *, operations_max: int, bytes_max: int) -> Sequence[Operation]:
        """Return the operations after `after` (`Log.read`)."""
        with self.lock:
            found: list[Operation] = []
            size = 0
            for seq in range(after + 1, min(after + operations_max, self._head) + 1):
                operation = self._entries.get(seq)
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
            with self.lock:
                operation = self._entries[seq]
            yield operation

    def held_batches(self, up_to: Seq) -> Sequence[Seq]:
        """Return the seqs of the batches up to `up_to` that are not forgotten, ascending."""
        with self.lock:
            return sorted(
                held.seq
                for held in self._entries.values()
                if held.seq <= up_to and isinstance(held.content, Rows)
            )

    def trim(self, *, batches: Sequence[Seq], below: Seq) -> None:
        """Forget batches, and control entries below `below` (`Log.trim`)."""
        with self.lock:
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
        with self.lock:
            return LogStatistics(
                self._head, len(self._entries), self._bytes, self._appended, self._duplicates
            )

    def check(self) -> None:
        """Assert the log's invariants."""
        with self.lock:
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

    @property
    def unapplied_bytes(self) -> int:
        """Return the bytes of bodies that wait to be applied."""
        return self._unapplied_bytes

    def move_applied(self, applied: Seq) -> None:
        """Take note that operations up to `applied` are published. Called under the lock."""
        for seq in range(self._applied + 1, applied + 1):
            self._unapplied_bytes -= body_bytes(self._entries[seq].content)
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


def body_bytes(content: Content) -> int:
    """Return what an operation counts in the log's bytes: its body; only batches have one."""
    return len(content.body) if isinstance(content, Rows) else 0
