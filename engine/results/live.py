"""Results in the memory of one process: what invocations beside the engine read, and all there is of `memory://`.

Deltas are applied under one lock, reads copy what they need under the same, so a reader never sees part of
one. Match blocks and pages are values: they are handed out as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from sortedcontainers import SortedDict

from engine.errors import NotFoundError
from engine.limits import CHUNK_ROWS
from engine.log.operation import QueryId
from engine.results.contract import (
    Checkpoint,
    Counts,
    Cut,
    Gen,
    ResultsStatistics,
    Snapshot,
)
from engine.results.delta import CHUNKS, BatchRecord, ClauseRecord, Delta, QueryRecord, StreamRecord
from engine.results.hits import ClauseId
from engine.results.match_block import MatchBlock
from engine.results.page import Page
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId

OlderPages = Callable[[ClauseRecord, Sequence[int]], Mapping[int, Page]]
"""Pages of chunks that were whole before this process began, from wherever they were published."""


def no_older_pages(_clause: ClauseRecord, _chunks: Sequence[int]) -> Mapping[int, Page]:
    """Return nothing: the process has been there from the beginning."""
    return {}


class LiveResults:
    """Records, match blocks and pages at the applied position."""

    def __init__(
        self, now_us: Callable[[], int], guard: AbstractContextManager[object] | None = None
    ) -> None:
        """Begin empty, before any history.

        `now_us` is the store's clock. Where threads share it, `guard` is their lock, one that its holder may
        take again.
        """
        self._lock = nullcontext() if guard is None else guard
        self._now_us = now_us
        self._publishes = self._pages_written = self._page_bytes_written = self._reads = 0
        self.begin(Checkpoint(Cut(Gen(0), Seq(0), 0, 0), (), (), (), ()))

    def begin(self, checkpoint: Checkpoint, older_pages: OlderPages = no_older_pages) -> None:
        """Forget everything and begin with what a checkpoint says.

        `older_pages` is asked for the hits in chunks that the checkpoint's streams had whole.
        """
        with self._lock:
            self._older_pages = older_pages
            self._gen: Gen = checkpoint.cut.gen
            self._applied: Seq = checkpoint.cut.seq
            self._arrival_us = checkpoint.cut.arrival_us
            self._began_at: Seq = checkpoint.cut.seq
            self._older_chunks = {s.stream_id: s.rows // CHUNK_ROWS for s in checkpoint.streams}
            self._streams = {record.stream_id: record for record in checkpoint.streams}
            self._names = SortedDict({s.schema.name: s.stream_id for s in checkpoint.streams})
            self._clauses = {record.clause_id: record for record in checkpoint.clauses}
            self._queries = {record.query_id: record for record in checkpoint.queries}
            self._batches: dict[StreamId, dict[Seq, BatchRecord]] = {}
            for batch in checkpoint.batches:
                self._batches.setdefault(batch.stream_id, {})[batch.seq] = batch
            self._blocks: dict[StreamId, dict[int, MatchBlock]] = {}
            # By clause and segment: what is dropped together lies together.
            self._pages: dict[tuple[ClauseId, int], dict[int, Page]] = {}

    @property
    def applied(self) -> Seq:
        """Return the applied seq."""
        return self._applied

    def apply(self, delta: Delta) -> None:
        """Apply the delta that follows, atomically."""
        with self._lock:
            assert delta.expect == self._applied, "deltas follow each other"
            self._write(delta)
            self._drop(delta)
            self._applied, self._arrival_us = delta.seq, delta.arrival_us
            self._publishes += 1
            self._pages_written += len(delta.pages) + sum(map(len, delta.blocks.values()))
            self._page_bytes_written += sum(page.nbytes for page in delta.pages.values())
            self._page_bytes_written += sum(block.nbytes for block in delta.blocks.values())

    def cut(self) -> Cut:
        """Return the present position."""
        with self._lock:
            now_us = max(self._now_us(), self._arrival_us)
            return Cut(self._gen, self._applied, self._arrival_us, now_us)

    def now_us(self) -> int:
        """Return the store's clock."""
        return self._now_us()

    def snapshot(self, query_id: QueryId) -> Snapshot:
        """Return one query at one cut; NotFoundError if it is not standing."""
        with self._lock:
            self._reads += 1
            return self._snapshot(self.query(query_id), self.cut())

    def snapshots(self, query_ids: Sequence[QueryId]) -> Sequence[Snapshot | None]:
        """Return several queries, all at one cut; None for one that is not standing."""
        with self._lock:
            self._reads += 1
            cut = self.cut()
            found = [self._queries.get(query_id) for query_id in query_ids]
            return [None if query is None else self._snapshot(query, cut) for query in found]

    def pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return the clause's hits in those of `chunks` where it has any (`ResultsStructure.pages`)."""
        found: dict[int, Page] = {}
        older: list[int] = []
        with self._lock:
            self._reads += 1
            if clause.clause_id not in self._clauses:
                return found
            blocks = self._blocks.get(clause.streams[0], {})
            older_past = self._older_chunks.get(clause.streams[0], 0)
            for chunk in chunks:
                page: Page | None = None
                if chunk * CHUNK_ROWS < clause.block_row and clause.clause_id > self._began_at:
                    page = self._pages.get((clause.clause_id, chunk // CHUNKS), {}).get(chunk)
                elif chunk < older_past:
                    older.append(chunk)
                elif (block := blocks.get(chunk)) is not None:
                    page = block.page(clause.clause_id)
                if page is not None:
                    found[chunk] = page
        if older:
            found.update(self._older_pages(clause, older))
        return found

    def streams(self) -> Sequence[StreamRecord]:
        """Return all streams, ascending by name."""
        with self._lock:
            return [self._streams[stream_id] for stream_id in self._names.values()]

    def stream(self, name: str) -> StreamRecord:
        """Return the stream in force under this name; NotFoundError if there is none."""
        with self._lock:
            stream_id = self._names.get(name)
            if stream_id is None:
                raise NotFoundError("No such stream is declared.")
            return self._streams[stream_id]

    def queries(self) -> Sequence[QueryRecord]:
        """Return all standing queries, ascending by seq."""
        with self._lock:
            return list(self._queries.values())  # they came in that order

    def query(self, query_id: QueryId) -> QueryRecord:
        """Return one standing query; NotFoundError if there is none."""
        with self._lock:
            record = self._queries.get(query_id)
            if record is None:
                raise NotFoundError("No such query is registered.")
            return record

    def readers(self, stream_id: StreamId) -> Sequence[QueryRecord]:
        """Return the standing queries that read this stream, ascending by seq."""
        with self._lock:
            return [
                query
                for query in self._queries.values()
                if stream_id in self._clauses[query.clause_id].streams
            ]

    def counts(self) -> Counts:
        """Return how many streams and queries there are."""
        with self._lock:
            return Counts(len(self._streams), len(self._queries))

    def checkpoint(self) -> Checkpoint:
        """Return everything but the hits."""
        with self._lock:
            return Checkpoint(
                cut=self.cut(),
                streams=tuple(self.streams()),
                clauses=tuple(self._clauses[clause_id] for clause_id in sorted(self._clauses)),
                queries=tuple(self.queries()),
                batches=tuple(
                    self._batches[stream_id][seq]
                    for stream_id in sorted(self._batches)
                    for seq in sorted(self._batches[stream_id])
                ),
            )

    def statistics(self) -> ResultsStatistics:
        """Return counters."""
        with self._lock:
            return ResultsStatistics(
                self._publishes, self._pages_written, self._page_bytes_written, self._reads
            )

    def check(self) -> None:
        """Assert that records refer to each other, and hits to what is there. O(everything), for tests."""
        with self._lock:
            assert sorted(self._names.values()) == sorted(self._streams), "a stream has its name"
            for query in self._queries.values():
                assert query.clause_id in self._clauses, "a query has its clause"
            for clause in self._clauses.values():
                assert all(stream_id in self._streams for stream_id in clause.streams)
            assert self._blocks.keys() <= self._streams.keys(), "a block has its stream"
            for stream_id, blocks in self._blocks.items():
                record = self._streams[stream_id]
                for chunk, block in blocks.items():
                    assert record.dropped_row <= chunk * CHUNK_ROWS <= record.rows - CHUNK_ROWS
                    block.check()
            for clause_id, segment in self._pages:
                assert segment in self._clauses[clause_id].paged_segments, "a page has its clause"

    def _snapshot(self, query: QueryRecord, cut: Cut) -> Snapshot:
        clause = self._clauses[query.clause_id]
        streams = tuple(self._streams[stream_id] for stream_id in clause.streams)
        return Snapshot(cut, query, clause, streams)

    def _write(self, delta: Delta) -> None:
        self._streams.update(delta.streams)
        self._names.update({r.schema.name: r.stream_id for r in delta.streams.values()})
        self._clauses.update(delta.clauses)
        self._queries.update(delta.queries)
        for (stream_id, seq), batch in delta.batches.items():
            self._batches.setdefault(stream_id, {})[seq] = batch
        for (stream_id, chunk), block in delta.blocks.items():
            self._blocks.setdefault(stream_id, {})[chunk] = block
        for (clause_id, chunk), page in delta.pages.items():
            self._pages.setdefault((clause_id, chunk // CHUNKS), {})[chunk] = page

    def _drop(self, delta: Delta) -> None:
        for stream_id in delta.dropped_streams:
            record = self._streams.pop(stream_id, None)
            if record is not None and self._names.get(record.schema.name) == stream_id:
                del self._names[record.schema.name]
            self._batches.pop(stream_id, None)
            self._blocks.pop(stream_id, None)
        for clause_id in delta.dropped_clauses:
            clause = self._clauses.pop(clause_id, None)
            for segment in () if clause is None else clause.paged_segments:
                self._pages.pop((clause_id, segment), None)
        for query_id in delta.dropped_queries:
            self._queries.pop(query_id, None)
        for stream_id, seq in delta.dropped_batches:
            self._batches.get(stream_id, {}).pop(seq, None)
        for clause_id, segment in delta.dropped_pages:
            self._pages.pop((clause_id, segment), None)
        for stream_id, segment in delta.dropped_segments:
            blocks = self._blocks.get(stream_id, {})
            for chunk in range(segment * CHUNKS, (segment + 1) * CHUNKS):
                blocks.pop(chunk, None)
