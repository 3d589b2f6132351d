"""Letting go: the oldest segment of 65,536 tuples leaves, with all results that name its tuples."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Iterator

from benchmarks.bench import Contest, Size
from benchmarks.node import Node
from benchmarks.ways import Way, contender
from benchmarks.workloads import INTEGER, Columns, interval_queries, retaining, tuples
from engine.limits import RETIRED_US, SEGMENT_ROWS
from engine.log.operation import Materialize

PSOUP = "psoup"
DUCKDB = "DuckDB, DELETE"
SQLITE = "SQLite, DELETE"


def contests(size: Size) -> Iterator[Contest]:
    """Yield the one contest."""
    columns = tuples(INTEGER, SEGMENT_ROWS)
    queries = size.pick(smoke=2, full=1_024)

    def ours() -> Way:
        return Leaving(columns, queries=queries)

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
        [contender(PSOUP, ours), *peers],
    )


class Leaving(Way):
    """A stream that keeps one segment. Answers how many tuples it holds."""

    def __init__(self, columns: Columns, *, queries: int) -> None:
        """Fill the first segment."""
        self._node = Node(retaining(INTEGER.stream, SEGMENT_ROWS))
        for query in interval_queries(INTEGER, queries):
            self._node.register(query, materialize=Materialize.PARTIAL)
        self._columns = columns
        self.setup()

    def setup(self) -> None:
        """Bring as many tuples again: those before leave retention, and may still be read."""
        for rows in self._node.batches(self._columns, rows=SEGMENT_ROWS):
            self._node.ingest(rows)

    def run(self, state: None) -> None:
        """Let the time pass after which nobody may read them any more."""
        self._node.tick(after_us=RETIRED_US)

    def answer(self, outcome: None) -> bytes:
        """Return the tuples held."""
        return str(self._node.engine.statistics().rows_held).encode()
