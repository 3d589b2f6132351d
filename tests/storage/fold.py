"""A stand-in for the engine: folds operations into deltas whose pages are a function of the log.

Row r of a stream satisfies clause c by a fixed rule, so what a store holds can be compared with what it
has to hold without an engine.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from engine.log.operation import (
    Declare,
    Drop,
    Operation,
    QueryId,
    Register,
    Remove,
    Rows,
    Tick,
)
from engine.query.window import Bound, Window
from engine.results.delta import BatchRecord, ClauseRecord, Delta, QueryRecord, StreamRecord
from engine.results.hits import ClauseId
from engine.results.page import Page, page_of
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId

DENSITIES = (1 / 512, 1 / 4, 1.0)
WINDOW = Window(Bound(60_000_000, moving=True), Bound(0, moving=True))


def hits(clause_id: int, first: int, past: int) -> NDArray[np.int64]:
    """Return the rows in `[first, past)` that satisfy the clause, ascending."""
    rows = np.arange(first, past, dtype=np.int64)
    mixed = (rows * 2_654_435_761 + clause_id * 40_503) % 2**32
    return rows[mixed < DENSITIES[clause_id % len(DENSITIES)] * 2**32]


class Fold:
    """State of the fold; `apply` moves it by one operation."""

    def __init__(self, rows_kept: int = 200_000) -> None:
        self.rows_kept = rows_kept
        self.streams: dict[StreamId, StreamRecord] = {}
        self.clauses: dict[ClauseId, ClauseRecord] = {}
        self.queries: dict[QueryId, QueryRecord] = {}
        self.batches: dict[tuple[StreamId, Seq], BatchRecord] = {}

    def copy(self) -> "Fold":
        """Return a fold that goes on from the same state by itself."""
        other = Fold(self.rows_kept)
        other.streams, other.clauses = dict(self.streams), dict(self.clauses)
        other.queries, other.batches = dict(self.queries), dict(self.batches)
        return other

    def pages(self, clause_id: ClauseId) -> dict[int, Page]:
        """Return all pages the clause has to have."""
        stream = self.streams[self.clauses[clause_id].streams[0]]
        return self._pages(clause_id, stream.dropped_row, stream.rows)

    def apply(self, operation: Operation) -> Delta:
        """Return what `operation` changes."""
        delta = Delta(
            expect=Seq(operation.seq - 1), seq=operation.seq, arrival_us=operation.arrival_us
        )
        match operation.content:
            case Declare(schema):
                stream = StreamRecord(StreamId(operation.seq), schema)
                self.streams[stream.stream_id] = stream
                return replace(delta, streams={stream.stream_id: stream})
            case Drop(stream_id, _, queries):
                return self._drop(delta, stream_id, queries)
            case Rows():
                return self._rows(delta, operation, operation.content)
            case Register():
                return self._register(delta, operation.content)
            case Remove(query_id):
                return self._remove(delta, [query_id])
            case Tick():
                return delta

    def _drop(self, delta: Delta, stream_id: StreamId, queries: Sequence[QueryId]) -> Delta:
        delta = self._remove(delta, queries)
        del self.streams[stream_id]
        self.batches = {key: b for key, b in self.batches.items() if key[0] != stream_id}
        streams = {key: s for key, s in delta.streams.items() if key != stream_id}
        return replace(delta, streams=streams, dropped_streams=frozenset({stream_id}))

    def _rows(self, delta: Delta, operation: Operation, content: Rows) -> Delta:
        old = self.streams[content.stream_id]
        rows = old.rows + content.rows
        floor = max(0, rows - self.rows_kept)
        dropped = floor // SEGMENT_ROWS * SEGMENT_ROWS
        stream = replace(
            old,
            rows=rows,
            bytes=old.bytes + len(content.body),
            floor_row=floor,
            dropped_row=dropped,
            arrival_us=operation.arrival_us,
        )
        self.streams[stream.stream_id] = stream
        batch = BatchRecord(
            stream.stream_id,
            operation.seq,
            old.rows,
            content.rows,
            len(content.body),
            operation.first_tuple_id,
        )
        gone = {
            key
            for key, b in self.batches.items()
            if key[0] == stream.stream_id and b.first_row + max(b.rows, 1) <= dropped
        }
        self.batches = {key: b for key, b in self.batches.items() if key not in gone}
        self.batches[stream.stream_id, operation.seq] = batch
        mine = [c.clause_id for c in self.clauses.values() if c.streams[0] == stream.stream_id]
        chunks = range(old.dropped_row // CHUNK_ROWS, dropped // CHUNK_ROWS)
        first = max(old.rows // CHUNK_ROWS * CHUNK_ROWS, dropped)
        return replace(
            delta,
            streams={stream.stream_id: stream},
            batches={(stream.stream_id, operation.seq): batch},
            pages={(c, n): p for c in mine for n, p in self._pages(c, first, rows).items()},
            dropped_batches=frozenset(gone),
            dropped_chunks=frozenset((c, n) for c in mine for n in chunks),
        )

    def _register(self, delta: Delta, content: Register) -> Delta:
        clause = next((c for c in self.clauses.values() if c.text == content.sql), None)
        fresh = clause is None
        if clause is None:
            streams = tuple(content.streams.values())
            clause = ClauseRecord(ClauseId(delta.seq), content.sql, streams)
            self.clauses[clause.clause_id] = clause
        query = QueryRecord(
            content.query_id,
            delta.seq,
            clause.clause_id,
            content.sql,
            WINDOW,
            content.name,
            dict(content.labels),
        )
        self.queries[query.query_id] = query
        changed = self._count_queries(content.streams.values())
        pages = self.pages(clause.clause_id) if fresh else {}
        return replace(
            delta,
            streams=changed,
            clauses={clause.clause_id: clause} if fresh else {},
            queries={query.query_id: query},
            pages={(clause.clause_id, n): page for n, page in pages.items()},
        )

    def _remove(self, delta: Delta, query_ids: Sequence[QueryId]) -> Delta:
        removed = [self.queries.pop(query_id) for query_id in query_ids]
        used = {query.clause_id for query in self.queries.values()}
        unused = {query.clause_id for query in removed} - used
        streams = {s for query in removed for s in self.clauses[query.clause_id].streams}
        for clause_id in unused:
            del self.clauses[clause_id]
        return replace(
            delta,
            streams=self._count_queries(streams),
            dropped_queries=frozenset(query_ids),
            dropped_clauses=frozenset(unused),
        )

    def _count_queries(self, stream_ids) -> dict[StreamId, StreamRecord]:
        for stream_id in stream_ids:
            count = sum(
                stream_id in self.clauses[q.clause_id].streams for q in self.queries.values()
            )
            self.streams[stream_id] = replace(self.streams[stream_id], queries=count)
        return {stream_id: self.streams[stream_id] for stream_id in stream_ids}

    def _pages(self, clause_id: ClauseId, first: int, past: int) -> dict[int, Page]:
        """Return the pages of the chunks from that of row `first` to that before row `past`."""
        pages = {}
        for chunk in range(first // CHUNK_ROWS, -(-past // CHUNK_ROWS)):
            begin = chunk * CHUNK_ROWS
            rows = hits(clause_id, begin, min(begin + CHUNK_ROWS, past))
            if len(rows):
                pages[chunk] = page_of((rows - begin).astype(np.uint16))
        return pages
