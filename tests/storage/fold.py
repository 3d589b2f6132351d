"""A stand-in for the engine: folds operations into deltas whose hits are a function of the log.

Row r of a stream satisfies clause c by a fixed rule, so what a store holds can be compared with what it
has to hold without an engine. How hits are kept is a rule as well: each form occurs at every density that
may have it, and clauses begin with the first chunk that is retained, or with the open one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from bitarray import bitarray
from numpy.typing import NDArray

from engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
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
from engine.results.match_block import UNPLACED, Form, MatchBlock
from engine.results.page import LIST_ROWS_MAX, UNKEPT, Page
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId
from tests.engine.results.blocks import runs_of

DENSITIES = (1 / 512, 1 / 4, 1.0)
WINDOW = Window(Bound(60_000_000, moving=True), Bound(0, moving=True))


def hits(clause_id: int, first: int, past: int) -> NDArray[np.int64]:
    """Return the rows in `[first, past)` that satisfy the clause, ascending."""
    rows = np.arange(first, past, dtype=np.int64)
    mixed = (rows * 2_654_435_761 + clause_id * 40_503) % 2**32
    return rows[mixed < DENSITIES[clause_id % len(DENSITIES)] * 2**32]


def offsets(clause_id: int, chunk: int) -> NDArray[np.uint16]:
    """Return the same for one chunk, as offsets."""
    first = chunk * CHUNK_ROWS
    return (hits(clause_id, first, first + CHUNK_ROWS) - first).astype(np.uint16)


def page_of(clause_id: int, found: NDArray[np.uint16]) -> Page | None:
    """Return hits in the form that this clause keeps so many in."""
    dense = len(found) > LIST_ROWS_MAX
    if dense and clause_id % 2 == 0:
        return UNKEPT
    if dense and clause_id % 5:
        bits = bitarray(CHUNK_ROWS, endian="little")
        bits[found.astype(int).tolist()] = 1
        return Page(None, bits)
    return Page(found, None) if len(found) else None


def block_of(pages: Mapping[Any, Page], counts: Mapping[Any, int]) -> MatchBlock:
    """Return pages of one chunk as a block, lists and bitmaps in another order than the clauses."""
    ids = sorted(pages)
    places = dict.fromkeys(ids, UNPLACED)
    forms, length = {}, 0
    lists: list[NDArray[np.uint16]] = []
    maps: list[Words] = []
    for clause_id in reversed(ids):
        found, bits = pages[clause_id].offsets, pages[clause_id].bitmap
        forms[clause_id] = Form.UNKEPT if bits is None else Form.BITMAP
        if bits is not None:
            places[clause_id] = len(maps)
            maps.append(np.frombuffer(bits.tobytes(), LITTLE))
        if found is not None:
            forms[clause_id], places[clause_id] = Form.LIST, length
            length += len(found)
            lists.append(found)
    return MatchBlock(
        np.array(ids, dtype=np.int64),
        np.array([forms[clause_id] for clause_id in ids], dtype=np.uint8),
        np.array([counts[clause_id] for clause_id in ids], dtype=np.int32),
        np.array([places[clause_id] for clause_id in ids], dtype=np.int32),
        np.concatenate([*lists, np.empty(0, np.uint16)]),
        np.array(maps, dtype=LITTLE).reshape(len(maps), CHUNK_WORDS),
    )


class Fold:
    """State of the fold; `apply` moves it by one operation."""

    def __init__(self, rows_kept: int = 200_000) -> None:
        self.rows_kept = rows_kept
        self.streams: dict[StreamId, StreamRecord] = {}
        self.clauses: dict[ClauseId, ClauseRecord] = {}
        self.ever: dict[ClauseId, ClauseRecord] = {}
        """Clauses that stand or stood."""
        self.queries: dict[QueryId, QueryRecord] = {}
        self.batches: dict[tuple[StreamId, Seq], BatchRecord] = {}

    def copy(self) -> "Fold":
        """Return a fold that goes on from the same state by itself."""
        other = Fold(self.rows_kept)
        other.streams, other.clauses = dict(self.streams), dict(self.clauses)
        other.ever = dict(self.ever)
        other.queries, other.batches = dict(self.queries), dict(self.batches)
        return other

    def pages(self, clause_id: ClauseId) -> dict[int, Page]:
        """Return all pages the clause has to have."""
        clause = self.clauses[clause_id]
        stream = self.streams[clause.streams[0]]
        return self._pages(
            clause, range(stream.dropped_row // CHUNK_ROWS, stream.rows // CHUNK_ROWS)
        )

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
        gone_segments = range(old.dropped_row // SEGMENT_ROWS, dropped // SEGMENT_ROWS)
        mine = [c for c in self.clauses.values() if c.streams[0] == stream.stream_id]
        return replace(
            delta,
            streams={stream.stream_id: stream},
            batches={(stream.stream_id, operation.seq): batch},
            blocks={
                (stream.stream_id, chunk): block
                for chunk in range(max(old.rows, dropped) // CHUNK_ROWS, rows // CHUNK_ROWS)
                if len(block := self._block(mine, chunk))
            },
            dropped_batches=frozenset(gone),
            dropped_segments=frozenset((stream.stream_id, n) for n in gone_segments),
            dropped_pages=frozenset(
                (c.clause_id, n) for c in mine for n in gone_segments if n in c.paged_segments
            ),
        )

    def _register(self, delta: Delta, content: Register) -> Delta:
        clause = next((c for c in self.clauses.values() if c.text == content.sql), None)
        fresh = clause is None
        if clause is None:
            streams = tuple(content.streams.values())
            stream = self.streams[streams[0]]
            kept_from = stream.rows if delta.seq % 4 == 1 else stream.floor_row
            clause = ClauseRecord(
                ClauseId(delta.seq),
                content.sql,
                streams,
                content.materialize,
                kept_row=kept_from // CHUNK_ROWS * CHUNK_ROWS,
                block_row=stream.rows // CHUNK_ROWS * CHUNK_ROWS,
            )
            self.clauses[clause.clause_id] = self.ever[clause.clause_id] = clause
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
            pages={(clause.clause_id, run): held for run, held in runs_of(pages).items()},
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

    def _pages(self, clause: ClauseRecord, chunks: Iterable[int]) -> dict[int, Page]:
        """Return the pages the clause has to have among these whole chunks."""
        stream = self.streams[clause.streams[0]]
        pages = {}
        for chunk in chunks:
            if clause.keeps(chunk, stream.rows):
                page = page_of(clause.clause_id, offsets(clause.clause_id, chunk))
                if page is not None:
                    pages[chunk] = page
        return pages

    def _block(self, clauses: Sequence[ClauseRecord], chunk: int) -> MatchBlock:
        """Return the block of a chunk that has become whole."""
        pages = {c.clause_id: page for c in clauses for page in self._pages(c, [chunk]).values()}
        return block_of(pages, {c: len(offsets(c, chunk)) for c in pages})
