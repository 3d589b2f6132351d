"""Processes that a test starts and does not leave behind."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end."""


def printed_by(*lines: str) -> str:
    """Return what a Python of its own prints that runs these lines and ends with code 0."""
    command = [sys.executable, "-P", "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def heed_ignored_signals() -> None:
    """Let signals that this process ignores do nothing here, and end the processes that it starts.

    A process inherits what its parent ignores, and nothing of how its parent handles a signal.
    """
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@contextlib.contextmanager
def child(command: Sequence[Any], **more: Any) -> Iterator[subprocess.Popen[Any]]:
    """Yield the process, as `Popen` does; if it has not ended with the block it is killed, where `Popen` would wait."""
    with subprocess.Popen(command, **more) as process:
        try:
            yield process
        finally:
            process.kill()
