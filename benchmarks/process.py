"""What the system knows of a process, from /proc: CPU seconds and resident memory. Linux alone has it."""

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4_096


def is_known() -> bool:
    """Return whether this system has /proc."""
    return Path("/proc/self/stat").exists()


def cpu_s(pid: int) -> float:
    """Return the CPU seconds a process has taken, its own and the system's for it."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    fields = text.rpartition(")")[2].split()  # a process may have spaces and brackets in its name
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def exact_cpu_s(pid: int) -> float:
    """Return the CPU seconds of the threads that a process has now, to nanoseconds."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(one.read_text(encoding="utf-8").split()[0]) for one in threads) / 1e9


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for one in threads for child in one.read_text(encoding="utf-8").split()]


def machine_bytes() -> int:
    """Return the memory of the machine; 0 where the system does not tell."""
    return os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES if is_known() else 0


def resident_bytes(pid: int | str = "self") -> int:
    """Return the memory a process has in RAM."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]) * PAGE_BYTES
