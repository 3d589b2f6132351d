"""Threads of a simulated run, of which one runs at a time, and which one is drawn from the run's seed.

A thread gives way where it waits: for a call, for an Event, for a lock, for time. So what runs between two of these
is one step, and a run is the same each time. `Scheduler.threading` stands in for the module `threading`.
"""

import threading
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any, Final

from tests.simulation.simulated_time import TICK_S, SimulatedTime

HANDED_OVER_S: Final = 100.0
"""No step takes so long: a real lock is held by a thread that waits for its turn."""


class Died(BaseException):
    """Ends a thread of a process that was killed, wherever it stands."""


def _closed() -> threading.Lock:
    """Return a gate that whoever comes waits at until somebody else opens it."""
    gate = threading.Lock()
    gate.acquire()
    return gate


class Owner:
    """A process: its threads die together, and are held up together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False
        self.held_up_until_s = 0.0


class Fiber:
    """A thread that runs when it is told to, until it gives way."""

    def __init__(self, name: str, owner: Owner, target: Callable[[], object]) -> None:
        self.name = name
        self.owner = owner
        self.target = target
        self.done = False
        self.error: BaseException | None = None
        self.until_s = 0.0
        self.ready: Callable[[], bool] = lambda: False
        """What it waits for, beside the time."""
        self.turn = _closed()
        self.thread: threading.Thread | None = None


class Scheduler:
    """Runs fibers one at a time."""

    def __init__(self, rng: Random, clock: SimulatedTime) -> None:
        self._rng = rng
        self._clock = clock
        self._fibers: list[Fiber] = []
        self._current: Fiber | None = None
        self._back = _closed()
        self.threading = SimpleNamespace(
            Thread=self._thread,
            Event=lambda: SimulatedEvent(self),
            Lock=lambda: SimulatedLock(self),
            RLock=lambda: SimulatedLock(self),
            Condition=threading.Condition,
            local=threading.local,
            current_thread=threading.current_thread,
        )

    @property
    def current(self) -> Fiber | None:
        """The fiber that runs, None = the test itself."""
        return self._current

    def spawn(self, name: str, owner: Owner, target: Callable[[], object]) -> Fiber:
        """Add a fiber. It runs when it is drawn."""
        fiber = Fiber(name, owner, target)
        fiber.ready = lambda: True
        self._fibers.append(fiber)
        return fiber

    def step(self) -> bool:
        """Let one fiber that can run do so until it gives way; let time pass until one can. False = none ever can."""
        self._fibers = [fiber for fiber in self._fibers if not fiber.done]
        if not self._fibers:
            return False
        self._clock.pass_by(TICK_S * self._rng.randint(1, 3))
        able = [fiber for fiber in self._fibers if self._is_able(fiber)]
        if not able:
            next_s = min(max(f.until_s, f.owner.held_up_until_s) for f in self._fibers)
            if next_s == float("inf"):
                return False
            self._clock.pass_by(max(0.0, next_s - self._clock.elapsed_s))
            return True
        self._run(self._rng.choice(able))
        return True

    def give_way(self, *, for_s: float = 0.0, until: Callable[[], bool] | None = None) -> None:
        """Let others run until `until` holds, or `for_s` seconds have passed. Died where the process was killed."""
        fiber = self._current
        if fiber is None:
            self._clock.pass_by(0.0 if for_s == float("inf") else for_s)
            return
        fiber.until_s = self._clock.elapsed_s + for_s
        fiber.ready = until or (lambda: False)
        self._back.release()
        if not fiber.turn.acquire(timeout=HANDED_OVER_S * 10):
            raise AssertionError("the simulation was left")
        if fiber.owner.dead:
            raise Died

    def kill(self, owner: Owner) -> None:
        """Kill a process: each of its threads ends where it stands, without another step."""
        owner.dead = True
        own = [f for f in self._fibers if f.owner is owner and f is not self._current]
        for fiber in own:
            if fiber.thread is None:
                fiber.done = True
        if self._current is not None and self._current.owner is owner:
            raise Died

    def close(self) -> None:
        """End all threads."""
        for fiber in self._fibers:
            fiber.owner.dead = True
            while fiber.thread is not None and not fiber.done:
                self._run(fiber)

    def _is_able(self, fiber: Fiber) -> bool:
        if fiber.owner.dead:
            return True
        if self._clock.elapsed_s < fiber.owner.held_up_until_s:
            return False
        return self._clock.elapsed_s >= fiber.until_s > 0 or fiber.ready()

    def _run(self, fiber: Fiber) -> None:
        """Hand over to a fiber and wait until it gives way or ends. Raises what it ended with."""
        self._current = fiber
        if fiber.thread is None:
            fiber.thread = threading.Thread(
                target=self._body, args=(fiber,), name=fiber.name, daemon=True
            )
            fiber.thread.start()
        else:
            fiber.turn.release()
        if not self._back.acquire(timeout=HANDED_OVER_S):
            raise AssertionError(f"{fiber.name} does not give way")
        self._current = None
        if fiber.done:
            fiber.thread.join()
        if fiber.error is not None:
            error, fiber.error = fiber.error, None
            raise error

    def _body(self, fiber: Fiber) -> None:
        try:
            fiber.target()
        except Died:
            pass
        except BaseException as error:  # noqa: BLE001 - handed to whoever runs the simulation
            fiber.error = error
        finally:
            fiber.done = True
            self._back.release()

    def _thread(
        self, *, target: Callable[[], object], name: str = "", daemon: bool = True
    ) -> "SimulatedThread":
        assert daemon, "threads of the service do not hold it up"
        return SimulatedThread(self, target, name)


class SimulatedThread:
    """A `threading.Thread` of the process that starts it."""

    def __init__(self, scheduler: Scheduler, target: Callable[[], object], name: str) -> None:
        self._scheduler = scheduler
        self._target = target
        self._name = name
        self._fiber: Fiber | None = None

    def start(self) -> None:
        current = self._scheduler.current
        assert current is not None
        name = f"{current.owner.name} {self._name}"
        self._fiber = self._scheduler.spawn(name, current.owner, self._target)

    def is_alive(self) -> bool:
        return self._fiber is not None and not self._fiber.done

    def join(self, timeout: float | None = None) -> None:
        for_s = float("inf") if timeout is None else timeout
        self._scheduler.give_way(for_s=for_s, until=lambda: not self.is_alive())


class SimulatedEvent:
    """A `threading.Event`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            for_s = float("inf") if timeout is None else timeout
            self._scheduler.give_way(for_s=for_s, until=self.is_set)
        return self._set


class SimulatedLock:
    """A `threading.Lock` or `RLock`: whoever has it may take it again."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._holder: Any = None
        self._depth = 0

    def acquire(self) -> bool:
        me = self._scheduler.current or "test"
        while self._depth and self._holder is not me:
            assert self._scheduler.current is not None, "the test never waits"
            self._scheduler.give_way(for_s=float("inf"), until=lambda: not self._depth)
        self._holder = me
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()
