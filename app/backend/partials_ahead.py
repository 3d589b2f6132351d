"""Aggregates that are made before anybody asks: of queries with `materialize` `complete`, in each process that answers.

A round is made when the applied position has moved: it looks which streams have got whole chunks, and makes the
partials of these for the queries that want them, so that the next invocation finds them. Where tuples arrive nothing is
done, and between two rounds as much time passes as the first one took. Which queries want partials is read from the
log's control entries; where these do not reach so far back, from all queries.
"""

import asyncio
import re
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.contract import Backend
from psoup.engine import limits
from psoup.engine.aggregates.partials.partial_cache import Key
from psoup.engine.errors import EngineError, NotFoundError, PageExpiredError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.shaped.partials_ahead import StepAhead, key_ahead, step_ahead
from psoup.engine.log.contract import Log
from psoup.engine.log.operation import (
    Drop,
    Expire,
    Materialize,
    Operation,
    QueryId,
    Register,
    Remove,
    Replace,
)
from psoup.engine.query.values.expression import AggregateFunction
from psoup.engine.results.contract import Cut, Gen, Snapshot
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId

ROUND_EVERY_S: Final = 1.0
"""From the end of a round to the next one at least: chunks that became whole meanwhile are read together."""
_TOGETHER: Final = 256
"""Queries that are read by one call."""
_MAY_GROUP: Final = re.compile(rf"GROUP BY|\b(?:{'|'.join(AggregateFunction)})\(")
"""Is found in the text of every query with groups."""
_LOG = structlog.get_logger("psoup.partials")


