"""Partials of the whole chunks of a stream, and the cache that keeps them between invocations."""

from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Final

from psoup.engine.aggregates.chunk_rows import ChunkRows, RowExtent
from psoup.engine.aggregates.group_table import GroupTable
from psoup.engine.aggregates.grouping import Grouping
from psoup.engine.aggregates.ordinals import numbered
from psoup.engine.aggregates.partial import Partial, PartialRun
from psoup.engine.limits import (
    CHUNK_ROWS,
    PARTIALS_AHEAD_BYTES_MAX,
    PARTIALS_CACHE_BYTES_MAX,
    SEGMENT_ROWS,
)
from psoup.engine.recent import ENTRY_BYTES, Recent, RecentStatistics
from psoup.engine.tuples.value_type import value_type

LEVEL_FANOUT: Final = SEGMENT_ROWS // CHUNK_ROWS
"""Units of a level that make one of the next: as many as a segment has chunks."""
_SHARE_MIN: Final = 2
"""A level is kept where merging leaves one group at most of so many."""

Texts = tuple[tuple[str, ...], tuple[str, ...]]
"""Of a grouping: what tells it from others."""
Key = tuple[int, int, Texts]
"""Whose partials these are: a generation, a clause and a grouping."""


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


Runs = Callable[[int, int, GroupTable], tuple[GroupTable, ChunkRun]]
"""From chunks `[first, past)` and a table to one that has their groups, and their partials, computed of their rows."""


