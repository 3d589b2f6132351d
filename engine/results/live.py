"""Results in the memory of one process: what invocations beside the engine read, and all there is of `memory://`.

Deltas are applied under one lock, reads copy what they need under the same, so a reader never sees part of
one. Match blocks and pages of any kind are values: they are handed out as they are.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from sortedcontainers import SortedDict

from psoup.engine.errors import NO_STREAM, NotFoundError, gone_query
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import QueryId
from psoup.engine.results.clause_pages import RUN_CHUNKS, runs_of
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.contract import (
    Checkpoint,
    Counts,
    Cut,
    Gen,
    ResultsStatistics,
    Snapshot,
    StreamBatches,
)
from psoup.engine.results.delta import (
    CHUNKS,
    BatchRecord,
    ClauseKey,
    ClauseRecord,
    Delta,
    QueryRecord,
    StreamRecord,
    clause_sharers,
)
from psoup.engine.results.live_composites import LiveComposites
from psoup.engine.results.live_hits import LiveHits
from psoup.engine.results.older_pages import OlderPages, no_older_pages
from psoup.engine.results.page import Page
from psoup.engine.results.segment_blocks import (
    NO_BLOCKS,
    KeptRows,
    rows_by_chunk,
    rows_of_pages,
)
from psoup.engine.results.text_bytes import HeldBytes, text_bytes
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId


class LiveResults:
    """Records, match blocks and pages at the applied position."""

    def __init__(
        self, now_us: Callable[[], int], guard: AbstractContextManager[object] | None = None
    ) -> None:
        """Begin empty, before any history.

        `now_us` is the store's clock, `guard` the lock of threads that share it: one that its holder may take again.
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
            self._expired = dict(checkpoint.expired)
            self._batches: dict[StreamId, dict[Seq, BatchRecord]] = {}
            for batch in checkpoint.batches:
                self._batches.setdefault(batch.stream_id, {})[batch.seq] = batch
            self._hits = LiveHits()
            self._composites = LiveComposites(checkpoint.composites)
            self._text_bytes = text_bytes([*checkpoint.clauses, *checkpoint.queries])

    @property
    def applied(self) -> Seq:
        """Return the applied seq."""
        return self._applied

    @property
    def held(self) -> HeldBytes:
        """Return the bytes held, counted as they come and go."""
        return HeldBytes(self._hits.nbytes + self._composites.nbytes, self._text_bytes)

    def apply(self, delta: Delta) -> None:
        """Apply the delta that follows, atomically."""
        with self._lock:
            assert delta.expect == self._applied, "deltas follow each other"
            self._write(delta)
            self._drop(delta)
            if delta.composites or delta.dropped_composites:
                self._composites.write(delta.composites)
                self._composites.drop(delta.dropped_composites)
            self._applied, self._arrival_us = delta.seq, delta.arrival_us
            self._publishes += 1
            if delta.pages or delta.blocks or delta.composites:
                self._pages_written += sum(map(len, delta.pages.values()))
                self._pages_written += sum(map(len, delta.blocks.values())) + len(delta.composites)
                for written in (delta.pages, delta.blocks, delta.composites):
                    self._page_bytes_written += sum(one.nbytes for one in written.values())

    def cut(self) -> Cut:
        """Return the present position."""
        with self._lock:
            return self._cut()

    def now_us(self) -> int:
        """Return the store's clock."""
        return self._now_us()

    def snapshot(self, query_id: QueryId) -> Snapshot:
        """Return one query at one cut (`ResultsReader.snapshot`)."""
        with self._lock:
            self._reads += 1
            return self._snapshot(self._standing(query_id), self._cut())

    def snapshots(self, query_ids: Sequence[QueryId]) -> Sequence[Snapshot | None]:
        """Return several queries, all at one cut; None for one that is not standing."""
        with self._lock:
            self._reads += 1
            cut = self._cut()
            found = [self._queries.get(query_id) for query_id in query_ids]
            return [None if query is None else self._snapshot(query, cut) for query in found]

    def gone(self, query_ids: Sequence[QueryId]) -> Sequence[NotFoundError]:
        """Return what requests for queries are answered that are not standing (`ResultsReader.gone`)."""
        return [gone_query(self._expired.get(query_id)) for query_id in query_ids]

    def pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return the clause's hits in those of `chunks` where it has any (`ResultsStructure.pages`)."""
        found: dict[int, Page] = {}
        older: list[int] = []
        with self._lock:
            self._reads += 1
            if clause.clause_id not in self._clauses:
                return found
            blocks = self._hits.blocks_of(clause.streams[0])
            older_past = self._older_chunks.get(clause.streams[0], 0)
            # A run outlives its first segments.
            held_from = self._streams[clause.streams[0]].dropped_row
            for chunk in chunks:
                page: Page | None = None
                if chunk * CHUNK_ROWS < clause.block_row and clause.clause_id > self._began_at:
                    run = self._hits.pages_of(clause.clause_id, chunk // RUN_CHUNKS)
                    if run is not None and chunk * CHUNK_ROWS >= held_from:
                        page = run.page(chunk)
                elif chunk < older_past:
                    older.append(chunk)
                elif (
                    block := blocks.get(chunk // CHUNKS, NO_BLOCKS).blocks.get(chunk)
                ) is not None:
                    page = block.page(clause.clause_id)
                if page is not None:
                    found[chunk] = page
        if older:
            found.update(self._older_pages(clause, older))
        return found

    def hits(self, clause: ClauseRecord, first_chunk: int, past_chunk: int) -> list[KeptRows]:
        """Return what `pages` does of consecutive chunks, as rows (`ResultsReader.hits`)."""
        stream_id = clause.streams[0]
        segments = range(first_chunk // CHUNKS, past_chunk // CHUNKS + 1)
        with self._lock:
            self._reads += 1
            if clause.clause_id not in self._clauses:
                return []
            young = clause.clause_id > self._began_at
            blocks_from = self._older_chunks.get(stream_id, 0)
            if young:
                blocks_from = clause.block_row // CHUNK_ROWS
            middle = min(max(first_chunk, blocks_from), past_chunk)
            held_from = self._streams[stream_id].dropped_row // CHUNK_ROWS
            runs = runs_of(segments) if young and first_chunk < middle else ()
            own = [self._hits.pages_of(clause.clause_id, run) for run in runs]
            held = self._hits.blocks_of(stream_id)
            blocks = [(number, held.get(number, NO_BLOCKS)) for number in segments]
        found: list[KeptRows] = []
        if first_chunk < middle and not young:
            found += rows_by_chunk(self._older_pages(clause, range(first_chunk, middle)))
        begin = max(first_chunk, held_from)  # a run outlives its first segments
        found += [rows_of_pages(pages, begin, middle) for pages in own if pages is not None]
        for number, one in blocks:
            first, past = max(middle, number * CHUNKS), min(past_chunk, (number + 1) * CHUNKS)
            if first < past:
                found.append(one.rows(clause.clause_id, first, past))
        return found

    def composites(self, clause: ClauseRecord) -> Sequence[CompositePage]:
        """Return the pages in which a clause may have composite tuples (`ResultsStructure.composites`)."""
        with self._lock:
            self._reads += 1
            return self._composites.of(clause) if clause.clause_id in self._clauses else ()

    def streams(self) -> Sequence[StreamRecord]:
        """Return all streams, ascending by name."""
        with self._lock:
            return [self._streams[stream_id] for stream_id in self._names.values()]

    def stream(self, name: str) -> StreamRecord:
        """Return the stream in force under this name; NotFoundError if there is none."""
        with self._lock:
            stream_id = self._names.get(name)
            if stream_id is None:
                raise NotFoundError(NO_STREAM)
            return self._streams[stream_id]

    def batches(self, stream_id: StreamId, after: Seq) -> StreamBatches:
        """Return a stream and its batches from after a seq; NotFoundError if it is not in force."""
        with self._lock:
            record = self._streams.get(stream_id)
            if record is None:
                raise NotFoundError(NO_STREAM)
            held = reversed(self._batches.get(stream_id, {}).values())
            latest = tuple(itertools.takewhile(lambda one: one.seq > after, held))
            return StreamBatches(self._applied, record, latest[::-1])

    def queries(self) -> Sequence[QueryRecord]:
        """Return all standing queries, ascending by seq."""
        with self._lock:
            return list(self._queries.values())  # they came in that order

    def query(self, query_id: QueryId) -> QueryRecord:
        """Return one standing query (`ResultsReader.query`)."""
        with self._lock:
            return self._standing(query_id)

    def named(self, name: str) -> QueryRecord | None:
        """Return the standing query of this name; None = there is none. Cost: O(queries)."""
        return next((query for query in self.queries() if query.name == name), None)

    def readers(self, stream_id: StreamId) -> Sequence[QueryRecord]:
        """Return the standing queries that read this stream, ascending by seq."""
        with self._lock:
            reading = {c.clause_id for c in self._clauses.values() if stream_id in c.streams}
            return [one for one in self._queries.values() if one.clause_id in reading]

    def sharing(self, key: ClauseKey) -> int:
        """Return how many standing queries share a clause."""
        with self._lock:
            return clause_sharers(key, self._clauses.values(), self._queries.values())

    def counts(self) -> Counts:
        """Return how many streams and queries there are."""
        with self._lock:
            return Counts(len(self._streams), len(self._queries))

    def checkpoint(self) -> Checkpoint:
        """Return everything but the hits over single streams."""
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
                composites=self._composites.every(),
                expired=dict(self._expired),
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
            self._hits.check(self._streams, self._clauses)
            self._composites.check(self._clauses.values())
            texts = text_bytes([*self._clauses.values(), *self._queries.values()])
            assert texts == self._text_bytes, "bytes are counted"

    def _standing(self, query_id: QueryId) -> QueryRecord:
        record = self._queries.get(query_id)
        if record is None:
            raise gone_query(self._expired.get(query_id))
        return record

    def _cut(self) -> Cut:
        now_us, arrival_us = self._now_us(), self._arrival_us
        return Cut(self._gen, self._applied, arrival_us, max(now_us, arrival_us))

    def _snapshot(self, query: QueryRecord, cut: Cut) -> Snapshot:
        clause = self._clauses[query.clause_id]
        streams = [self._streams[stream_id] for stream_id in clause.streams]
        return Snapshot(cut, query, clause, tuple(streams))

    def _write(self, delta: Delta) -> None:
        for stream_id, record in delta.streams.items():
            if stream_id not in self._streams:  # a stream keeps its name
                self._names[record.schema.name] = stream_id
            self._streams[stream_id] = record
        if delta.clauses or delta.queries:
            self._text_bytes += text_bytes([*delta.clauses.values(), *delta.queries.values()])
            self._text_bytes -= text_bytes(map(self._clauses.get, delta.clauses))
            self._text_bytes -= text_bytes(map(self._queries.get, delta.queries))
            self._clauses.update(delta.clauses)
            self._queries.update(delta.queries)
        if delta.expired:
            self._expired.update(delta.expired)
        for (stream_id, seq), batch in delta.batches.items():
            self._batches.setdefault(stream_id, {})[seq] = batch
        if delta.blocks or delta.pages:
            self._hits.write(delta.blocks, delta.pages)

    def _drop(self, delta: Delta) -> None:
        for stream_id in delta.dropped_streams:
            record = self._streams.pop(stream_id, None)
            if record is not None and self._names.get(record.schema.name) == stream_id:
                del self._names[record.schema.name]
            self._batches.pop(stream_id, None)
            self._hits.drop_stream(stream_id)
        for clause_id in delta.dropped_clauses:
            clause = self._clauses.pop(clause_id, None)
            self._text_bytes -= text_bytes([clause])
            if clause is not None:
                self._hits.drop_clause(clause)
        for query_id in delta.dropped_queries:
            self._text_bytes -= text_bytes([self._queries.pop(query_id, None)])
        for query_id in delta.forgotten:
            self._expired.pop(query_id, None)
        for stream_id, seq in delta.dropped_batches:
            self._batches.get(stream_id, {}).pop(seq, None)
        if delta.dropped_segments or delta.dropped_pages:
            self._hits.drop_segments(delta.dropped_segments, delta.dropped_pages)
