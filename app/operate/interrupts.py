"""SIGTERM and SIGHUP as interrupts: a process that receives them ends in the same way as after Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SLEPT_THROUGH_S: Final = 0.5


class Terminated(KeyboardInterrupt):
    """The interrupt of SIGTERM or SIGHUP: a supervisor, not somebody at the keyboard, ends the process."""


@contextmanager
def interruptible(*, keyboard_once: bool = False) -> Iterator[None]:
    """Make SIGTERM an interrupt, and SIGHUP (the terminal has gone) the same as SIGTERM.

    By default they would end the process before stores are closed, queries removed, temporary folders deleted.
    uvicorn takes SIGTERM over while it runs, so a SIGHUP that is passed on as one lets it end gracefully too.

    The first one counts. Those after it change nothing, from then until the process has ended: supervisors often send
    SIGTERM to a process and to its group, and a second interrupt would strike what closes stores after the first.

    Args:
        keyboard_once: whether Ctrl-C counts among these. Otherwise each Ctrl-C interrupts: a command that waits for a
            service while it ends can be given up.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for one in ours:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated

    def terminate(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    ours = {signal.SIGTERM: interrupt, signal.SIGHUP: terminate}
    if keyboard_once:
        ours[signal.SIGINT] = interrupt
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:  # under nohup, or in the background
            ours.pop(number, None)
    before = {number: signal.signal(number, handler) for number, handler in ours.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is ours[number]:  # else the process is ending
                signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore SIGINT, SIGTERM and SIGHUP meanwhile: for what is short, and must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_for(event: threading.Event) -> None:
    """Return once `event` is set; an interrupt ends the wait, half a second late at worst.

    Python looks for signals, gives its lock up, then sleeps. It sleeps through a signal that comes in between, or one
    that the system hands to another thread; `Event.wait()` without a time would then never return.
    """
    while not event.wait(_SLEPT_THROUGH_S):
        pass
