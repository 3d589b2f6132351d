"""A stand-in for the engine: folds operations into deltas whose hits are a function of the log.

Row r of a stream satisfies clause c by a fixed rule, so what a store holds can be compared with what it
has to hold without an engine. How hits are kept is a rule as well: each form occurs at every density that
may have it, and clauses begin with the first chunk that is retained, or with the open one.

A text over several streams is a join, and one that begins with `self` joins its stream with itself. Its second word
stands for its join factors: those that have it in common, and their streams, are of one group.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import (
    Alter,
    Declare,
    Drop,
    Expire,
    Materialize,
    OfQuery,
    Operation,
    QueryId,
    Register,
    Remove,
    Renew,
    Replace,
    Rows,
    Tick,
)
from psoup.engine.query.window import Bound, Window
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.delta import (
    BatchRecord,
    ClauseRecord,
    Delta,
    JoinRecord,
    QueryRecord,
    StreamRecord,
    Suspension,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.results.page import Page
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.results.blocks import runs_of
from tests.storage.hits import block_of, offsets, page_of
from tests.storage.joins import entered, has_gone, whole

WINDOW = Window(Bound(60_000_000, moving=True), Bound(0, moving=True))


class Fold:
    """State of the fold; `apply` moves it by one operation."""

    def __init__(self, rows_kept: int = 200_000) -> None:
        self.rows_kept = rows_kept
        self.streams: dict[StreamId, StreamRecord] = {}
        self.clauses: dict[ClauseId, ClauseRecord] = {}
        self.ever: dict[ClauseId, ClauseRecord] = {}
        """Clauses that stand or stood."""
        self.queries: dict[QueryId, QueryRecord] = {}
        self.expired: dict[QueryId, int] = {}
        self.batches: dict[tuple[StreamId, Seq], BatchRecord] = {}
        self.composites: dict[CompositeKey, CompositePage] = {}

    def copy(self) -> "Fold":
        """Return a fold that goes on from the same state by itself."""
        other = Fold(self.rows_kept)
        other.streams, other.clauses = dict(self.streams), dict(self.clauses)
        other.ever = dict(self.ever)
        other.queries, other.batches = dict(self.queries), dict(self.batches)
        other.expired = dict(self.expired)
        other.composites = dict(self.composites)
        return other

    def pages(self, clause_id: ClauseId) -> dict[int, Page]:
        """Return all pages the clause has to have."""
        clause = self.clauses[clause_id]
        stream = self.streams[clause.streams[0]]
        return self._pages(
            clause, range(stream.dropped_row // CHUNK_ROWS, stream.rows // CHUNK_ROWS)
        )

    def composites_of(self, clause: ClauseRecord) -> list[CompositePage]:
        """Return the pages of its group that chunks entered, and its own ones."""
        own = len(clause.streams), clause.clause_id
        return [
            page
            for (group, entrant, number, _), page in sorted(
                self.composites.items(), key=lambda item: item[0]
            )
            if clause.join is not None and group == clause.join.group
            if entrant < own[0] or (entrant, number) == own
        ]

    def read(self, clause: ClauseRecord) -> list[StreamRecord]:
        """Return the streams of a clause in FROM order."""
        return [self.streams[stream_id] for stream_id in clause.streams]

    def apply(self, operation: Operation) -> Delta:
        """Return what `operation` changes."""
        delta = self._apply(operation)
        gone = delta.dropped_composites
        self.composites.update(delta.composites)
        self.composites = {key: page for key, page in self.composites.items() if key not in gone}
        return delta

    def _apply(self, operation: Operation) -> Delta:
        delta = Delta(
            expect=Seq(operation.seq - 1), seq=operation.seq, arrival_us=operation.arrival_us
        )
        match operation.content:
            case Declare(schema):
                stream = StreamRecord(StreamId(operation.seq), schema)
                self.streams[stream.stream_id] = stream
                return replace(delta, streams={stream.stream_id: stream})
            case Alter(stream_id, schema):
                self.streams[stream_id] = replace(self.streams[stream_id], schema=schema)
                streams = {stream_id: self.streams[stream_id]}
                return replace(delta, streams=streams, altered=frozenset([stream_id]))
            case Drop(stream_id, _, queries):
                return self._drop(delta, stream_id, queries)
            case Rows():
                return self._rows(delta, operation, operation.content)
            case Tick():
                return delta
            case _:
                return self._of_query(delta, operation.content)

    def _of_query(self, delta: Delta, content: OfQuery) -> Delta:
        match content:
            case Register():
                return self._register(delta, content)
            case Replace(given):
                return self._replace(delta, given)
            case Renew(query_id):
                query = self.queries[query_id]
                assert query.ttl_us is not None
                self.queries[query_id] = replace(query, expires_us=delta.arrival_us + query.ttl_us)
                return replace(delta, queries={query_id: self.queries[query_id]})
            case Remove(query_id):
                return self._remove(delta, [query_id])
            case Expire(query_id):
                self.expired[query_id] = delta.arrival_us
                expired = {query_id: delta.arrival_us}
                return replace(self._remove(delta, [query_id]), expired=expired)

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
            operation.arrival_us,
            operation.arrival_us,
        )
        gone = {
            key
            for key, b in self.batches.items()
            if key[0] == stream.stream_id and b.first_row + max(b.rows, 1) <= dropped
        }
        self.batches = {key: b for key, b in self.batches.items() if key not in gone}
        self.batches[stream.stream_id, operation.seq] = batch
        gone_segments = range(old.dropped_row // SEGMENT_ROWS, dropped // SEGMENT_ROWS)
        mine = [c for c in self.clauses.values() if c.streams == (stream.stream_id,)]
        chunks = range(max(old.rows, dropped) // CHUNK_ROWS, rows // CHUNK_ROWS)
        suspended = self._suspend(stream.stream_id, chunks, delta.seq)
        return replace(
            delta,
            streams={stream.stream_id: stream},
            batches={(stream.stream_id, operation.seq): batch},
            blocks={
                (stream.stream_id, chunk): block
                for chunk in chunks
                if len(block := self._block(mine, chunk))
            },
            dropped_batches=frozenset(gone),
            dropped_segments=frozenset((stream.stream_id, n) for n in gone_segments),
            dropped_pages=frozenset(
                (c.clause_id, n) for c in mine for n in gone_segments if n in c.paged_segments
            ),
            clauses=suspended,
            composites=self._joined(stream.stream_id, chunks),
            dropped_composites=frozenset(
                key for key, page in self.composites.items() if has_gone(page, self._read(key[0]))
            ),
        )

    def _joined(
        self, stream_id: StreamId, chunks: Iterable[int]
    ) -> dict[CompositeKey, CompositePage]:
        """Return the pages of chunks of a stream, whom all clauses meet that are not suspended."""
        groups: dict[ClauseId, list[ClauseRecord]] = {}
        for clause in self.clauses.values():
            if clause.join is not None and clause.join.suspended is None:
                groups.setdefault(clause.join.group, []).append(clause)
        pages: dict[CompositeKey, CompositePage] = {}
        for group, clauses in groups.items():
            streams = self._read(group)
            for place, stream in enumerate(streams):
                for chunk in chunks if stream.stream_id == stream_id else ():
                    pages |= entered((group, place, chunk, 0), streams, clauses)
        return pages

    def _suspend(
        self, stream_id: StreamId, chunks: range, seq: Seq
    ) -> dict[ClauseId, ClauseRecord]:
        """Return the joins that this operation's chunks are too much for."""
        found = {}
        for clause in self.clauses.values() if chunks else ():
            join = clause.join
            if join is None or join.suspended or stream_id not in clause.streams:
                continue
            if (7 * clause.clause_id + seq) % 11 == 0:
                suspended = replace(join, suspended=Suspension(seq, "over a bound"))
                found[clause.clause_id] = replace(clause, join=suspended)
        self.clauses |= found
        self.ever |= found
        return found

    def _read(self, group: ClauseId) -> list[StreamRecord]:
        """Return the streams of a group in FROM order."""
        joins = (c for c in self.clauses.values() if c.join is not None and c.join.group == group)
        return self.read(next(joins))

    def _register(self, delta: Delta, content: Register) -> Delta:
        alike = (content.sql, content.materialize)
        clause = next((c for c in self.clauses.values() if (c.text, c.materialize) == alike), None)
        fresh = clause is None
        if clause is None:
            streams = tuple(content.streams.values())
            if content.sql.startswith("self "):
                streams *= 2
            stream = self.streams[streams[0]]
            kept_from = stream.rows if delta.seq % 4 == 1 else stream.floor_row
            clause = ClauseRecord(
                ClauseId(delta.seq),
                content.sql,
                streams,
                content.materialize,
                kept_row=kept_from // CHUNK_ROWS * CHUNK_ROWS,
                block_row=whole(stream),
            )
            if len(streams) > 1:
                clause = replace(clause, kept_row=0, block_row=0, join=self._join(clause))
            self.clauses[clause.clause_id] = self.ever[clause.clause_id] = clause
        query = QueryRecord(
            content.query_id,
            delta.seq,
            clause.clause_id,
            content.sql,
            WINDOW,
            content.name,
            dict(content.labels),
            (5_000_000, *[None] * (len(clause.streams) - 1)) if len(clause.streams) > 1 else (),
            content.text,
            ttl_us=content.ttl_us,
            expires_us=None if content.ttl_us is None else delta.arrival_us + content.ttl_us,
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
            composites=self._own(clause) if fresh else {},
        )

    def _replace(self, delta: Delta, content: Register) -> Delta:
        before = self.queries[content.query_id]
        clause = self.clauses[before.clause_id]
        redefined = f"{clause.materialize} {before.canonical}" != content.definition
        read = dict.fromkeys(clause.streams if redefined else ())
        registered = self._register(delta, content)
        after = replace(
            self.queries[content.query_id],
            seq=before.seq,
            version=before.version + redefined,
            defined_seq=delta.seq if redefined else before.defined_seq,
            amended_seq=before.amended_seq if redefined else delta.seq,
        )
        self.queries[content.query_id] = before
        moves = after.clause_id != before.clause_id
        removed = self._remove(delta, [content.query_id]) if moves else delta
        self.queries[content.query_id] = after
        self._count_queries([*read, *content.streams.values()])
        for stream_id in read:
            self.streams[stream_id] = replace(self.streams[stream_id], replaced_seq=delta.seq)
        streams = [*read, *content.streams.values()]
        return replace(
            registered,
            queries={content.query_id: after},
            streams={stream_id: self.streams[stream_id] for stream_id in streams},
            dropped_clauses=removed.dropped_clauses,
            dropped_composites=removed.dropped_composites,
        )

    def _join(self, fresh: ClauseRecord) -> JoinRecord | None:
        """Return what is kept of a fresh clause over several streams."""
        if fresh.materialize is Materialize.NONE:
            return None
        alike = [
            clause.join.group
            for clause in self.clauses.values()
            if clause.join is not None and clause.streams == fresh.streams
            if clause.text.split()[1] == fresh.text.split()[1]
        ]
        fronts = tuple(whole(self.streams[stream_id]) for stream_id in fresh.streams)
        return JoinRecord(min(alike, default=fresh.clause_id), fronts)

    def _own(self, clause: ClauseRecord) -> dict[CompositeKey, CompositePage]:
        """Return the pages of a fresh clause alone."""
        if clause.join is None:
            return {}
        entrant = clause.join.group, len(clause.streams), int(clause.clause_id), 0
        return entered(entrant, self._read(clause.join.group), [clause])

    def _remove(self, delta: Delta, query_ids: Sequence[QueryId]) -> Delta:
        removed = [self.queries.pop(query_id) for query_id in query_ids]
        used = {query.clause_id for query in self.queries.values()}
        unused = {query.clause_id for query in removed} - used
        streams = {s for query in removed for s in self.clauses[query.clause_id].streams}
        for clause_id in unused:
            del self.clauses[clause_id]
        groups = {c.join.group: len(c.streams) for c in self.clauses.values() if c.join is not None}
        return replace(
            delta,
            streams=self._count_queries(streams),
            dropped_queries=frozenset(query_ids),
            dropped_clauses=frozenset(unused),
            dropped_composites=frozenset(
                (group, entrant, number, page)
                for group, entrant, number, page in self.composites
                if group not in groups or (entrant == groups[group] and number in unused)
            ),
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
        for chunk in chunks if len(clause.streams) == 1 else ():
            if clause.keeps(chunk, stream.rows):
                page = page_of(clause.clause_id, offsets(clause.clause_id, chunk))
                if page is not None:
                    pages[chunk] = page
        return pages

    def _block(self, clauses: Sequence[ClauseRecord], chunk: int) -> MatchBlock:
        """Return the block of a chunk that has become whole."""
        pages = {c.clause_id: page for c in clauses for page in self._pages(c, [chunk]).values()}
        return block_of(pages, {c: len(offsets(c, chunk)) for c in pages})
