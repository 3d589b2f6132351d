"""Files that one writer at a time has open: the system gives the lock back, however the program ends."""

import os
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    _LOCKED_BYTE: Final = 1 << 30
    """Behind all that is written: Windows keeps everybody from reading what is locked."""

    def _lock(file: int) -> bool:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined] # of Windows alone
        except PermissionError:
            return False
        return True
else:

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_BINARY: Final[int] = getattr(os, "O_BINARY", 0)
"""On Windows: lines end as they are written."""


def open_locked(path: Path) -> int | None:
    """Return the descriptor of a file that nobody else has locked, made where there is none; None: somebody has.

    Closing it gives the lock back.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o600)
    is_ours = False
    try:
        is_ours = _lock(file)
    finally:
        if not is_ours:
            os.close(file)
    return file if is_ours else None


def read_start(file: int, size: int) -> bytes:
    """Return what a file begins with, so many bytes at most. Moves its position."""
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, size)


def write_start(file: int, content: bytes) -> None:
    """Write over what a file begins with. Moves its position."""
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, content)