@value_type
class StreamPartials:
    """The partials of the whole chunks `[first, past)` of a stream, and of larger and larger units among them.

    A whole chunk does not change, nor does its partial. A value: invocations share it.

    Attributes:
        table: the groups; partials know them by their numbers there.
        chunks: of chunks.
        levels: of segments, of sixteen segments, and so on, as long as some of them are whole, have far fewer groups
            than what they are made of, and fit the cache.
    """

    table: GroupTable
    chunks: ChunkRun
    levels: tuple[PartialRun, ...]

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
        above = sum(level.nbytes for level in self.levels)
        return ENTRY_BYTES + self.table.nbytes + self.chunks.nbytes + above

    def extent(self, first: int, past: int) -> RowExtent:
        """Return which rows the partials of the chunks `[first, past)` are of. Cost: O(1)."""
        return self.chunks.rows.extent(first, past)

    def since(self, first: int) -> "StreamPartials":
        """Return these without the chunks before `first`, which is one of them."""
        return partials_of(self.table, self.chunks.since(first))

    def of(self, first: int, past: int) -> list[Partial]:
        """Return partials that together are those of the chunks `[first, past)`: of the largest units that are whole.

        Cost: O(1) for each level. They are of 15 units of a level at most at each end.
        """
        parts, units = list[Partial](), self.chunks.partials
        for level in self.levels:
            begin = max(-(-first // LEVEL_FANOUT), level.first)
            end = min(past // LEVEL_FANOUT, level.past)
            if begin >= end:
                break
            if first < begin * LEVEL_FANOUT:
                parts.append(units.part(first, begin * LEVEL_FANOUT))
            if end * LEVEL_FANOUT < past:
                parts.append(units.part(end * LEVEL_FANOUT, past))
            first, past, units = begin, end, level
        return [*parts, units.part(first, past)]

    def reaching(self, first: int, past: int, *, lowest: int, make: Runs) -> "StreamPartials":
        """Return these with what lacks of the chunks `[first, past)`, and without the ones below `lowest`.

        What lies between is made as well, so that the chunks follow each other; where that is more than both together,
        the chunks `[first, past)` alone are.
        """
        known, table = self.chunks, self.table
        if lowest <= known.first <= first and past <= known.past:
            return self
        gap = max(first - known.past, known.first - past, 0)
        if gap > (past - first) + (known.past - known.first) or known.past <= lowest:
            return partials_of(*make(first, past, table.without_groups()))
        if known.first < lowest:
            known = known.since(lowest)
        if first < known.first:
            table, before = make(first, known.first, table)
            known = before.followed(known)
        if past > known.past:
            table, behind = make(known.past, past, table)
            known = known.followed(behind)
        return self if known is self.chunks else self._grown(table, known)

    def _grown(self, table: GroupTable, chunks: ChunkRun) -> "StreamPartials":
        """Return the partials of chunks, of which these are some, with those of larger units: few of them are new."""
        if table.wastes(chunks.partials.partial):
            return partials_of(table, chunks)
        return StreamPartials(table, chunks, _levels(table, chunks, self.levels))


def partials_of(table: GroupTable, chunks: ChunkRun) -> StreamPartials:
    """Return the partials of chunks with those of whole segments, and a table that has few other groups."""
    if table.wastes(chunks.partials.partial):
        table, partial = table.compacted(chunks.partials.partial)
        chunks = ChunkRun(replace(chunks.partials, partial=partial), chunks.rows)
    return StreamPartials(table, chunks, _levels(table, chunks))


def _levels(
    table: GroupTable, chunks: ChunkRun, known: Sequence[PartialRun] = ()
) -> tuple[PartialRun, ...]:
    """Return the partials of larger and larger units; `known` are those of some of them.

    With chunks that fit the cache they fit it too: what does not would be made anew for each invocation.
    """
    levels: list[PartialRun] = []
    units = chunks.partials
    room = PARTIALS_CACHE_BYTES_MAX - ENTRY_BYTES - table.nbytes - chunks.nbytes
    while True:
        place = len(levels)
        level = _coarser(units, known[place] if place < len(known) else None, room)
        if level is None:
            return tuple(levels)
        levels.append(level)
        room -= level.nbytes
        units = level


def _coarser(units: PartialRun, known: PartialRun | None, room: int) -> PartialRun | None:
    """Return the partials of sixteen units each, of which some may be known; None where they are of no use.

    They are of no use where none of them is whole, where they take more than `room` bytes, and where merging them
    saves little: units that have hardly a group in common. The last one tells of those that are not known.
    """
    first, past = -(-units.first // LEVEL_FANOUT), units.past // LEVEL_FANOUT
    if first >= past:
        return None
    if known is not None and known.first <= first < known.past:
        kept = known.since(first)
        later = units.since(kept.past * LEVEL_FANOUT).coarser(LEVEL_FANOUT)
        level = kept.followed(later) if later.first < later.past else kept
    else:
        last = units.part((past - 1) * LEVEL_FANOUT, past * LEVEL_FANOUT)
        groups = len(numbered(last.keys[0].values)[1]) if last.keys else 1
        if _SHARE_MIN * groups > last.count or units.nbytes * groups > room * last.count:
            return None
        level = units.coarser(LEVEL_FANOUT)
    return level if level.nbytes <= room else None


@dataclass(frozen=True, slots=True)
class PartialStatistics:
    """What is held in bytes, and of how many chunks partials were made since the start.

    Attributes:
        asked: partials that were made when they were asked for.
        ahead: those that were made before.
        chunks_asked, chunks_ahead: chunks whose partials were made, for each condition and grouping.
    """

    asked: RecentStatistics
    ahead: RecentStatistics
    chunks_asked: int
    chunks_ahead: int


class PartialCache:
    """Partials by condition and grouping. Shared by threads. Everything in it can be made again of the rows.

    Those that were asked for and those that are made ahead have a bound each, so that neither take the others' room. Of
    the first the least recently used are forgotten, of the second none before its time.
    """

    def __init__(
        self,
        bytes_max: int = PARTIALS_CACHE_BYTES_MAX,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
        *,
        ahead_bytes_max: int = PARTIALS_AHEAD_BYTES_MAX,
    ) -> None:
        """Begin empty.

        Args:
            bytes_max: bound of all partials together that were asked for.
            make_lock: where threads share it, makes its locks.
            ahead_bytes_max: bound of those that are made ahead.
        """
        self._asked: Recent[Key, StreamPartials | TooManyGroups] = Recent(bytes_max, make_lock())
        self._ahead: Recent[Key, StreamPartials | TooManyGroups] = Recent(
            ahead_bytes_max, make_lock()
        )
        self._chunks_asked = self._chunks_ahead = 0

    def partials(
        self, gen: int, clause_id: int, grouping: Grouping
    ) -> StreamPartials | TooManyGroups | None:
        """Return what is kept of a condition's hits, grouped so; None = nothing."""
        key = gen, clause_id, grouping.texts
        return self._ahead.get(key) or self._asked.get(key)

    def keep(
        self, gen: int, clause_id: int, grouping: Grouping, made: StreamPartials | TooManyGroups
    ) -> None:
        """Keep partials that were asked for in place of what was kept, if they fit."""
        key = gen, clause_id, grouping.texts
        self._chunks_asked += _chunks_made(made, self.partials(gen, clause_id, grouping))
        if key in self._ahead and self._ahead.has_room(key, _size(made)):
            self._ahead.put(key, made, size=_size(made))
            return
        self._ahead.forget(key)
        self._asked.put(key, made, size=_size(made))

    def keep_ahead(
        self, gen: int, clause_id: int, grouping: Grouping, made: StreamPartials | TooManyGroups
    ) -> bool:
        """Keep partials that nobody has asked for; return whether there is room among those that are made ahead."""
        key = gen, clause_id, grouping.texts
        if not self._ahead.has_room(key, _size(made)):
            return False
        self._chunks_ahead += _chunks_made(made, self.partials(gen, clause_id, grouping))
        self._ahead.put(key, made, size=_size(made))
        self._asked.forget(key)
        return True

    def has_room_ahead(self, key: Key, nbytes: int) -> bool:
        """Return whether partials of this size would be kept ahead."""
        return self._ahead.has_room(key, nbytes)

    def keep_ahead_only(self, wanted: Container[Key]) -> None:
        """Forget what was made ahead for others than these."""
        for key, _ in self._ahead.pairs():
            if key not in wanted:
                self._ahead.forget(key)

    def statistics(self) -> PartialStatistics:
        """Return what is held, and what was made."""
        return PartialStatistics(
            self._asked.statistics(),
            self._ahead.statistics(),
            self._chunks_asked,
            self._chunks_ahead,
        )

    def check(self) -> None:
        """Assert that the bounds are kept, that edges ascend, and that segments are those of the chunks."""
        self._asked.check()
        self._ahead.check()
        for _, one in self._asked.pairs() + self._ahead.pairs():
            if isinstance(one, TooManyGroups):
                continue
            for run in (one.chunks.partials, *one.levels):
                assert run.edges[0] == 0, "the first unit begins with the first group"
                assert (run.edges[1:] >= run.edges[:-1]).all(), "units follow each other"
                assert run.edges[-1] == run.partial.count, "each group belongs to a unit"
                for numbers in run.partial.keys:
                    assert (numbers.values < one.table.count).all(), "groups have numbers"
            assert len(one.chunks.rows.nexts) == one.past - one.first, "each chunk has its rows"
            assert one.chunks.rows.first == one.first, "from the first one on"
            units = one.chunks.partials
            for level in one.levels:
                made = units.coarser(LEVEL_FANOUT)
                assert (made.first, made.past) == (level.first, level.past)
                assert (made.edges == level.edges).all(), "larger units have the groups of smaller"
                units = level


def _size(made: StreamPartials | TooManyGroups) -> int:
    return ENTRY_BYTES if isinstance(made, TooManyGroups) else made.nbytes


def _chunks_made(
    made: StreamPartials | TooManyGroups, known: StreamPartials | TooManyGroups | None
) -> int:
    """Return how many chunks have partials that had none before."""
    if isinstance(made, TooManyGroups):
        return 0
    chunks = range(made.first, made.past)
    if not isinstance(known, StreamPartials):
        return len(chunks)
    both = range(max(made.first, known.first), min(made.past, known.past))
    return len(chunks) - len(both)
