"""The Results Structure of `memory://`: results in the process, guarded by the log they belong to."""

import threading
from collections.abc import Callable

from psoup.engine.results.contract import Checkpoint, Cut, Gen
from psoup.engine.results.delta import Delta
from psoup.engine.results.live import LiveResults
from psoup.engine.tuples.batch import Seq
from psoup.storage import refusals
from psoup.storage.memory.log import MemoryLog


class MemoryResults(LiveResults):
    """Results that are as old as the process: what is not here is nowhere."""

    def __init__(self, now_us: Callable[[], int], log: MemoryLog) -> None:
        """Begin before the first operation."""
        super().__init__(now_us, threading.RLock())
        begun_us = now_us()
        cut = Cut(Gen(begun_us // 1_000), Seq(0), 0, begun_us)
        self.begin(Checkpoint(cut, (), (), (), ()))
        self._log = log

    def publish(self, delta: Delta) -> None:
        """Apply the delta atomically (`ResultsStructure.publish`)."""
        with self._log.lock:
            if delta.expect != self.applied:
                raise refusals.publish_out_of_order(applied=self.applied, expect=delta.expect)
            if delta.seq > self._log.head():
                raise refusals.publish_past_head(head=self._log.head(), seq=delta.seq)
            self.apply(delta)
            self._log.move_applied(delta.seq)
