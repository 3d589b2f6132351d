"""`memory://`: both contracts inside the process, nothing kept. Also the model other stores are compared with."""

import secrets

from psoup.engine import limits
from psoup.engine.clock import Clock
from psoup.engine.results.contract import Position
from psoup.engine.store.condition import StoreCondition
from psoup.engine.store.contract import Durability, StoreHealth
from psoup.engine.tuples.batch import Seq
from psoup.storage.memory.log import MemoryLog
from psoup.storage.memory.results import MemoryResults


class MemoryStore:
    """A store that lives as long as the process."""

    def __init__(self, clock: Clock, *, streams_max: int = limits.STREAMS_COUNT_MAX) -> None:
        """Begin an empty history at the clock's present instant; `streams_max` as for `open_store`."""
        self._clock = clock
        self._log = MemoryLog(clock, streams_max=streams_max)
        self.histories = self._log.histories
        self._results = MemoryResults(clock.now_us, self._log)
        self._page_key = secrets.token_bytes(32)

    @property
    def log(self) -> MemoryLog:
        """The log."""
        return self._log

    @property
    def results(self) -> MemoryResults:
        """The Results Structure."""
        return self._results

    @property
    def durability(self) -> Durability:
        """MEMORY: nothing outlives the process."""
        return Durability.MEMORY

    def health(self) -> StoreHealth:
        """Return a healthy store without bounds of its own."""
        return StoreHealth()

    @property
    def is_private(self) -> bool:
        """True: no other process can reach it."""
        return True

    def look(self) -> StoreCondition:
        """Return the store's condition: only its clock can be other than it should."""
        behind_us = max(0, self._log.arrival_us - self._clock.now_us())
        return StoreCondition(clock_behind_us=behind_us)

    @property
    def page_key(self) -> bytes:
        """The secret that page tokens are signed with, of this process."""
        return self._page_key

    def take_over(self) -> float:
        """Return 0.0: nobody else can write here."""
        return 0.0

    def renew(self) -> None:
        """Do nothing: nobody waits."""

    def position(self) -> Position:
        """Return where the store stands, whose one engine is in this process."""
        cut, head = self._results.cut(), self._log.head()
        return Position(cut.gen, cut.seq, head, self._log.unapplied_bytes, engine_alive=True)

    def wait_appended(self, after: Seq, timeout_s: float) -> bool:
        """Return False: who appends is in this process, and tells."""
        del after, timeout_s
        return False

    def tell(self, figures: bytes) -> None:
        """Do nothing: there are no workers to tell."""

    def reopen(self) -> None:
        """Do nothing: it cannot have been away."""

    def close(self) -> None:
        """Do nothing: the memory goes with the last reference."""
