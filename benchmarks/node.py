"""psoup as a library: log, engine and results in one process, nothing kept. What the contests measure."""

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks import workloads
from engine.clock import ManualClock
from engine.engine import Engine
from engine.invoke import Answer, ClauseCache, Request, invoke
from engine.limits import CHUNK_ROWS
from engine.log.contract import Appended
from engine.log.operation import Content, Declare, QueryId, Register, Remove, Rows
from engine.query.binder import bind
from engine.tuples.arrow import encode_batch
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId, StreamSchema
from storage.memory import MemoryStore


class Node:
    """One engine over `memory://`; every verb appends, folds and publishes before it returns."""

    def __init__(self) -> None:
        """Begin empty."""
        self._store = MemoryStore(ManualClock(workloads.EPOCH_US))
        self._engine = Engine()
        self._clauses = ClauseCache()
        self._streams: dict[str, tuple[StreamId, StreamSchema]] = {}
        self._numbers = itertools.count(1)
        self._rows = 0

    def declare(self, schema: StreamSchema) -> None:
        """Declare a stream."""
        self._streams[schema.name] = (StreamId(self._do(Declare(schema)).seq), schema)

    def ingest(self, batch: pa.RecordBatch) -> None:
        """Add a batch to the workload's stream."""
        name = workloads.STREAM.name
        stream_id, _ = self._streams[name]
        self._do(Rows(stream_id, name, batch.num_rows, encode_batch(batch)))
        self._rows += batch.num_rows

    def register(self, sql: str) -> QueryId:
        """Register a query: parsed, bound, applied to everything stored."""
        query_id = QueryId(f"q_{next(self._numbers):022d}")
        bound = bind(sql, self._streams)
        streams = {source.stream: source.stream_id for source in bound.clause.sources}
        self._do(Register(query_id, bound.canonical, streams))
        return query_id

    def remove(self, query_id: QueryId) -> None:
        """Remove a query."""
        self._do(Remove(query_id))

    def invoke(self, query_id: QueryId, request: Request) -> Answer:
        """Invoke a query."""
        return invoke(
            self._store.results,
            self._engine.source,
            query_id=query_id,
            request=request,
            clauses=self._clauses,
        )

    def hits(self, query_id: QueryId) -> NDArray[np.int64]:
        """Return the numbers of all rows that satisfy a query, ascending, whatever its window."""
        clause = self._store.results.snapshot(query_id).clause
        chunks = range(-(-self._rows // CHUNK_ROWS))
        pages = self._store.results.pages(clause.clause_id, chunks)
        found: Sequence[NDArray[np.int64]] = [
            pages[chunk].rows(chunk * CHUNK_ROWS) for chunk in chunks if chunk in pages
        ]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def _do(self, content: Content) -> Appended:
        appended = self._store.log.append(content)
        (operation,) = self._store.log.read(Seq(appended.seq - 1), operations_max=1, bytes_max=1)
        self._store.results.publish(self._engine.apply(operation))
        self._engine.published()
        return appended
