"""The Log in Redis: one stream entry per operation, id `seq-0`. Appends are one Function call each."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, assert_never

from engine import limits
from engine.errors import EngineError
from engine.log.contract import Appended, LogStatistics
from engine.log.operation import (
    Content,
    Declare,
    Drop,
    Operation,
    QueryId,
    Register,
    Remove,
    Rows,
    Tick,
)
from engine.tuples.batch import Seq, TupleId
from engine.tuples.schema import StreamId
from storage import keys, refusals
from storage.cluster import ClusterMemory
from storage.encoding import (
    declaration_digest,
    decode_content,
    encode_content,
    text_digest,
)
from storage.errors import CommitUnknownError
from storage.redis_check import check_log
from storage.redis_client import Argument, Command, RedisClient
from storage.redis_tidy import scan_hash

TRIMMED_PER_CALL: Final = 500
"""Batches forgotten by one Function call: a call holds every other client up."""

REFUSALS: Final[Mapping[bytes, Callable[[Sequence[bytes]], EngineError]]] = {
    b"BACKLOG": lambda _: refusals.backlog_full(),
    b"DIFFERS": lambda facts: refusals.stream_differs(int(facts[0])),
    b"HASQUERIES": lambda facts: refusals.has_queries(int(facts[0])),
    b"NAMETAKEN": lambda facts: refusals.name_taken(facts[0].decode()),
    b"NOQUERY": lambda _: refusals.query_not_found(),
    b"NOSTREAM": lambda _: refusals.stream_not_found(),
    b"STALE": lambda _: refusals.stale_declaration(),
    b"TXN": lambda facts: refusals.txn_content_differs(int(facts[0])),
}
"""What psoup_append answers when it refuses, and what is raised for it."""


class RedisLog:
    """The Log in Redis. Any number of threads and processes may append."""

    def __init__(self, client: RedisClient, known: ClusterMemory) -> None:
        """Use an opened store. `known` is told of every committed seq."""
        self._client = client
        self._known = known
        self._lock = threading.Lock()
        self._appended = 0
        self._duplicates = 0

    def append(self, content: Content) -> Appended:
        """Append one operation, or refuse it and change nothing (`Log.append`).

        Raises:
            CommitUnknownError: the answer was lost; everything else is definite.
            StoreUnavailableError, RecoveringError, StoreFullError: nothing was stored.
        """
        kind, header, body = encode_content(content)
        rows = content.rows if isinstance(content, Rows) else 0
        freeing = isinstance(content, Drop | Remove | Tick)
        answer = self._client.call(
            "psoup_append_freeing" if freeing else "psoup_append",
            [
                keys.HEAD,
                keys.LOG,
                keys.SIZES,
                keys.LOG_STREAMS,
                keys.LOG_QUERIES,
                keys.LOG_NAMES,
                keys.LOG_READERS,
                keys.LOG_APPS,
                _producers_key(content),
            ],
            [
                keys.META,
                kind,
                header,
                body,
                rows,
                limits.BACKLOG_OPERATIONS_MAX,
                limits.BACKLOG_BYTES_MAX,
                _count_max(content),
                *_checked(content),
            ],
            lost=CommitUnknownError,
        )
        what, *facts = answer
        if what == b"OK":
            seq, arrival_us = map(int, facts)
            return self._counted(Appended(Seq(seq), arrival_us))
        if what == b"DUP":
            seq, query_id, arrival_us = int(facts[0]), facts[1].decode(), int(facts[2])
            original = QueryId(query_id) if query_id else None
            return self._counted(Appended(Seq(seq), arrival_us, duplicate=True, query_id=original))
        raise _refusal(what, facts, content)

    def head(self) -> Seq:
        """Return the largest seq."""
        return Seq(int(self._client.fetch_one("HGET", keys.HEAD, "seq") or 0))

    def read(self, after: Seq, *, operations_max: int, bytes_max: int) -> Sequence[Operation]:
        """Return the operations after `after` (`Log.read`).

        Cost: two round trips, one where there is nothing. Sizes are asked for first: bodies may be
        16 MiB each.
        """
        wanted = range(after + 1, after + operations_max + 1)
        head, sizes = self._client.fetch(
            [("HGET", keys.HEAD, "seq"), ("HMGET", keys.SIZES, *wanted)]
        )
        last = min(after + operations_max, int(head or 0))
        if last <= after:
            return []
        sums = itertools.accumulate(int(size or 0) for size in sizes[: last - after])
        fitting = max(1, sum(1 for total in sums if total <= bytes_max))
        entries = self._client.fetch_one(
            "XRANGE", keys.LOG, f"{after + 1}-0", f"{after + fitting}-0"
        )
        operations = [
            operation
            for number, operation in enumerate(map(_operation, entries), start=after + 1)
            if operation.seq == number
        ]
        if not operations:
            raise refusals.read_across_trimmed(after=after)
        return operations

    def read_at(self, seqs: Sequence[Seq]) -> Iterator[Operation]:
        """Yield the operations at `seqs` (`Log.read_at`).

        Cost: two round trips for FOLD_OPERATIONS_MAX entries or FOLD_BYTES_MAX of bodies. A server
        counts an answer on its way as memory of the client, and closes the connection past its bound.
        """
        for at in range(0, len(seqs), limits.FOLD_OPERATIONS_MAX):
            wanted = seqs[at : at + limits.FOLD_OPERATIONS_MAX]
            sizes = self._client.fetch_one("HMGET", keys.SIZES, *wanted)
            for part in _within_bytes(wanted, [int(size or 0) for size in sizes]):
                yield from self._read_together(part)

    def held_batches(self, up_to: Seq) -> Sequence[Seq]:
        """Return the seqs of the batches up to `up_to` that are not forgotten, ascending."""
        return sorted(
            Seq(seq) for seq in map(int, scan_hash(self._client, keys.SIZES)) if seq <= up_to
        )

    def trim(self, *, batches: Sequence[Seq], below: Seq) -> None:
        """Forget batches, and control entries below `below` (`Log.trim`), some per call."""
        # Largest first: a seq that is not applied is refused before anything is forgotten.
        descending = sorted(batches, reverse=True)
        at = 0
        while True:
            part = descending[at : at + TRIMMED_PER_CALL]
            answer = self._client.call(
                "psoup_trim", [keys.HEAD, keys.LOG, keys.SIZES], [keys.META, below, *part]
            )
            if answer[0] == b"UNAPPLIED":
                raise refusals.trim_past_applied(applied=int(answer[1]), seq=int(answer[2]))
            at += TRIMMED_PER_CALL
            if at >= len(descending) and int(answer[1]) >= below:
                return

    def statistics(self) -> LogStatistics:
        """Return counters; appended and duplicates are those of this object."""
        entries, (head, size) = self._client.fetch(
            [("XLEN", keys.LOG), ("HMGET", keys.HEAD, "seq", "bytes")]
        )
        with self._lock:
            return LogStatistics(
                Seq(int(head or 0)), entries, int(size or 0), self._appended, self._duplicates
            )

    def check(self) -> None:
        """Assert the log's invariants, and that the catalogue is what its entries make."""
        check_log(self._client)

    def _read_together(self, seqs: Sequence[Seq]) -> list[Operation]:
        """Return the operations at `seqs`, of one answer; KeyError if one has been trimmed."""
        commands: list[Command] = [("XRANGE", keys.LOG, f"{seq}-0", f"{seq}-0") for seq in seqs]
        found: list[Operation] = []
        for seq, answer in zip(seqs, self._client.fetch(commands), strict=True):
            if not answer:
                raise KeyError(seq)
            found.append(_operation(answer[0]))
        return found

    def _counted(self, appended: Appended) -> Appended:
        with self._lock:
            self._appended += not appended.duplicate
            self._duplicates += appended.duplicate
        if not appended.duplicate:
            self._known.saw_head(appended.seq)
        return appended


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


