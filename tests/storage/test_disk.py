"""When a disk is full, from where on a warning is due, and when additions go on."""

import os
from pathlib import Path

import pytest

from psoup.engine import limits
from psoup.engine.limits import GIB, MIB
from psoup.storage.disk import DiskWatch


class Disk:
    """A disk of so many MiB, as statvfs shows it."""

    def __init__(self, size: int) -> None:
        self.size, self.used, self.missing = size, 0, False

    def __call__(self, _: Path) -> os.statvfs_result:
        if self.missing:
            raise FileNotFoundError
        free = self.size - self.used
        return os.statvfs_result((MIB, MIB, self.size, free, free, 0, 0, 0, 0, 255))


@pytest.mark.parametrize(
    ("steps", "states"),
    [
        ([50, 84, 86, 89, 90, 99], ["", "", "high", "high", "full", "full"]),
        ([90, 89, 88, 86, 85], ["full", "full", "high", "high", ""]),
        ([86, 90, 89, 90], ["high", "full", "full", "full"]),
    ],
)
def test_disk_is_full_from_the_percentage_on_until_a_little_below(steps, states):
    """90 %: a warning from 85.5 on, and after it was full additions wait for less than 88.2."""
    disk = Disk(100)
    watch, shown = DiskWatch(Path("x"), 90.0, statvfs=disk), []
    for used in steps:
        disk.used = used
        found = watch.look()
        assert found is not None
        shown.append("full" if found.full else "high" if found.high else "")
    assert states == shown
    watch.check()


def test_disk_with_enough_free_is_not_full():
    """4 TiB that are used to 95 % have room for years."""
    disk = Disk(4 * 1024 * 1024)
    disk.used = disk.size * 95 // 100
    found = DiskWatch(Path("x"), 90.0, statvfs=disk).look()
    assert found is not None
    assert (False, False, 95.0) == (found.full, found.high, round(found.used_percent))
    assert found.free_bytes > limits.DISK_ENOUGH_FREE_BYTES == 32 * GIB


def test_disk_that_is_not_seen_is_not_judged():
    """A folder of another machine, or of another container."""
    disk = Disk(100)
    disk.missing = True
    watch = DiskWatch(Path("x"), 90.0, statvfs=disk)
    assert watch.look() is None
    assert 1 == watch.statistics().failures


def test_small_writes_are_no_news():
    """What the engine tells each second is written only where it differs, and that takes a few blocks itself."""
    blocks = 10 * 1024 * 1024

    def statvfs(_: Path) -> os.statvfs_result:
        free = next(left)
        return os.statvfs_result((4_096, 4_096, blocks, free, free, 0, 0, 0, 0, 255))

    left = iter([blocks // 2 + 200, blocks // 2 + 198])
    watch = DiskWatch(Path("x"), 90.0, statvfs=statvfs)
    assert watch.look() == watch.look()
