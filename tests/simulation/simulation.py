"""One simulated run of the whole service: engines, workers and clients around one server that keeps few promises.

Everything runs in this process, one thread at a time, and everything that is drawn is drawn from one seed.
"""

import hashlib
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Final
from unittest import mock

from psoup.app.backend.contract import Phase
from psoup.app.fold import trimming
from psoup.engine import limits
from psoup.engine.limits import SECOND_US
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.fsck.check import check_log, check_results
from tests.simulation.clients import Clients
from tests.simulation.faults import Fault, Faults
from tests.simulation.history import History
from tests.simulation.model.client import ModelClient, Network
from tests.simulation.model.server import ModelServer
from tests.simulation.processes import EngineProcess
from tests.simulation.scheduler import Scheduler
from tests.simulation.simulated_time import SimulatedTime
from tests.simulation.substitutes import installed
from tests.simulation.worker import WorkerProcess

WORKERS: Final = 2
YEAR_S: Final = 365 * 86_400
HEALED_S: Final = 60.0
"""So long after the last fault everything that is pending is answered."""
LAST_FAULTS_S: Final = 3 * limits.LEASE_S
"""So long a process may still be held up when the faults end."""


SMALL: Final = (
    (limits, "PUBLISH_WRITES_MAX", (2, 6, 1_000)),
    (limits, "FOLD_OPERATIONS_MAX", (2, 64)),
    (limits, "LOG_ENTRIES_KEPT", (5, 10_000)),
    (limits, "SEQ_REMEMBERED_EVERY", (1, 1_000)),
    (limits, "STAGE_LIFE_S", (30, 3_600)),
    (trimming, "TRIM_EVERY", (3, 1_000)),
)
"""Bounds that a short run would never reach, and what they are instead: each seed draws its own."""


class Nobody:
    """A process of the test's own: nothing happens to its calls."""

    name = "test"

    def connects(self) -> bool:
        return True

    def reaches(self, _: str) -> None:
        return None

    def answered(self) -> None:
        pass


