"""The Log of `memory://`: a dictionary of operations."""

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence

from psoup.engine import limits
from psoup.engine.clock import Clock
from psoup.engine.errors import EngineError
from psoup.engine.log.contract import Appended, LoggedBatch, LogStatistics
from psoup.engine.log.operation import (
    Commit,
    Content,
    Drop,
    Expire,
    Operation,
    Remove,
    Rows,
    Staged,
    StageId,
    Txn,
    sum_digests,
)
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId
from psoup.storage import refusals
from psoup.storage.memory.catalogue import MemoryCatalogue
from psoup.storage.memory.histories import MemoryHistories
from psoup.storage.memory.staged_parts import KeptPart, StagedParts


class MemoryLog:
    """The Log in the process."""

    def __init__(self, clock: Clock, *, streams_max: int = limits.STREAMS_COUNT_MAX) -> None:
        """Begin before the first operation; `streams_max` as for `open_store`."""
        self._clock = clock
        self.lock = threading.RLock()
        """Held for every step, and for a publish, which is a step of the log as well."""
        self._catalogue = MemoryCatalogue(streams_max=streams_max)
        self._staged = StagedParts()
        self.histories = MemoryHistories(clock, self.lock, self._catalogue.is_standing)
        """Beside the log: a query that is removed takes its own along."""
        self._holds: dict[StreamId, Seq] = {}
        self._trimmed: dict[StreamId, Seq] = {}
        """Of streams in force: the largest seq of a batch with rows that was trimmed."""
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
            now_us = self._now_us()
            original = self._catalogue.admit(content, now_us)
            if original is not None:
                self._duplicates += 1
                return Appended(
                    original.seq,
                    self._arrival_us,
                    duplicate=True,
                    query_id=original.query_id,
                    replayed=original.replayed,
                )
            self._find_room()
            first_tuple_id = self._next_tuple_id
            seq = self._enter(content, now_us)
            self._catalogue.enter(seq, content, now_us)
            if isinstance(content, Drop):
                self._holds.pop(content.stream_id, None)
                self._trimmed.pop(content.stream_id, None)
            if isinstance(content, Drop | Remove | Expire):
                self.histories.sweep()
            return Appended(seq, self._arrival_us, first_tuple_id=first_tuple_id)

    def append_many(self, contents: Sequence[Content]) -> Sequence[Appended | EngineError]:
        """Append operations in one step, each stored or refused by itself (`Log.append_many`)."""
        with self.lock:
            return [self._outcome(content) for content in contents]

    def append_at_once(self, content: Content) -> Appended | EngineError | None:
        """Append one operation, unless another thread is at a step of the log (`Log.append_at_once`)."""
        if not self.lock.acquire(blocking=False):
            return None
        try:
            return self._outcome(content)
        finally:
            self.lock.release()

    def stage(self, part: Staged) -> int:
        """Keep a part for a commit to come (`Log.stage`)."""
        with self.lock:
            now_us = self._swept()
            known = self._staged.known(part.stage_id)
            if known is not None:
                return known.expires_us
            if not self._catalogue.in_force(part.name, part.stream_id, part.declared):
                raise refusals.stale_declaration()
            return self._staged.add(part, now_us)

    def commit(self, commit: Commit) -> Appended:
        """Append the parts of a commit, or refuse them and change nothing (`Log.commit`)."""
        with self.lock:
            now_us = self._swept()
            parts = self._parts(commit, now_us)
            txns = _txns(commit, parts)
            marked = {kept.part.stream_id: kept.seq for kept in parts if kept.version is not None}
            rows = dict.fromkeys(txns, 0)
            for kept in parts:
                rows[kept.part.stream_id] += kept.part.rows
            original = self._catalogue.admit_commit(txns, rows, marked)
            if original is not None:
                self._staged.mark(commit, original.seq)
                self._duplicates += 1
                return Appended(original.seq, self._arrival_us, duplicate=True)
            self._find_room()
            for left, kept in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
                self._enter(_rows(kept.part, txns[kept.part.stream_id], more=left > 0), now_us)
            self._catalogue.enter_commit(self._head, txns, rows)
            self._staged.mark(commit, self._head)
            return Appended(self._head, now_us, rows=sum(rows.values()))

    def discard(self, stage_id: StageId) -> None:
        """Forget a part (`Log.discard`)."""
        with self.lock:
            self._swept()
            self._staged.discard(stage_id)

    def head(self) -> Seq:
        """Return the largest seq."""
        with self.lock:  # a commit is entered piece by piece
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

    def controls(self, after: Seq, up_to: Seq) -> Sequence[Operation]:
        """Return the operations past `after`, up to `up_to`, that are no batches (`Log.controls`)."""
        with self.lock:
            found = map(self._entries.get, range(after + 1, up_to + 1))
            return [one for one in found if one is not None and not isinstance(one.content, Rows)]

    def held_batches(self, up_to: Seq) -> Sequence[Seq]:
        """Return the seqs of the batches up to `up_to` that are not forgotten, ascending."""
        with self.lock:
            return sorted(
                held.seq
                for held in self._entries.values()
                if held.seq <= up_to and isinstance(held.content, Rows)
            )

    def batches_of(
        self, stream_id: StreamId, *, after: Seq, up_to: Seq, limit: int | None = None
    ) -> Sequence[LoggedBatch]:
        """Return a stream's batches that are in the log (`Log.batches_of`)."""
        with self.lock:
            found = [
                LoggedBatch(held.seq, len(held.content.body))
                for held in self._entries.values()
                if after < held.seq <= up_to
                and isinstance(held.content, Rows)
                and held.content.stream_id == stream_id
            ]
        return found[:limit]

    def trimmed_through(self, stream_id: StreamId) -> Seq:
        """Return the largest seq of a batch with rows that was trimmed (`Log.trimmed_through`)."""
        with self.lock:
            return self._trimmed.get(stream_id, Seq(0))

    def hold(self, stream_id: StreamId, through: Seq) -> Seq:
        """Keep a stream's batches past `through` from being trimmed (`Log.hold`)."""
        with self.lock:
            if not self._catalogue.is_declared(stream_id):
                raise refusals.stream_not_found()
            if through > self._head:
                raise refusals.hold_past_head(head=self._head, through=through)
            held = self._holds[stream_id] = max(through, self._holds.get(stream_id, Seq(0)))
            return held

    def unhold(self, stream_id: StreamId) -> None:
        """Let a stream's batches go (`Log.unhold`)."""
        with self.lock:
            self._holds.pop(stream_id, None)

    def holds(self) -> Mapping[StreamId, Seq]:
        """Return the streams that are held, and through where."""
        with self.lock:
            return dict(self._holds)

    def trim(self, *, batches: Sequence[Seq], below: Seq) -> Mapping[StreamId, Sequence[Seq]]:
        """Forget batches, and control entries below `below` (`Log.trim`)."""
        kept: dict[StreamId, list[Seq]] = {}
        with self.lock:
            last = max([*batches, Seq(below - 1)])
            if last > self._applied:
                raise refusals.trim_past_applied(applied=self._applied, seq=last)
            self._swept()
            self.histories.sweep()
            for seq in sorted(set(batches)):
                stream_id = self._holder(seq)
                if stream_id is None:
                    self._forget(seq)
                else:
                    kept.setdefault(stream_id, []).append(seq)
            for number in range(self._controls_from, below):
                seq = Seq(number)
                held = self._entries.get(seq)
                if held is not None and not isinstance(held.content, Rows):
                    self._forget(seq)
            self._controls_from = max(self._controls_from, below)
        return kept

    def statistics(self) -> LogStatistics:
        """Return counters."""
        with self.lock:
            return LogStatistics(
                self._head,
                len(self._entries),
                self._bytes,
                self._appended,
                self._duplicates,
                self._staged.nbytes,
            )

    def check(self) -> None:
        """Assert the log's invariants."""
        with self.lock:
            self._catalogue.check()
            self._staged.check()
            self.histories.check()
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
            for before, after in itertools.pairwise(operations):
                if isinstance(before.content, Rows) and before.content.more:
                    assert before.arrival_us == after.arrival_us or after.seq > before.seq + 1
            last = self._entries.get(self._head)
            if last is not None and isinstance(last.content, Rows):
                assert not last.content.more, "a commit is whole"
            of = (*self._holds, *self._trimmed)
            assert all(map(self._catalogue.is_declared, of)), (
                "what is kept of a stream ends with it"
            )
            assert all(seq <= self._applied for seq in self._trimmed.values())

    @property
    def arrival_us(self) -> int:
        """Return when the last operation arrived."""
        return self._arrival_us

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

    def _now_us(self) -> int:
        """Return the clock, which stops at the last arrival where it was set back."""
        return max(self._arrival_us, self._clock.now_us())

    def _swept(self) -> int:
        """Forget some expired parts; return the time that parts live by."""
        now_us = self._now_us()
        self._staged.sweep(now_us)
        return now_us

    def _parts(self, commit: Commit, now_us: int) -> list[KeptPart]:
        """Return the parts of a commit, marks of its own included. Raises where one is not there for it."""
        parts = [
            kept if kept is not None and self._counts(kept) else None
            for kept in self._staged.of(commit, now_us)
        ]
        missing = [one for one, kept in zip(commit.stages, parts, strict=True) if kept is None]
        if missing:
            raise refusals.stage_missing(missing)
        found = [kept for kept in parts if kept is not None]
        if sum(len(kept.part.body) for kept in found) > limits.COMMIT_BYTES_MAX:
            raise refusals.commit_too_large()
        return found

    def _counts(self, kept: KeptPart) -> bool:
        part = kept.part
        return kept.version is not None or self._catalogue.in_force(part.name, part.stream_id)

    def _find_room(self) -> None:
        """Raise OverloadedError where the backlog is full."""
        if (
            self._head - self._applied >= limits.BACKLOG_OPERATIONS_MAX
            or self._unapplied_bytes >= limits.BACKLOG_BYTES_MAX
        ):
            raise refusals.backlog_full()

    def _enter(self, content: Content, now_us: int) -> Seq:
        """Make `content` the next entry; return its seq."""
        seq = Seq(self._head + 1)
        self._arrival_us = now_us
        self._entries[seq] = Operation(seq, now_us, self._next_tuple_id, content)
        if isinstance(content, Rows):
            self._bytes += len(content.body)
            self._unapplied_bytes += len(content.body)
            self._next_tuple_id = TupleId(self._next_tuple_id + content.rows)
        self._appended += 1
        self._head = seq
        return seq

    def _holder(self, seq: Seq) -> StreamId | None:
        """Return the stream whose hold keeps this entry, None = nothing does."""
        held = self._entries.get(seq)
        if held is None or not isinstance(held.content, Rows):
            return None
        stream_id = held.content.stream_id
        through = self._holds.get(stream_id)
        return stream_id if through is not None and seq > through else None

    def _forget(self, seq: Seq) -> None:
        operation = self._entries.pop(seq, None)
        if operation is None:
            return
        self._bytes -= body_bytes(operation.content)
        content = operation.content
        if isinstance(content, Rows) and content.rows:
            stream_id = content.stream_id
            if self._catalogue.is_declared(stream_id):
                self._trimmed[stream_id] = max(seq, self._trimmed.get(stream_id, Seq(0)))


def body_bytes(content: Content) -> int:
    """Return what an operation counts in the log's bytes: its body; only batches have one."""
    return len(content.body) if isinstance(content, Rows) else 0


def _txns(commit: Commit, parts: Sequence[KeptPart]) -> dict[StreamId, Txn]:
    """Return the version of each stream that a commit has parts of, in the order of the parts."""
    digests: dict[StreamId, list[bytes]] = {}
    for kept in parts:
        digests.setdefault(kept.part.stream_id, []).append(kept.part.digest)
    return {
        stream_id: Txn(commit.app, commit.version, sum_digests(listed))
        for stream_id, listed in digests.items()
    }


def _rows(part: Staged, txn: Txn, *, more: bool) -> Rows:
    return Rows(part.stream_id, part.name, part.rows, part.body, txn, more)
