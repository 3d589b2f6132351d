"""What one process has answered from, so that it never answers from less: the guard of an API worker's reads.

A store can come back behind what was read from it: after a restart, or from a copy. Only another history, a later
generation, may begin before what was served of the one before it.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from psoup.engine.errors import EngineError
from psoup.engine.results.contract import Gen
from psoup.engine.store.errors import RecoveringError
from psoup.engine.tuples.batch import Seq

Served = tuple[Gen, Seq]


@dataclass(frozen=True, slots=True)
class ServedStatistics:
    """The latest position answered from, and how many histories have begun since the first."""

    latest: Served
    histories: int


class ServedPosition:
    """The highest (gen, applied) seen by any thread. Thread-safe."""

    def __init__(self, forget: Callable[[], None]) -> None:
        """Begin with nothing.

        `forget` is called before anything of another history is answered, in the thread that sees it first: what was
        kept of the one before is not true of it. It must not ask the store.
        """
        self._forget = forget
        self._lock = threading.Lock()
        self._latest: Served = (Gen(0), Seq(0))
        self._histories = 0
        self._refusal: EngineError | None = None
        self._answer = threading.local()

    @property
    def latest(self) -> Served:
        """Return the highest position seen."""
        with self._lock:
            return self._latest

    def floor(self) -> Served:
        """Return what an answer asked for now must not be behind. Raises what `refuse` was given last."""
        with self._lock:
            if self._refusal is not None:
                raise self._refusal
            return self._latest

    def refuse(self, refusal: EngineError | None) -> None:
        """Let every read raise `refusal` from now on; None = let them pass."""
        with self._lock:
            self._refusal = refusal

    def saw(self, gen: Gen, applied: Seq, floor: Served) -> None:
        """Take note of an answer's position.

        Raises:
            RecoveringError: it is behind `floor`, the one that `floor` returned before it was asked for.
        """
        if (gen, applied) < floor:
            raise RecoveringError(
                f"The store stands at operation {applied} of generation {gen}, behind what was answered from"
                f" it before, {floor[1]} of {floor[0]}. Try again later."
            )
        with self._lock:
            if gen > self._latest[0]:
                if self._latest[0]:
                    self._histories += 1
                self._forget()
            self._latest = max(self._latest, (gen, applied))

    def begin_answer(self, gen: Gen) -> None:
        """Take note that what this thread reads from now on belongs to an answer of `gen`."""
        self._answer.gen = gen

    def check_answer(self, gen: Gen) -> None:
        """Raise RecoveringError if this thread's answer began in another history than `gen`."""
        if getattr(self._answer, "gen", gen) != gen:
            raise _another_history()

    def confirm(self, gen: Gen) -> None:
        """Raise RecoveringError if another history than `gen` has been seen to begin."""
        if self.latest[0] != gen:
            raise _another_history()

    def statistics(self) -> ServedStatistics:
        """Return where it stands."""
        with self._lock:
            return ServedStatistics(self._latest, self._histories)

    def check(self) -> None:
        """Assert that histories are counted from the first."""
        with self._lock:
            assert self._latest[0] or not self._histories


def _another_history() -> RecoveringError:
    return RecoveringError(
        "Another history began in the store while the answer was read. Send the same again."
    )
