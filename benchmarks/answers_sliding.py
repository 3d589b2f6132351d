"""psoup's partials beside the structures that were published for sliding windows, all of them as bare kernels.

One window of the last rows moves on, and is asked rarely or often: a structure takes a few steps for each row, psoup's
partials a little for each row and much for each answer, so who is cheaper depends on how often somebody asks. And
count, sum, min and max of thousands of conditions as a chunk of tuples comes, nobody asking: structures hold windows of
a chunk there, which lie in the caches, and would take longer with larger ones; partials know no window.
"""

import functools
from collections.abc import Iterator

from benchmarks import ways_aggregates, ways_sliding as ways
from benchmarks.bench import Contender, Contest, Size
from benchmarks.bench_aggregates import AT_ONCE, SHARE, SYMBOLS, drawn_hits
from benchmarks.sliding import Kind
from benchmarks.ways import contender
from psoup.engine.limits import CHUNK_ROWS

MERGED = "psoup: partials, merged when asked"
KERNELS = {
    Kind.TWO_STACKS: "kernel, Two-Stacks Lite",
    Kind.DABA: "kernel, DABA Lite",
    Kind.FLAT_FAT: "kernel, FlatFAT",
    Kind.SLICK_DEQUE: "kernel, SlickDeque",
}
EVERY = (1, 16, 256, 4_096, 65_536)
"""Rows between two answers."""
ANSWERS_MAX = 256
"""Of a run of psoup's, where answers are what takes the time."""


def contests(size: Size) -> Iterator[Contest]:
    """Yield the window asked ever more rarely, then conditions."""
    window = size.pick(smoke=4 * CHUNK_ROWS, full=1 << 20)
    for every in (64,) if size is Size.SMOKE else EVERY:
        yield moving(window, moved=size.pick(smoke=128, full=window), every=every)
    yield conditions(size.pick(smoke=8, full=4_096))


def moving(window: int, *, moved: int, every: int) -> Contest:
    """Return the contest of a window that moves on over so many rows."""
    rows = CHUNK_ROWS // 2 + window + moved  # both ends of the window cut a chunk
    some = functools.cache(lambda: ways_aggregates.trades(rows, SYMBOLS))
    fewer = min(moved, every * ANSWERS_MAX)

    def slid(kind: Kind, name: str) -> Contender:
        return contender(name, lambda: ways.Slid(kind, some(), window, moved=moved, every=every))

    return Contest(
        f"sliding-{every}",
        f"count, sum, min, max of a sliding window of {window:,}, asked every {every:,} rows",
        "rows",
        moved,
        [
            contender(
                MERGED,
                lambda: ways.Merged(some(), window, moved=fewer, every=every),
                count=fewer,
            ),
            *(slid(kind, name) for kind, name in KERNELS.items()),
        ],
    )


def conditions(count: int) -> Contest:
    """Return what it takes to keep aggregates of conditions as a chunk of tuples comes."""
    some = ways_aggregates.trades(CHUNK_ROWS, SYMBOLS)
    hits, edges = drawn_hits(count)

    def slid(kind: Kind, name: str) -> Contender:
        return contender(name, lambda: ways.SlidConditions(kind, some, hits, edges))

    return Contest(
        "sliding-conditions",
        f"count, sum, min, max of {count:,} conditions, one row in {SHARE} each, as {CHUNK_ROWS:,} tuples come",
        "tuples",
        CHUNK_ROWS,
        [
            contender(AT_ONCE, lambda: ways_aggregates.ConditionsAtOnce(some, hits, edges)),
            *(slid(kind, name) for kind, name in KERNELS.items()),
        ],
    )
