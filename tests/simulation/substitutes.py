"""What the code under test gets in the place of threads, clocks and chance while a run is simulated."""

import contextlib
import os
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from random import Random
from types import ModuleType, SimpleNamespace
from unittest import mock

from psoup.engine.errors import EngineError
from tests.simulation.scheduler import Scheduler
from tests.simulation.simulated_time import SimulatedTime

PACKAGES = ("psoup.app.", "psoup.storage.")


Tell = Callable[[str, BaseException | None], None]
"""Takes an event that was logged, and the error with it that is nobody's refusal: a bug."""


class Tale:
    """A logger of the service's: what it says is part of the run's trace."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def info(self, event: str, *, exc_info: BaseException | None = None, **_: object) -> None:
        self._tell(event, None if isinstance(exc_info, EngineError) else exc_info)

    warning = error = debug = info

    def exception(self, event: str, **_: object) -> None:
        self.info(event, exc_info=sys.exc_info()[1])


@contextlib.contextmanager
def installed(
    scheduler: Scheduler, clock: SimulatedTime, rng: Random, tell: Tell
) -> Iterator[None]:
    """Have the modules of app and storage see the run's threads, time and chance; nothing waits for a disk."""

    def token_bytes(nbytes: int = 32) -> bytes:
        return rng.randbytes(nbytes)

    def sleep(seconds: float) -> None:
        scheduler.give_way(for_s=seconds)

    doubles: dict[ModuleType, object] = {
        threading: scheduler.threading,
        time: SimpleNamespace(
            monotonic=clock.monotonic, monotonic_ns=clock.monotonic_ns, sleep=sleep
        ),
        secrets: SimpleNamespace(
            token_bytes=token_bytes, token_hex=lambda nbytes=32: token_bytes(nbytes).hex()
        ),
        uuid: SimpleNamespace(uuid4=lambda: uuid.UUID(bytes=rng.randbytes(16), version=4)),
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(os, "fsync"))
        for name, module in sorted(sys.modules.items()):
            if not name.startswith(PACKAGES):
                continue
            for attribute, value in list(vars(module).items()):
                if isinstance(value, ModuleType) and value in doubles:
                    stack.enter_context(mock.patch.object(module, attribute, doubles[value]))
                elif attribute in {"keep_memory", "load_kernels"}:
                    stack.enter_context(mock.patch.object(module, attribute, return_value=0))
                elif attribute == "_LOG":
                    stack.enter_context(mock.patch.object(module, attribute, Tale(tell)))
        yield
