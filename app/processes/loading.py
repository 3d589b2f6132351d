"""What a process is made of, loaded beside the thread that opens its store: modules, then the kernels.

Python loads one module at a time, whichever thread asks. What runs beside that is the store's start, reading and
linking of compiled kernels, and everything else that waits. The thread that opens the store has to load what it needs
for that before: so no two threads ever load the same module.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from psoup.engine.checkpoint import checked_by

Loaded = TypeVar("Loaded")


class UnwantedError(Exception):
    """The process ends: what is still to be loaded is of no use."""


class Loading(Generic[Loaded]):
    """Threads that load, from `with` on to its end at the latest."""

    def __init__(self, load: Callable[[], Loaded]) -> None:
        """Begin nothing yet. `load` imports and returns what the process needs."""
        self._load = load
        self._loaded: list[Loaded] = []
        self._error: BaseException | None = None
        self._unwanted = threading.Event()
        self._modules_end = threading.Event()
        self._kernels_end = threading.Event()

    def __enter__(self) -> "Loading[Loaded]":
        """Begin to load."""
        threading.Thread(target=self._load_modules, name="psoup-modules", daemon=True).start()
        return self

    def wait(self) -> Loaded:
        """Return what was loaded, once it is. Raises what loading raised. Signals interrupt it."""
        self._modules_end.wait()
        if self._error is not None:
            raise self._error
        return self._loaded[0]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Return when nothing is being loaded any more: modules are loaded to their end, kernels one by one."""
        self._unwanted.set()
        self._modules_end.wait()
        self._kernels_end.wait()

    def _load_modules(self) -> None:
        try:
            from psoup.app.backend import kernels  # noqa: F401, PLC0415 (what kernels need is there when they are loaded)

            threading.Thread(target=self._load_kernels, name="psoup-kernels", daemon=True).start()
        except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
            self._error = error
            self._kernels_end.set()
        else:
            try:
                self._loaded.append(self._load())
            except BaseException as error:  # noqa: BLE001 (the same)
                self._error = error
        finally:
            self._modules_end.set()

    def _load_kernels(self) -> None:
        """Load them ahead of the fold, which asks for them as well, and meets what goes wrong."""
        from psoup.app.backend.kernels import load_kernels  # noqa: PLC0415 (loaded by now)

        try:
            with checked_by(self._check):
                load_kernels()
        except Exception:  # noqa: BLE001, S110 (the fold's to say)
            pass
        finally:
            self._kernels_end.set()

    def _check(self) -> None:
        if self._unwanted.is_set():
            raise UnwantedError
