"""SIGTERM and SIGHUP as interrupts: whatever ends a command asks for, it leaves by the same way as after Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM, or the end of the terminal: somebody has asked the process to end who is not at its keyboard."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Make SIGTERM an interrupt, and SIGHUP (the terminal has gone) the same as SIGTERM.

    By default they would end the process before stores are closed, queries removed, temporary folders deleted.
    uvicorn takes SIGTERM over while it runs, so a SIGHUP that is passed on as one lets it end gracefully too.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    def terminate(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, interrupt)}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup it stays ignored
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
