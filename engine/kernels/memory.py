"""Memory that is touched before it is needed, and kept once it was.

The first touch of a page costs more than what is written into it: the system finds, clears and maps it. A batch of
16,384 tuples past 4,096 queries leaves 5 MB of columns and hits, 1,300 pages; on a virtual machine they take a third
of its time. Pages of 2 MiB would take a fifth of that, but six times as much where the host has to find them first.
So arrays stay those of `malloc`: it reuses the memory of freed arrays, and this module sets it to keep that memory.
"""

import ctypes
import mmap
from typing import Final

import numpy as np

# <malloc.h>, glibc
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8

_MAPPED_FROM_BYTES: Final = 32 * 1024 * 1024
"""The largest that glibc takes: arrays below it come from the heap, where their memory can be used again."""
_PIECE_BYTES: Final = 1024 * 1024


def keep_memory(touched_bytes: int, free_bytes_max: int) -> bool:
    """Let the process keep the memory of freed arrays, and touch the first of it now.

    Threads that begin later share one heap, so that memory one of them freed serves the others.

    Args:
        touched_bytes: taken and left at once, for arrays to come.
        free_bytes_max: free memory kept at the end of the heap; more than that goes back to the system.

    Returns:
        Whether the allocator has these options: glibc's does. Without one, does nothing.

    Cost: 0.5 ms a MiB, on a virtual machine up to six times as much.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return False
    for option, value in (
        (_ARENA_MAX, 1),
        (_MMAP_THRESHOLD, _MAPPED_FROM_BYTES),
        (_TRIM_THRESHOLD, free_bytes_max),
    ):
        set_option(option, value)
    taken = [np.empty(_PIECE_BYTES, np.uint8) for _ in range(touched_bytes // _PIECE_BYTES)]
    for piece in taken:
        piece[:: mmap.PAGESIZE] = 0
    return True
