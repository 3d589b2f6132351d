"""Partials of the whole chunks of a stream, and the cache that keeps them between invocations."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from psoup.engine.aggregates.chunk_rows import ChunkRows, RowExtent
from psoup.engine.aggregates.grouping import Grouping
from psoup.engine.aggregates.partial import Partial, PartialRun
from psoup.engine.limits import CHUNK_ROWS, PARTIALS_CACHE_BYTES_MAX, SEGMENT_ROWS
from psoup.engine.recent import ENTRY_BYTES, Recent, RecentStatistics
from psoup.engine.tuples.value_type import value_type

CHUNKS_OF_SEGMENT: Final = SEGMENT_ROWS // CHUNK_ROWS

Texts = tuple[tuple[str, ...], tuple[str, ...]]
"""Of a grouping: what tells it from others."""


@value_type
class TooManyGroups:
    """Stands for partials that are not kept: reading the rows again is as fast, or they do not fit the cache."""


TOO_MANY_GROUPS: Final = TooManyGroups()


@value_type
class ChunkRun:
    """The partials of chunks `[first, past)`, which follow each other, and which rows they are of."""

    partials: PartialRun
    rows: ChunkRows

    @property
    def first(self) -> int:
        """Return the number of the first chunk."""
        return self.partials.first

    @property
    def past(self) -> int:
        """Return the number of the chunk behind the last one."""
        return self.partials.past

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays and of texts."""
        return self.partials.nbytes + self.rows.nbytes

    def since(self, first: int) -> "ChunkRun":
        """Return the run without the chunks before `first`, which is one of them or the one behind."""
        return ChunkRun(self.partials.since(first), self.rows.since(first))

    def followed(self, *later: "ChunkRun") -> "ChunkRun":
        """Return one run of this one and of others, each of which begins where the one before ends. Cost: O(all)."""
        return ChunkRun(
            self.partials.followed(*(one.partials for one in later)),
            self.rows.followed(*(one.rows for one in later)),
        )


Runs = Callable[[int, int], ChunkRun]
"""From chunks `[first, past)` to their partials, computed of their rows."""


@value_type
class StreamPartials:
    """The partials of the whole chunks `[first, past)` of a stream, and of the whole segments among them.

    A whole chunk does not change, nor does its partial. A value: invocations share it.
    """

    chunks: ChunkRun
    segments: PartialRun

    @property
    def first(self) -> int:
        """Return the number of the first chunk."""
        return self.chunks.first

    @property
    def past(self) -> int:
        """Return the number of the chunk behind the last one."""
        return self.chunks.past

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays, and of an entry for them."""
        return ENTRY_BYTES + self.chunks.nbytes + self.segments.nbytes

    def extent(self, first: int, past: int) -> RowExtent:
        """Return which rows the partials of the chunks `[first, past)` are of. Cost: O(1)."""
        return self.chunks.rows.extent(first, past)

    def of(self, first: int, past: int) -> list[Partial]:
        """Return partials that together are those of the chunks `[first, past)`: of segments where these are whole."""
        begin, end = -(-first // CHUNKS_OF_SEGMENT), past // CHUNKS_OF_SEGMENT
        begin, end = max(begin, self.segments.first), min(end, self.segments.past)
        chunks = self.chunks.partials
        if begin >= end:
            return [chunks.part(first, past)]
        parts = [self.segments.part(begin, end)]
        if first < begin * CHUNKS_OF_SEGMENT:
            parts.append(chunks.part(first, begin * CHUNKS_OF_SEGMENT))
        if end * CHUNKS_OF_SEGMENT < past:
            parts.append(chunks.part(end * CHUNKS_OF_SEGMENT, past))
        return parts

    def reaching(self, first: int, past: int, *, lowest: int, make: Runs) -> "StreamPartials":
        """Return these with what lacks of the chunks `[first, past)`, and without the ones below `lowest`.

        What lies between is made as well, so that the chunks follow each other; where that is more than both together,
        the chunks `[first, past)` alone are.
        """
        known = self.chunks
        gap = max(first - known.past, known.first - past, 0)
        if gap > (past - first) + (known.past - known.first) or known.past <= lowest:
            return partials_of(make(first, past))
        if known.first < lowest:
            known = known.since(lowest)
        if first < known.first:
            known = make(first, known.first).followed(known)
        if past > known.past:
            known = known.followed(make(known.past, past))
        return self if known is self.chunks else self._grown(known)

    def _grown(self, chunks: ChunkRun) -> "StreamPartials":
        """Return the partials of chunks, of which these are some, with those of whole segments: few of them are new."""
        kept = self.segments
        first = -(-chunks.first // CHUNKS_OF_SEGMENT)
        if not kept.first <= first < kept.past:
            return partials_of(chunks)
        kept = kept.since(first)
        later = chunks.partials.since(kept.past * CHUNKS_OF_SEGMENT).coarser(CHUNKS_OF_SEGMENT)
        return StreamPartials(chunks, kept.followed(later) if later.first < later.past else kept)


def partials_of(chunks: ChunkRun) -> StreamPartials:
    """Return the partials of chunks with those of whole segments."""
    return StreamPartials(chunks, chunks.partials.coarser(CHUNKS_OF_SEGMENT))


class PartialCache:
    """Partials by condition and grouping; the least recently used are forgotten. Shared by threads.

    Everything in it can be made again of the rows.
    """

    def __init__(
        self,
        bytes_max: int = PARTIALS_CACHE_BYTES_MAX,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin empty.

        Args:
            bytes_max: bound of all partials together.
            make_lock: where threads share it, makes its lock.
        """
        self._kept: Recent[tuple[int, int, Texts], StreamPartials | TooManyGroups] = Recent(
            bytes_max, make_lock()
        )

    def partials(
        self, gen: int, clause_id: int, grouping: Grouping
    ) -> StreamPartials | TooManyGroups | None:
        """Return what is kept of a condition's hits, grouped so; None = nothing."""
        return self._kept.get((gen, clause_id, grouping.texts))

    def keep(
        self, gen: int, clause_id: int, grouping: Grouping, made: StreamPartials | TooManyGroups
    ) -> None:
        """Keep partials in place of what was kept, if they fit."""
        size = ENTRY_BYTES if isinstance(made, TooManyGroups) else made.nbytes
        self._kept.put((gen, clause_id, grouping.texts), made, size=size)

    def statistics(self) -> RecentStatistics:
        """Return what is held, in bytes."""
        return self._kept.statistics()

    def check(self) -> None:
        """Assert that the bound is kept, that edges ascend, and that segments are those of the chunks."""
        self._kept.check()
        for _, one in self._kept.pairs():
            if isinstance(one, TooManyGroups):
                continue
            for run in (one.chunks.partials, one.segments):
                assert run.edges[0] == 0, "the first unit begins with the first group"
                assert (run.edges[1:] >= run.edges[:-1]).all(), "units follow each other"
                assert run.edges[-1] == run.partial.count, "each group belongs to a unit"
            assert len(one.chunks.rows.nexts) == one.past - one.first, "each chunk has its rows"
            assert one.chunks.rows.first == one.first, "from the first one on"
            segments = one.chunks.partials.coarser(CHUNKS_OF_SEGMENT)
            assert (segments.first, segments.past) == (one.segments.first, one.segments.past)
            assert (segments.edges == one.segments.edges).all(), "segments have the chunks' groups"
