"""The Results Structure: what the engine publishes and any worker reads.

One writer publishes deltas; any number of readers take snapshots. A reader never sees part of a delta:
everything it gets belongs to one applied seq.
Source: Chandrasekaran & Franklin 2002, 2.4 and 4.1 (stream-prefix consistency).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, Protocol

from psoup.engine.errors import NotFoundError
from psoup.engine.log.operation import QueryId
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.delta import (
    BatchRecord,
    ClauseKey,
    ClauseRecord,
    Delta,
    QueryRecord,
    StreamRecord,
)
from psoup.engine.results.page import Page
from psoup.engine.results.segment_blocks import KeptRows
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.engine.tuples.value_type import value_type

Gen = NewType("Gen", int)
"""Generation of the history: the millisecond it began. Changes only if history was lost."""


@value_type
class Cut:
    """The position every answer names. `arrival_us` is that of the applied operation (0 before any)."""

    gen: Gen
    seq: Seq
    arrival_us: int
    server_now_us: int
    """max(the store's clock, `arrival_us`): a clock set back stops at the last arrival."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a store stands, all of one instant.

    Attributes:
        gen, applied: the history and the last operation published in it.
        head: the last operation in the log.
        waiting_bytes: of bodies between the two.
        engine_alive: whether the engine's lease has not ended.
    """

    gen: Gen
    applied: Seq
    head: Seq
    waiting_bytes: int
    engine_alive: bool


@value_type
class Snapshot:
    """One query at one cut: everything an invocation needs but the pages. `streams` in FROM order."""

    cut: Cut
    query: QueryRecord
    clause: ClauseRecord
    streams: tuple[StreamRecord, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything published at the applied seq but the hits over single streams: where a restarted engine begins.

    Composite tuples are in it: the process holds them in memory from the beginning, whole groups of them.
    """

    cut: Cut
    streams: tuple[StreamRecord, ...]
    clauses: tuple[ClauseRecord, ...]
    queries: tuple[QueryRecord, ...]
    batches: tuple[BatchRecord, ...]
    """Ascending by seq within each stream."""
    composites: Mapping[CompositeKey, CompositePage] = field(default_factory=dict)
    expired: Mapping[QueryId, int] = field(default_factory=dict)
    """Queries that are remembered to have expired, and when (µs)."""


@value_type
class StreamBatches:
    """A stream at one applied seq, and where the tuples of its batches lie.

    Attributes:
        applied: the seq.
        stream: its record there.
        batches: those from after the seq asked about, up to `applied`, that are held, ascending by seq.
    """

    applied: Seq
    stream: StreamRecord
    batches: tuple[BatchRecord, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many streams and standing queries there are at one applied seq."""

    streams: int
    queries: int


@dataclass(frozen=True, slots=True)
class ResultsStatistics:
    """Counters of a Results Structure since the start.

    Pages: of clauses' own, clauses in blocks, pages of composites.
    """

    publishes: int
    pages_written: int
    page_bytes_written: int
    reads: int


class ResultsReader(Protocol):
    """Read at one applied seq. Thread-safe."""

    def cut(self) -> Cut:
        """Return the present position."""
        ...

    def snapshot(self, query_id: QueryId) -> Snapshot:
        """Return one query at one cut.

        Raises:
            QueryExpiredError: it is remembered to have expired.
            NotFoundError: it is not standing at that cut.
        """
        ...

    def snapshots(self, query_ids: Sequence[QueryId]) -> Sequence[Snapshot | None]:
        """Return several queries, all at one cut; None for one that is not standing."""
        ...

    def gone(self, query_ids: Sequence[QueryId]) -> Sequence[NotFoundError]:
        """Return what requests for queries are answered that are not standing, in their order.

        QueryExpiredError for one that is remembered to have expired, else NotFoundError.
        """
        ...

    def pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return the clause's hits in those of `chunks` where it has any.

        Args:
            clause: as it was published.
            chunks: whole chunks in which its hits are kept (`ClauseRecord.keeps`).

        Returns:
            Pages by chunk. One that is not `kept` stands for hits that the columns tell. Empty for a clause
            that has been dropped.
        """
        ...

    def hits(self, clause: ClauseRecord, first_chunk: int, past_chunk: int) -> Sequence[KeptRows]:
        """Return what `pages` does of the chunks `[first_chunk, past_chunk)`, as rows.

        Args:
            clause: as it was published.
            first_chunk: the first of whole chunks in which its hits are kept.
            past_chunk: the chunk behind the last of them.

        Returns:
            Parts that follow each other, in memory of this process as few as there are.
        """
        ...

    def composites(self, clause: ClauseRecord) -> Sequence[CompositePage]:
        """Return the pages in which a clause over several streams may have composite tuples, ascending by key.

        Args:
            clause: as it was published, over n streams.

        Returns:
            All pages of its group that chunks have entered (entrant < n), whatever clauses they are of, and
            those that the clause itself has (entrant n, number = its id). None for a clause that has been dropped,
            or of which nothing is kept.
        """
        ...

    def now_us(self) -> int:
        """Return the store's clock: as it was last seen, carried on since. Asks nobody."""
        ...

    def streams(self) -> Sequence[StreamRecord]:
        """Return all streams at the applied seq, ascending by name."""
        ...

    def stream(self, name: str) -> StreamRecord:
        """Return the stream in force under this name. NotFoundError if there is none."""
        ...

    def batches(self, stream_id: StreamId, after: Seq) -> StreamBatches:
        """Return a stream and its batches from after a seq. NotFoundError if it is not in force.

        Cost: O(operations since `after`), at most O(batches held).
        """
        ...

    def queries(self) -> Sequence[QueryRecord]:
        """Return all standing queries at the applied seq, ascending by seq."""
        ...

    def query(self, query_id: QueryId) -> QueryRecord:
        """Return one standing query. Raises as `snapshot`."""
        ...

    def named(self, name: str) -> QueryRecord | None:
        """Return the standing query of this name; None = there is none."""
        ...

    def readers(self, stream_id: StreamId) -> Sequence[QueryRecord]:
        """Return the standing queries that read this stream, ascending by seq; none if it is unknown."""
        ...

    def sharing(self, key: ClauseKey) -> int:
        """Return how many standing queries share the clause of this key.

        Cost: O(clauses and queries).
        """
        ...

    def counts(self) -> Counts:
        """Return how many streams and queries there are at the applied seq, without reading them."""
        ...

    def checkpoint(self) -> Checkpoint:
        """Return everything but the hits over single streams at the applied seq, for a restart.

        Cost: O(records + composites).
        """
        ...

    def statistics(self) -> ResultsStatistics:
        """Return counters."""
        ...

    def check(self) -> None:
        """Assert invariants: every query has its clause, every clause its streams and a query, every
        page its clause, every batch its stream. O(everything), for tests.
        """  # noqa: D205
        ...


class ResultsStructure(ResultsReader, Protocol):
    """Publish, read, recover. Thread-safe; `publish` is called by one writer."""

    def publish(self, delta: Delta) -> None:
        """Apply the delta atomically: readers see all of it or nothing; the applied seq moves last.

        After an error of `engine/store/errors.py` the delta may have been applied or not. Once the store is
        open again, `cut` tells; where it is not at `delta.seq`, publish the same delta before any other.

        Raises:
            IntegrityError: the applied seq is not `delta.expect`, or `delta.seq` is past the log's head.
        """
        ...
