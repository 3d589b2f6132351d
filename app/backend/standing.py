"""The standing queries by stream, for rows that ask which of them they hit: built when first asked for, then kept up.

What has come and gone since is read from the log's control entries. Where these do not reach so far back, or another
history has begun, the queries that stand are compared with those that are kept: a build that ends early goes on there.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from psoup.app.backend.catalogue import Declaration
from psoup.engine import limits
from psoup.engine.asking.standing_queries import RowMatches, StandingQueries
from psoup.engine.checkpoint import checkpoint
from psoup.engine.errors import SqlError, StaleDeclarationError
from psoup.engine.log.contract import Log
from psoup.engine.log.operation import Drop, Expire, Operation, QueryId, Register, Remove, Replace
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.bind.scope import Streams
from psoup.engine.recent import Recent
from psoup.engine.results.contract import Cut, Gen, ResultsReader
from psoup.engine.results.delta import QueryRecord
from psoup.engine.tuples.batch import Seq, TupleBatch
from psoup.engine.tuples.schema import StreamId, StreamSchema

_TOGETHER: Final = 1_000
"""Queries that are read by one call."""
_LOOK_S: Final = 0.05
"""Who waits for another's build looks so often whether its own time is up."""


class _Kept:
    """The queries over one stream, as they stood at a position; None = not all of them are there yet."""

    __slots__ = ("at", "lock", "queries")

    def __init__(self, stream_id: StreamId) -> None:
        self.queries = StandingQueries(stream_id)
        self.at: tuple[Gen, Seq] | None = None
        self.lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class StandingStatistics:
    """Streams and queries kept; how often one was compared in whole, and followed in the log."""

    streams: int
    queries: int
    compared: int
    followed: int


