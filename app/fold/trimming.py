"""Trimming of the log: batches without retained tuples, and control entries behind the published position.

A hold of an archive keeps batches of its stream. The log does not trim a held batch, since it knows the present holds;
such batches are remembered here and tried again.
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
"""While holds keep batches they are read this often: an archive moves them every few seconds at most."""
SWEEP_EVERY_S: Final = 60.0
"""The log is asked to trim this often even without dropped batches, so that expired staged parts are removed."""


@dataclass(frozen=True, slots=True)
class TrimStatistics:
    """Dropped batches that are still in the log (`kept` of them by holds), and the first possible control entry."""

    gone: int
    below: Seq
    kept: int


class Trimming:
    """Trims the log, in one thread. Invariant: only published drops are trimmed."""

    def __init__(self, store: Store, *, elapsed_s: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing to trim. `elapsed_s` is the clock."""
        self._store = store
        self._elapsed_s = elapsed_s
        self._gone: set[Seq] = set()
        self._kept: dict[StreamId, Sequence[Seq]] = {}
        """By stream, ascending: dropped batches that a hold kept when they were to be trimmed."""
        self._below = Seq(0)
        self._look_next_s = 0.0
        self._trim_next_s = 0.0

    def begin(self, applied: Seq, held: Collection[Seq]) -> None:
        """Find batches whose drop was published but not trimmed: those up to `applied` that are not among `held`."""
        self._gone = set(self._store.log.held_batches(applied)).difference(held)
        self._kept = {}
        self._trim_next_s = self._elapsed_s() + SWEEP_EVERY_S

    def add(self, batches: Iterable[Seq]) -> None:
        """Add batches whose drop is published."""
        self._gone.update(batches)

    def trim(self, published: Seq) -> None:
        """Trim the log where enough has gathered, or it is time."""
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
        """Return counters."""
        kept = sum(map(len, self._kept.values()))
        return TrimStatistics(len(self._gone) + kept, self._below, kept)

    def check(self, published: Seq) -> None:
        """Raise AssertionError if a drop is to be trimmed that is not published. For tests."""
        last = max([*self._gone, *(seqs[-1] for seqs in self._kept.values())], default=0)
        if last > published or self._below > published:
            raise AssertionError("only what is published is trimmed")

    def _release(self, holds: Mapping[StreamId, Seq]) -> None:
        """Queue batches again that no hold keeps any more."""
        for stream_id, seqs in list(self._kept.items()):
            through = holds.get(stream_id, seqs[-1])
            past = bisect.bisect_right(seqs, through)
            self._gone.update(seqs[:past])
            if past == len(seqs):
                del self._kept[stream_id]
            else:
                self._kept[stream_id] = seqs[past:]
