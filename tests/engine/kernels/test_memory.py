"""Memory that is touched beforehand: what arrays need of it later is there."""

import ctypes
import platform
import subprocess
import sys

import pytest

from psoup.engine.kernels.memory import keep_memory

MIB = 1024 * 1024

COUNT_FAULTS = """
import resource
import sys

import numpy as np

from psoup.engine.kernels.memory import keep_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "kept":
    assert keep_memory(32 * 2**20, 64 * 2**20)
before = faults()
held = [np.zeros(512 * 2**10, np.uint8) for _ in range(48)]
for one in held:
    one[:] = 1
print(faults() - before)
"""


def faults(how: str) -> int:
    """Return how many pages a process of its own touches first while it fills 24 MiB of arrays."""
    command = [sys.executable, "-c", COUNT_FAULTS, how]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone can be told")
def test_keep_memory_leaves_nothing_to_touch_for_the_arrays_that_follow():
    """A process that has kept 32 MiB fills 24 MiB with hardly a page fault, another one with one a page."""
    pages = 24 * MIB // 4096
    assert faults("kept") < pages // 50 < pages // 2 < faults("plain")


@pytest.mark.parametrize("error", [AttributeError("mallopt"), OSError("no such file"), TypeError()])
def test_keep_memory_without_an_allocator_that_can_be_told_does_nothing(monkeypatch, error):
    """On another system the call is harmless and says so."""

    def refusing(_name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refusing)
    assert not keep_memory(MIB, MIB)