@dataclass(frozen=True, slots=True)
class AheadStatistics:
    """Counters.

    Attributes:
        queries: whose partials are made ahead.
        refused: conditions and groupings for whose partials there is no room.
        rounds: since the start.
    """

    queries: int
    refused: int
    rounds: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Where the partials of a query belong, and the chunks of which stream they are of."""

    key: Key
    stream_id: StreamId


class PartialsAhead:
    """Makes partials ahead. Rounds are made one at a time, in any thread; `make_often` runs in the event loop."""

    def __init__(self, backend: Backend, log: Log, cache: InvocationCache) -> None:
        """Know no query yet; `cache` is the one that invocations read."""
        self._backend = backend
        self._log = log
        self._cache = cache
        self._at: tuple[Gen, Seq] | None = None
        """Up to where queries are known."""
        self._wanted: dict[QueryId, _Wanted] = {}
        self._askers: dict[Key, dict[QueryId, None]] = {}
        """The queries of each key."""
        self._fresh: dict[QueryId, None] = {}
        """Queries that may want partials, and were not looked at yet."""
        self._sealed: dict[StreamId, int] = {}
        """Whole chunks of each stream at the last round."""
        self._unmade: dict[Key, None] = {}
        self._refused: dict[Key, int] = {}
        """Keys for which there was no room, and for how many bytes."""
        self._rounds = 0
        self._round = threading.Lock()
        self._closing = threading.Event()

    async def make_often(self, applied: AppliedPosition) -> None:
        """Make a round whenever the applied position has moved, for ever."""
        moved = asyncio.Event()
        moved.set()
        applied.watch(moved.set)
        try:
            while True:
                await moved.wait()
                moved.clear()
                begun_s = time.monotonic()
                if await asyncio.to_thread(self._make_safely):
                    moved.set()
                await asyncio.sleep(max(ROUND_EVERY_S, time.monotonic() - begun_s))
        finally:
            applied.unwatch(moved.set)

    def make(self) -> bool:
        """Make a round; return whether there is more to do at once. Blocks.

        Raises:
            EngineError: what the store raises; the next round goes on where this one has ended.
        """
        with self._round:
            if self._closing.is_set():
                return False
            self._rounds += 1
            self._find()
            self._note_sealed()
            self._cache.partials.keep_ahead_only(self._askers)
            for key in list(self._unmade):
                if self._closing.is_set():
                    return False
                if key in self._askers:
                    self._make(key)
            return bool(self._unmade)

    def close(self) -> None:
        """Make nothing more. Blocks until a step that is being made has ended."""
        self._closing.set()
        with self._round:
            pass

    def statistics(self) -> AheadStatistics:
        """Return counters."""
        return AheadStatistics(len(self._wanted), len(self._refused), self._rounds)

    def check(self) -> None:
        """Raise AssertionError if something is to be made that nobody wants. For tests, while nothing runs."""
        askers = [(one.key, query_id) for query_id, one in self._wanted.items()]
        if set(askers) != {(key, one) for key, some in self._askers.items() for one in some}:
            raise AssertionError(f"{self._askers} and {self._wanted}")
        if not (self._unmade.keys() | self._refused.keys()) <= self._askers.keys():
            raise AssertionError(f"made for nobody: {self._unmade}, {self._refused}")

    def _make_safely(self) -> bool:
        """Make a round; what the store lacks now is made at the next move."""
        try:
            return self.make()
        except EngineError:
            return False
        except Exception:  # noqa: BLE001 (a bug: invocations make what they need)
            _LOG.exception("not-made-ahead")
            return False

    def _find(self) -> None:
        """Bring the queries that are known to where the results stand."""
        cut = self._backend.results.cut()
        operations = self._operations(cut)
        if operations is None:
            self._forget(list(self._wanted))
            texts = self._backend.results.queries()
            self._fresh = {one.query_id: None for one in texts if _MAY_GROUP.search(one.canonical)}
        else:
            for operation in operations:
                self._note(operation)
        self._at = cut.gen, cut.seq
        for snapshot in self._snapshots(list(self._fresh)):
            self._forget([snapshot.query.query_id])
            key = key_ahead(snapshot, self._cache)
            if key is not None:
                self._wanted[snapshot.query.query_id] = _Wanted(key, snapshot.clause.streams[0])
                self._askers.setdefault(key, {})[snapshot.query.query_id] = None
                self._unmade[key] = None
        self._fresh = {}

    def _operations(self, cut: Cut) -> Sequence[Operation] | None:
        """Return the control entries since the last round; None where the log does not tell."""
        if self._at is None or self._at[0] != cut.gen:
            return None
        before = self._at[1]
        if before == cut.seq:
            return ()
        if cut.seq - before > limits.LOG_ENTRIES_KEPT:
            return None
        operations = self._log.controls(before, cut.seq)
        if self._backend.results.cut().seq - before > limits.LOG_ENTRIES_KEPT:
            return None  # some of them may have been trimmed meanwhile
        return operations

    def _note(self, operation: Operation) -> None:
        """Take note of queries that have come, changed or gone."""
        match operation.content:
            case Register() as query:
                self._note_defined(query)
            case Replace(query=query):
                self._note_defined(query)
            case Remove(query_id=query_id) | Expire(query_id=query_id):
                self._forget([query_id])
            case Drop(queries=queries):
                self._forget(queries)
            case _:
                pass

    def _note_defined(self, query: Register) -> None:
        """Take note of what a query is from now on."""
        self._forget([query.query_id])
        if query.materialize is Materialize.COMPLETE:
            self._fresh[query.query_id] = None

    def _forget(self, query_ids: Collection[QueryId]) -> None:
        """Forget queries, and what nobody wants any more."""
        for query_id in query_ids:
            self._fresh.pop(query_id, None)
            gone = self._wanted.pop(query_id, None)
            if gone is None:
                continue
            askers = self._askers[gone.key]
            del askers[query_id]
            if not askers:
                del self._askers[gone.key]
                self._unmade.pop(gone.key, None)
                self._refused.pop(gone.key, None)

    def _note_sealed(self) -> None:
        """Note what is to be made of streams that have got whole chunks, and what there is room for again."""
        if not self._wanted:
            return
        sealed = {
            one.stream_id: one.rows // limits.CHUNK_ROWS for one in self._backend.results.streams()
        }
        grown = {one for one, chunks in sealed.items() if chunks != self._sealed.get(one)}
        self._sealed = sealed
        for one in self._wanted.values():
            if one.stream_id in grown and self._has_room(one.key):
                self._unmade[one.key] = None

    def _has_room(self, key: Key) -> bool:
        """Return whether what was refused for a key may fit now."""
        nbytes = self._refused.get(key)
        return nbytes is None or self._cache.partials.has_room_ahead(key, nbytes)

    def _make(self, key: Key) -> None:
        """Make a step for the queries of a key."""
        askers = list(self._askers[key])
        snapshots = [one for one in self._snapshots(askers) if key_ahead(one, self._cache) == key]
        done = StepAhead()
        if snapshots:
            with suppress(NotFoundError, PageExpiredError):  # a later round sees what they are
                done = step_ahead(
                    snapshots, self._backend.results, self._backend.source, self._cache
                )
        if not done.more:
            self._unmade.pop(key, None)
        self._refused.pop(key, None)
        if done.refused_bytes:
            self._refused[key] = done.refused_bytes

    def _snapshots(self, query_ids: Sequence[QueryId]) -> Iterator[Snapshot]:
        """Yield the snapshots of those queries that stand; forget the others."""
        for first in range(0, len(query_ids), _TOGETHER):
            some = query_ids[first : first + _TOGETHER]
            for query_id, snapshot in zip(some, self._backend.results.snapshots(some), strict=True):
                if snapshot is None:
                    self._forget([query_id])
                else:
                    yield snapshot
