"""Letting go: the oldest segment of 65,536 tuples leaves, with all results that name its tuples.

psoup lets several go one after the other, each by an operation of its own, as a running stream does: a single
one behind seconds of ingest would measure how long the machine takes to find the code for it.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Iterator

from benchmarks.bench import Contest, Size
from benchmarks.node import Node
from benchmarks.ways import Way, contender
from benchmarks.workloads import (
    INTEGER,
    SECOND_US,
    Columns,
    interval_queries,
    retaining,
    tuples,
)
from psoup.engine.limits import RETIRED_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize

PSOUP = "psoup"
DUCKDB = "DuckDB, DELETE"
SQLITE = "SQLite, DELETE"


def contests(size: Size) -> Iterator[Contest]:
    """Yield the one contest."""
    columns = tuples(INTEGER, SEGMENT_ROWS)
    queries = size.pick(smoke=2, full=1_024)
    segments = size.pick(smoke=1, full=8)

    def ours() -> Way:
        return Leaving(columns, queries=queries, segments=segments)

    def duckdb() -> Way:
        from benchmarks.ways_duckdb import Deleting

        return Deleting(INTEGER, columns)

    def sqlite() -> Way:
        from benchmarks.ways_sqlite import Deleting

        return Deleting(columns)

    peers = [contender(DUCKDB, duckdb, needs="duckdb")]
    if size is Size.FULL:  # it fills four indexes for each run
        peers.append(contender(SQLITE, sqlite))
    yield Contest(
        "drop-segment",
        f"drop {SEGMENT_ROWS:,} tuples, {queries:,} queries standing",
        "segments",
        1,
        [contender(PSOUP, ours, count=segments), *peers],
    )


class Leaving(Way):
    """A stream that keeps one segment and lets go of `segments` in a run. Answers how many tuples it holds."""

    def __init__(self, columns: Columns, *, queries: int, segments: int) -> None:
        """Fill the first segments."""
        self._node = Node(retaining(INTEGER.stream, SEGMENT_ROWS))
        for query in interval_queries(INTEGER, queries):
            self._node.register(query, materialize=Materialize.PARTIAL)
        self._columns = columns
        self._segments = segments
        self.setup()
        self.run(None)

    def setup(self) -> None:
        """Bring tuples, a segment a second: those before leave retention, and may still be read."""
        for _ in range(self._segments):
            self._node.tick(after_us=SECOND_US)
            for rows in self._node.batches(self._columns, rows=SEGMENT_ROWS):
                self._node.ingest(rows)
        self._node.tick(after_us=RETIRED_US - self._segments * SECOND_US)

    def run(self, state: None) -> None:
        """Let the time pass after which nobody may read them any more, one segment after the other."""
        for _ in range(self._segments):
            self._node.tick(after_us=SECOND_US)

    def answer(self, outcome: None) -> bytes:
        """Return the tuples held."""
        return str(self._node.engine.statistics().rows_held).encode()