def _producers_key(content: Content) -> str:
    """Return the key of the producers this operation may touch; of no stream where it touches none."""
    return keys.producers(content.stream_id if isinstance(content, Rows | Drop) else StreamId(0))


def _count_max(content: Content) -> int:
    match content:
        case Declare():
            return limits.STREAMS_COUNT_MAX
        case Register():
            return limits.QUERIES_COUNT_MAX
        case _:
            return limits.APPS_COUNT_MAX


def _checked(content: Content) -> list[Argument]:
    """Return what the catalogue is asked about this operation: see psoup_append."""
    match content:
        case Declare():
            return [content.schema.name, declaration_digest(content.schema)]
        case Drop():
            return [content.name, content.stream_id, *content.queries]
        case Rows():
            front: list[Argument] = [content.name, content.stream_id, limits.APP_DIGESTS_KEPT]
            if content.txn is None:
                return [*front, ""]
            txn = content.txn
            return [*front, keys.name_hash(txn.app), txn.version, txn.digest.hex()]
        case Register():
            name = "" if content.name is None else keys.name_hash(content.name)
            arguments: list[Argument] = [content.query_id, name, text_digest(content.definition)]
            for stream, stream_id in content.streams.items():
                arguments += [stream, stream_id]
            return arguments
        case Remove():
            return [content.query_id]
        case Tick():
            return []
    assert_never(content)


def _refusal(what: bytes, facts: Sequence[bytes], content: Content) -> EngineError:
    """Return the error for an answer of psoup_append."""
    if what == b"QUOTA":
        return _quota(content)
    assert what in REFUSALS, "an answer that this version does not know"
    return REFUSALS[what](facts)


def _quota(content: Content) -> EngineError:
    match content:
        case Declare():
            return refusals.streams_quota()
        case Register():
            return refusals.queries_quota()
        case _:
            return refusals.apps_quota()


def _operation(entry: tuple[bytes, list[bytes]]) -> Operation:
    """Return the operation of one stream entry, as psoup_append wrote it."""
    entry_id, values = entry
    fields = dict(zip(values[::2], values[1::2], strict=True))
    assert fields[b"f"] == b"1", "an entry of a later layout"
    return Operation(
        seq=Seq(int(entry_id.removesuffix(b"-0"))),
        arrival_us=int(fields[b"t"]),
        first_tuple_id=TupleId(int(fields[b"i"])),
        content=decode_content(fields[b"k"].decode(), fields[b"h"], fields[b"b"]),
    )
