"""Processes that a test starts and does not leave behind."""

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any


@contextlib.contextmanager
def child(command: Sequence[Any], **more: Any) -> Iterator[subprocess.Popen[Any]]:
    """Yield the process, as `Popen` does; if it has not ended with the block it is killed, where `Popen` would wait."""
    with subprocess.Popen(command, **more) as process:
        try:
            yield process
        finally:
            process.kill()