class Simulation:
    """One seed, one run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.clock = SimulatedTime()
        self.scheduler = Scheduler(self.rng, self.clock)
        appendfsync = self.rng.choice(["always", "always", "everysec"])
        self.faults = Faults(self.rng, forgets=appendfsync == "everysec")
        self.server = ModelServer(self.rng, self.clock, appendfsync)
        self.history = History(self.server)
        self.network = Network(self.server, crash=self._crash_in_call, watch=self.history.look)
        self.clients = Clients(self.rng, self.clock, self.history)
        self.engines: list[EngineProcess] = []
        self.workers: list[WorkerProcess] = []
        self.trace: list[str] = []
        self.bugs: list[BaseException] = []
        self.endings: Counter[str] = Counter()
        self._folders = [f"engine-{number}" for number in range(self.rng.randint(1, 3))]
        self._started = 0
        self._empties = self.rng.random() < 0.5
        """Whether the server comes back without data, once."""
        self._is_emptied = False
        self._away: object = None

    def run(self, steps: int) -> str:
        """Take `steps` steps, let everything heal, check everything; return a digest of all that happened."""
        with ExitStack() as stack:
            self._root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.enter_context(installed(self.scheduler, self.clock, self.rng, self._log))
            for module, name, values in SMALL:
                value = self.rng.choice(values)
                stack.enter_context(mock.patch.object(module, name, value))
            stack.callback(self.scheduler.close)
            try:
                self._begin()
                for _ in range(steps):
                    self._step()
                self._heal()
                self._check()
            except BaseException as error:
                error.add_note(f"replay: python -m tests.simulation {self.seed} {steps}")
                error.add_note("\n".join(self.trace[-25:]))
                raise
        return self.digest()

    def digest(self) -> str:
        """Return a digest of the trace, of the log and of what the server holds."""
        held = repr((self.trace, self.history.now.raw, self.server.data.listed()))
        return hashlib.sha256(held.encode()).hexdigest()[:16]

    def tell(self, what: str) -> None:
        """Add a line to the trace."""
        self.trace.append(f"{self.clock.elapsed_s:9.3f} {what}")

    def _log(self, event: str, error: BaseException | None) -> None:
        """Take note of what a part of the service has logged; an error that is not the service's own is a bug."""
        current = self.scheduler.current
        self.tell(f"{current.owner.name if current else 'test'} says {event}")
        if event == "operations-void":
            error = AssertionError("what is committed can be applied")
        if error is not None:
            self.bugs.append(error)

    # --- Steps ------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.server.start()
        for _ in range(WORKERS):
            self._start_worker()

    def _step(self) -> None:
        """Let something happen to the surroundings, then let everybody go on for a while."""
        if self.rng.random() < 0.12:
            self._happen()
        self._look_after()
        self._go_on(self.rng.randint(5, 40))

    def _go_on(self, turns: int) -> None:
        for _ in range(turns):
            self.scheduler.step()
        if self.bugs:
            raise self.bugs[0]
        if not self._is_emptied:
            self.history.look_at_everything()

    def _look_after(self) -> None:
        """Start what is not running, as an operator or a supervisor does."""
        rng = self.rng
        if not self.server.up and rng.random() < 0.3:
            self._start_server()
        self.engines = [engine for engine in self.engines if engine.running]
        if len(self.engines) < len(self._folders) and rng.random() < 0.2:
            self._start_engine()
        self.workers = [worker for worker in self.workers if worker.alive]
        if len(self.workers) < WORKERS and rng.random() < 0.3:
            self._start_worker()
        for _ in range(3):
            if self.network.delayed and self.server.up and rng.random() < 0.3:
                what = self.network.run_delayed(rng.randrange(len(self.network.delayed)))
                self.tell(f"late: {what}")

    def _start_engine(self) -> None:
        """Start an engine on a folder that has none."""
        busy = {engine.folder.name for engine in self.engines}
        names = [name for name in self._folders if name not in busy]
        if self._is_emptied:  # one that knows nothing would rightly begin a new history there
            names = [name for name in names if self._knows(self._root / name)]
        if not names:
            return
        folder = self._root / self.rng.choice(names)
        folder.mkdir(exist_ok=True)
        self._started += 1
        engine = EngineProcess(f"{folder.name}#{self._started}", self, folder)
        self.engines.append(engine)
        self.tell(f"{engine.name} starts")

    @staticmethod
    def _knows(folder: Path) -> bool:
        """Return whether an engine with this folder has ever had the store."""
        return (folder / "cluster.json").exists()

    def _start_worker(self) -> None:
        self._started += 1
        worker = WorkerProcess(f"worker#{self._started}", self, self.clients, self.history)
        self.workers.append(worker)

    # --- What happens to the surroundings ---------------------------------------------------------

    def _happen(self) -> None:
        happenings = [self._kill_engine, self._stop_engine, self._kill_worker, self._step_clock]
        happenings += [self._crash_between, self._fill, self._step_clock, self._fail_rewrite]
        happenings += [self._pass_time] * 2
        if self._empties:
            happenings.append(self._empty_server)
        self.rng.choice(happenings)()

    def _kill_engine(self) -> None:
        if self.engines:
            self.faults.counts[Fault.ENGINE_DIES] += 1
            self.rng.choice(self.engines).kill()

    def _stop_engine(self) -> None:
        if self.engines:
            engine = self.rng.choice(self.engines)
            self.tell(f"{engine.name} is asked to stop")
            engine.ask_to_stop()

    def _kill_worker(self) -> None:
        self.faults.counts[Fault.WORKER_DIES] += 1
        self.rng.choice(self.workers).kill() if self.workers else None

    def _pass_time(self) -> None:
        """Let seconds pass, so that retention and leases end."""
        self.clock.pass_by(self.rng.choice([0.5, 2.0, 5.0, 20.0]))

    def _step_clock(self) -> None:
        back = self.rng.random() < 0.5
        seconds = self.rng.choice([1, 60, 3_600, YEAR_S])
        self.clock.step_us((-seconds if back else seconds) * SECOND_US)
        self.faults.counts[Fault.CLOCK_BACK if back else Fault.CLOCK_FORWARD] += 1
        self.tell(f"clock {'back' if back else 'forward'} {seconds} s")

    def _fill(self) -> None:
        self.server.full = not self.server.full
        self.faults.counts[Fault.MEMORY_FULL] += self.server.full
        self.tell(f"memory {'full' if self.server.full else 'free'}")

    def _fail_rewrite(self) -> None:
        self.server.rewrite_fails = True

    def _crash_between(self) -> None:
        self.faults.counts[Fault.SERVER_CRASH] += 1
        self.crash_server(answered=True)

    def _crash_in_call(self) -> None:
        self.crash_server(answered=False)

    def crash_server(self, *, answered: bool, forgets: bool = False) -> None:
        """Let the server die. What was on its way to it is gone; `forgets`: what it may lose it loses."""
        if not self.server.up:
            return
        lost = self.server.crash(answered=answered, forgets=forgets)
        self.faults.counts[Fault.TORN_END] += self.server.is_torn
        self.network.delayed.clear()
        self.tell(f"server dies, {lost} records lost")

    def _empty_server(self) -> None:
        """Have the server come back on another folder; its operator finds the right one later."""
        self.crash_server(answered=True)
        self.faults.counts[Fault.SERVER_EMPTIED] += 1
        for engine in self.engines:
            if engine.running and not self._knows(engine.folder):
                engine.kill()
        self._away = self.server.put_away()
        self._is_emptied, self._empties = True, False
        self._start_server()

    def _start_server(self) -> None:
        emptied = self._is_emptied
        if emptied and (not self.faults.on or self.rng.random() < 0.5):
            self.server.put_back(self._away)
            self._is_emptied = emptied = False
        self.server.start()
        if not emptied:
            lost = self.history.come_back()
            self.faults.counts[Fault.OPERATION_LOST] += lost
        self.tell(f"server starts{' empty' * emptied}, run {self.server.run_id[:4]}")

    # --- The end ----------------------------------------------------------------------------------

    def _heal(self) -> None:
        """End all faults; then everything that is pending is answered in HEALED_S."""
        self.faults.on = self.server.full = self.clients.wishing = False
        self.server.rewrite_fails = False
        self.faults.counts[Fault.REWRITE_FAILS] += self.server.rewrites_failed
        self.tell("everything heals, but for the engines of all folders but one")
        self._folders = [self.rng.choice(self._folders)]
        for engine in self.engines:
            if engine.running and engine.folder.name not in self._folders:
                engine.kill()
        self.network.delayed = [one for one in self.network.delayed if self.rng.random() < 0.5]
        if self._is_emptied:
            self.crash_server(answered=True)
        answered = -1
        deadline_s = self.clock.elapsed_s + LAST_FAULTS_S + HEALED_S
        while not self._is_quiet(answered):
            assert self.clock.elapsed_s < deadline_s, f"all is answered: {self._standing()}"
            if answered < 0 and self.server.up:
                answered = self.clients.counts["answer"]
            self._look_after()
            self._go_on(10)

    def _is_quiet(self, answered: int) -> bool:
        done = self.clients.counts["answer"] > answered >= 0
        return (
            self.server.up
            and not self.clients.pending()
            and not self.network.delayed
            and self.history.is_tidy
            and any(e.running and e.loop and e.loop.phase is Phase.LIVE for e in self.engines)
            and self.history.applied == len(self.history.now.operations)
            and (done or not self.history.now.twin(self.history.applied).queries)
        )

    def _standing(self) -> str:
        phases = [engine.loop.phase.value for engine in self.engines if engine.loop]
        workers = [worker.follower.phase.value for worker in self.workers]
        at = f"{self.history.applied} of {len(self.history.now.operations)}"
        left = len(self.network.delayed)
        return f"{phases} {workers} {at}, {left} late, {self.history.is_tidy} {self.clients.pending()[:2]}"

    def _check(self) -> None:
        """Compare everything with everything."""
        for engine in self.engines:
            if engine.running:
                engine.kill()
        self.clients.check()
        client = ModelClient(self.network, Nobody(), lambda *_: None)
        check_log(client)
        check_results(client)
        self._check_shown(client)

    def _check_shown(self, client: RedisClient) -> None:
        from psoup.storage.redis.reader import RedisReader

        reader = RedisReader(client, now_us=self.clock.server_us())
        twin = self.history.now.twin(self.history.applied)
        assert sorted(twin.queries) == sorted(query.query_id for query in reader.queries())
        assert sorted(twin.streams) == sorted(stream.stream_id for stream in reader.streams())
