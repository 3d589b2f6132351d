"""The Log in Redis: one stream entry per operation, id `seq-0`. Appends are one Function call each."""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from engine import limits
from engine.errors import EngineError
from engine.log.contract import Appended, LogStatistics
from engine.log.operation import Content, Operation
from engine.tuples.batch import Seq, TupleId
from storage import keys, refusals
from storage.cluster import ClusterMemory
from storage.encoding import decode_content
from storage.errors import (
    CommitUnknownError,
    RecoveringError,
    StoreFullError,
    StoreUnavailableError,
)
from storage.redis_append import append_call, read_answer
from storage.redis_check import check_log
from storage.redis_client import Command, RedisClient
from storage.redis_tidy import scan_hash
from storage.redis_token import WriteToken

TRIMMED_PER_CALL: Final = 500
"""Batches forgotten by one Function call: a call holds every other client up."""
APPENDED_TOGETHER: Final = 1_000
"""Operations of one exchange: the server takes other clients' calls in between, and answers at its end."""
STORE_ERRORS: Final = (CommitUnknownError, RecoveringError, StoreFullError, StoreUnavailableError)


class RedisLog:
    """The Log in Redis. Any number of threads and processes may append."""

    def __init__(
        self,
        client: RedisClient,
        known: ClusterMemory | None = None,
        token: WriteToken | None = None,
        *,
        admit: Callable[[], object] = lambda: None,
    ) -> None:
        """Use a store.

        Args:
            client: connections to it.
            known: is told of every committed seq.
            token: the right to trim; who has none only appends and reads.
            admit: asked before each append; raises where this process is not to append.
        """
        self._client = client
        self._known = known
        self._token = token
        self._admit = admit
        self._lock = threading.Lock()
        self._appended = 0
        self._duplicates = 0

    def append(self, content: Content) -> Appended:
        """Append one operation, or refuse it and change nothing (`Log.append`).

        Raises:
            CommitUnknownError: the answer was lost; everything else is definite.
            StoreUnavailableError, RecoveringError, StoreFullError: nothing was stored.
        """
        self._admit()
        function, key_names, arguments = append_call(content)
        answer = self._client.call(function, key_names, arguments, lost=CommitUnknownError)
        return self._counted(read_answer(answer, content))

    def append_many(self, contents: Sequence[Content]) -> Sequence[Appended | EngineError]:
        """Append operations, each stored or refused by itself (`Log.append_many`).

        Raises what `append` does. CommitUnknownError also where the store fails amid them: then some
        are stored and some are not.

        Cost: two round trips for APPENDED_TOGETHER operations or PUBLISH_BYTES_MAX of them.
        """
        outcomes: list[Appended | EngineError] = []
        for part in _parts(contents):
            try:
                outcomes += self._append_together(part)
            except STORE_ERRORS as error:
                if not outcomes:
                    raise
                outcomes += [error] * (len(contents) - len(outcomes))
                break
        return outcomes

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

    def controls(self, after: Seq, up_to: Seq) -> list[Operation]:
        """Return the operations past `after`, up to `up_to`, that are no batches, ascending.

        Those forgotten meanwhile are left out. Cost: O(operations between the two), no bodies.
        """
        wanted = range(after + 1, up_to + 1)
        sizes = self._client.fetch_one("HMGET", keys.SIZES, *wanted) if wanted else []
        entries = self._client.fetch(
            [
                ("XRANGE", keys.LOG, f"{seq}-0", f"{seq}-0")
                for seq, size in zip(wanted, sizes, strict=True)
                if size is None
            ]
        )
        return [_operation(found[0]) for found in entries if found]

    def held_batches(self, up_to: Seq) -> Sequence[Seq]:
        """Return the seqs of the batches up to `up_to` that are not forgotten, ascending."""
        return sorted(
            Seq(seq) for seq in map(int, scan_hash(self._client, keys.SIZES)) if seq <= up_to
        )

    def trim(self, *, batches: Sequence[Seq], below: Seq) -> None:
        """Forget batches, and control entries below `below` (`Log.trim`), some per call."""
        assert self._token is not None, "only the engine trims"
        # Largest first: a seq that is not applied is refused before anything is forgotten.
        descending = sorted(batches, reverse=True)
        at = 0
        while True:
            part = descending[at : at + TRIMMED_PER_CALL]
            answer = self._token.call(
                "psoup_trim", [keys.META, keys.HEAD, keys.LOG, keys.SIZES], [below, *part]
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

    def _append_together(
        self, part: Sequence[tuple[Content, Command]]
    ) -> list[Appended | EngineError]:
        """Return what became of each operation of one exchange. Raises what concerns all of them."""
        self._admit()
        before = self.head()  # a store that is away is found out before anything is sent
        try:
            answers = self._client.fetch([command for _, command in part])
        except StoreFullError as error:
            if self.head() == before:
                raise
            raise _unknown() from error
        except StoreUnavailableError as error:
            raise _unknown() from error
        outcomes: list[Appended | EngineError] = []
        for (content, _), answer in zip(part, answers, strict=True):
            if answer[0] == b"RECOVERING":
                raise RecoveringError(
                    "The store has restarted; its contents are not verified yet. Try again later."
                )
            try:
                outcomes.append(self._counted(read_answer(answer, content)))
            except EngineError as refusal:
                outcomes.append(refusal)
        return outcomes

    def _counted(self, appended: Appended) -> Appended:
        with self._lock:
            self._appended += not appended.duplicate
            self._duplicates += appended.duplicate
        if self._known is not None and not appended.duplicate:
            self._known.saw_head(appended.seq)
        return appended


def _unknown() -> CommitUnknownError:
    return CommitUnknownError(
        "The store failed amid several operations: some of them may be stored. Send them again; what"
        " has a name or a producer's version is stored once."
    )


def _parts(contents: Sequence[Content]) -> Iterator[list[tuple[Content, Command]]]:
    """Yield the operations with their calls, as many together as one exchange may carry."""
    part: list[tuple[Content, Command]] = []
    size = 0
    for content in contents:
        function, key_names, arguments = append_call(content)
        command = ("FCALL", function, len(key_names), *key_names, *arguments)
        more = sum(len(one) for one in arguments if isinstance(one, bytes | str))
        if part and (len(part) == APPENDED_TOGETHER or size + more > limits.PUBLISH_BYTES_MAX):
            yield part
            part, size = [], 0
        part.append((content, command))
        size += more
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
