"""One query whose shape does more than select, at one position: what rows and groups have in common."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.answering import AnsweredQuery, SettledFinder
from psoup.engine.invocation.cache import InvocationCache, Order, Table, Whole
from psoup.engine.invocation.changes import RowsToShape
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.position.answer import PagePosition, Since
from psoup.engine.invocation.position.continuing import is_quiet
from psoup.engine.invocation.several_streams.join_changes import JoinChanges
from psoup.engine.invocation.several_streams.join_finding import refuse_suspended
from psoup.engine.invocation.shaped.extent import Extent
from psoup.engine.invocation.shaped.group_changes import touching
from psoup.engine.invocation.shaped.visible_rows.left_joined_rows import LeftJoinedRows
from psoup.engine.invocation.shaped.visible_rows.left_rows import LeftRows, LeftTuples
from psoup.engine.invocation.shaped.visible_rows.row_windows import DatedSource, dated_sources
from psoup.engine.invocation.shaped.visible_rows.windowed_rows import WindowedRows
from psoup.engine.query.reading import Reading
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import ResultsReader, Snapshot

_Held = TypeVar("_Held", Order, Table)
"""What the pages of an answer are cut from."""


class ShapedQuery(AnsweredQuery):
    """One query at one position, being answered out of its visible rows. Used by one thread, once."""

    __slots__ = ("_finder", "_shown")

    def __init__(
        self,
        results: ResultsReader,
        source: TupleSource,
        snapshot: Snapshot,
        cache: InvocationCache,
        *,
        reading: Reading,
        at: PagePosition,
    ) -> None:
        """Bind the windows to the position's instant.

        Raises:
            QuerySuspendedError: the query joins streams, and ran over a bound.
        """
        super().__init__(results, source, snapshot, cache, reading=reading, at=at)
        refuse_suspended(snapshot)
        self._finder = self._finder_at(at)
        """Finds hits, and those that differ from an earlier position."""
        self._shown: RowsToShape = self._finder
        """The rows that the rest of the shape is applied to."""
        if reading.shape.looks_past_hits:
            self._shown = self._shown_at(at, self._finder)

    def _finder_at(self, at: PagePosition) -> SettledFinder:
        """Return the finder of the query's hits at a position."""
        snapshot, reading = self._snapshot, self.reading
        given = (self._results, self._source, snapshot, reading, self._cache)
        if len(snapshot.streams) == 1:
            return StreamFinding(*given, at=at)
        windows = windows_of(snapshot.query.window, snapshot.query.ranges, len(snapshot.streams))
        return JoinChanges(*given, at=at, windows=windows)

    def _shown_at(self, at: PagePosition, finder: SettledFinder) -> RowsToShape:
        """Return the rows that row windows and LEFT JOIN make of the hits of a position, which `finder` finds."""
        reading, dated = self.reading, dated_sources(self._source, self._snapshot, at)
        windowed: WindowedRows | None = None
        if reading.shape.row_windows:
            windowed = WindowedRows(reading, at=at, dated=dated, finder_at=self._finder_at)
        if reading.shape.left_join is None:
            return windowed or finder
        lefts: LeftRows
        if len(dated) == 2:
            lefts = LeftTuples(dated[0], reading.left.clause, windowed)
        else:
            lefts = self._composites_at(at, dated[:-1])
        return LeftJoinedRows(self._source, reading, pairs=windowed or finder, lefts=lefts)

    def _composites_at(self, at: PagePosition, dated: Sequence[DatedSource]) -> LeftRows:
        """Return the composites of the sources before that of a LEFT JOIN, which are made when they are asked for."""
        count, left = len(dated), self.reading.left
        record = replace(self._snapshot.clause, join=None)  # nothing is kept of them
        snapshot = replace(self._snapshot, clause=record, streams=self._snapshot.streams[:count])

        def finder_at(position: PagePosition) -> SettledFinder:
            return JoinChanges(
                self._results,
                self._source,
                snapshot,
                left,
                self._cache,
                at=position,
                windows=[one.window for one in dated],
            )

        at = replace(at, parts=at.parts[:count], oldest_rows=at.oldest_rows[:count])
        if not left.shape.row_windows:
            return finder_at(at)
        return WindowedRows(left, at=at, dated=dated, finder_at=finder_at)

    def _stands(self, since: Since) -> bool:
        """Return whether the answer is known to be the one of an earlier position without being computed.

        No row has entered or left, whatever its place; of tuples that are no hits, none has arrived or been dropped.
        """
        at = self._at
        if not is_quiet(at, since):
            return False
        if self.reading.shape.looks_past_hits:
            return at.parts == since.parts
        touched = touching(self._finder, self._snapshot, at, since)
        return touched is not None and touched.is_nothing(since)

    def _replaced(
        self, since: Since, full: Callable[[], _Held], empty: Callable[[Whole], _Held]
    ) -> _Held:
        """Return an answer that is sent whole or not at all, which may be no other than the one at `since`.

        What has changed behind LIMIT, or beyond row windows, is not told.
        """
        if self._stands(since):
            return empty(self._unchanged())
        asked = self._at
        self._at = asked.full()
        held = full()
        if not since.content or (since.gen, since.content) != (asked.gen, held.whole.content):
            return held
        self._at = asked
        return empty(replace(self._unchanged(), changes_us=held.whole.changes_us))

    def _unchanged(self) -> Whole:
        """Return what an answer says of itself that goes on from a position, and is the one of that position."""
        since = self._at.since
        assert since is not None
        state = ("unchanged", since.gen, since.seq, since.now_us)
        return Whole(since.count, since.changes_us, state, unchanged=True)

    def _newest_rows(self, extent: Extent) -> list[int]:
        """Return what is another for other visible rows, but for those that the clock moves: `full_whole` says why."""
        if not extent.count:
            return [part.past_row for part in self._at.parts]
        return [*extent.newest_rows, extent.count]

    def _oldest_rows(self, extent: Extent, *, comes: bool) -> tuple[int, ...]:
        """Return from which rows on pages need the streams; `comes`: rows are to come, which may be older.

        So may be tuples that are part of no row.
        """
        if comes or self.reading.shape.looks_past_hits:
            return tuple(map(self._at.first_row, range(len(self._at.parts))))
        if not extent.count:
            return tuple([part.past_row for part in self._at.parts])
        return extent.oldest_rows
