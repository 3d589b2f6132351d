"""A world of joins without an engine: composites that are told, pages that hold some of them, a source of the rest."""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from psoup.engine.data.source import Tuples
from psoup.engine.errors import PageExpiredError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invoke import Request, invoke
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.clause import BoundQuery, Source, StandingQueryClause
from psoup.engine.query.shape import Output, Shape
from psoup.engine.query.values.expression import Arithmetic, ArithmeticOp, ColumnRef
from psoup.engine.query.window import Bound, Window, windows_of
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.delta import ClauseRecord, JoinRecord, QueryRecord, StreamRecord
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.live import LiveResults
from psoup.engine.tuples.batch import Column, Seq
from psoup.engine.tuples.schema import ColumnType, StreamId
from tests.engine.batches import schema_keeping
from tests.engine.results.blocks import block_of

QUERY, CLAUSE, GROUP, OTHER = QueryId("q"), ClauseId(9), ClauseId(8), ClauseId(10)


def page_of(composites, times, hits):
    """Return a page of composites (tuples of rows), given each source's times; `hits` by clause name composites."""
    dated = [[of[row] for of, row in zip(times, rows, strict=True)] for rows in composites]
    order = sorted(range(len(composites)), key=lambda i: (max(dated[i]), composites[i]))
    place = {composites[i]: at for at, i in enumerate(order)}
    return CompositePage(
        np.array([composites[i] for i in order], dtype=np.int64).T.copy(),
        np.array([min(dated[i]) for i in order], dtype=np.int64),
        np.array([max(dated[i]) for i in order], dtype=np.int64),
        block_of({clause_id: {place[one] for one in some} for clause_id, some in hits.items()}),
    )


@dataclass(slots=True)
class Told:
    """A `TupleSource` over lists of times, whose joins are a set of composites."""

    times_us: dict[StreamId, np.ndarray]
    matches: list[tuple[int, ...]]
    dropped: dict[StreamId, int] = field(default_factory=dict)
    asked: list[list[tuple[int, int]]] = field(default_factory=list)
    read: int = 0

    def times(self, stream_id, rows):
        self.read += len(rows)
        if len(rows) and rows.min() < self.dropped.get(stream_id, 0):
            raise PageExpiredError
        return self.times_us[stream_id][rows]

    def oldest(self, stream_id, *, floor_row, floor_us, past_row):
        times = self.times_us[stream_id][floor_row:past_row].tolist()
        return min((one for one in times if floor_us is None or one >= floor_us), default=None)

    def tuples(self, stream_id, names, rows):
        assert set(names) <= {"a", "ts"}
        columns = {name: Column(ColumnType.INT64, rows % 3) for name in names}
        return Tuples(self.times(stream_id, rows), self.ids(stream_id, rows), columns)

    @staticmethod
    def ids(stream_id, rows):
        """Return ids that ascend with the rows of a stream, and of streams lie among each other."""
        return rows * 10 + int(stream_id)

    def joining(self, plan, spans):
        self.asked.append([(span.first_row, span.past_row) for span in spans])
        for span in spans:
            assert span.first_row < span.past_row
            if span.first_row < self.dropped.get(span.stream_id, 0):
                raise PageExpiredError
        found = [rows for rows in self.matches if all(map(self._inside, spans, rows))]
        Random(len(found)).shuffle(found)
        return np.array(found, dtype=np.int64).reshape(len(found), len(spans)).T

    def joining_count(self, plan, spans):
        return self.joining(plan, spans).shape[1]

    def _inside(self, span, row):
        if not span.first_row <= row < span.past_row:
            return False
        time_us = self.times_us[span.stream_id][row]
        return time_us <= span.end_us and (span.begin_us is None or time_us >= span.begin_us)


