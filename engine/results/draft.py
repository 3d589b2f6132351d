"""A delta while it is being written: what the verbs of one operation change, gathered."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

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

NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
NOBODY: Final[frozenset[Any]] = frozenset()


class Draft:
    """The members of `Delta`, still open. What is dropped may have been written before.

    Batches and registrations write the first of them. The others are made when a verb asks for them: making all would
    take longer than building a batch of one row.
    """

    def __init__(self, expect: Seq, seq: Seq, arrival_us: int) -> None:
        """Begin empty."""
        self.expect = expect
        self.seq = seq
        self.arrival_us = arrival_us
        self.streams: dict[StreamId, StreamRecord] = {}
        self.clauses: dict[ClauseId, ClauseRecord] = {}
        self.queries: dict[QueryId, QueryRecord] = {}
        self.batches: dict[tuple[StreamId, Seq], BatchRecord] = {}
        self.blocks: dict[BlockKey, MatchBlock] = {}
        self.pages: dict[RunKey, ClausePages] = {}

    @cached_property
    def composites(self) -> dict[CompositeKey, CompositePage]:
        """Return the pages of joins that are written."""
        return {}

    @cached_property
    def dropped_streams(self) -> set[StreamId]:
        """Return the streams that go."""
        return set()

    @cached_property
    def dropped_clauses(self) -> set[ClauseId]:
        """Return the clauses that go."""
        return set()

    @cached_property
    def dropped_queries(self) -> set[QueryId]:
        """Return the queries that go."""
        return set()

    @cached_property
    def dropped_batches(self) -> set[tuple[StreamId, Seq]]:
        """Return the batches that go."""
        return set()

    @cached_property
    def dropped_segments(self) -> set[tuple[StreamId, int]]:
        """Return the segments whose blocks go."""
        return set()

    @cached_property
    def dropped_pages(self) -> set[tuple[ClauseId, int]]:
        """Return the segments whose pages of a clause go."""
        return set()

    @cached_property
    def dropped_composites(self) -> set[CompositeKey]:
        """Return the pages of joins that go."""
        return set()

    @cached_property
    def altered(self) -> set[StreamId]:
        """Return the streams whose declaration has changed."""
        return set()

    @cached_property
    def expired(self) -> dict[QueryId, int]:
        """Return the queries that nobody has used, and when they expired."""
        return {}

    @cached_property
    def forgotten(self) -> set[QueryId]:
        """Return the expired queries that are not remembered any more."""
        return set()

    def delta(self) -> Delta:
        """Return the delta, with which the draft is finished; nothing in it is both written and dropped."""
        made = vars(self)  # without what nobody has asked for
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
            frozenset(made.get("dropped_streams", NOBODY)),
            frozenset(made.get("dropped_clauses", NOBODY)),
            frozenset(made.get("dropped_queries", NOBODY)),
            frozenset(made.get("dropped_batches", NOBODY)),
            frozenset(made.get("dropped_segments", NOBODY)),
            frozenset(made.get("dropped_pages", NOBODY)),
            made.get("composites", NOTHING),
            frozenset(made.get("dropped_composites", NOBODY)),
            frozenset(made.get("altered", NOBODY)),
            made.get("expired", NOTHING),
            frozenset(made.get("forgotten", NOBODY)),
        )
        return written if _is_disjoint(written) else merge((written,))


def _is_disjoint(delta: Delta) -> bool:
    """Return whether it is plain that nothing written is dropped as well, nor hangs on what is dropped."""
    return not (
        delta.dropped_streams
        or (delta.dropped_clauses and (delta.clauses or delta.pages))
        or (delta.dropped_queries and delta.queries)
        or (delta.dropped_segments and delta.blocks)
        or (delta.dropped_pages and delta.pages)
        or (delta.dropped_composites and delta.composites)
        or (delta.forgotten and delta.expired)
        or not delta.dropped_batches.isdisjoint(delta.batches)
    )