class StandingIndexes:
    """The standing queries of the streams asked about last, STANDING_QUERIES_KEPT_MAX of them in all. Thread-safe."""

    def __init__(
        self,
        results: ResultsReader,
        log: Log,
        bound: BoundQueries,
        streams: Callable[[], Streams],
    ) -> None:
        """Keep nothing yet; `streams` returns all that are in force, and may block."""
        self._results = results
        self._log = log
        self._bound = bound
        self._streams = streams
        self._kept = _nothing()
        self._opening = threading.Lock()
        self._compared = self._followed = 0

    def matches(
        self, declaration: Declaration, batch: TupleBatch, *, limit: int
    ) -> Sequence[RowMatches]:
        """Return for each row of a batch the queries that it hits, of those that stand. Blocks.

        All are there that stood when it was called and still do; of those that come or go meanwhile, some may be.

        Raises:
            NotFoundError: the stream is gone.
            StaleDeclarationError: another stream has its name, or it has other columns by now.

        Cost: at the first call for a stream that of binding its queries; then that of what has come and gone, and of a
            chunk's probe.
        """
        with self._opening:
            kept = self._kept.get(declaration.stream_id) or _Kept(declaration.stream_id)
            self._keep(kept)
        with _held(kept.lock):
            self._refresh(kept, declaration.schema)
            found = kept.queries.probe(batch, limit=limit)
        self._keep(kept)
        return found

    def forget(self) -> None:
        """Keep nothing: another history has begun."""
        self._kept = _nothing()

    def statistics(self) -> StandingStatistics:
        """Return counters."""
        kept = [one for _, one in self._kept.pairs()]
        queries = sum(len(one.queries) for one in kept)
        return StandingStatistics(len(kept), queries, self._compared, self._followed)

    def check(self) -> None:
        """Assert the invariants of what is kept. For tests, while nothing runs."""
        self._kept.check()
        for stream_id, one in self._kept.pairs():
            if stream_id != one.queries.stream_id:
                raise AssertionError(f"queries of {one.queries.stream_id} under {stream_id}")
            one.queries.check()

    def _keep(self, kept: _Kept) -> None:
        self._kept.put(kept.queries.stream_id, kept, size=max(1, len(kept.queries)))

    def _refresh(self, kept: _Kept, schema: StreamSchema) -> None:
        """Bring what is kept of a stream to where the results stand.

        Raises StaleDeclarationError where it has other columns by now: queries may read some that `schema` lacks.
        """
        cut = self._results.cut()
        if kept.at is not None and kept.at[0] != cut.gen:
            kept.queries, kept.at = StandingQueries(kept.queries.stream_id), None
        changed = self._changed(kept.at, cut)
        if changed is None:
            self._compare(kept)
        else:
            self._follow(kept, changed)
        kept.at = cut.gen, cut.seq
        stream = self._results.stream(schema.name)
        if stream.stream_id != kept.queries.stream_id or stream.schema.columns != schema.columns:
            raise StaleDeclarationError(f"Stream {schema.name} was declared anew.")
        if stream.queries != len(kept.queries):  # some went without an entry of their own
            self._compare(kept)

    def _changed(self, at: tuple[Gen, Seq] | None, cut: Cut) -> Sequence[QueryId] | None:
        """Return the queries that have come or gone since a position; None where the log does not tell."""
        if at is None:
            return None
        if at[1] == cut.seq:
            return ()
        if cut.seq - at[1] > limits.LOG_ENTRIES_KEPT:
            return None
        operations = self._log.controls(at[1], cut.seq)
        if self._results.cut().seq - at[1] > limits.LOG_ENTRIES_KEPT:
            return None  # some of them may have been trimmed meanwhile
        return list(dict.fromkeys(query for one in operations for query in _queries_of(one)))

    def _follow(self, kept: _Kept, changed: Sequence[QueryId]) -> None:
        """Take in, or forget, queries that have come or gone."""
        self._followed += 1
        queries = kept.queries
        for first in range(0, len(changed), _TOGETHER):
            some = changed[first : first + _TOGETHER]
            for query_id, snapshot in zip(some, self._results.snapshots(some), strict=True):
                if snapshot is None or queries.stream_id not in snapshot.clause.streams:
                    queries.evict(query_id)
                    continue
                declared = {
                    one.schema.name: (one.stream_id, one.schema) for one in snapshot.streams
                }
                self._build(queries, snapshot.query, declared)

    def _compare(self, kept: _Kept) -> None:
        """Make the queries kept those that stand. Raises at a checkpoint: what was built by then stays."""
        self._compared += 1
        queries, streams = kept.queries, self._streams()
        records = self._results.readers(queries.stream_id)
        wanted = {one.query_id: one.definition_seq for one in records}
        for query_id, seq in list(queries):
            if wanted.get(query_id) == seq:
                del wanted[query_id]
            else:
                queries.evict(query_id)
        for record in records:
            if record.query_id in wanted:
                checkpoint()
                self._build(queries, record, streams)

    def _build(self, queries: StandingQueries, record: QueryRecord, streams: Streams) -> None:
        try:
            bound = self._bound.bind(record.canonical, streams)
        except SqlError as error:
            raise StaleDeclarationError("A stream was declared anew meanwhile.") from error
        seq, defined_seq = record.seq, record.definition_seq
        queries.build(record.query_id, bound, seq=seq, defined_seq=defined_seq)


def _queries_of(operation: Operation) -> Sequence[QueryId]:
    """Return the queries that an operation brings or takes."""
    match operation.content:
        case Register(query_id=query_id) | Remove(query_id=query_id) | Expire(query_id=query_id):
            return (query_id,)
        case Replace(query=query):
            return (query.query_id,)
        case Drop(queries=queries):
            return queries
        case _:
            return ()


def _nothing() -> Recent[StreamId, _Kept]:
    return Recent(limits.STANDING_QUERIES_KEPT_MAX, threading.Lock())


@contextlib.contextmanager
def _held(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; while another thread has it, end at a checkpoint where nobody waits any more."""
    while not lock.acquire(timeout=_LOOK_S):
        checkpoint()
    try:
        yield
    finally:
        lock.release()
