"""What goes wrong in a simulated run, how often, and how often it has."""

from collections import Counter
from enum import StrEnum
from random import Random
from typing import Final


class Fault(StrEnum):
    """A kind of fault. Those of one call come first."""

    CALL_LOST = "a call is lost before it runs"
    ANSWER_LOST = "a call runs and its answer is lost"
    CALL_DELAYED = "a call runs long after its sender has given it up"
    UNREACHABLE = "no connection is to be had"
    MEANWHILE = "others go on while a call is on its way"
    PAUSED = "a process is held up for longer than its lease"
    ENGINE_DIES = "an engine dies between two calls"
    WORKER_DIES = "a worker dies between two calls"
    SERVER_CRASH = "the server dies and keeps what it promises to keep"
    SERVER_CRASH_IN_CALL = "the server dies between a call and its answer"
    TORN_END = "the file's end is torn"
    OPERATION_LOST = "an operation is gone after the server has come back"
    REWRITE_FAILS = "the file cannot be written anew"
    SERVER_EMPTIED = "the server comes back without data"
    MEMORY_FULL = "the server has no memory left"
    RUN_TWICE = "a publish that was answered runs again, as a proxy on the way may have it"
    BEGINNING_LOST = "the server dies and forgets the first declarations, which workers have seen"
    TAKING_LOST = "the server dies and forgets who has just taken it over, who is held up meanwhile"
    CLOCK_FORWARD = "the server's clock is set forward, by up to a year"
    CLOCK_BACK = "the server's clock is set back, by up to a year"


OFTEN: Final = (0.0, 0.001, 0.004, 0.01)
SELDOM: Final = (0.0, 0.0005, 0.002)
OF_CALLS: Final = {
    Fault.CALL_LOST: OFTEN,
    Fault.ANSWER_LOST: OFTEN,
    Fault.CALL_DELAYED: OFTEN,
    Fault.PAUSED: SELDOM,
    Fault.ENGINE_DIES: OFTEN,
    Fault.WORKER_DIES: SELDOM,
    Fault.SERVER_CRASH: SELDOM,
    Fault.SERVER_CRASH_IN_CALL: SELDOM,
}
"""How likely each is for one call: a seed has one of these for its whole run."""


AIMED: Final = 0.15
"""How likely the fault is that some seeds aim at the writes of an engine: where they hurt most."""
AIMED_AT: Final = ("psoup_publish", "psoup_stage")
TAKING: Final = "psoup_acquire"
BEGINNING_LOST: Final = 0.3


class Faults:
    """Draws faults for calls. Each seed has its own mix: some kinds often, some never."""

    def __init__(self, rng: Random, *, forgets: bool) -> None:
        """Draw a mix. `forgets`: whether a server that dies may forget what it has answered."""
        self._rng = rng
        self.on = True
        self.counts: Counter[Fault] = Counter()
        self._chances = {fault: rng.choice(chances) for fault, chances in OF_CALLS.items()}
        self._aimed = rng.choice(
            [None, None, Fault.CALL_DELAYED, Fault.ANSWER_LOST, Fault.PAUSED]
            + [Fault.RUN_TWICE] * 3
        )
        self._taking_lost = 0.3 * forgets
        self._beginnings = rng.choice([1, 2]) * forgets
        """How often its first declarations are still to be lost."""
        self._unreachable = rng.choice([0.0, 0.002, 0.01])
        self._meanwhile = rng.choice([0.02, 0.1, 0.3])

    def of_call(self, call: str, before: str) -> Fault | None:
        """Return what happens to the next call, which comes after `before` of the same process; None = nothing."""
        if not self.on:
            return None
        if self._aimed and call.endswith(AIMED_AT) and self._rng.random() < AIMED:
            twice = self._aimed is Fault.RUN_TWICE
            return None if twice and not call.endswith("psoup_publish") else self._aimed
        if before.endswith(TAKING) and self._rng.random() < self._taking_lost:
            return Fault.TAKING_LOST
        at = self._rng.random()
        for fault, chance in self._chances.items():
            at -= chance
            if at < 0:
                return fault
        return None

    def is_beginning_lost(self) -> bool:
        """Return whether the server dies now, which nobody has asked much of so far."""
        lost = self.on and self._beginnings > 0 and self._rng.random() < BEGINNING_LOST
        self._beginnings -= lost
        self.counts[Fault.BEGINNING_LOST] += lost
        return lost

    def is_unreachable(self) -> bool:
        """Return whether no connection is to be had just now."""
        unreachable = self.on and self._rng.random() < self._unreachable
        self.counts[Fault.UNREACHABLE] += unreachable
        return unreachable

    def is_meanwhile(self) -> bool:
        """Return whether others go on now."""
        return self._rng.random() < self._meanwhile
