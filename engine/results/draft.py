"""A delta while it is being written: what the verbs of one operation change, gathered."""

from psoup.engine.log.operation import QueryId
from psoup.engine.results.clause_pages import ClausePages
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.delta import (
    BatchRecord,
    BlockKey,
    ClauseRecord,
    Delta,
    QueryRecord,
    RunKey,
    StreamRecord,
    merge,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId


class Draft:
    """The members of `Delta`, still open. What is dropped may have been written before."""

    __slots__ = (
        "altered",
        "arrival_us",
        "batches",
        "blocks",
        "clauses",
        "composites",
        "dropped_batches",
        "dropped_clauses",
        "dropped_composites",
        "dropped_pages",
        "dropped_queries",
        "dropped_segments",
        "dropped_streams",
        "expect",
        "expired",
        "forgotten",
        "pages",
        "queries",
        "seq",
        "streams",
    )

    def __init__(self, expect: Seq, seq: Seq, arrival_us: int) -> None:
        """Begin empty. Twelve factories of fields would take longer than all the rest of a small operation's draft."""
        self.expect = expect
        self.seq = seq
        self.arrival_us = arrival_us
        self.streams: dict[StreamId, StreamRecord] = {}
        self.clauses: dict[ClauseId, ClauseRecord] = {}
        self.queries: dict[QueryId, QueryRecord] = {}
        self.batches: dict[tuple[StreamId, Seq], BatchRecord] = {}
        self.blocks: dict[BlockKey, MatchBlock] = {}
        self.pages: dict[RunKey, ClausePages] = {}
        self.composites: dict[CompositeKey, CompositePage] = {}
        self.dropped_streams: set[StreamId] = set()
        self.dropped_clauses: set[ClauseId] = set()
        self.dropped_queries: set[QueryId] = set()
        self.dropped_batches: set[tuple[StreamId, Seq]] = set()
        self.dropped_segments: set[tuple[StreamId, int]] = set()
        self.dropped_pages: set[tuple[ClauseId, int]] = set()
        self.dropped_composites: set[CompositeKey] = set()
        self.altered: set[StreamId] = set()
        self.expired: dict[QueryId, int] = {}
        self.forgotten: set[QueryId] = set()

    def delta(self) -> Delta:
        """Return the delta, with which the draft is finished; nothing in it is both written and dropped."""
        written = Delta(
            self.expect,
            self.seq,
            self.arrival_us,
            self.streams,
            self.clauses,
            self.queries,
            self.batches,
            self.blocks,
            self.pages,
            frozenset(self.dropped_streams),
            frozenset(self.dropped_clauses),
            frozenset(self.dropped_queries),
            frozenset(self.dropped_batches),
            frozenset(self.dropped_segments),
            frozenset(self.dropped_pages),
            self.composites,
            frozenset(self.dropped_composites),
            frozenset(self.altered),
            self.expired,
            frozenset(self.forgotten),
        )
        return written if self._is_disjoint() else merge((written,))

    def _is_disjoint(self) -> bool:
        """Return whether it is plain that nothing written is dropped as well, nor hangs on what is dropped."""
        return not (
            self.dropped_streams
            or (self.dropped_clauses and (self.clauses or self.pages))
            or (self.dropped_queries and self.queries)
            or (self.dropped_segments and self.blocks)
            or (self.dropped_pages and self.pages)
            or (self.dropped_composites and self.composites)
            or (self.forgotten and self.expired)
            or not self.dropped_batches.isdisjoint(self.batches)
        )
