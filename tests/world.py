"""A world: a store, an engine, a clock that moves when told to, and the way every operation takes.

Verbs go the way of the service: checked, appended to the log, folded, published, invoked from what was
published. Tests speak names and rows; `World` speaks operations. `history` keeps every entry as the log
gave it back, for the twin and for replays.
"""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.engine import Engine, MatchThreads
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import NO_PART, Answer as Page, Request
from psoup.engine.invocation.shaped.grouping import NEVER_US
from psoup.engine.invoke import invoke
from psoup.engine.log.contract import Appended
from psoup.engine.log.groups import read_groups
from psoup.engine.log.operation import (
    Alter,
    Commit,
    Content,
    Declare,
    Drop,
    Materialize,
    Operation,
    QueryId,
    Register,
    Remove,
    Replace,
    Rows,
    Staged,
    StageId,
    Tick,
    Txn,
)
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.results.delta import Delta, merge
from psoup.engine.store.contract import Store
from psoup.engine.tuples.arrow import arrow_schema, encode_batch
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ColumnType, StreamId, StreamSchema
from psoup.storage.memory.store import MemoryStore
from tests.reference import Answer, AnswerRow
from tests.reference_values import Row
from tests.strategies import EPOCH_US


def record_batch(schema: StreamSchema, rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows as one record batch of the stream's Arrow schema."""
    arrays = []
    for column, field in zip(schema.columns, arrow_schema(schema), strict=True):
        kind = pa.int64() if column.type is ColumnType.TIMESTAMP else field.type
        arrays.append(pa.array([row[column.name] for row in rows], kind).cast(field.type))
    return pa.record_batch(arrays, schema=arrow_schema(schema))


def digest(rows: Sequence[Row]) -> bytes:
    """Return 32 bytes, equal for equal bags of rows."""
    return hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).digest()


def rows_of(page: Page) -> list[AnswerRow]:
    """Return a page's rows in the twin's words."""
    sources = [
        ["" if part == NO_PART else str(part) for part in parts]
        for parts in np.atleast_2d(page.tuple_ids).tolist()
    ]
    ids = sources[0] if len(sources) == 1 else list(map("-".join, zip(*sources, strict=True)))
    if page.row_ids is not None and not page.tuple_ids.any():  # groups
        ids = [one.decode() for one in page.row_ids.tolist()]
    leaves_us: list[int | None] = [None] * len(ids)
    if page.leaves_us is not None:
        leaves_us = [None if one == NEVER_US else one for one in page.leaves_us.tolist()]
    listed = [column.to_list() for _, column in page.columns]
    values = zip(*listed, strict=True) if listed else itertools.repeat((), len(ids))
    return list(zip(ids, leaves_us, values, strict=True))


