"""The Log in Redis: one stream entry per operation, id `seq-0`. Appends are one Function call each."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.log.contract import Appended, LoggedBatch, LogStatistics
from psoup.engine.log.operation import Commit, Content, Operation, Staged, StageId
from psoup.engine.store.errors import CommitUnknownError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys, refusals
from psoup.storage.redis.calls.append import Append, append_call, append_of, calls_of, read_answer
from psoup.storage.redis.calls.client import (
    Argument,
    Command,
    RedisClient,
)
from psoup.storage.redis.calls.commit import (
    commit_call,
    discard_call,
    look_commands,
    part_call,
    read_commit,
    read_expiry,
)
from psoup.storage.redis.calls.entries import fetch_entries, fetch_operations
from psoup.storage.redis.calls.tidy import scan_hash
from psoup.storage.redis.calls.write_token import WriteToken
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.fsck.check import check_log

TRIMMED_PER_CALL: Final = 500
"""Batches forgotten by one Function call: a call holds every other client up."""
APPENDED_TOGETHER: Final = 1_000
"""Operations of one exchange: the server takes other clients' calls in between, and answers at its end."""
SEQS_PER_LOOK: Final = 5_000
"""Positions asked at once whose batches they have."""


class RedisLog:
    """The Log in Redis. Any number of threads and processes may append."""

    def __init__(
        self,
        client: RedisClient,
        known: ClusterMemory | None = None,
        token: WriteToken | None = None,
        *,
        admit: Callable[[], object] = lambda: None,
        streams_max: int = limits.STREAMS_COUNT_MAX,
    ) -> None:
        """Use a store.

        Args:
            client: connections to it.
            known: is told of every committed seq.
            token: the right to trim; who has none only appends and reads.
            admit: asked before each append; raises where this process is not to append.
            streams_max: as for `open_store`.
        """
        self._client = client
        self._known = known
        self._token = token
        self._admit = admit
        self._streams_max = streams_max
        self._lock = threading.Lock()
        self._appended = 0
        self._duplicates = 0

    def append(self, content: Content) -> Appended:
        """Append one operation, or refuse it and change nothing (`Log.append`).

        Raises:
            CommitUnknownError: the answer was lost or cannot be read; everything else is definite.
            StoreUnavailableError, RecoveringError, StoreFullError: nothing was stored.
        """
        (outcome,) = self.append_many([content])
        if isinstance(outcome, EngineError):
            raise outcome
        return outcome

    def append_many(self, contents: Sequence[Content]) -> Sequence[Appended | EngineError]:
        """Append operations, each stored or refused by itself (`Log.append_many`).

        Raises what `append` does. CommitUnknownError also where the store fails amid them: then some
        are stored and some are not.

        Cost: one round trip for APPENDED_TOGETHER operations or PUBLISH_BYTES_MAX of them.
        """
        outcomes: list[Appended | EngineError] = []
        for part in _parts(contents, self._streams_max):
            try:
                outcomes += self._append_together(part)
            except EngineError as error:
                if not outcomes:
                    raise
                outcomes += [error] * len(part)
                outcomes += [_not_sent(error)] * (len(contents) - len(outcomes))
                break
        return outcomes

    def append_at_once(self, content: Content) -> None:
        """Return None: whatever is appended waits for the server (`Log.append_at_once`)."""

    def stage(self, part: Staged) -> int:
        """Keep a part for a commit to come (`Log.stage`).

        Raises:
            StoreUnavailableError, RecoveringError, StoreFullError: it may be there, and counts for nothing.
        """
        self._admit()
        return read_expiry(self._client.call(*part_call(part)))

    def commit(self, commit: Commit) -> Appended:
        """Append the parts of a commit, or refuse them and change nothing (`Log.commit`).

        Raises:
            CommitUnknownError: the answer was lost or cannot be read; everything else is definite.
            StoreUnavailableError, RecoveringError, StoreFullError: nothing was stored.

        Cost: two round trips; bodies stay in the server.
        """
        assert len(set(commit.stages)) == len(commit.stages) > 0
        self._admit()
        looked = self._client.fetch(look_commands(commit))
        function, key_names, arguments = commit_call(commit, looked)
        answer = self._client.call(function, key_names, arguments, lost=CommitUnknownError)
        appended = read_commit(answer)
        self._count([appended], entries=len(commit.stages))
        return appended

    def discard(self, stage_id: StageId) -> None:
        """Forget a part (`Log.discard`)."""
        self._admit()
        self._client.call(*discard_call(stage_id))

    def head(self) -> Seq:
        """Return the largest seq."""
        return Seq(int(self._client.fetch_one("HGET", keys.HEAD, "seq") or 0))

    def read(self, after: Seq, *, operations_max: int, bytes_max: int) -> Sequence[Operation]:
        """Return the operations after `after` (`Log.read`).

        Cost: two round trips, one where there is nothing. Sizes are asked for first: bodies may be
        16 MiB each.
        """
        wanted = range(after + 1, after + operations_max + 1)
        head, sizes, parts = self._client.fetch(
            [
                ("HGET", keys.HEAD, "seq"),
                ("HMGET", keys.SIZES, *wanted),
                ("HMGET", keys.BODIES, *wanted),
            ]
        )
        last = min(after + operations_max, int(head or 0))
        if last <= after:
            return []
        sums = itertools.accumulate(int(size or 0) for size in sizes[: last - after])
        fitting = max(1, sum(1 for total in sums if total <= bytes_max))
        entries = fetch_entries(
            self._client,
            wanted[:fitting],
            [("XRANGE", keys.LOG, f"{after + 1}-0", f"{after + fitting}-0")],
            dict(zip(wanted[:fitting], parts, strict=False)),
        )
        operations = [
            operation
            for number, operation in enumerate(entries, start=after + 1)
            if operation is not None and operation.seq == number
        ]
        if not operations:
            raise refusals.read_across_trimmed(after=after)
        return operations

    def read_at(self, seqs: Sequence[Seq]) -> Iterator[Operation]:
        """Yield the operations at `seqs` (`Log.read_at`).

        Cost: three round trips for FOLD_OPERATIONS_MAX entries or FOLD_BYTES_MAX of bodies. A server
        counts an answer on its way as memory of the client, and closes the connection past its bound.
        """
        for at in range(0, len(seqs), limits.FOLD_OPERATIONS_MAX):
            wanted = seqs[at : at + limits.FOLD_OPERATIONS_MAX]
            sizes = self._client.fetch_one("HMGET", keys.SIZES, *wanted)
            for part in _within_bytes(wanted, [int(size or 0) for size in sizes]):
                yield from fetch_operations(self._client, part)

    def controls(self, after: Seq, up_to: Seq) -> list[Operation]:
        """Return the operations past `after`, up to `up_to`, that are no batches (`Log.controls`)."""
        wanted = range(after + 1, up_to + 1)
        sizes = self._client.fetch_one("HMGET", keys.SIZES, *wanted) if wanted else []
        controls = [seq for seq, size in zip(wanted, sizes, strict=True) if size is None]
        commands: list[Command] = [("XRANGE", keys.LOG, f"{seq}-0", f"{seq}-0") for seq in controls]
        found = fetch_entries(self._client, controls, commands, {})
        return [operation for operation in found if operation is not None]

    def held_batches(self, up_to: Seq) -> Sequence[Seq]:
        """Return the seqs of the batches up to `up_to` that are not forgotten, ascending."""
        return sorted(
            Seq(seq) for seq in map(int, scan_hash(self._client, keys.SIZES)) if seq <= up_to
        )

    def batches_of(
        self, stream_id: StreamId, *, after: Seq, up_to: Seq, limit: int | None = None
    ) -> Sequence[LoggedBatch]:
        """Return a stream's batches that are in the log (`Log.batches_of`).

        Cost: two round trips for SEQS_PER_LOOK positions, as far as `limit` wants them; where most positions have
        been trimmed, for the batches of all streams instead.
        """
        positions = range(after + 1, up_to + 1)
        batches = self._client.fetch_one("HLEN", keys.OWNERS)
        wanted = str(stream_id).encode()
        if len(positions) > SEQS_PER_LOOK + 2 * batches:
            owners = scan_hash(self._client, keys.OWNERS)
            seqs = sorted(int(seq) for seq, owner in owners.items() if owner == wanted)
            looks = iter([[seq for seq in seqs if seq in positions]])
        else:
            looks = self._owned(wanted, positions)
        found: list[LoggedBatch] = []
        for seqs in looks:
            sizes = self._client.fetch_one("HMGET", keys.SIZES, *seqs) if seqs else []
            found += [
                LoggedBatch(Seq(seq), int(size))
                for seq, size in zip(seqs, sizes, strict=True)
                if size is not None  # else it was trimmed meanwhile
            ]
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def trimmed_through(self, stream_id: StreamId) -> Seq:
        """Return the largest seq of a batch with rows that was trimmed (`Log.trimmed_through`)."""
        return Seq(int(self._client.fetch_one("HGET", keys.TRIMMED, stream_id) or 0))

    def hold(self, stream_id: StreamId, through: Seq) -> Seq:
        """Keep a stream's batches past `through` from being trimmed (`Log.hold`)."""
        self._admit()
        touched = [keys.HEAD, keys.LOG_STREAMS, keys.HOLDS]
        what, *facts = self._client.call("psoup_hold", touched, [keys.META, stream_id, through])
        if what == b"NOSTREAM":
            raise refusals.stream_not_found()
        if what == b"AHEAD":
            raise refusals.hold_past_head(head=int(facts[0]), through=through)
        return Seq(int(facts[0]))

    def unhold(self, stream_id: StreamId) -> None:
        """Let a stream's batches go (`Log.unhold`)."""
        self._admit()
        self._client.call("psoup_unhold", [keys.HOLDS], [keys.META, stream_id])

    def holds(self) -> Mapping[StreamId, Seq]:
        """Return the streams that are held, and through where."""
        flat = self._client.fetch_one("HGETALL", keys.HOLDS)
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return {StreamId(int(stream_id)): Seq(int(through)) for stream_id, through in pairs}

    def trim(self, *, batches: Sequence[Seq], below: Seq) -> Mapping[StreamId, Sequence[Seq]]:
        """Forget batches, and control entries below `below` (`Log.trim`), some per call."""
        assert self._token is not None, "only the engine trims"
        # Largest first: a seq that is not applied is refused before anything is forgotten.
        descending = sorted(set(batches), reverse=True)
        batch = [keys.LOG, keys.SIZES, keys.OWNERS]
        touched = [keys.META, keys.HEAD, *batch, keys.HOLDS, keys.PARTS, keys.BODIES]
        touched += [keys.HISTORIES, keys.LOG_QUERIES, keys.LOG_STREAMS, keys.TRIMMED, keys.EMPTY]
        common: list[Argument] = [below, keys.PART_PREFIX, limits.STAGE_MARK_BYTES]
        kept: dict[StreamId, list[Seq]] = {}
        at = 0
        while True:
            part = descending[at : at + TRIMMED_PER_CALL]
            answer = self._token.call("psoup_trim", touched, [*common, *part])
            if answer[0] == b"UNAPPLIED":
                raise refusals.trim_past_applied(applied=int(answer[1]), seq=int(answer[2]))
            for stream_id, seq in zip(answer[2::2], answer[3::2], strict=True):
                kept.setdefault(StreamId(int(stream_id)), []).append(Seq(int(seq)))
            at += TRIMMED_PER_CALL
            if at >= len(descending) and int(answer[1]) >= below:
                return {stream_id: sorted(seqs) for stream_id, seqs in kept.items()}

    def statistics(self) -> LogStatistics:
        """Return counters; appended and duplicates are those of this object."""
        entries, (head, size, staged) = self._client.fetch(
            [("XLEN", keys.LOG), ("HMGET", keys.HEAD, "seq", "bytes", "staged")]
        )
        with self._lock:
            return LogStatistics(
                Seq(int(head or 0)),
                entries,
                int(size or 0),
                self._appended,
                self._duplicates,
                int(staged or 0),
            )

    def check(self) -> None:
        """Assert that an inspection finds nothing in the log, its catalogue and its parts."""
        check_log(self._client)

    def _append_together(self, part: Sequence[Append]) -> list[Appended | EngineError]:
        """Return what became of each operation of one exchange. Raises what concerns all of them."""
        self._admit()
        calls = calls_of(part)
        answers = self._client.call_each(list(map(append_call, calls)), lost=CommitUnknownError)
        refused = [answer for answer in answers if isinstance(answer, EngineError)]
        if len(refused) == len(calls):
            raise refused[0]
        outcomes = [
            outcome
            for call, answer in zip(calls, answers, strict=True)
            for outcome in read_answer(answer, call)
        ]
        self._count([one for one in outcomes if isinstance(one, Appended)])
        return outcomes

    def _owned(self, stream_id: bytes, positions: range) -> Iterator[list[int]]:
        """Yield which of the positions have a batch of this stream, SEQS_PER_LOOK of them at a time."""
        for at in range(0, len(positions), SEQS_PER_LOOK):
            seqs = positions[at : at + SEQS_PER_LOOK]
            owners = self._client.fetch_one("HMGET", keys.OWNERS, *seqs)
            yield [seq for seq, owner in zip(seqs, owners, strict=True) if owner == stream_id]

    def _count(self, appended: Sequence[Appended], entries: int = 1) -> None:
        """Count what was appended in the order of the log, each as so many entries."""
        stored = [one.seq for one in appended if not one.duplicate]
        with self._lock:
            self._appended += len(stored) * entries
            self._duplicates += len(appended) - len(stored)
        if self._known is not None and stored:
            self._known.saw_head(stored[-1])


