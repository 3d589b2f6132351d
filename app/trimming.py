"""What the log no longer has to keep: batches of which no tuple is held, and entries behind the published position."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from app.store import Store
from engine import limits
from engine.tuples.batch import Seq

TRIM_EVERY: Final = 1_000
"""Control entries are trimmed in steps of this many positions, not at every turn."""


@dataclass(frozen=True, slots=True)
class TrimStatistics:
    """How many batches are gone and still in the log, and below which position no control entry is."""

    gone: int
    below: Seq


class Trimming:
    """Lets the log forget, in one thread. Invariant: only what is published is trimmed."""

    def __init__(self, store: Store) -> None:
        """Begin with nothing to trim."""
        self._store = store
        self._gone: set[Seq] = set()
        self._below = Seq(0)

    def begin(self, applied: Seq, held: Collection[Seq]) -> None:
        """Find what was published as gone and not trimmed: batches up to `applied` that are not among `held`."""
        self._gone = set(self._store.log.held_batches(applied)).difference(held)

    def add(self, batches: Iterable[Seq]) -> None:
        """Take note of batches that are published as gone."""
        self._gone.update(batches)

    def trim(self, published: Seq) -> None:
        """Let the log forget what nothing held needs, if there is enough of it."""
        below = Seq(max(0, published - limits.LOG_ENTRIES_KEPT))
        if self._gone or below >= self._below + TRIM_EVERY:
            self._store.log.trim(batches=sorted(self._gone), below=below)
            self._gone.clear()
            self._below = below

    def statistics(self) -> TrimStatistics:
        """Return what is left to trim, and how far it has come."""
        return TrimStatistics(len(self._gone), self._below)

    def check(self, published: Seq) -> None:
        """Raise AssertionError if something is to go that is not published. For tests."""
        if max(self._gone, default=0) > published or self._below > published:
            raise AssertionError("only what is published is trimmed")
