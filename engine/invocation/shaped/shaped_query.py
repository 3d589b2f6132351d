"""One query whose shape does more than select, at one position: what rows and groups have in common."""

from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.answer import PagePosition
from psoup.engine.invocation.answering import AnsweredQuery, SettledFinder
from psoup.engine.invocation.cache import InvocationCache, Whole
from psoup.engine.invocation.join_changes import JoinChanges
from psoup.engine.invocation.join_finding import refuse_suspended
from psoup.engine.invocation.shaped.extent import Extent
from psoup.engine.invocation.stream_finding import StreamFinding
from psoup.engine.query.reading import Reading
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import ResultsReader, Snapshot


class ShapedQuery(AnsweredQuery):
    """One query at one position, being answered out of its visible rows. Used by one thread, once."""

    __slots__ = ("_finder",)

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
        self._finder: SettledFinder
        if len(snapshot.streams) == 1:
            self._finder = StreamFinding(results, source, snapshot, reading, cache, at=at)
            return
        refuse_suspended(snapshot)
        windows = windows_of(snapshot.query.window, snapshot.query.ranges, len(snapshot.streams))
        self._finder = JoinChanges(
            results, source, snapshot, reading, cache, at=at, windows=windows
        )

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
        """Return from which rows on pages need the streams; `comes`: rows are to come, which may be older."""
        if comes:
            return tuple(map(self._at.first_row, range(len(self._at.parts))))
        if not extent.count:
            return tuple([part.past_row for part in self._at.parts])
        return extent.oldest_rows