def _not_sent(error: EngineError) -> EngineError:
    """Return what becomes of operations behind those whose exchange failed with `error`."""
    if not isinstance(error, CommitUnknownError):
        return error
    return StoreUnavailableError(
        "The store failed before this operation was sent to it. Nothing was stored; send it again."
    )


def _parts(contents: Sequence[Content], streams_max: int) -> Iterator[list[Append]]:
    """Yield the operations, as many together as one exchange may carry."""
    part: list[Append] = []
    size = 0
    for content in contents:
        one = append_of(content, streams_max=streams_max)
        full = len(part) == APPENDED_TOGETHER
        if part and (full or size + one.nbytes > limits.PUBLISH_BYTES_MAX):
            yield part
            part, size = [], 0
        part.append(one)
        size += one.nbytes
    if part:
        yield part


def _within_bytes(seqs: Sequence[Seq], sizes: Sequence[int]) -> Iterator[list[Seq]]:
    """Yield `seqs` in parts of FOLD_BYTES_MAX at most; what is larger by itself is a part of its own."""
    part: list[Seq] = []
    total = 0
    for seq, size in zip(seqs, sizes, strict=True):
        if part and total + size > limits.FOLD_BYTES_MAX:
            yield part
            part, total = [], 0
        part.append(seq)
        total += size
    yield part
