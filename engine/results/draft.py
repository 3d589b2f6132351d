"""A delta while it is being written: what the verbs of one operation change, gathered."""

from dataclasses import dataclass, field

from engine.log.operation import QueryId
from engine.results.delta import (
    BatchRecord,
    BlockKey,
    ClauseRecord,
    Delta,
    PageKey,
    QueryRecord,
    StreamRecord,
    merge,
)
from engine.results.hits import ClauseId
from engine.results.match_block import MatchBlock
from engine.results.page import Page
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId


@dataclass(slots=True)
class Draft:
    """The members of `Delta`, still open. What is dropped may have been written before."""

    expect: Seq
    seq: Seq
    arrival_us: int
    streams: dict[StreamId, StreamRecord] = field(default_factory=dict)
    clauses: dict[ClauseId, ClauseRecord] = field(default_factory=dict)
    queries: dict[QueryId, QueryRecord] = field(default_factory=dict)
    batches: dict[tuple[StreamId, Seq], BatchRecord] = field(default_factory=dict)
    blocks: dict[BlockKey, MatchBlock] = field(default_factory=dict)
    pages: dict[PageKey, Page] = field(default_factory=dict)
    dropped_streams: set[StreamId] = field(default_factory=set)
    dropped_clauses: set[ClauseId] = field(default_factory=set)
    dropped_queries: set[QueryId] = field(default_factory=set)
    dropped_batches: set[tuple[StreamId, Seq]] = field(default_factory=set)
    dropped_segments: set[tuple[StreamId, int]] = field(default_factory=set)
    dropped_pages: set[tuple[ClauseId, int]] = field(default_factory=set)

    def delta(self) -> Delta:
        """Return the delta; nothing in it is both written and dropped."""
        written = Delta(
            expect=self.expect,
            seq=self.seq,
            arrival_us=self.arrival_us,
            streams=self.streams,
            clauses=self.clauses,
            queries=self.queries,
            batches=self.batches,
            blocks=self.blocks,
            pages=self.pages,
            dropped_streams=frozenset(self.dropped_streams),
            dropped_clauses=frozenset(self.dropped_clauses),
            dropped_queries=frozenset(self.dropped_queries),
            dropped_batches=frozenset(self.dropped_batches),
            dropped_segments=frozenset(self.dropped_segments),
            dropped_pages=frozenset(self.dropped_pages),
        )
        return merge((written,))
