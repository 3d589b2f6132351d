"""`Engine`: State(k), the fold of operations 1 … k, and the one way to the next: `apply`.

Deterministic: it reads no clock, draws no chance and walks over nothing unordered, so the same log gives the
same deltas bit for bit, whether folded at once, in pieces or by an engine that took over in between.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import assert_never

from psoup.engine import expire, ingest, lifetime, register
from psoup.engine.clauses.query_stem import QuerySteMStatistics
from psoup.engine.data.source import TupleSource
from psoup.engine.eddy.eddy import Eddy, EddyStatistics
from psoup.engine.eddy.join_entrants import JoinGroupStatistics
from psoup.engine.eddy.join_routing import JoinRouting
from psoup.engine.eddy.match_threads import MatchThreads
from psoup.engine.eddy.policy import RoutingPolicy
from psoup.engine.eddy.settling import PrecomputedHits
from psoup.engine.errors import EngineError
from psoup.engine.kernels.memory import keep_memory
from psoup.engine.kernels.warm import warm_up
from psoup.engine.log.operation import (
    Alter,
    Declare,
    Drop,
    Expire,
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
from psoup.engine.query.bind.binder import Bind, bind
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import Delta
from psoup.engine.results.draft import Draft
from psoup.engine.sources.cached_tuples import CachedTuples, CachedTuplesStatistics
from psoup.engine.state.restore import restore
from psoup.engine.state.state import State
from psoup.engine.tuples.batch import Seq

__all__ = [
    "CachedTuples",
    "CachedTuplesStatistics",
    "Engine",
    "EngineStatistics",
    "JoinGroupStatistics",
    "MatchThreads",
    "PrecomputedHits",
    "keep_memory",
    "warm_up",
]


MakeLock = Callable[[], AbstractContextManager[object]]
"""Makes a lock; `nullcontext` where there is one thread."""


@dataclass(frozen=True, slots=True)
class EngineStatistics:
    """Counters since the start of this engine; `streams` and `queries` as they stand."""

    applied: Seq
    operations: int
    voided: int
    streams: int
    queries: int
    rows_held: int
    bytes_held: int
    query_stem: QuerySteMStatistics
    eddy: EddyStatistics


class Engine:
    """The fold. One thread applies; any number of threads may read `source` meanwhile."""

    def __init__(
        self,
        *,
        bind: Bind = bind,
        policy: RoutingPolicy | None = None,
        routing: JoinRouting | None = None,
        make_lock: MakeLock = nullcontext,
        precomputed: PrecomputedHits | None = None,
        match_threads: MatchThreads | None = None,
    ) -> None:
        """Begin before the first operation.

        Args:
            bind: makes the clauses of the texts that the log keeps.
            policy: how tuples are routed; None = by measured selectivity.
            routing: how entrants are routed through the sources of a join; None = by measured fan-out.
            make_lock: where other threads read `source`, makes their locks.
            precomputed: hits computed ahead of their operation; None = the engine computes all of them.
            match_threads: settle chunks of large batches beside the thread that applies; None = that one settles all.
        """
        self._precomputed = precomputed
        self._state = State(bind=bind, make_lock=make_lock)
        self._eddy = Eddy(
            query_stem=self._state.query_stem,
            tuples=self._state.tuples,
            policy=policy,
            routing=routing,
            precomputed=precomputed,
            match_threads=match_threads,
        )
        self._operations = 0
        self._voided = 0

    @property
    def applied(self) -> Seq:
        """The seq of the last operation applied; 0 before the first."""
        return self._state.applied

    @property
    def voided(self) -> int:
        """How many operations were void."""
        return self._voided

    @property
    def source(self) -> TupleSource:
        """The tuples held, for invocations in this process."""
        return self._state.tuples

    def apply(self, operation: Operation) -> Delta:
        """Fold the next operation and return what it changes.

        An operation that cannot be applied (a stream that is not in force, a text that does not bind, a
        body of another shape) is void: it changes nothing, and is counted. Time passes in any case.

        Args:
            operation: the one after the last, arrived no earlier.
        """
        state = self._state
        assert operation.seq == state.applied + 1, "operations are applied in order, without gaps"
        assert operation.arrival_us >= state.arrival_us, "arrival times never decrease"
        if self._precomputed is not None:
            self._precomputed.begin(state, operation)
        draft = Draft(state.applied, operation.seq, operation.arrival_us)
        try:
            self._dispatch(draft, operation)
        except EngineError:
            # Verbs raise before they change anything, so there is nothing to undo.
            self._voided += 1
            if isinstance(operation.content, Rows):  # the log need not keep it
                draft.dropped_batches.add((operation.content.stream_id, operation.seq))
        expire.expire(state, draft)
        state.applied, state.arrival_us = operation.seq, operation.arrival_us
        self._operations += 1
        return draft.delta()

    def expect(self, operations: Sequence[Operation]) -> None:
        """Note the operations that are applied next, so that their hits can be computed ahead, together.

        Changes no delta, and need not be called.
        """
        if self._precomputed is not None:
            self._precomputed.expect(operations)

    def takes_little(self, operation: Operation) -> bool:
        """Return whether the next operation is applied in some ten microseconds; also False where that is not known."""
        if self._precomputed is not None or not isinstance(operation.content, Rows):
            return False
        newest_us = ingest.newest_of_few(self._state, operation, operation.content)
        return newest_us is not None and expire.lets_little_go(
            self._state, operation, operation.content, newest_us=newest_us
        )

    def published(self) -> None:
        """Let go of tuples that applied operations have dropped: their deltas are published now.

        Not before: until then readers at the published position are owed them.
        """
        if self._state.going:
            self._state.let_go()

    def due(self, now_us: int) -> bool:
        """Return whether a Tick that arrives at `now_us` would forget something."""
        return expire.due(self._state, now_us)

    def overdue(self, now_us: int, *, limit: int) -> Sequence[QueryId]:
        """Return queries whose time to live is over at `now_us`, at most `limit`, the earliest first. O(found)."""
        return lifetime.overdue(self._state, now_us, limit)

    @classmethod
    def restore(
        cls,
        checkpoint: Checkpoint,
        batches: Iterable[Operation],
        *,
        bind: Bind = bind,
        make_lock: MakeLock = nullcontext,
        precomputed: PrecomputedHits | None = None,
        match_threads: MatchThreads | None = None,
    ) -> "Engine":
        """Return the engine at the checkpoint's position, made from its records and the log's batches.

        Tuples are built and not probed: hits in whole chunks are published, and those of the open chunk are
        not looked for before it is whole. Segments on their way out of retention get their full time anew.

        Args:
            checkpoint: everything published but the pages.
            batches: the operations of the checkpoint's batch records, ascending by seq.
            bind: as in the constructor.
            make_lock: as in the constructor.
            precomputed: as in the constructor.
            match_threads: as in the constructor.

        Raises:
            IntegrityError: batches and records do not agree, or a stored clause does not bind.
        """
        engine = cls(
            bind=bind,
            make_lock=make_lock,
            precomputed=precomputed,
            match_threads=match_threads,
        )
        state = engine._state
        restore(state, checkpoint, batches)
        for stream in state.streams.values():
            expire.note_leaving(stream, state.arrival_us)
        return engine

    def statistics(self) -> EngineStatistics:
        """Return counters. Cost: O(segments held)."""
        held = [stream.stem.statistics() for stream in self._state.streams.values()]
        return EngineStatistics(
            applied=self._state.applied,
            operations=self._operations,
            voided=self._voided,
            streams=len(self._state.streams),
            queries=len(self._state.queries),
            rows_held=sum(one.rows for one in held),
            bytes_held=sum(one.nbytes for one in held),
            query_stem=self._state.query_stem.statistics(),
            eddy=self._eddy.statistics(),
        )

    def check(self) -> None:
        """Assert the invariants of the whole state. O(everything), for tests."""
        self._state.check()

    def _dispatch(self, draft: Draft, operation: Operation) -> None:
        state, eddy, content = self._state, self._eddy, operation.content
        match content:
            case Rows():
                ingest.ingest(state, draft, eddy=eddy, operation=operation, content=content)
            case Register() | Replace() | Renew() | Remove() | Expire():
                self._dispatch_query(draft, content)
            case Tick():
                pass
            case Declare():
                ingest.declare(state, draft, operation=operation, content=content)
            case Alter():
                ingest.alter(state, draft, content=content)
            case Drop():
                ingest.drop(state, draft, eddy=eddy, content=content)
            case _:
                assert_never(content)

    def _dispatch_query(self, draft: Draft, content: OfQuery) -> None:
        state, eddy = self._state, self._eddy
        match content:
            case Register():
                register.register(state, draft, eddy=eddy, content=content)
            case Replace():
                register.replace(state, draft, eddy=eddy, content=content)
            case Renew():
                lifetime.renew(state, draft, content=content)
            case Remove():
                register.remove(state, draft, content=content)
            case Expire():
                lifetime.expire_query(state, draft, content=content)
            case _:
                assert_never(content)
