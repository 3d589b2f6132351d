"""The one who breaks things: kills, pauses and fills, at random moments, by a seed.

A fault ends when its cause has been taken back; the deployment's supervisor starts again what was killed.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from psoup.engine import limits
from psoup.engine.errors import EngineError
from tests.torture.deployment import FENCED, Child, Deployment
from tests.torture.history import History, pause
from tests.torture.witness import META, Witness

FENCED_WITHIN_S: Final = 15.0
"""An engine that was stopped and replaced has ended by then."""
CAPACITY_WITHIN_S: Final = 20.0
"""A worker that was killed has a successor by then, on a machine that is busy with everything else."""
STAGING_WITHIN_S: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What happens, and how often.

    Attributes:
        weights: fault -> how often it comes in one round of all of them.
        every_s: between two faults, at least and at most.
        settled: the next one waits until the service is ready again.
        together: how often two happen at once.
        pause_s: how long an engine is stopped, in leases.
        at_least: so many times something is broken, however long that takes.
    """

    weights: Mapping[str, int]
    every_s: tuple[float, float] = (2.0, 6.0)
    settled: bool = False
    together: float = 0.0
    pause_s: tuple[float, float] = (1.2, 3.0)
    at_least: int = 1


@dataclass(slots=True)
class Nemesis:
    """Breaks one deployment until it is told to end."""

    deployment: Deployment
    witness: Witness
    history: History
    faults: Faults
    rng: Random
    back_s: list[float] = field(default_factory=list)
    """How long each killed worker was missing."""
    deck: list[str] = field(default_factory=list)

    async def run(self, seconds: float, ending: asyncio.Event) -> None:
        """Inject faults for so long, and take all of them back."""
        latest, times = time.monotonic() + seconds, 0
        while (time.monotonic() < latest or times < self.faults.at_least) and not ending.is_set():
            times += 1
            await pause(self.rng.uniform(*self.faults.every_s), ending)
            if self.faults.settled:
                await self.deployment.ready()
                await pause(self.rng.uniform(*self.faults.every_s), ending)
            count = 2 if self.rng.random() < self.faults.together else 1
            chosen = {self._drawn() for _ in range(count)}
            await asyncio.gather(*(self._fault(name) for name in sorted(chosen)))

    def _drawn(self) -> str:
        """Return the next fault: all come, as often as they weigh, before any comes again."""
        if not self.deck:
            self.deck = [
                name for name, weight in self.faults.weights.items() for _ in range(weight)
            ]
            self.rng.shuffle(self.deck)
        return self.deck.pop()

    async def _fault(self, name: str) -> None:
        match name:
            case "kill engine":
                await self._kill(name, await self._writer())
            case "kill standby":
                writer = await self._writer()
                others = [one for one in self.deployment.engines if one is not writer]
                await self._kill(name, self.rng.choice(others) if others else None)
            case "kill api":
                await self._kill(name, self.deployment.api)
            case "kill redis":
                await self._kill_redis(name)
            case "kill worker":
                await self._kill_worker(name)
            case "pause engine":
                await self._pause_engine(name)
            case "kill staging":
                await self._kill_staging(name)
            case "fill memory":
                await self._fill_memory(name)
            case _:
                raise AssertionError(f"no such fault: {name}")

    async def _writer(self) -> Child | None:
        owner = await asyncio.to_thread(self.deployment.owner)
        if owner is not None and owner.alive():
            return owner
        alive = [one for one in self.deployment.engines if one.alive()]
        return self.rng.choice(alive) if alive else None

    async def _kill(self, name: str, child: Child | None) -> None:
        if child is not None and child.alive():
            self.history.fault(name, pid=child.pid)
            child.signal(signal.SIGKILL)

    async def _kill_redis(self, name: str) -> None:
        if self.deployment.redis is not None:
            await self._kill(name, self.deployment.redis)
            return
        pid = self.deployment.embedded_pid()
        if pid is not None:
            self.history.fault(name, pid=pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def _kill_worker(self, name: str) -> None:
        workers = self.deployment.workers()
        if not workers:
            return
        pid, begun_s = self.rng.choice(workers), time.monotonic()
        supervisor = self.deployment.api.pid
        self.history.fault(name, pid=pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while time.monotonic() < begun_s + CAPACITY_WITHIN_S:
            now = self.deployment.workers()
            if self.deployment.api.pid != supervisor:
                return
            if pid not in now and len(now) >= len(workers):
                self.back_s.append(time.monotonic() - begun_s)
                return
            await asyncio.sleep(0.05)
        self.history.violation(f"a killed worker has no successor in {CAPACITY_WITHIN_S} s")

    async def _pause_engine(self, name: str) -> None:
        """Stop the writer for longer than its lease; one that was replaced has to end with its own code."""
        engine = await self._writer()
        if engine is None:
            return
        pid = engine.pid
        seconds = self.deployment.shape.lease_s * self.rng.uniform(*self.faults.pause_s)
        before, wrote = await self._token(), engine.said().rfind(b"taken-over") >= 0
        self.history.fault(name, pid=pid, seconds=seconds)
        engine.signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        after = await self._token()
        if engine.pid == pid:
            engine.signal(signal.SIGCONT)
        if not wrote or before is None or after is None or before == after:
            return
        self.history.counts["replaced while paused"] += 1
        latest = time.monotonic() + FENCED_WITHIN_S
        while time.monotonic() < latest:
            ended = [one.code for one in self.deployment.ended if one.pid == pid]
            if ended:
                if ended[0] not in {FENCED, -signal.SIGKILL}:
                    self.history.violation(f"a fenced engine ended with {ended[0]}, not {FENCED}")
                self.history.counts["fenced"] += ended[0] == FENCED
                return
            await asyncio.sleep(0.05)
        self.history.violation(f"an engine that was replaced goes on: {engine.name}, pid {pid}")

    async def _kill_staging(self, name: str) -> None:
        """Kill the writer while parts of a delta are in the store that nobody can see yet."""
        engine = await self._writer()
        if engine is None:
            return
        caught = await asyncio.to_thread(self._kill_untidy, engine)
        self.history.fault(name if caught else "kill engine", pid=engine.pid)
        engine.signal(signal.SIGKILL)

    def _kill_untidy(self, engine: Child) -> bool:
        """Return whether META said so in time, and goes on to say so after the kill."""
        latest = time.monotonic() + STAGING_WITHIN_S
        client = self.witness.client
        with contextlib.suppress(EngineError):
            while time.monotonic() < latest and engine.alive():
                if client.fetch_one("HGET", META, "untidy") is not None:
                    engine.signal(signal.SIGKILL)
                    return client.fetch_one("HGET", META, "untidy") is not None
        return False

    async def _token(self) -> tuple[str, str] | None:
        try:
            meta = await asyncio.to_thread(self.witness.meta)
        except EngineError:
            return None
        return meta.get("epoch", ""), meta.get("nonce", "")

    async def _fill_memory(self, name: str) -> None:
        """Leave the server no memory for a while. Reads and removals go on, the clients look."""
        seconds = self.rng.uniform(0.5, 3.0)
        if await self._limit_memory(1_000_000):
            self.history.fault(name, seconds=seconds)
            await asyncio.sleep(seconds)
        latest = time.monotonic() + FENCED_WITHIN_S
        while time.monotonic() < latest:
            if await self._limit_memory(limits.STORE_MEMORY_BYTES_MAX):
                return
            await asyncio.sleep(
                0.1
            )  # it was killed meanwhile, and comes back as it was set at first

    async def _limit_memory(self, size: int) -> bool:
        client = self.witness.client
        try:
            await asyncio.to_thread(client.fetch_one, "CONFIG", "SET", "maxmemory", size)
        except EngineError:
            return False
        return True
