"""Random histories as deltas, and everything there is to read of results."""

from dataclasses import dataclass, field, replace
from random import Random

from engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from engine.log.operation import Materialize, QueryId
from engine.query.window import Window
from engine.results.delta import (
    CHUNKS,
    BatchRecord,
    ClauseRecord,
    Delta,
    QueryRecord,
    StreamRecord,
)
from engine.results.draft import Draft
from engine.results.hits import ClauseId
from engine.results.live import LiveResults
from engine.results.match_block import Keeping
from engine.tuples.batch import Seq, TupleId
from engine.tuples.schema import StreamId
from tests.engine.batches import schema_keeping
from tests.engine.results.blocks import block_of, plain_page, rows_drawn, runs_of

KEPT = list(Keeping)


@dataclass(slots=True)
class History:
    """Records as an engine would have them; `step` gives the next operation's delta."""

    rng: Random
    seq: int = 0
    streams: dict[StreamId, StreamRecord] = field(default_factory=dict)
    clauses: dict[ClauseId, ClauseRecord] = field(default_factory=dict)
    queries: dict[QueryId, QueryRecord] = field(default_factory=dict)
    batches: dict[StreamId, list[BatchRecord]] = field(default_factory=dict)

    def step(self) -> Delta:
        """Do one thing that can be done."""
        self.seq += 1
        draft = Draft(Seq(self.seq - 1), Seq(self.seq), 10 * self.seq)
        things = [self._declare]
        if self.streams:
            things += [self._rows] * 4 + [self._register] * 4 + [self._expire] * 6 + [self._drop]
        if self.queries:
            things += [self._remove]
        self.rng.choice(things)(draft)
        return draft.delta()

    def _stream(self) -> StreamRecord:
        return self.streams[self.rng.choice(list(self.streams))]

    def _write(self, draft: Draft, record: StreamRecord) -> None:
        self.streams[record.stream_id] = draft.streams[record.stream_id] = record

    def _over(self, stream_id: StreamId) -> list[ClauseId]:
        return [i for i, clause in self.clauses.items() if clause.streams == (stream_id,)]

    def _declare(self, draft: Draft) -> None:
        # A name is free again once its stream is dropped.
        used = {record.schema.name for record in self.streams.values()}
        free = [name for name in ("s", "t", "u") if name not in used]
        if free:
            self._write(draft, StreamRecord(StreamId(self.seq), schema_keeping(name=free[0])))
            self.batches[StreamId(self.seq)] = []

    def _rows(self, draft: Draft) -> None:
        stream = self._stream()
        count = self.rng.choice([1, CHUNK_ROWS, 5 * CHUNK_ROWS + 3, SEGMENT_ROWS])
        past = stream.rows + count
        for chunk in range(stream.rows // CHUNK_ROWS, past // CHUNK_ROWS):
            hits = {
                i: rows_drawn(i + chunk, self.rng.choice([0, 1, 300]))
                for i in self._over(stream.stream_id)
            }
            block = block_of(hits, self.rng.choice(KEPT))
            if len(block):
                draft.blocks[stream.stream_id, chunk] = block
        batch = BatchRecord(stream.stream_id, Seq(self.seq), stream.rows, count, 1, TupleId(1))
        draft.batches[stream.stream_id, Seq(self.seq)] = batch
        self.batches[stream.stream_id].append(batch)
        self._write(draft, replace(stream, rows=past))

    def _register(self, draft: Draft) -> None:
        stream, clause_id = self._stream(), ClauseId(self.seq)
        block_row = stream.rows // CHUNK_ROWS * CHUNK_ROWS
        kept_row = self.rng.choice([stream.dropped_row, block_row])
        record = ClauseRecord(
            clause_id, "", (stream.stream_id,), Materialize.PARTIAL, kept_row, block_row
        )
        self.clauses[clause_id] = draft.clauses[clause_id] = record
        found = {}
        for chunk in range(kept_row // CHUNK_ROWS, block_row // CHUNK_ROWS):
            hits = rows_drawn(self.seq + chunk, self.rng.choice([0, 2, 300]))
            page = block_of({clause_id: hits}, self.rng.choice(KEPT)).page(clause_id)
            if page is not None:
                found[chunk] = page
        for run, pages in runs_of(found).items():
            draft.pages[clause_id, run] = pages
        query = QueryRecord(QueryId(f"q{self.seq}"), Seq(self.seq), clause_id, "", Window())
        self.queries[query.query_id] = draft.queries[query.query_id] = query

    def _remove(self, draft: Draft) -> None:
        query_id = self.rng.choice(list(self.queries))
        clause_id = self.queries.pop(query_id).clause_id
        del self.clauses[clause_id]
        draft.dropped_queries.add(query_id)
        draft.dropped_clauses.add(clause_id)

    def _drop(self, draft: Draft) -> None:
        stream_id = self._stream().stream_id
        for clause_id in self._over(stream_id):
            del self.clauses[clause_id]
            draft.dropped_clauses.add(clause_id)
        gone = [i for i, query in self.queries.items() if query.clause_id not in self.clauses]
        for query_id in gone:
            del self.queries[query_id]
            draft.dropped_queries.add(query_id)
        draft.dropped_batches |= {(stream_id, b.seq) for b in self.batches.pop(stream_id)}
        draft.dropped_streams.add(stream_id)
        del self.streams[stream_id]

    def _expire(self, draft: Draft) -> None:
        stream = self._stream()
        number = stream.dropped_row // SEGMENT_ROWS
        row = (number + 1) * SEGMENT_ROWS
        if row > stream.rows:
            return
        draft.dropped_segments.add((stream.stream_id, number))
        for clause_id in self._over(stream.stream_id):
            if number in self.clauses[clause_id].paged_segments:
                draft.dropped_pages.add((clause_id, number))
        kept = []
        for batch in self.batches[stream.stream_id]:
            if batch.first_row + batch.rows <= row:
                draft.dropped_batches.add((stream.stream_id, batch.seq))
            else:
                kept.append(batch)
        self.batches[stream.stream_id] = kept
        self._write(draft, replace(stream, dropped_row=row, floor_row=row))


def applied_to(results: LiveResults, deltas: list[Delta]) -> LiveResults:
    """Return results with these deltas applied, their invariants checked after each."""
    for delta in deltas:
        results.apply(delta)
        results.check()
    return results


def readable(results: LiveResults):
    """Return all that can be read at the applied position: records, and each clause's kept pages."""
    checkpoint = results.checkpoint()
    streams = {stream.stream_id: stream for stream in checkpoint.streams}
    pages = {}
    for clause in checkpoint.clauses:
        stream = streams[clause.streams[0]]
        first = stream.dropped_row // SEGMENT_ROWS * CHUNKS
        chunks = [
            c for c in range(first, stream.rows // CHUNK_ROWS) if clause.keeps(c, stream.rows)
        ]
        found = results.pages(clause, chunks)
        pages[clause.clause_id] = {chunk: plain_page(page) for chunk, page in found.items()}
    return checkpoint, pages
