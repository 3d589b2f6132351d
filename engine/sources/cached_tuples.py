"""The `TupleSource` of a process that does not fold, an API worker: segments are read from the log when needed.

Published records say where batches lie and how they are dated, so a window reads only the segments that it reaches.
When all segments together take more than a bound, the least recently used are dropped; the segments of one answer are
read in any case.
"""

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.clause_scan import scanned
from psoup.engine.data.source import DatedRows, PartneredRows, RowSpan, Tuples
from psoup.engine.errors import NotFoundError, PageExpiredError
from psoup.engine.joins.clause_join import SteMs, joining, joining_count, partnered
from psoup.engine.kernels.bits import positions
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS, TUPLES_CACHE_BYTES_MAX
from psoup.engine.log.contract import Log
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.results.contract import ResultsReader
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.sources.batch_index import segments_of
from psoup.engine.sources.cached_stem import CachedSteM, CachedView, MakeLock
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId

Rows = NDArray[np.int64]

TOGETHER: Final = 16
"""Segments read and scanned at once, where not all that a scan needs are there."""


@dataclass(frozen=True, slots=True)
class CachedTuplesStatistics:
    """Counters since the start, but for the first three.

    Attributes:
        streams, segments, nbytes: held now.
        hits, misses: how often all segments of a read were held, and how often some were not.
        rows_loaded: rows read from the log.
    """

    streams: int
    segments: int
    nbytes: int
    hits: int
    misses: int
    rows_loaded: int


