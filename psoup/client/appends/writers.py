"""The name under which a program sends rows, so that the service stores each batch once, however often it is sent.

A stream remembers a thousand names for good, and takes the versions of each only upwards. So a name belongs to one
writer at a time, and is used again by the next one: names lie in a folder of the user's, each in a file that its
writer locks, and that keeps the last version (`locked_file.py`).
"""

import itertools
import os
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from psoup.client.appends.locked_file import open_locked, read_start, write_start
from psoup.client.connections.operations import Txn
from psoup.engine.clock import Clock, SystemClock

_NAME_BYTES: Final = 9
_FIELDS: Final = 2
_LINE_BYTES_MAX: Final = 256


class Writer:
    """A name, and versions that only grow: from one run to the next, and whatever the clock does. For many threads."""

    def __init__(self, folder: Path | None = None, clock: Clock | None = None) -> None:
        """Take no name yet; the first batch does.

        Args:
            folder: of the names; None: psoup's in the folder for the state of the user's programs.
            clock: versions are its microseconds, or the one after the last.
        """
        self._folder = folder or state_folder(os.environ)
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._file: int | None = None
        self._release: Callable[[], object] = _nothing
        self._process = 0
        self._name = ""
        self._last = 0

    def next(self) -> Txn:
        """Return the name, and a version that it never had."""
        with self._lock:
            if (
                self._process != os.getpid()
            ):  # the first batch, or a copy of the process after a fork
                self._claim()
            self._last = max(self._last + 1, self._clock.now_us())
            self._note()
            return Txn(self._name, self._last)

    def advance(self, version: int) -> None:
        """Note that a version is used which follows one that `next` has given."""
        with self._lock:
            if version > self._last:
                self._last = version
                self._note()

    def close(self) -> None:
        """Give the name back. The next batch takes another one."""
        with self._lock:
            self._let_go()

    def _claim(self) -> None:
        self._let_go()
        self._process = os.getpid()
        self._name, self._last = f"python-{secrets.token_urlsafe(_NAME_BYTES)}", 0
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = self._free_file()
        except OSError:  # no place to keep a name: it is used once
            return
        self._release = weakref.finalize(self, os.close, self._file)
        fields = read_start(self._file, _LINE_BYTES_MAX).decode(errors="replace").split()
        if len(fields) == _FIELDS and fields[1].isdecimal():
            self._name, self._last = fields[0], int(fields[1])

    def _let_go(self) -> None:
        """Close the file. A lock ends with the last copy of it: that of the process before a fork goes on."""
        self._release()
        self._file, self._process = None, 0

    def _free_file(self) -> int:
        """Return the first file that nobody else has locked."""
        found = (open_locked(self._folder / f"writer-{number}") for number in itertools.count(1))
        return next(file for file in found if file is not None)

    def _note(self) -> None:
        """Write the version down before it is used."""
        if self._file is not None:
            write_start(self._file, f"{self._name} {self._last:>16}\n".encode())


def _nothing() -> None:
    """Do nothing: there is no file to close."""


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder in which names are kept."""
    given = environment.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path("~/.local/state").expanduser()
    return base / "psoup"
