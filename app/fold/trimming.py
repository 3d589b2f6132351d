"""What the log no longer has to keep: batches of which no tuple is held, and entries behind the published position.

A batch that is gone and past its stream's hold stays until the hold has moved past it, or ended. That is the log's
doing, which knows the holds of the very moment; here it is remembered what is to be tried again.
"""

import bisect
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine import limits
from psoup.engine.store.contract import Store
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId

TRIM_EVERY: Final = 1_000
"""Control entries are trimmed in steps of this many positions, not at every turn."""
HOLDS_EVERY_S: Final = 1.0
"""Holds are looked at this often, while they keep anything: an archive moves them every few seconds at most."""
SWEEP_EVERY_S: Final = 60.0
"""The log is told to trim this often although nothing is gone: so expired parts go although nobody stages any more."""


@dataclass(frozen=True, slots=True)
class TrimStatistics:
    """How many batches are gone and still in the log, and below which position no control entry is.

    `kept` of them are kept by holds.
    """

    gone: int
    below: Seq
    kept: int


class Trimming:
    """Lets the log forget, in one thread. Invariant: only what is published is trimmed."""

    def __init__(self, store: Store, *, elapsed_s: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing to trim; `elapsed_s` paces it."""
        self._store = store
        self._elapsed_s = elapsed_s
        self._gone: set[Seq] = set()
        self._kept: dict[StreamId, Sequence[Seq]] = {}
        """By stream, ascending: batches that are gone and were held when they were to be trimmed."""
        self._below = Seq(0)
        self._look_next_s = 0.0
        self._trim_next_s = 0.0

    def begin(self, applied: Seq, held: Collection[Seq]) -> None:
        """Find what was published as gone and not trimmed: batches up to `applied` that are not among `held`."""
        self._gone = set(self._store.log.held_batches(applied)).difference(held)
        self._kept = {}
        self._trim_next_s = self._elapsed_s() + SWEEP_EVERY_S

    def add(self, batches: Iterable[Seq]) -> None:
        """Take note of batches that are published as gone."""
        self._gone.update(batches)

    def trim(self, published: Seq) -> None:
        """Let the log forget what nothing held needs, if there is enough of it."""
        now_s = self._elapsed_s()
        if self._kept and now_s >= self._look_next_s:
            self._release(self._store.log.holds())
            self._look_next_s = now_s + HOLDS_EVERY_S
        below = Seq(max(0, published - limits.LOG_ENTRIES_KEPT))
        if self._gone or below >= self._below + TRIM_EVERY or now_s >= self._trim_next_s:
            kept = self._store.log.trim(batches=sorted(self._gone), below=below)
            self._gone.clear()
            for stream_id, seqs in kept.items():
                self._kept[stream_id] = sorted({*self._kept.get(stream_id, ()), *seqs})
            self._below = below
            self._trim_next_s = now_s + SWEEP_EVERY_S

    def statistics(self) -> TrimStatistics:
        """Return what is left to trim, and how far it has come."""
        kept = sum(map(len, self._kept.values()))
        return TrimStatistics(len(self._gone) + kept, self._below, kept)

    def check(self, published: Seq) -> None:
        """Raise AssertionError if something is to go that is not published. For tests."""
        last = max([*self._gone, *(seqs[-1] for seqs in self._kept.values())], default=0)
        if last > published or self._below > published:
            raise AssertionError("only what is published is trimmed")

    def _release(self, holds: Mapping[StreamId, Seq]) -> None:
        """Let go what was kept and lies past no hold any more."""
        for stream_id, seqs in list(self._kept.items()):
            through = holds.get(stream_id, seqs[-1])
            past = bisect.bisect_right(seqs, through)
            self._gone.update(seqs[:past])
            if past == len(seqs):
                del self._kept[stream_id]
            else:
                self._kept[stream_id] = seqs[past:]
