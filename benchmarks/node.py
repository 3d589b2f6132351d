"""psoup as a library: log, engine and results in one process, nothing kept. What the contests measure."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.workloads import EPOCH_US, SECOND_US, Columns, Query, record_batch, slices
from psoup.engine.clock import ManualClock
from psoup.engine.eddy.join_routing import JoinRouting
from psoup.engine.eddy.policy import RoutingPolicy
from psoup.engine.engine import Engine
from psoup.engine.invoke import Answer, InvocationCache, Request, invoke
from psoup.engine.limits import PAGE_ROWS_MAX
from psoup.engine.log.operation import (
    Content,
    Declare,
    Materialize,
    Operation,
    QueryId,
    Register,
    Remove,
    Rows,
    Tick,
)
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.bind.scope import Streams
from psoup.engine.query.clause import BoundQuery, Source, StandingQueryClause
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.shape import Output, Shape
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.query.values.value_set import Interval, ValueSet
from psoup.engine.query.window import Bound, Window
from psoup.engine.results.contract import ResultsReader
from psoup.engine.results.live import LiveResults
from psoup.engine.series import Series, series
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.storage.memory.store import MemoryStore

_BOUND: dict[tuple[str, StreamId], BoundQuery] = {}
"""Queries of the workloads by canonical text, that of the clause alone as well, and stream."""


class Node:
    """One engine over `memory://`; every verb appends, folds and publishes before it returns.

    The queries of the workloads are bound beforehand: what a registration costs here is what it costs
    once its text has been read. `register_text` takes a text that is read.
    """

    def __init__(
        self,
        schema: StreamSchema | None = None,
        *,
        policy: RoutingPolicy | None = None,
        routing: JoinRouting | None = None,
    ) -> None:
        """Begin empty, or with one stream declared; without `policy` and `routing` all is routed as always."""
        self._clock = ManualClock(EPOCH_US)
        self.store = MemoryStore(self._clock)
        self.results: ResultsReader = self.store.results
        self.engine = Engine(bind=_bind_once, policy=policy, routing=routing)
        self._bound = BoundQueries(bind=_bind_once)
        self.forget_answers()
        self._streams: dict[str, tuple[StreamId, StreamSchema]] = {}
        self._numbers = itertools.count(1)
        self._given = 0
        if schema is not None:
            self.declare(schema)

    def declare(self, schema: StreamSchema) -> None:
        """Declare a stream: the one that `ingest` and `register` mean until the next."""
        self._schema = schema
        self._stream_id = StreamId(self._do(Declare(schema)))
        self._streams[schema.name] = (self._stream_id, schema)

    def batches(self, columns: Columns, *, rows: int) -> list[Rows]:
        """Return the operations that bring the tuples in batches of `rows`, dated after all before."""
        found = []
        for part in slices(columns, rows=rows):
            batch = record_batch(self._schema, part, first=self._given)
            self._given += batch.num_rows
            found.append(self.rows(batch))
        return found

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """Return the operation that brings a batch of the stream's exact Arrow schema."""
        return Rows(self._stream_id, self._schema.name, batch.num_rows, encode_batch(batch))

    def ingest(self, rows: Rows) -> None:
        """Add a batch."""
        self._do(rows)

    def register(
        self,
        query: Query,
        *,
        window_s: int | None = None,
        materialize: Materialize = Materialize.PARTIAL,
    ) -> QueryId:
        """Register a query of the workload, applied to everything stored."""
        return self.register_bound(self.bound(query, window_s=window_s), materialize=materialize)

    def register_bound(
        self, bound: BoundQuery, *, materialize: Materialize = Materialize.PARTIAL
    ) -> QueryId:
        """Register what `bound` returned."""
        query_id = QueryId(f"q_{next(self._numbers):022d}")
        streams = {self._schema.name: self._stream_id}
        self._do(Register(query_id, bound.canonical, streams, materialize=materialize))
        return query_id

    def register_text(self, text: str, *, materialize: Materialize = Materialize.AUTO) -> QueryId:
        """Register a query text: read, bound, applied, as it comes from a client. It may join streams."""
        query_id = QueryId(f"q_{next(self._numbers):022d}")
        bound = bind(text, self._streams)
        streams = {source.stream: source.stream_id for source in bound.clause.sources}
        self._do(Register(query_id, bound.canonical, streams, materialize=materialize))
        return query_id

    def bound(self, query: Query, *, window_s: int | None = None) -> BoundQuery:
        """Return the query as binding its text would, without reading it."""
        bound = bound_query(self._schema, self._stream_id, query, window_s=window_s)
        for text in (bound.canonical, bound.clause.text):
            _BOUND[text, self._stream_id] = bound
        return bound

    def remove(self, query_id: QueryId) -> None:
        """Remove a query."""
        self._do(Remove(query_id))

    def tick(self, *, after_us: int = 0) -> None:
        """Let time pass: `after_us` of the log's clock, then one operation that brings nothing else."""
        self._clock.advance(after_us)
        self._do(Tick())

    def invoke(self, query_id: QueryId, request: Request) -> Answer:
        """Invoke a query."""
        return invoke(
            self.results,
            self.engine.source,
            query_id=query_id,
            request=request,
            cache=self._cache,
        )

    def forget_answers(self) -> None:
        """Forget what invocations have left: the next one of each query is its first, but for its text."""
        self._cache = InvocationCache(self._bound)

    def series(self, query_id: QueryId, instants: Sequence[int]) -> Series:
        """Invoke a query at a sequence of instants."""
        return series(
            self.results,
            self.engine.source,
            query_id=query_id,
            instants=lambda _: instants,
            cache=self._cache,
        )

    def count(self, query_id: QueryId) -> int:
        """Return how many rows a query answers."""
        return self.invoke(query_id, COUNT).count

    def counts(self, query_ids: Sequence[QueryId]) -> NDArray[np.int64]:
        """Return how many rows each query answers."""
        return np.array([self.count(query_id) for query_id in query_ids], dtype=np.int64)

    def _do(self, content: Content) -> Seq:
        appended = self.store.log.append(content)
        (operation,) = self.store.log.read(Seq(appended.seq - 1), operations_max=1, bytes_max=1)
        delta = self.engine.apply(operation)
        self.store.results.publish(delta)
        self.engine.published()
        if delta.dropped_batches:  # the log goes on with what is held, as a service's does
            dropped = sorted(seq for _, seq in delta.dropped_batches)
            self.store.log.trim(batches=dropped, below=Seq(0))
        return appended.seq