class CachedTuples:
    """The tuples of all streams, read from the log when an answer needs them. Any thread may read."""

    def __init__(
        self,
        results: ResultsReader,
        log: Log,
        *,
        make_lock: MakeLock,
        bytes_max: int = TUPLES_CACHE_BYTES_MAX,
    ) -> None:
        """Begin without tuples.

        Args:
            results: published results; they say where batches lie.
            log: where their bodies are.
            make_lock: makes the locks that threads share it by.
            bytes_max: past it segments are dropped, the least recently used first.
        """
        self._results = results
        self._log = log
        self._make_lock = make_lock
        self._bytes_max = bytes_max
        self._opening, self._making_room = make_lock(), make_lock()
        self._changing = make_lock()
        """Held for a moment only, without a call to the store or another lock: `forget` may come at any time."""
        self._ticks = itertools.count(1)
        self._stems: Mapping[StreamId, CachedSteM] = {}
        self._histories = 0
        self._hits = self._misses = self._rows_loaded = 0

    def reach(
        self,
        stream_id: StreamId,
        first_row: int,
        past_row: int,
        begin_us: int | None,
        end_us: int,
    ) -> Sequence[RowSpan]:
        """Return the runs of rows that may be dated `[begin_us, end_us]`, as is known without reading them."""
        index = self._stem(stream_id).known(past_row)
        return index.reach(first_row, past_row, begin_us, end_us)

    def oldest(
        self, stream_id: StreamId, *, floor_row: int, floor_us: int | None, past_row: int
    ) -> int | None:
        """Return the smallest time among rows `[floor_row, past_row)` dated `floor_us` or later.

        Cost: O(batches), some nanoseconds each, and reading the segments in which a floor or the end cuts one.
        """
        try:
            stem = self._stem(stream_id)
            index = stem.known(past_row)
        except PageExpiredError:
            return None
        floor_row = max(floor_row, index.dropped_row)
        if floor_row >= past_row:
            return None
        best, cut = index.oldest(floor_row, floor_us, past_row)
        for least_us, number in cut:
            if best is not None and least_us >= best:
                break
            with suppress(PageExpiredError):  # dropped meanwhile
                base = number * SEGMENT_ROWS
                segment = self._holding(stem, (number,), past_row).segments[number]
                found = segment.oldest(floor_row - base, past_row - base, floor_us)
                if found is not None and (best is None or found < best):
                    best = found
        return best

    def matching(
        self, stream_id: StreamId, clause: StandingQueryClause, first_row: int, past_row: int
    ) -> Rows:
        """Return the rows among `[first_row, past_row)` that satisfy the clause, ascending.

        Raises PageExpiredError if one of these rows is not held any more.
        """
        if first_row >= past_row:
            return NO_ROWS
        stem = self._stem(stream_id)
        stem.learn(scanned(clause))
        first, past = first_row // SEGMENT_ROWS, (past_row - 1) // SEGMENT_ROWS + 1
        view = self._held(stem, range(first, past), past_row)
        step = past - first if view is not None else TOGETHER
        found = []
        for begin in range(first, past, step):
            checkpoint()
            end = min(begin + step, past)
            some = view or self._holding(stem, range(begin, end), past_row)
            row = max(first_row, begin * SEGMENT_ROWS)
            first_chunk, words, _ = some.probe(clause, row, min(past_row, end * SEGMENT_ROWS))
            found.append(positions(words) + first_chunk * CHUNK_ROWS)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def joining(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> Rows:
        """Return the composite tuples that satisfy a clause over several sources (`TupleSource.joining`)."""
        try:
            return joining(self._reaching(plan, spans), plan, spans)
        finally:
            self._make_room()  # key indexes count as well

    def joining_count(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> int:
        """Return how many `joining` returns (`TupleSource.joining_count`)."""
        try:
            return joining_count(self._reaching(plan, spans), plan, spans)
        finally:
            self._make_room()

    def partnered(
        self, plan: JoinPlan, spans: Sequence[DatedRows], source: int | None
    ) -> PartneredRows | None:
        """Return composites as rows of one source with their partners (`TupleSource.partnered`)."""
        try:
            return partnered(self._reaching(plan, spans), plan, spans, source)
        finally:
            self._make_room()

    def times(self, stream_id: StreamId, rows: Rows) -> Rows:
        """Return the tuple times of `rows`. Raises PageExpiredError if one is not held any more."""
        return self._with(stream_id, rows).gathering.times(rows)

    def tuples(self, stream_id: StreamId, names: Sequence[str], rows: Rows) -> Tuples:
        """Return the tuples of `rows`. Raises PageExpiredError if one is not held any more."""
        self._stem(stream_id).learn(frozenset(names))
        return self._with(stream_id, rows).gathering.tuples(names, rows)

    def tuples_between(
        self, stream_id: StreamId, names: Sequence[str], first_row: int, past_row: int
    ) -> Tuples:
        """Return the tuples of rows of one segment, as views (`TupleSource.tuples_between`)."""
        stem = self._stem(stream_id)
        stem.learn(frozenset(names))
        view = self._holding(stem, (first_row // SEGMENT_ROWS,), past_row)
        return view.gathering.tuples_between(names, first_row, past_row)

    def forget(self) -> None:
        """Drop everything: another generation of the log has begun. Readers at work keep their views.

        It calls no store and waits for no call of one, so it may be called while a store's answer is handled.
        """
        with self._changing:
            self._histories += 1
            self._release(())

    def statistics(self) -> CachedTuplesStatistics:
        """Return counters. Cost: O(segments held)."""
        stems = self._stems.values()
        return CachedTuplesStatistics(
            streams=len(stems),
            segments=sum(len(stem.view.segments) for stem in stems),
            nbytes=sum(stem.nbytes for stem in stems),
            hits=self._hits,
            misses=self._misses,
            rows_loaded=self._rows_loaded + sum(stem.rows_loaded for stem in stems),
        )

    def check(self) -> None:
        """Assert the invariants of all held streams. O(everything), for tests."""
        for stem in self._stems.values():
            stem.check()

    def _stem(self, stream_id: StreamId) -> CachedSteM:
        """Return the held tuples of a stream. Raises PageExpiredError if it is not in force any more."""
        stem = self._stems.get(stream_id)
        if stem is not None:
            return stem
        with self._opening:
            stem = self._stems.get(stream_id)
            return self._opened(stream_id) if stem is None else stem

    def _opened(self, stream_id: StreamId) -> CachedSteM:
        """Begin to hold a stream; PageExpiredError if another generation of the log begins meanwhile."""
        histories = self._histories
        try:
            found = self._results.batches(stream_id, Seq(0))
        except NotFoundError:
            raise PageExpiredError from None
        # Streams come seldom: a good moment to look which have gone.
        in_force = {one.stream_id for one in self._results.streams()}
        stem = CachedSteM(
            self._results, self._log, found, make_lock=self._make_lock, ticks=self._ticks
        )
        with self._changing:
            if histories != self._histories:
                raise PageExpiredError
            self._release(in_force)
            self._stems = {**self._stems, stream_id: stem}
        return stem

    def _release(self, in_force: Sequence[StreamId] | set[StreamId]) -> None:
        """Hold no other streams than these."""
        gone = [stem for stream_id, stem in self._stems.items() if stream_id not in in_force]
        for stem in gone:
            stem.is_gone = True
            self._rows_loaded += stem.rows_loaded
        self._stems = {i: stem for i, stem in self._stems.items() if i in in_force}

    def _with(self, stream_id: StreamId, rows: Rows) -> CachedView:
        """Return a view of a stream that has these rows."""
        stem = self._stem(stream_id)
        if not len(rows):
            return stem.view
        least, past_row = int(rows.min()), int(rows.max()) + 1
        between = range(least // SEGMENT_ROWS, (past_row - 1) // SEGMENT_ROWS + 1)
        view = self._held(stem, between, past_row)
        if view is not None:
            return view
        numbers = between if len(between) <= 2 else np.unique(rows // SEGMENT_ROWS).tolist()
        return self._holding(stem, numbers, past_row)

    def _reaching(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> SteMs:
        """Return views of the streams of spans, with the columns of the plan and the segments that spans reach."""
        stems = {span.stream_id: self._stem(span.stream_id) for span in spans}
        for span, names in zip(spans, plan.names, strict=True):
            stems[span.stream_id].learn(names)
        views = {}
        for stream_id, stem in stems.items():
            own = [one for one in spans if one.stream_id == stream_id]
            past_row = max(one.past_row for one in own)
            index = stem.known(past_row)
            runs = [
                run
                for one in own
                if one.first_row < one.past_row
                for run in index.reach(one.first_row, one.past_row, one.begin_us, one.end_us)
            ]
            numbers = sorted(set(segments_of(runs)))
            # With these batches alone: later ones may date a chunk so that the spans reach it.
            views[stream_id] = self._holding(stem, numbers, past_row).joined(index, numbers)
        return views.__getitem__

    def _held(self, stem: CachedSteM, numbers: Sequence[int], past_row: int) -> CachedView | None:
        view = stem.held(numbers, past_row)
        self._hits += view is not None
        return view

    def _holding(self, stem: CachedSteM, numbers: Sequence[int], past_row: int) -> CachedView:
        """Return a view that has segments, read from the log as far as they are not there."""
        view = self._held(stem, numbers, past_row)
        if view is None:
            self._misses += 1
            view = stem.load(numbers, past_row)
            self._results.cut()  # the history that was just read from has then been seen
            self._make_room()
        return view

    def _make_room(self) -> None:
        """Let go of the segments used longest ago, as many as it takes to get below the bound."""
        stems = self._stems.values()
        if sum(stem.nbytes for stem in stems) <= self._bytes_max:
            return
        with self._making_room:
            listed = list(self._stems.values())
            for stem in listed:
                stem.forget_stray_indexes()
            over = sum(stem.nbytes for stem in listed) - self._bytes_max
            going: list[list[int]] = [[] for _ in listed]
            ages = [(*one, at) for at, stem in enumerate(listed) for one in stem.by_age()]
            for _, number, size, at in sorted(ages):
                if over <= 0:
                    break
                going[at].append(number)
                over -= size
            for stem, numbers in zip(listed, going, strict=True):
                if numbers:
                    stem.let_go(numbers)