@dataclass(slots=True)
class Joined:
    """Streams, one query that joins them, and what is kept of it. `grow` moves on to the next position."""

    streams: list[StreamId]
    source: Told
    window: Window = field(default_factory=Window)
    ranges: tuple[int | None, ...] = ()
    join: JoinRecord | None = None
    distinct: bool = False
    results: LiveResults = field(default_factory=lambda: LiveResults(lambda: 5))
    cache: InvocationCache = field(init=False)
    records: dict[StreamId, StreamRecord] = field(default_factory=dict)
    written: int = 0

    def __post_init__(self):
        """Register the query."""
        self.cache = InvocationCache(BoundQueries(bind=self._bind))
        draft = self._draft()
        for stream_id in self.streams:
            self.records[stream_id] = StreamRecord(stream_id, schema_keeping(name=f"s{stream_id}"))
        draft.streams.update(self.records)
        record = ClauseRecord(CLAUSE, "", tuple(self.streams), Materialize.PARTIAL, join=self.join)
        draft.clauses[CLAUSE] = record
        if self.join is not None:
            draft.clauses[OTHER] = replace(record, clause_id=OTHER)
            draft.queries[QueryId("o")] = QueryRecord(QueryId("o"), Seq(2), OTHER, "", Window())
        draft.queries[QUERY] = QueryRecord(
            QUERY, Seq(1), CLAUSE, "", self.window, ranges=self.ranges
        )
        self.apply(draft)

    def _draft(self):
        seq = self.results.applied
        return Draft(seq, Seq(seq + 1), seq + 1)

    def apply(self, draft):
        self.results.apply(draft.delta())
        self.results.check()

    def _bind(self, _text, _streams):
        sources = tuple(Source(f"x{i}", f"s{one}", one) for i, one in enumerate(self.streams))
        first, last = (ColumnRef(i, "a", ColumnType.INT64) for i in (0, len(sources) - 1))
        both = Arithmetic(ArithmeticOp.ADD, first, last, ColumnType.INT64)
        outputs = (Output("a", first), Output("both", both))
        return BoundQuery(
            StandingQueryClause("", sources, ()), Shape(outputs, self.distinct), self.window, ""
        )

    def grow(self, rows=None, floors=None, rng=None):
        """Move on: rows of streams, (floor_row, floor_us) of streams, and pages of the chunks that are whole now."""
        draft = self._draft()
        before = [self.whole(stream_id) for stream_id in self.streams]
        for stream_id, count in (rows or {}).items():
            times = self.source.times_us[stream_id][:count]
            high = max([*times.tolist()], default=None)
            self._write(draft, stream_id, rows=count, high_water_us=high)
        for stream_id, (floor_row, floor_us) in (floors or {}).items():
            self._write(draft, stream_id, floor_row=floor_row, floor_us=floor_us)
        if self.join is not None:
            self._enter(draft, before, rng or Random(0))
        self.apply(draft)

    def drop(self, stream_id, dropped_row):
        """Let segments of a stream go, and nothing else."""
        draft = self._draft()
        self._write(draft, stream_id, dropped_row=dropped_row)
        self.source.dropped[stream_id] = dropped_row
        self.apply(draft)

    def forget_composites(self):
        """Let all pages go, and nothing else."""
        draft = self._draft()
        draft.dropped_composites.update(self.results.checkpoint().composites)
        self.apply(draft)

    def suspend(self, suspension):
        draft = self._draft()
        record = self.results.snapshot(QUERY).clause
        assert record.join is not None
        join = replace(record.join, suspended=suspension)
        draft.clauses[CLAUSE] = replace(record, join=join)
        self.apply(draft)

    def remove(self):
        draft = self._draft()
        draft.dropped_queries.add(QUERY)
        draft.dropped_clauses.add(CLAUSE)
        own = [key for key in self.results.checkpoint().composites if key[1:3] == (2, CLAUSE)]
        draft.dropped_composites.update(own)
        self.apply(draft)

    def whole(self, stream_id):
        return self.records[stream_id].rows // CHUNK_ROWS * CHUNK_ROWS

    def _write(self, draft, stream_id, **changed):
        record = replace(self.records[stream_id], **changed)
        self.records[stream_id] = draft.streams[stream_id] = record

    def _enter(self, draft, before, rng):
        """Write pages of the composites whose last open part has become whole, some of them nobody's but another's."""
        now = [self.whole(stream_id) for stream_id in self.streams]
        assert self.join is not None
        fresh = [rows for rows in self.source.matches if self._below(rows, now)]
        fresh = [rows for rows in fresh if self.written == 0 or not self._below(rows, before)]
        of_page: dict[tuple[int, int, int], list[tuple[int, ...]]] = {}
        for rows in fresh:
            if self._below(rows, self.join.fronts):
                key = (len(self.streams), int(CLAUSE))
            else:
                entrant = rng.randrange(len(self.streams))
                key = (entrant, rows[entrant] // CHUNK_ROWS)
            of_page.setdefault((*key, rng.randrange(3)), []).append(rows)
        times = [self.source.times_us[stream_id] for stream_id in self.streams]
        for (entrant, number, _), some in of_page.items():
            hits = {CLAUSE: set(some)}
            if entrant < len(self.streams):
                others = {
                    tuple(rng.randrange(one) if one else 0 for one in now) for _ in range(3)
                } - set(self.source.matches)
                if all(now):
                    hits[OTHER] = {*others, *rng.sample(some, rng.randrange(len(some) + 1))}
            every = sorted(set().union(*hits.values()))
            hits = {clause_id: named for clause_id, named in hits.items() if named}
            self.written += 1
            page = page_of(every, times, hits)
            draft.composites[GROUP, entrant, number, self.written] = page

    @staticmethod
    def _below(rows, fronts):
        return all(row < front for row, front in zip(rows, fronts, strict=True))

    # --- What is asked, and what is right ----------------------------------------------------------

    def ask(self, *, source=None, limit=1_000, **request):
        asked: Any = source or self.source  # as much of a `TupleSource` as joins ask for
        return invoke(
            self.results,
            asked,
            query_id=QUERY,
            request=Request(limit=limit, **request),
            cache=self.cache,
        )

    def pages(self, limit, first=None):
        """Return all rows of an answer, page by page, and its first page."""
        first = first or self.ask(limit=limit)
        rows, answer = rows_of(first), first
        while answer.next is not None:
            answer = self.ask(limit=limit, position=answer.next)
            assert (first.count, first.now_us) == (answer.count, answer.now_us)
            rows += rows_of(answer)
        return rows, first

    def expected(self, now_us=None):
        """Return the rows of the whole answer: parts' ids, when it leaves, values; by looking at each composite."""
        records = [self.records[stream_id] for stream_id in self.streams]
        highs = [one.high_water_us for one in records if one.high_water_us is not None]
        if not highs:
            return []
        now_us = max(highs) if now_us is None else now_us
        windows = windows_of(self.window, self.ranges, len(records))
        found = []
        for rows in self.source.matches:
            times = [
                int(self.source.times_us[stream_id][row])
                for stream_id, row in zip(self.streams, rows, strict=True)
            ]
            shown = [
                one.floor_row <= row < one.rows
                and (one.floor_us is None or time_us >= one.floor_us)
                and (interval := window.interval(time_us)) is not None
                and time_us <= now_us
                and interval[0] <= now_us
                and (interval[1] is None or now_us < interval[1])
                for one, window, row, time_us in zip(records, windows, rows, times, strict=True)
            ]
            if all(shown):
                intervals = [w.interval(t) for w, t in zip(windows, times, strict=True)]
                outs = [one[1] for one in intervals if one is not None and one[1] is not None]
                ids = tuple(
                    row * 10 + int(stream_id)
                    for row, stream_id in zip(rows, self.streams, strict=True)
                )
                values = (rows[0] % 3, rows[0] % 3 + rows[-1] % 3)
                found.append((min(times), ids, min(outs, default=None), values))
        listed = [one[1:] for one in sorted(found)]
        return distinct(listed) if self.distinct else listed


def distinct(rows):
    """Return the first of equal rows, each leaving when the last of them does."""
    shown: dict[Any, Any] = {}
    for ids, leaves_us, values in rows:
        first, last = shown.setdefault(values, (ids, leaves_us))
        shown[values] = first, None if last is None else max(last, leaves_us)
    return [(ids, leaves_us, values) for values, (ids, leaves_us) in shown.items()]


def rows_of(answer):
    """Return the rows of a page as `expected` does."""
    ids = list(zip(*answer.tuple_ids.tolist(), strict=True))
    leaves = [None] * len(ids) if answer.leaves_us is None else answer.leaves_us.tolist()
    values = zip(*(column.to_list() for _, column in answer.columns), strict=True)
    return list(zip(ids, leaves, values, strict=True))


def window_drawn(rng, span):
    """Return a window of any kind over times from 0 to `span`."""
    kind = rng.randrange(5)
    first, second = sorted(rng.randrange(span + 1) for _ in range(2))
    if kind == 0:
        return Window()
    if kind == 1:
        return Window(Bound(first, moving=False), Bound(second, moving=False))
    if kind == 2:
        return Window(Bound(first, moving=False), Bound(rng.choice([0, second]), moving=True))
    return Window(Bound(second, moving=True), Bound(0 if kind == 3 else first, moving=True))
