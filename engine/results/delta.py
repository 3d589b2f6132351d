"""Records of the Results Structure, and the delta: what one turn of the fold changes, as absolute values.

Records are what a store keeps at the applied position; together with the batches in the log they are the
whole state of the engine, so they are the checkpoint a restart begins from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.log.operation import Materialize, QueryId
from engine.query.window import Window
from engine.results.hits import ClauseId
from engine.results.page import Page
from engine.tuples.batch import Seq, TupleId
from engine.tuples.schema import StreamId, StreamSchema


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream at the applied position.

    A tuple is retained iff its row >= `floor_row` and its time >= `floor_us` (None = no bound). Rows below
    `dropped_row` (a multiple of SEGMENT_ROWS) are no longer held at all; in between they are readable
    for page tokens handed out earlier.

    Attributes:
        rows: tuples ever accepted; the next row number.
        bytes: size of the retained batches' values.
        high_water_us: largest tuple time seen; None before the first tuple.
        floor_row, floor_us: retention's two bounds; both only grow.
        forgotten_us: largest tuple time among rows below `floor_row`, None if there are none.
        arrival_us: arrival time of the last batch, None before the first.
        queries: standing queries that read it.
    """

    stream_id: StreamId
    schema: StreamSchema
    rows: int = 0
    bytes: int = 0
    high_water_us: int | None = None
    floor_row: int = 0
    floor_us: int | None = None
    forgotten_us: int | None = None
    dropped_row: int = 0
    arrival_us: int | None = None
    queries: int = 0

    @property
    def complete_from_us(self) -> int | None:
        """Return the time from which nothing has been forgotten; None = nothing ever was."""
        bounds = [] if self.floor_us is None else [self.floor_us]
        if self.forgotten_us is not None:
            bounds.append(self.forgotten_us + 1)
        return max(bounds, default=None)


@dataclass(frozen=True, slots=True)
class ClauseRecord:
    """A standing query clause: its canonical text, its streams in FROM order, what is kept of it."""

    clause_id: ClauseId
    text: str
    streams: tuple[StreamId, ...]
    materialize: Materialize = Materialize.AUTO


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """A handle: one row of the registry and of the WindowsTable."""

    query_id: QueryId
    seq: Seq
    clause_id: ClauseId
    canonical: str
    window: Window
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """Where a batch lies: row `first_row + i` of the stream is tuple `first_tuple_id + i`, in entry `seq`."""

    stream_id: StreamId
    seq: Seq
    first_row: int
    rows: int
    bytes: int
    first_tuple_id: TupleId


PageKey = tuple[ClauseId, int]
"""Clause and chunk number (`row // CHUNK_ROWS`)."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What operations `(expect, seq]` change. Every value is absolute; applying it twice is harmless.

    Order of application does not matter: no key is both written and dropped.

    Attributes:
        expect: the applied seq this delta follows.
        seq: the applied seq after it.
        arrival_us: arrival time of operation `seq`.
        streams, clauses, queries, batches, pages: records written.
        dropped_streams, dropped_clauses, dropped_queries: records removed, with all that hangs on them
            (a stream's batch records, a clause's pages).
        dropped_batches: batch records removed because no row of theirs is held any more.
        dropped_chunks: pages removed because their segment is no longer held.
    """

    expect: Seq
    seq: Seq
    arrival_us: int
    streams: Mapping[StreamId, StreamRecord] = field(default_factory=dict)
    clauses: Mapping[ClauseId, ClauseRecord] = field(default_factory=dict)
    queries: Mapping[QueryId, QueryRecord] = field(default_factory=dict)
    batches: Mapping[tuple[StreamId, Seq], BatchRecord] = field(default_factory=dict)
    pages: Mapping[PageKey, Page] = field(default_factory=dict)
    dropped_streams: frozenset[StreamId] = frozenset()
    dropped_clauses: frozenset[ClauseId] = frozenset()
    dropped_queries: frozenset[QueryId] = frozenset()
    dropped_batches: frozenset[tuple[StreamId, Seq]] = frozenset()
    dropped_chunks: frozenset[PageKey] = frozenset()


def merge(first: Delta, second: Delta) -> Delta:
    """Return the delta that does what `first` and then `second` do, for one publish.

    What `second` drops is no longer written; what it writes is not dropped by `first` either, since ids are
    never reused.
    """
    assert second.expect == first.seq, "deltas are merged in the order of the log"
    clauses = first.dropped_clauses | second.dropped_clauses
    streams = first.dropped_streams | second.dropped_streams
    queries = first.dropped_queries | second.dropped_queries
    batches = first.dropped_batches | second.dropped_batches
    chunks = first.dropped_chunks | second.dropped_chunks
    return Delta(
        expect=first.expect,
        seq=second.seq,
        arrival_us=second.arrival_us,
        streams={k: v for k, v in {**first.streams, **second.streams}.items() if k not in streams},
        clauses={k: v for k, v in {**first.clauses, **second.clauses}.items() if k not in clauses},
        queries={k: v for k, v in {**first.queries, **second.queries}.items() if k not in queries},
        batches={
            k: v
            for k, v in {**first.batches, **second.batches}.items()
            if k not in batches and k[0] not in streams
        },
        pages={
            k: v
            for k, v in {**first.pages, **second.pages}.items()
            if k[0] not in clauses and k not in chunks
        },
        dropped_streams=streams,
        dropped_clauses=clauses,
        dropped_queries=queries,
        dropped_batches=batches,
        dropped_chunks=chunks,
    )
