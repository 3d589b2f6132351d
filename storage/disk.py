"""The disk under a store: how full it is, and when nothing may be added any more.

A server that cannot write its append-only file dies, so additions end before: what frees space has to be written, too.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from psoup.engine import limits
from psoup.engine.limits import KIB, MIB
from psoup.engine.store.condition import DISK_FULL, DiskUse
from psoup.engine.store.errors import StoreFullError


def refuse_spent_disk(folder: Path) -> None:
    """Refuse to write where nothing is left: a server that is started there ends at its first write.

    Raises:
        StoreFullError: fewer than DISK_START_FREE_BYTES are free; its `reason` is `disk-full`.
    """
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < limits.DISK_START_FREE_BYTES:
        raise spent_disk(folder, free)


def spent_disk(folder: Path, free_bytes: int = 0) -> StoreFullError:
    """Return the refusal of a disk that takes nothing more."""
    return StoreFullError(
        f"The disk of the data folder {folder} is full: {free_bytes // KIB} KiB are free. Nothing that is stored is lost."
        " Free space on it, or give psoup another folder with --data.",
        reason=DISK_FULL,
    )


@dataclass(frozen=True, slots=True)
class DiskStatistics:
    """How often the disk was looked at, and how often that failed."""

    looks: int
    failures: int


class DiskWatch:
    """Judges one disk. Full from `full_percent` on, until it is a little below again; thread-safe."""

    def __init__(
        self,
        folder: Path,
        full_percent: float,
        *,
        statvfs: Callable[[Path], os.statvfs_result] = os.statvfs,
    ) -> None:
        """Look at the disk that `folder` is on, when `look` is called."""
        self._folder = folder
        self._full_percent = full_percent
        self._statvfs = statvfs
        self._lock = threading.Lock()
        self._full = False
        self._looks = self._failures = 0

    def look(self) -> DiskUse | None:
        """Return how the disk is, so coarsely that small writes are no news; None = it cannot be seen from here."""
        with self._lock:
            self._looks += 1
            try:
                found = self._statvfs(self._folder)
            except OSError:
                self._failures += 1
                return None
            used = (found.f_blocks - found.f_bfree) * found.f_frsize
            free = found.f_bavail * found.f_frsize
            percent = 100 * used / max(used + free, 1)
            scarce = free < limits.DISK_ENOUGH_FREE_BYTES
            bound = self._full_percent * (limits.DISK_RESUME_SHARE if self._full else 1)
            self._full = scarce and percent >= bound
            high = scarce and percent >= self._full_percent * limits.DISK_HIGH_SHARE
            return DiskUse(round(percent, 1), free // MIB * MIB, self._full, high)

    def statistics(self) -> DiskStatistics:
        """Return counters."""
        with self._lock:
            return DiskStatistics(self._looks, self._failures)

    def check(self) -> None:
        """Assert that no more looks failed than there were."""
        with self._lock:
            assert self._failures <= self._looks
