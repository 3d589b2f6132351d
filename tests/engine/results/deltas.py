"""Random histories as deltas, and everything there is to read of results."""

from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.window import Window
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.delta import (
    CHUNKS,
    BatchRecord,
    ClauseRecord,
    Delta,
    JoinRecord,
    QueryRecord,
    StreamRecord,
)
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.live import LiveResults
from psoup.engine.results.match_block import Keeping
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId
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
    composites: dict[CompositeKey, CompositePage] = field(default_factory=dict)

    def step(self) -> Delta:
        """Do one thing that can be done."""
        self.seq += 1
        draft = Draft(Seq(self.seq - 1), Seq(self.seq), 10 * self.seq)
        things = [self._declare]
        if self.streams:
            things += [self._rows] * 4 + [self._register] * 4 + [self._expire] * 6 + [self._drop]
            things += [self._join] * 2 + [self._enter] * 3 + [self._forget]
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

    def _joined(self) -> dict[tuple[ClauseId, int], list[ClauseId]]:
        """Return the clauses of each group, by group and number of its sources."""
        groups: dict[tuple[ClauseId, int], list[ClauseId]] = {}
        for clause_id, clause in self.clauses.items():
            if clause.join is not None:
                key = (clause.join.group, len(clause.streams))
                groups.setdefault(key, []).append(clause_id)
        return groups

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
        batch = BatchRecord(
            stream.stream_id,
            Seq(self.seq),
            stream.rows,
            count,
            1,
            TupleId(1),
            self.seq,
            self.seq + 9,
        )
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
        self._query(draft, clause_id)

    def _query(self, draft: Draft, clause_id: ClauseId) -> None:
        query = QueryRecord(QueryId(f"q{self.seq}"), Seq(self.seq), clause_id, "", Window())
        self.queries[query.query_id] = draft.queries[query.query_id] = query

    def _join(self, draft: Draft) -> None:
        """Register a clause over several streams, into a group that stands or one of its own."""
        clause_id = ClauseId(self.seq)
        streams = tuple(self._stream().stream_id for _ in range(self.rng.choice([2, 2, 3])))
        group = clause_id
        for clause in self.clauses.values():
            if clause.join is not None and clause.streams == streams:
                group = clause.join.group
        fronts = tuple(self.streams[i].rows // CHUNK_ROWS * CHUNK_ROWS for i in streams)
        record = ClauseRecord(clause_id, "", streams, join=JoinRecord(group, fronts))
        self.clauses[clause_id] = draft.clauses[clause_id] = record
        self._query(draft, clause_id)
        for number in range(self.rng.randrange(3)):
            self._compose(draft, (group, len(streams), clause_id, number), [clause_id])

    def _enter(self, draft: Draft) -> None:
        """Let a chunk find composites for all clauses of a group."""
        groups = self._joined()
        if groups:
            (group, sources), clause_ids = self.rng.choice(list(groups.items()))
            for entrant in range(sources):
                self._compose(draft, (group, entrant, self.seq, 0), clause_ids)

    def _compose(self, draft: Draft, key: CompositeKey, clause_ids: list[ClauseId]) -> None:
        sources = len(self.clauses[clause_ids[0]].streams)
        page = composites_drawn(self.rng, sources, clause_ids)
        self.composites[key] = draft.composites[key] = page

    def _forget(self, draft: Draft) -> None:
        """Let some pages of composites go."""
        for key in [key for key in self.composites if self.rng.random() < 0.3]:
            del self.composites[key]
            draft.dropped_composites.add(key)

    def _let_go(self, draft: Draft) -> None:
        """Drop the pages of composites that no clause is left for."""
        groups = self._joined()
        standing = {group for group, _ in groups}
        for key in list(self.composites):
            group, entrant, number, _ = key
            own = [i for (_, sources), ids in groups.items() if sources == entrant for i in ids]
            known = [sources for of, sources in groups if of == group]
            if group not in standing or (entrant in known and number not in own):
                del self.composites[key]
                draft.dropped_composites.add(key)

    def _remove(self, draft: Draft) -> None:
        query_id = self.rng.choice(list(self.queries))
        clause_id = self.queries.pop(query_id).clause_id
        del self.clauses[clause_id]
        draft.dropped_queries.add(query_id)
        draft.dropped_clauses.add(clause_id)
        self._let_go(draft)

    def _drop(self, draft: Draft) -> None:
        stream_id = self._stream().stream_id
        for clause_id in [i for i, one in self.clauses.items() if stream_id in one.streams]:
            del self.clauses[clause_id]
            draft.dropped_clauses.add(clause_id)
        gone = [i for i, query in self.queries.items() if query.clause_id not in self.clauses]
        for query_id in gone:
            del self.queries[query_id]
            draft.dropped_queries.add(query_id)
        draft.dropped_batches |= {(stream_id, b.seq) for b in self.batches.pop(stream_id)}
        draft.dropped_streams.add(stream_id)
        del self.streams[stream_id]
        self._let_go(draft)

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


def composites_drawn(rng: Random, sources: int, clause_ids: list[ClauseId]) -> CompositePage:
    """Return a page of composites, each of them of one of the clauses, of some of them, or of all."""
    count = rng.choice([1, 5, 40])
    draws = np.random.default_rng(rng.getrandbits(32))
    times = np.sort(draws.integers(0, 50, (2, count)), axis=0)
    order = np.argsort(times[1], kind="stable")
    hits: dict[ClauseId, set[int]] = {}
    for place in range(count):
        hits.setdefault(rng.choice(clause_ids), set()).add(place)
    return CompositePage(
        draws.integers(0, 10 * CHUNK_ROWS, (sources, count)),
        times[0][order],
        times[1][order],
        block_of(dict(sorted(hits.items()))),
    )


def applied_to(results: LiveResults, deltas: list[Delta]) -> LiveResults:
    """Return results with these deltas applied, their invariants checked after each."""
    for delta in deltas:
        results.apply(delta)
        results.check()
    return results


def readable(results: LiveResults):
    """Return all that can be read at the applied position: records, and what is kept of each clause."""
    checkpoint = results.checkpoint()
    streams = {stream.stream_id: stream for stream in checkpoint.streams}
    pages: dict[object, object] = {}
    for clause in checkpoint.clauses:
        pages[clause.clause_id, "composites"] = list(results.composites(clause))
        if clause.join is not None:
            continue
        stream = streams[clause.streams[0]]
        first = stream.dropped_row // SEGMENT_ROWS * CHUNKS
        chunks = [
            c for c in range(first, stream.rows // CHUNK_ROWS) if clause.keeps(c, stream.rows)
        ]
        found = results.pages(clause, chunks)
        pages[clause.clause_id] = {chunk: plain_page(page) for chunk, page in found.items()}
    return checkpoint, pages
