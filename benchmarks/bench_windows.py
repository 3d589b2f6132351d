"""Capacity for data as queries grow: PSoup's figure 9, inequality selections and a window of 1,000 tuples.

psoup is PSoup-P, shared. Its rivals are the paper's other systems, compiled: they match the same tuples one
by one, and the answer is what each query's window holds at the end.
"""

import functools
from collections.abc import Iterator

from benchmarks import ways_windows as ways
from benchmarks.bench import Contender, Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.ways_psoup import fed
from benchmarks.workloads import CONTINUOUS, INTEGER, Domain, inequality_queries, tuples

PSOUP = "psoup, partial: PSoup-P, shared"
UNSHARED = "PSoup-P, unshared"
SCAN = "PSoup-C, shared, expiry by scan"
EVENT = "PSoup-C, shared, expiry by event"
WINDOW = 1_000


def contests(size: Size) -> Iterator[Contest]:
    """Yield one contest for each number of queries, and one in the continuous domain."""
    if size is Size.SMOKE:
        yield figure_9("most", INTEGER, size, queries=16, rows=200, window=50)
        return
    for name, queries in (("few", 128), ("more", 1_024), ("most", 4_096)):
        yield figure_9(name, INTEGER, size, queries=queries, rows=8_192, window=WINDOW)
    yield figure_9("most", CONTINUOUS, size, queries=4_096, rows=8_192, window=WINDOW)


def figure_9(
    name: str, domain: Domain, size: Size, *, queries: int, rows: int, window: int
) -> Contest:
    """All tuples past all queries. At smoke size the rivals run as they are written, not compiled."""
    asked, columns = inequality_queries(domain, queries), tuples(domain, rows)

    def rival(title: str, way: type[ways.Unshared | ways.Lists], kernel: ways.Kernel) -> Contender:
        def make() -> Way:
            loop = kernel if size is Size.SMOKE else ways.compiled(kernel)
            return way(domain, asked, columns, loop, window)

        return contender(title, make, needs="" if size is Size.SMOKE else "numba")

    rivals = [
        rival(UNSHARED, ways.Unshared, ways.unshared),
        rival(SCAN, ways.Lists, ways.by_scan),
        rival(EVENT, ways.Lists, ways.by_event),
    ]
    ours = functools.partial(fed, domain.stream, asked, columns, window_rows=window)
    return Contest(
        f"figure9-{domain.name}-{name}",
        f"ingest {rows:,} {domain.name} past {queries:,} inequality queries, window of {window:,}",
        "tuples",
        rows,
        [contender(PSOUP, ours), *rivals],
    )
