"""A delta while it is being written: what the verbs of one operation change, gathered."""

from collections.abc import Mapping
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

    composites: dict[CompositeKey, CompositePage]
    dropped_streams: set[StreamId]
    dropped_clauses: set[ClauseId]
    dropped_queries: set[QueryId]
    dropped_batches: set[tuple[StreamId, Seq]]
    dropped_segments: set[tuple[StreamId, int]]
    dropped_pages: set[tuple[ClauseId, int]]
    dropped_composites: set[CompositeKey]
    altered: set[StreamId]
    expired: dict[QueryId, int]
    forgotten: set[QueryId]

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
        self._is_short = True

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (a dict or a set, as the member is declared)
        """Make a member that was not asked for before, empty."""
        make = _MADE_LATER.get(name)
        if make is None:
            raise AttributeError(name)
        made = make()
        setattr(self, name, made)
        self._is_short = False
        return made

    def delta(self) -> Delta:
        """Return the delta, with which the draft is finished; nothing in it is both written and dropped."""
        if self._is_short:
            return Delta(
                self.expect,
                self.seq,
                self.arrival_us,
                self.streams,
                self.clauses,
                self.queries,
                self.batches,
                self.blocks,
                self.pages,
                composites=NOTHING,
                expired=NOTHING,
            )
        made = vars(self)
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


_MADE_LATER: Final[Mapping[str, type[dict[Any, Any]] | type[set[Any]]]] = {
    **dict.fromkeys(("composites", "expired"), dict),
    **dict.fromkeys(
        (
            "dropped_streams",
            "dropped_clauses",
            "dropped_queries",
            "dropped_batches",
            "dropped_segments",
            "dropped_pages",
            "dropped_composites",
            "altered",
            "forgotten",
        ),
        set,
    ),
}
"""What each member begins as that is made when it is asked for."""


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
