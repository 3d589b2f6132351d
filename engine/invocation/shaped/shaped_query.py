"""One query whose shape does more than select, at one position: what rows and groups have in common."""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import TupleSource
from psoup.engine.invocation.answer import PagePosition
from psoup.engine.invocation.answering import AnsweredQuery, SettledFinder
from psoup.engine.invocation.cache import InvocationCache, Whole
from psoup.engine.invocation.join_changes import JoinChanges
from psoup.engine.invocation.join_finding import refuse_suspended
from psoup.engine.invocation.stream_finding import StreamFinding
from psoup.engine.query.reading import Reading
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import ResultsReader, Snapshot

Rows = NDArray[np.int64]


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

    def _newest_rows(self, rows: Rows) -> list[int]:
        """Return what is another for other visible rows, but for those that the clock moves: `full_whole` says why."""
        count = rows.shape[-1]
        if not count:
            return [part.past_row for part in self._at.parts]
        return [*np.atleast_2d(rows).max(axis=1).tolist(), count]

    def _oldest_rows(self, rows: Rows, *, comes: bool) -> tuple[int, ...]:
        """Return from which rows on pages need the streams; `comes`: rows are to come, which may be older."""
        if comes:
            return tuple(map(self._at.first_row, range(len(self._at.parts))))
        if not rows.shape[-1]:
            return tuple([part.past_row for part in self._at.parts])
        return tuple(np.atleast_2d(rows).min(axis=1).tolist())