class BareNode(Node):
    """A node without a log, which would count its queries: more may stand than a service takes."""

    def __init__(self, schema: StreamSchema) -> None:
        """Begin with one stream declared."""
        super().__init__()
        self.results = self._live = LiveResults(self._clock.now_us)
        self._next_tuple = 1
        self.declare(schema)

    def _do(self, content: Content) -> Seq:
        seq = Seq(self.engine.applied + 1)
        operation = Operation(seq, self._clock.now_us(), TupleId(self._next_tuple), content)
        self._next_tuple += content.rows if isinstance(content, Rows) else 0
        self._live.apply(self.engine.apply(operation))
        self.engine.published()
        return seq


COUNT = Request(limit=1, count_only=True)
ROWS = Request(limit=PAGE_ROWS_MAX)


def bound_query(
    schema: StreamSchema, stream_id: StreamId, query: Query, *, window_s: int | None
) -> BoundQuery:
    """Return what `bind` returns for the query's text, made from its parts: a hundred times faster."""
    refs = {column.name: ColumnRef(0, column.name, column.type) for column in schema.columns}
    factors = tuple(
        AttributeFactor(
            refs[name], ValueSet((Interval(low, low is not None, high, high is not None),))
        )
        for name, low, high in query.bounds
    )
    where = f" WHERE {query.where}" if query.where else ""
    text = f"SELECT {', '.join(refs)} FROM {schema.name}{where}"
    shape = Shape(tuple(Output(name, ref) for name, ref in refs.items()))
    clause = StandingQueryClause(
        text=f"SELECT 1 FROM {schema.name}{where}",
        sources=(Source(schema.name, schema.name, stream_id),),
        factors=factors,
    )
    if window_s is None:
        return BoundQuery(clause, shape, Window(), text)
    begin = f"NOW - INTERVAL '{window_s}' SECOND"
    window = Window(Bound(window_s * SECOND_US, moving=True), Bound(0, moving=True))
    return BoundQuery(clause, shape, window, f"{text} BEGIN ({begin}) END (NOW)")


@functools.wraps(bind)
def _bind_once(text: str, streams: Streams) -> BoundQuery:
    """Let the engine find the workloads' queries read: it would read each text once, as it is folded."""
    for stream_id, _ in streams.values():
        found = _BOUND.get((text, stream_id))
        if found is not None:
            return found
    return bind(text, streams)


def forget() -> None:
    """Forget the queries that were bound beforehand: a measurement of memory is about to be made."""
    _BOUND.clear()
