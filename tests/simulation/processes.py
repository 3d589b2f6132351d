"""The processes of a simulated run: engines and workers, made of the service's own parts over a model server.

An engine is the real FoldLoop with its lease over the real RedisStore; a worker the real Follower over the real worker
store. Both are wired here as `app/processes/engine.py` and `app/processes/api.py` wire them, without a web.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Protocol

from psoup.app.backend.contract import Phase
from psoup.app.fold.loop import FoldLoop
from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.store.contract import Durability
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.store import RedisStore
from tests.simulation.faults import Fault, Faults
from tests.simulation.model.client import ModelClient, Network
from tests.simulation.scheduler import Died, Owner, Scheduler
from tests.simulation.simulated_time import SimulatedTime

DURABILITIES = {"always": Durability.FSYNC, "everysec": Durability.EVERYSEC}


class Surroundings(Protocol):
    """What a process finds around it."""

    rng: Random
    clock: SimulatedTime
    scheduler: Scheduler
    faults: Faults
    network: Network

    def tell(self, what: str) -> None:
        """Add a line to the trace."""
        ...

    def crash_server(self, *, answered: bool, forgets: bool = False) -> None:
        """Let the server die."""
        ...


class Process:
    """A process that calls the server: what happens to its calls, and its death."""

    dies = Fault.WORKER_DIES

    def __init__(self, name: str, around: Surroundings) -> None:
        self.name = name
        self.around = around
        self.owner = Owner(name)
        self._last_call = ""

    @property
    def alive(self) -> bool:
        return not self.owner.dead

    def client(self) -> ModelClient:
        """Return connections of this process."""

        def wait(for_s: float, until: Callable[[], bool]) -> None:
            self.around.scheduler.give_way(for_s=for_s, until=until)

        return ModelClient(self.around.network, self, wait)

    def kill(self) -> None:
        """End it where it stands. Ends the present thread if that is one of its own."""
        self.around.tell(f"{self.name} dies")
        self.around.scheduler.kill(self.owner)

    def connects(self) -> bool:
        """Return whether a connection can be had."""
        faults = self.around.faults
        reachable = not faults.is_unreachable()
        if not reachable:
            self.around.tell(f"{self.name} reaches nobody")
        return reachable

    def reaches(self, call: str) -> Fault | None:
        """Let happen what happens before a call; return what happens to the call itself."""
        around = self.around
        if self.owner.dead:
            raise Died
        self._meanwhile()
        fault = around.faults.of_call(call, self._last_call)
        self._last_call = call
        if fault in {Fault.ENGINE_DIES, Fault.WORKER_DIES}:
            if fault is not self.dies:
                return None
            around.faults.counts[fault] += 1
            self.kill()
        if fault is None:
            return None
        around.faults.counts[fault] += 1
        around.tell(f"{self.name} {call}: {fault.value}")
        if fault is Fault.TAKING_LOST:
            around.crash_server(answered=True, forgets=True)
        if fault in {Fault.PAUSED, Fault.TAKING_LOST}:
            held_s = limits.LEASE_S * around.rng.uniform(0.5, 3)
            self.owner.held_up_until_s = around.clock.elapsed_s + held_s
            around.scheduler.give_way(for_s=held_s)
        if fault is Fault.SERVER_CRASH:
            around.crash_server(answered=True)
        return fault

    def answered(self) -> None:
        """Let happen what happens between a call and its answer."""
        self._meanwhile()
        if self.owner.dead:
            raise Died

    def _meanwhile(self) -> None:
        if self.around.scheduler.current is not None and self.around.faults.is_meanwhile():
            self.around.faults.counts[Fault.MEANWHILE] += 1
            self.around.scheduler.give_way()


class EngineProcess(Process):
    """`psoup engine`: on a data folder of its own, which outlives it."""

    dies = Fault.ENGINE_DIES

    def __init__(
        self,
        name: str,
        around: Surroundings,
        folder: Path,
        on_fold: Callable[[FoldLoop], None] = lambda _: None,
    ) -> None:
        super().__init__(name, around)
        self.folder = folder
        self.loop: FoldLoop | None = None
        self.store: RedisStore | None = None
        self.ended = ""
        """Why it has ended: the code of the error, "asked" or "died"; "" while it runs."""
        self._on_fold = on_fold
        self._stop_asked = False
        around.scheduler.spawn(name, self.owner, self._run)

    @property
    def running(self) -> bool:
        return self.alive and not self.ended

    def ask_to_stop(self) -> None:
        """Ask it to end in good order."""
        self._stop_asked = True

    def _run(self) -> None:
        around = self.around
        client = self.client()
        known = ClusterMemory(self.folder / "cluster.json")
        try:
            self.store = RedisStore(
                client,
                known,
                owner=self.folder.name,
                durability=DURABILITIES[around.network.server.appendfsync],
                revive=lambda: None,
                stop=lambda: None,
            )
            self._fold(self.store)
        except EngineError as error:
            self.ended = error.code
        else:
            self.ended = self.ended or "asked"
        around.tell(f"{self.name} ends: {self.ended}")
        around.scheduler.kill(self.owner)

    def _fold(self, store: RedisStore) -> None:
        lost: list[Phase] = []
        self.loop = FoldLoop(
            store=store,
            answers=False,
            on_lost=lost.append,
            elapsed_s=self.around.clock.monotonic,
        )
        self.loop.start()
        self.around.scheduler.give_way(
            for_s=float("inf"), until=lambda: bool(lost) or self._stop_asked
        )
        self.ended = lost[0].value if lost else ""
        self.loop.stop()
        try:
            store.close()
        except EngineError as error:
            self.around.tell(f"{self.name} lets go: {error.code}")
