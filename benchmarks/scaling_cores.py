"""What a second thread can bring on this machine: bare kernels on one thread and on two, and a batch on both.

A virtual machine shows no counters of its caches. So kernels stand for them, each limited by one thing: by the core
itself, by a cache of its own, by the cache that cores share, by memory. Where two threads do twice as much, the thing
is there twice. Two hardware threads of one core would share the first two.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Figure, Size
from psoup.engine.kernels.compiled import compiled

ARRAYS: Final = {
    "first": (24 * 1_024, "24 KiB each: the core and its first cache"),
    "second": (700 * 1_024, "700 KiB each: the second cache"),
    "third": (6 * 1_024 * 1_024, "6 MiB each: the third cache"),
    "memory": (48 * 1_024 * 1_024, "48 MiB each: memory"),
}
"""Bytes that each thread reads and writes again and again, and what they lie in."""
MOVED_BYTES: Final = 192 * 1_024 * 1_024
"""Of each thread in one round: some milliseconds, so that other programs leave some rounds alone."""
CORES_ROUNDS: Final = 400
ROUNDS: Final = 9

Way = tuple[Callable[[], Any], Callable[[Any], Any]]
"""What comes before a run, which is not timed, and the run."""


@compiled
def anded(words: NDArray[np.uint64], times: int) -> None:
    """Write the AND of the first two of (3, n) words into the third, so many times, as matching does."""
    left, right, found = words[0], words[1], words[2]
    for _ in range(times):
        for at in range(len(found)):
            found[at] = left[at] & right[at]


def cores_over_one(size: Size) -> Sequence[Figure]:
    """Return how much more two threads do in the same time than one, cache by cache: 2 = twice as much."""
    rounds = size.pick(smoke=1, full=CORES_ROUNDS)
    with ThreadPoolExecutor(2) as pool:
        return [
            Figure(f"scaling-cores-{key}", title, _two_over_one(pool, nbytes, rounds), "times")
            for key, (nbytes, title) in ARRAYS.items()
        ]


def _two_over_one(pool: ThreadPoolExecutor, nbytes: int, rounds: int) -> float:
    held = [np.zeros((3, nbytes // 24), dtype=np.uint64) for _ in range(2)]
    work = partial(_and_all, pool, max(1, MOVED_BYTES // nbytes))
    ways: dict[str, Way] = {"one": (lambda: held[:1], work), "two": (lambda: held, work)}
    taken = taken_by_turns(ways, rounds)
    return 2 * taken["one"]["wall"] / taken["two"]["wall"]


def _and_all(pool: ThreadPoolExecutor, times: int, held: Sequence[NDArray[np.uint64]]) -> None:
    """Work on each of the arrays in a thread of its own."""
    for working in [pool.submit(anded, words, times) for words in held]:
        working.result()


def taken_by_turns(ways: Mapping[str, Way], rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Return the least wall time and the least CPU time of all threads of each way, in seconds; they take turns."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, (setup, run) in ways.items():
            state = setup()
            wall, cpu = time.perf_counter(), time.process_time()
            run(state)
            taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: {"wall": min(wall for wall, _ in some[1:]), "cpu": min(cpu for _, cpu in some[1:])}
        for name, some in taken.items()
    }
