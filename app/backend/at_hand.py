"""Operations that this process has appended and its engine has not applied: they need not be read from the store.

Whoever appends knows content, position, arrival and tuple ids of what was stored, once the store has confirmed it. What
others append leaves a gap, from which on the log is read.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Content, Operation, carried_bytes
from psoup.engine.store.errors import CommitUnknownError
from psoup.engine.tuples.batch import Seq


class TellAppended(Protocol):
    """Tells a backend that something was appended."""

    def __call__(self, *, at_hand: bool = False, lone: bool = False) -> None:
        """Tell it, as `Backend.wake` does. Any thread."""
        ...


@dataclass(frozen=True, slots=True)
class AtHandStatistics:
    """Operations at hand, the bytes of their bodies and texts, and how many were taken since the start."""

    operations: int
    nbytes: int
    taken: int


class AtHand:
    """Operations by seq, of one life of the store. Thread-safe.

    What was stored in one life may be missing in the next: so `forget` begins another once the store is back, before
    anything is folded, and what was begun to be appended before that is not taken any more.

    Attributes:
        is_incomplete: something may have been appended that was never here, and the log was not read since.
    """

    def __init__(
        self,
        *,
        operations_max: int = limits.AT_HAND_OPERATIONS_MAX,
        bytes_max: int = limits.FOLD_BYTES_MAX,
    ) -> None:
        """Begin with nothing, and keep so much at most: what is more is read from the log."""
        self._operations_max, self._bytes_max = operations_max, bytes_max
        self._lock = threading.Lock()
        self._life = 0
        self._operations: dict[Seq, Operation] = {}
        self.is_incomplete = True
        self._nbytes = self._taken = 0

    @property
    def life(self) -> int:
        """Return the present life of the store, to be asked for before something is appended."""
        return self._life

    def put(
        self, contents: Sequence[Content], outcomes: Sequence[Appended | EngineError], *, life: int
    ) -> bool:
        """Take what an append has stored, by what became of each content. Return whether all of it is here.

        `life` is that in which it was begun.
        """
        with self._lock:
            if life != self._life:
                return False
            for content, one in zip(contents, outcomes, strict=True):
                if isinstance(one, CommitUnknownError):
                    return False
                if isinstance(one, EngineError) or one.duplicate:  # nothing was stored
                    continue
                if not one.first_tuple_id:
                    return False
                operation = Operation(one.seq, one.arrival_us, one.first_tuple_id, content)
                nbytes = self._nbytes + carried_bytes(content)
                if nbytes > self._bytes_max or len(self._operations) >= self._operations_max:
                    return False
                self._operations[operation.seq] = operation
                self._nbytes = nbytes
        return True

    def has_all(self, after: Seq) -> bool:
        """Return whether nothing was appended behind `after`, as far as this process knows."""
        with self._lock:
            return not self.is_incomplete and max(self._operations, default=after) <= after

    def next(self, after: Seq) -> Operation | None:
        """Return the operation behind `after`; None = it is not here."""
        return self._operations.get(Seq(after + 1))

    def take(self, after: Seq, *, operations_max: int) -> list[Operation]:
        """Take the operations behind `after`, in order and without a gap; those up to it were read from the log."""
        found: list[Operation] = []
        with self._lock:
            if self._operations and min(self._operations) <= after:
                for seq in [seq for seq in self._operations if seq <= after]:
                    self._nbytes -= carried_bytes(self._operations.pop(seq).content)
            while len(found) < operations_max:
                operation = self._operations.pop(Seq(after + 1 + len(found)), None)
                if operation is None:
                    break
                self._nbytes -= carried_bytes(operation.content)
                found.append(operation)
            self._taken += len(found)
        return found

    def forget(self) -> None:
        """Begin another life of the store, with nothing."""
        with self._lock:
            self._life += 1
            self.is_incomplete = True
            self._operations.clear()
            self._nbytes = 0

    def statistics(self) -> AtHandStatistics:
        """Return counters."""
        with self._lock:
            return AtHandStatistics(len(self._operations), self._nbytes, self._taken)

    def check(self) -> None:
        """Raise AssertionError if bytes are miscounted, or there are too many. For tests."""
        with self._lock:
            if self._nbytes != sum(carried_bytes(one.content) for one in self._operations.values()):
                raise AssertionError("bytes at hand are counted")
            if self._nbytes > self._bytes_max or len(self._operations) > self._operations_max:
                raise AssertionError(f"{len(self._operations)} operations are at hand")
