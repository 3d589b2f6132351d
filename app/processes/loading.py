"""Loading of a process's modules and kernels, in threads beside the one that opens its store.

Python imports one module at a time, in whichever thread. The start of the store and the linking of compiled kernels run
beside it. The thread that opens the store imports what it needs before: so no two threads import the same module.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from psoup.engine.checkpoint import checked_by

Loaded = TypeVar("Loaded")


class UnwantedError(Exception):
    """The process ends: loading is given up."""


class Loading(Generic[Loaded]):
    """A context manager whose threads load the modules and kernels of a process."""

    def __init__(self, load: Callable[[], Loaded]) -> None:
        """Start nothing yet. `load` imports the modules, and returns the object that the process needs of them."""
        self._load = load
        self._loaded: list[Loaded] = []
        self._error: BaseException | None = None
        self._unwanted = threading.Event()
        self._modules_end = threading.Event()
        self._kernels_end = threading.Event()

    def __enter__(self) -> "Loading[Loaded]":
        """Start loading."""
        threading.Thread(target=self._load_modules, name="psoup-modules", daemon=True).start()
        return self

    def wait(self) -> Loaded:
        """Return what `load` has returned, or raise what it has raised. Blocks; signals interrupt it."""
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
        """Wait until both threads have ended: modules are loaded to the end, of the kernels only the present one."""
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
        """Load the kernels ahead of the fold, which loads them as well and reports errors."""
        from psoup.app.backend.kernels import load_kernels  # noqa: PLC0415 (loaded by now)

        try:
            with checked_by(self._check):
                load_kernels()
        except Exception:  # noqa: BLE001, S110 (the fold reports it)
            pass
        finally:
            self._kernels_end.set()

    def _check(self) -> None:
        if self._unwanted.is_set():
            raise UnwantedError
