"""A call in a thread of its own, so that who waits for it can do something else meanwhile."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def beside(call: Callable[[], T], meanwhile: Callable[[], None], *, every_s: float) -> T:
    """Return what `call` returns, or raise what it raises; until then do `meanwhile` every so many seconds.

    Where `meanwhile` raises, or Ctrl-C interrupts, the call is left to its end: nothing waits for its thread, nor does
    the end of the program.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where it is waited for
            outcome.set_exception(error)

    threading.Thread(target=run, name="psoup-beside", daemon=True).start()
    while True:
        try:
            return outcome.result(timeout=every_s)
        except TimeoutError:
            if outcome.done():  # it is the call's own
                raise
            meanwhile()
