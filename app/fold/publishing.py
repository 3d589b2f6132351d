"""Deltas that are applied and not published: they wait, are merged, and are published; one may be in doubt."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from psoup.engine import limits
from psoup.engine.results.delta import Delta, merge
from psoup.engine.store.contract import Store
from psoup.engine.tuples.batch import Seq


@dataclass(frozen=True, slots=True)
class PublishStatistics:
    """Counters since the start.

    Attributes:
        publishes: deltas that the store has taken; `seconds` they took together, `seconds_max` the longest.
        waiting: deltas applied and not published.
        waiting_bytes: of the bodies they came from and of the hits in them.
    """

    publishes: int
    seconds: float
    seconds_max: float
    waiting: int
    waiting_bytes: int


class Publishing:
    """The deltas between the applied and the published position, in one thread.

    A delta that waits can be folded again from the log. Invariants: the waiting deltas follow the published position
    without a gap; the delta in doubt is all of them merged, so none is added before its outcome is known.
    """

    def __init__(
        self, store: Store, *, each_turn: bool, elapsed_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nothing.

        Args:
            store: where deltas go.
            each_turn: what waits is due at once; else after PUBLISH_AFTER_S or when it has become enough.
            elapsed_s: the clock of all waits and durations.
        """
        self._store = store
        self._each_turn = each_turn
        self._elapsed_s = elapsed_s
        self._published = Seq(0)
        self._waiting: list[Delta] = []
        self._waiting_bytes = 0
        self._due_s = 0.0
        self._in_doubt: Delta | None = None
        """The merged delta whose publishing has begun and may have failed; None = there is none."""
        self._publishes = 0
        self._seconds = self._seconds_max = 0.0

    @property
    def published(self) -> Seq:
        """The last operation that the store is known to show."""
        return self._published

    def begin(self, published: Seq) -> None:
        """Begin at a published position, without waiting deltas."""
        self._published = published

    def add(self, delta: Delta, body_bytes: int) -> None:
        """Add the delta of an applied operation; `body_bytes` is the size of its batch."""
        if not self._waiting:
            self._due_s = self._elapsed_s() + limits.PUBLISH_AFTER_S
        self._waiting.append(delta)
        self._waiting_bytes += body_bytes
        if delta.blocks or delta.pages or delta.composites:
            for written in (delta.blocks, delta.pages, delta.composites):
                self._waiting_bytes += sum(hits.nbytes for hits in written.values())

    def is_due(self) -> bool:
        """Return whether to publish now: deltas have waited long, or are many, or one is in doubt."""
        return bool(self._waiting) and (
            self._each_turn
            or self._in_doubt is not None
            or len(self._waiting) >= limits.PUBLISH_OPERATIONS_MAX
            or self._waiting_bytes >= limits.PUBLISH_TOGETHER_BYTES_MAX
            or self._elapsed_s() >= self._due_s
        )

    def publish(self) -> Delta | None:
        """Publish all waiting deltas as one, or again the one in doubt. Return it; None = nothing waits.

        Raises:
            EngineError: as the store raises. The delta is in doubt then, and published again by the next call.
        """
        if self._in_doubt is None and self._waiting:
            self._in_doubt = merge(self._waiting)
        delta = self._in_doubt
        if delta is not None:
            begun_s = self._elapsed_s()
            self._store.results.publish(delta)
            self._take_note(delta, self._elapsed_s() - begun_s)
        return delta

    def settle(self, published: Seq) -> Delta | None:
        """Compare with the store's position after it was unavailable. Return the delta in doubt if it was published."""
        delta = self._in_doubt
        if delta is None or delta.seq != published:
            return None
        self._take_note(delta, 0.0)
        return delta

    def statistics(self) -> PublishStatistics:
        """Return counters."""
        return PublishStatistics(
            publishes=self._publishes,
            seconds=self._seconds,
            seconds_max=self._seconds_max,
            waiting=len(self._waiting),
            waiting_bytes=self._waiting_bytes,
        )

    def check(self, applied: Seq) -> None:
        """Raise AssertionError unless the waiting deltas lead from the published to the applied position. For tests."""
        at = self._published
        for delta in self._waiting:
            if delta.expect != at:
                raise AssertionError(f"a delta follows {delta.expect}, and {at} is before it")
            at = delta.seq
        if at != applied:
            raise AssertionError(f"what waits leads to {at}, and {applied} is applied")
        if self._in_doubt is not None and self._in_doubt.seq != applied:
            raise AssertionError("what is in doubt is all that waits")
        if self._in_doubt is None and self._store.results.cut().seq != self._published:
            raise AssertionError("the published seq is the store's applied one")

    def _take_note(self, delta: Delta, seconds: float) -> None:
        """Note that the store has published `delta`, which held all waiting deltas."""
        self._in_doubt, self._waiting, self._waiting_bytes = None, [], 0
        self._published = delta.seq
        self._publishes += 1
        self._seconds += seconds
        self._seconds_max = max(self._seconds_max, seconds)