class World:
    """One service without the web. Every verb folds what it appended, unless told not to."""

    def __init__(
        self,
        store: Store | None = None,
        clock: ManualClock | None = None,
        match_threads: MatchThreads | None = None,
    ) -> None:
        """Stand over an empty store: `memory://` where none is given. `match_threads` are the engine's."""
        self._match_threads = match_threads
        self.clock = clock or ManualClock(EPOCH_US)
        self.store = store or MemoryStore(self.clock)
        self.engine = Engine()
        self.history: list[Operation] = []
        self.streams: dict[str, tuple[StreamId, StreamSchema]] = {}
        self._numbers = itertools.count(1)
        self.lose_engine()

    # --- Verbs ------------------------------------------------------------------------------------

    def declare(self, schema: StreamSchema, *, fold: bool = True) -> Appended:
        """Declare a stream."""
        appended = self.append_content(Declare(schema), fold=fold)
        if not appended.duplicate:
            self.streams[schema.name] = (StreamId(appended.seq), schema)
        return appended

    def alter(self, schema: StreamSchema, *, fold: bool = True) -> Appended:
        """Declare a stream otherwise."""
        stream_id, declared = self.streams[schema.name]
        appended = self.append_content(Alter(stream_id, schema, declared=declared), fold=fold)
        self.streams[schema.name] = (stream_id, schema)
        return appended

    def drop(self, name: str, queries: Sequence[QueryId] = (), *, fold: bool = True) -> Appended:
        """Drop a stream with `queries`: all that read it."""
        stream_id, _ = self.streams[name]
        appended = self.append_content(Drop(stream_id, name, tuple(queries)), fold=fold)
        del self.streams[name]
        return appended

    def append(
        self,
        name: str,
        rows: Sequence[Row],
        *,
        app: str | None = None,
        version: int = 0,
        columns: int | None = None,
        fold: bool = True,
    ) -> Appended:
        """Append a batch, under a producer's version where an app is given; `columns`: the body has the first few."""
        stream_id, schema = self.streams[name]
        if columns is not None:
            schema = replace(schema, columns=schema.columns[:columns])
        txn = None if app is None else Txn(app, version, digest(rows))
        body = encode_batch(record_batch(schema, rows))
        return self.append_content(Rows(stream_id, name, len(rows), body, txn), fold=fold)

    def commit(
        self,
        parts: Sequence[tuple[str, Sequence[Row]]],
        *,
        app: str = "job",
        version: int = 0,
        fold: bool = True,
    ) -> Appended:
        """Stage each part for its stream, and commit all of them as one version."""
        head, stages = self.store.log.head(), []
        for name, rows in parts:
            stream_id, schema = self.streams[name]
            stages.append(StageId(f"st_{next(self._numbers):022d}"))
            body = encode_batch(record_batch(schema, rows))
            self.store.log.stage(Staged(stages[-1], stream_id, name, len(rows), body, digest(rows)))
        appended = self.store.log.commit(Commit(app, version, tuple(stages)))
        if not appended.duplicate:
            (group,) = read_groups(self.store.log, head, operations_max=len(parts), bytes_max=2**30)
            self.history += group
        if fold:
            self.fold()
        return appended

    def append_table(self, name: str, tuples: pa.Table) -> Appended:
        """Append a batch that is in Arrow already."""
        stream_id, _ = self.streams[name]
        (batch,) = tuples.combine_chunks().to_batches()
        return self.append_content(Rows(stream_id, name, batch.num_rows, encode_batch(batch)))

    def register(
        self,
        sql: str,
        *,
        name: str | None = None,
        materialize: Materialize = Materialize.AUTO,
        ttl_us: int | None = None,
        fold: bool = True,
    ) -> QueryId:
        """Register a query and return its handle: the original's where the name has one."""
        query_id = QueryId(f"q_{next(self._numbers):022d}")
        bound = bind(sql, self.streams)
        streams = {source.stream: source.stream_id for source in bound.clause.sources}
        content = Register(
            query_id, bound.canonical, streams, name, materialize=materialize, ttl_us=ttl_us
        )
        return self.append_content(content, fold=fold).query_id or query_id

    def replace(
        self,
        query_id: QueryId,
        name: str,
        sql: str,
        *,
        ttl_us: int | None = None,
        fold: bool = True,
    ) -> Appended:
        """Give a query that has this name another definition."""
        bound = bind(sql, self.streams)
        streams = {source.stream: source.stream_id for source in bound.clause.sources}
        content = Register(query_id, bound.canonical, streams, name, ttl_us=ttl_us)
        return self.append_content(Replace(content), fold=fold)

    def remove(self, query_id: QueryId, *, fold: bool = True) -> Appended:
        """Remove a query."""
        return self.append_content(Remove(query_id), fold=fold)

    def tick(self, *, fold: bool = True) -> Appended:
        """Let time pass."""
        return self.append_content(Tick(), fold=fold)

    def append_content(self, content: Content, *, fold: bool = True) -> Appended:
        """Append one operation to the log, and note what the log made of it."""
        appended = self.store.log.append(content)
        if not appended.duplicate:
            before = Seq(appended.seq - 1)
            self.history += self.store.log.read(before, operations_max=1, bytes_max=1)
        if fold:
            self.fold()
        return appended

    # --- Invocation -------------------------------------------------------------------------------

    def invoke(
        self,
        query_id: QueryId,
        *,
        at_us: int | None = None,
        seq: Seq | None = None,
        limit: int = 1_000,
    ) -> Answer:
        """Return the whole answer of a query, read page by page, in the twin's words."""
        pages = [self.page(query_id, Request(limit, now_us=at_us, seq=seq))]
        while (position := pages[-1].next) is not None:
            pages.append(self.page(query_id, Request(limit, position=position)))
        first = pages[0]
        rows = tuple(row for page in pages for row in rows_of(page))
        assert first.count == len(rows), "the count is that of all pages"
        assert all(page.cut.seq == first.cut.seq for page in pages), "pages belong to one position"
        return Answer(
            first.cut.seq,
            first.now_us,
            first.begin_us,
            first.end_us,
            first.complete_from_us,
            rows,
        )

    def page(self, query_id: QueryId, request: Request) -> Page:
        """Return one page, as the engine gives it."""
        return invoke(
            self.store.results,
            self.engine.source,
            query_id=query_id,
            request=request,
            cache=self.cache,
        )

    # --- The fold ---------------------------------------------------------------------------------

    def fold(self, operations_max: int = limits.FOLD_OPERATIONS_MAX) -> list[Operation]:
        """Fold and publish all that is committed, `operations_max` at a time; return what was folded."""
        folded: list[Operation] = []
        while groups := read_groups(
            self.store.log,
            self.store.results.cut().seq,
            operations_max=operations_max,
            bytes_max=2**20,
        ):
            operations = list(itertools.chain.from_iterable(groups))
            deltas = [self.engine.apply(operation) for operation in operations]
            self.publish(merge(deltas))
            folded += operations
        return folded

    def publish(self, delta: Delta) -> None:
        """Publish a delta, and let the log forget the batches of which nothing is held any more."""
        self.store.results.publish(delta)
        self.engine.published()
        self.store.log.trim(batches=sorted(seq for _, seq in delta.dropped_batches), below=Seq(0))

    def lose_engine(self) -> None:
        """Forget the engine with all it holds; another one begins where the published position is."""
        checkpoint = self.store.results.checkpoint()
        seqs = sorted(batch.seq for batch in checkpoint.batches)
        batches = self.store.log.read_at(seqs)
        self.engine = Engine.restore(checkpoint, batches, match_threads=self._match_threads)
        self.cache = InvocationCache(BoundQueries())

    def check(self) -> None:
        """Assert the invariants of everything."""
        self.engine.check()
        self.store.log.check()
        self.store.results.check()
