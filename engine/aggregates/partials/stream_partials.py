"""Partials of the whole chunks of a stream: of whole segments, of larger units, and of chunks where windows cut.

A segment has up to sixteen times as many pairs of a chunk and a group as it has groups, so its chunks have partials of
their own only where an end of a window has cut it, or where the known chunks begin or end inside of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Final

from psoup.engine.aggregates.ordinals import numbered
from psoup.engine.aggregates.partials.chunk_rows import ChunkRows, RowExtent, no_chunks
from psoup.engine.aggregates.partials.group_table import GroupTable
from psoup.engine.aggregates.partials.made_units import Chunks, MadeUnits, Maker, TooManyGroupsError
from psoup.engine.aggregates.partials.partial import Partial, PartialRun
from psoup.engine.limits import CHUNK_ROWS, PARTIALS_CACHE_BYTES_MAX, SEGMENT_ROWS
from psoup.engine.recent import ENTRY_BYTES
from psoup.engine.tuples.value_type import value_type

LEVEL_FANOUT: Final = SEGMENT_ROWS // CHUNK_ROWS
"""Units of a level that make one of the next: as many as a segment has chunks."""
_UNIONS_MAX: Final = 2
"""Spans of chunks whose partials are remembered as one."""
_UNION_GROUPS_MIN: Final = 1_024
"""Groups of units, of which many are the same: fewer are merged in some microseconds."""
_SHARE_MIN: Final = 2
"""A level is kept where merging leaves one group at most of so many."""


class Unions:
    """The partials of some spans of chunks as one each: those asked for last, for who asks for the same chunks again.

    A window that moves shows the same whole chunks until an end of it comes to the next one. Shared by threads: each of
    them would find what is remembered.

    Each belongs to one table of groups. Two threads that grow one table get two, which number their new groups
    differently: a union of the one, read by the other, would be one of wrong groups.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: tuple[tuple[Chunks, Partial], ...] = ()

    def copied(self) -> "Unions":
        """Return others that begin with the same: for a table that has grown, in which the old numbers stay."""
        copy = Unions()
        copy._known = self._known
        return copy

    def get(self, span: Chunks) -> Partial | None:
        """Return the partial of the chunks of a span; None = it is not remembered."""
        for known, partial in self._known:
            if known == span:
                return partial
        return None

    def put(self, span: Chunks, partial: Partial) -> None:
        """Remember a partial, in place of the one that was remembered first."""
        self._known = ((span, partial), *self._known[: _UNIONS_MAX - 1])


@value_type
class StreamPartials:
    """The partials of the whole chunks `[first, past)` of a stream.

    A whole chunk does not change, nor does its partial. A value: invocations share it.

    Attributes:
        table: the groups; partials know them by their numbers there.
        rows: which rows the partials are of, by chunk.
        chunks: by segment the partials of its chunks, of those of them that are known: of segments of which only some
            are, and of those that a window has cut.
        levels: of the segments all of whose chunks are known; of sixteen segments, and so on, as long as some of them
            are whole, have far fewer groups than what they are made of, and fit the cache.
        divided: whether chunks may have partials. Else they have too many groups: only whole segments are known.
        unions: of spans of chunks, shared by values with this table alone: groups have their numbers of it there too.
    """

    table: GroupTable
    rows: ChunkRows
    chunks: Mapping[int, PartialRun]
    levels: tuple[PartialRun, ...]
    divided: bool = True
    unions: Unions = field(default_factory=Unions, compare=False)

    @property
    def first(self) -> int:
        """Return the number of the first chunk."""
        return self.rows.first

    @property
    def past(self) -> int:
        """Return the number of the chunk behind the last one."""
        return self.rows.past

    @property
    def unit(self) -> int:
        """Return how many chunks the least units have that partials may be of."""
        return 1 if self.divided else LEVEL_FANOUT

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays, with room for unions, and of an entry for them."""
        least = (*self.chunks.values(), *self.levels[:1])
        nbytes, groups = sum(run.nbytes for run in least), sum(run.partial.count for run in least)
        unions = _UNIONS_MAX * self.table.count * nbytes // groups if groups else 0
        nbytes += sum(level.nbytes for level in self.levels[1:])
        return ENTRY_BYTES + self.table.nbytes + self.rows.nbytes + nbytes + unions

    def extent(self, first: int, past: int) -> RowExtent:
        """Return which rows the partials of the chunks `[first, past)` are of. Cost: O(1)."""
        return self.rows.extent(first, past)

    def of(self, first: int, past: int) -> list[Partial]:
        """Return partials that together are those of the chunks `[first, past)`: of the largest units that are whole.

        The chunks of segments that `first` and `past` cut have partials: see `reaching`.

        Cost: O(1) for each level. They are of 15 units of a level at most at each end; of many groups they are merged
        to one, which is remembered.
        """
        known = self.unions.get((first, past))
        if known is not None:
            return [known]
        parts = self._units(first, past)
        if not self.table.keys or sum(part.count for part in parts) < _UNION_GROUPS_MIN:
            return parts
        union = self.table.united(parts)
        self.unions.put((first, past), union)
        return [union]

    def _units(self, first: int, past: int) -> list[Partial]:
        """Return the partials of the largest units that the chunks `[first, past)` are."""
        begin, end = -(-first // LEVEL_FANOUT), past // LEVEL_FANOUT
        parts = _of_levels(self.levels, begin, end) if begin < end else []
        if first < begin * LEVEL_FANOUT:
            parts.append(self.chunks[begin - 1].part(first, min(past, begin * LEVEL_FANOUT)))
        if begin <= end and end * LEVEL_FANOUT < past:
            parts.append(self.chunks[end].part(end * LEVEL_FANOUT, past))
        return parts

    def since(self, first: int) -> "StreamPartials":
        """Return these without the chunks before `first`, which is one of them.

        Where `first` cuts a segment whose chunks have no partials, the whole segment goes.
        """
        segment, inside = divmod(first, LEVEL_FANOUT)
        if inside and segment not in self.chunks:
            segment, inside = segment + 1, 0
            first = segment * LEVEL_FANOUT
        chunks = {number: run for number, run in self.chunks.items() if number >= segment}
        if inside:
            chunks[segment] = chunks[segment].since(first)
        whole = self.levels[:1]
        begin = segment + (inside > 0)
        if whole and begin > whole[0].first:
            whole = (whole[0].since(begin),) if begin < whole[0].past else ()
        levels = whole and (*whole, *self.levels[1:])
        return _settled(replace(self, rows=self.rows.since(first), chunks=chunks, levels=levels))

    def reaching(
        self, spans: Sequence[Chunks], *, lowest: int, make: Maker, every_chunk: bool = False
    ) -> "StreamPartials":
        """Return these with what lacks of some chunks, and without the ones below `lowest`.

        What lies between is made as well, so that the chunks follow each other; where that is more than both together,
        the chunks of `spans` alone are.

        Args:
            spans: the chunks, one span at least, ascending; of whole segments where these are not `divided`.
            lowest: the first chunk whose rows are all held.
            make: makes partials of rows.
            every_chunk: whether all chunks of `spans` get partials, and not those alone of segments that are cut.

        Raises:
            TooManyGroupsError: some have too many groups, or all together are too large for the cache.
        """
        first, past = spans[0][0], spans[-1][1]
        within = lowest <= self.first <= first and past <= self.past
        if within and not every_chunk and _cut(spans) <= self.chunks.keys():
            return self
        known = self if lowest <= self.first or self.past <= lowest else self.since(lowest)
        gap = max(first - known.past, known.first - past, 0)
        if gap > (past - first) + (known.past - known.first) or known.past <= lowest:
            known = nothing_known(known.table.without_groups(), first, divided=self.divided)
        reach = min(known.first, first), max(known.past, past)
        cut = _cut((*spans, reach))
        kept = cut
        if every_chunk and self.divided:
            cut |= set(_segments(first, past))
            kept = cut | known.chunks.keys()
        lacking = list(_lacking(known, reach, cut))
        if not lacking:
            return known
        made = dict[int | Chunks, MadeUnits]()
        for unit in sorted(lacking, key=lambda one: isinstance(one, int)):  # chunks may be too many
            if isinstance(unit, int):
                made[unit] = make.segment(unit * LEVEL_FANOUT, (unit + 1) * LEVEL_FANOUT)
            else:
                made[unit] = make.chunks(*unit)
        return _fitting(_grown(known, {unit: made[unit] for unit in lacking}), kept)

    def first_undivided(self, first: int, past: int) -> int | None:
        """Return the first chunk of the first segment whose chunks have no partials; None = there is none.

        Of the segments that the chunks `[first, past)` lie in, which are known.
        """
        numbers = (number for number in _segments(first, past) if number not in self.chunks)
        number = next(numbers, None)
        return None if number is None else number * LEVEL_FANOUT

    def has_segment(self, number: int) -> bool:
        """Return whether a whole segment has a partial."""
        return bool(self.levels) and self.levels[0].first <= number < self.levels[0].past

    def check(self) -> None:
        """Assert that edges ascend, that groups have numbers, and that larger units are those of smaller ones."""
        for run in (*self.chunks.values(), *self.levels):
            assert run.edges[0] == 0, "the first unit begins with the first group"
            assert (run.edges[1:] >= run.edges[:-1]).all(), "units follow each other"
            assert run.edges[-1] == run.partial.count, "each group belongs to a unit"
            for numbers in run.partial.keys:
                assert (numbers.values < self.table.count).all(), "groups have numbers"
        segments = range(-(-self.first // LEVEL_FANOUT), self.past // LEVEL_FANOUT)
        known = range(self.levels[0].first, self.levels[0].past) if self.levels else range(0)
        assert list(known) == list(segments), "each whole segment has a partial"
        assert _cut([(self.first, self.past)]) <= self.chunks.keys(), (
            "of others the chunks have some"
        )
        for number, run in self.chunks.items():
            begin, past = number * LEVEL_FANOUT, (number + 1) * LEVEL_FANOUT
            assert (run.first, run.past) == (max(begin, self.first), min(past, self.past))
            if number in segments:
                segment, made = self.levels[0].part(number, number + 1), run.coarser(LEVEL_FANOUT)
                assert made.partial.count == segment.count, "a segment has the groups of its chunks"
        for units, level in pairwise(self.levels):
            made = units.coarser(LEVEL_FANOUT)
            assert (made.first, made.past) == (level.first, level.past)
            assert (made.edges == level.edges).all(), "larger units have the groups of smaller"


def nothing_known(table: GroupTable, first: int, *, divided: bool = True) -> StreamPartials:
    """Return the partials of no chunks, before chunk `first`; `divided` as in `StreamPartials`."""
    return StreamPartials(table, no_chunks(first), {}, (), divided)


def _lacking(known: StreamPartials, reach: Chunks, cut: set[int]) -> Iterator[int | Chunks]:
    """Yield the segments and chunks whose partials lack of `reach`, ascending: chunks of those segments of `cut`."""
    first, past = reach
    before = range(first // LEVEL_FANOUT, -(-known.first // LEVEL_FANOUT))
    behind = range(known.past // LEVEL_FANOUT, -(-past // LEVEL_FANOUT))
    for number in sorted({*before, *behind, *cut}):
        begin, end = max(first, number * LEVEL_FANOUT), min(past, (number + 1) * LEVEL_FANOUT)
        run = known.chunks.get(number)
        if run is not None:
            if begin < run.first:
                yield begin, run.first
            if run.past < end:
                yield run.past, end
        elif number in cut:
            yield begin, end
        elif not known.has_segment(number):
            yield number


def _grown(known: StreamPartials, made: Mapping[int | Chunks, MadeUnits]) -> StreamPartials:
    """Return partials with those of segments and chunks that lack, ascending."""
    pieces = [(one.groups, one.run.partial) for one in made.values()]
    table, partials = known.table.numbered(pieces)
    chunks, segments = dict(known.chunks), dict[int, PartialRun]()
    for (unit, one), partial in zip(made.items(), partials, strict=True):
        run = one.run if partial is one.run.partial else replace(one.run, partial=partial)
        if isinstance(unit, int):
            segments[unit] = run
            continue
        number = run.first // LEVEL_FANOUT
        others = chunks.get(number)
        if others is not None:
            run = run.followed(others) if run.first < others.first else others.followed(run)
        chunks[number] = run
        if len(run.edges) > LEVEL_FANOUT and not known.has_segment(number):
            segments[number] = run.coarser(LEVEL_FANOUT)
    read = [one.rows for one in made.values()]
    before = [one for one in read if one.first < known.first]
    behind = [one for one in read if one.first >= known.past]
    every = [*before, known.rows, *behind]
    rows = every[0].followed(*every[1:])
    levels = _with_segments(known.levels, segments)
    unions = known.unions if table is known.table else known.unions.copied()
    return replace(known, table=table, rows=rows, chunks=chunks, levels=levels, unions=unions)


def _with_segments(
    levels: tuple[PartialRun, ...], segments: Mapping[int, PartialRun]
) -> tuple[PartialRun, ...]:
    """Return levels with the partials of segments, ascending, that lie before or behind those of the first one."""
    if not segments:
        return levels
    known = levels[:1]
    before = [run for number, run in segments.items() if known and number < known[0].first]
    behind = [run for number, run in segments.items() if not known or number >= known[0].past]
    run, *later = (*before, *known, *behind)
    return run.followed(*later), *levels[1:]


def _fitting(partials: StreamPartials, cut: set[int]) -> StreamPartials:
    """Return partials with larger units, and, if all are too large for the cache, of no other chunks than of `cut`.

    Raises TooManyGroupsError if they are too large even so.
    """
    levels = partials.levels
    base = replace(partials, levels=levels[:1])
    if base.nbytes > PARTIALS_CACHE_BYTES_MAX:
        chunks = {number: run for number, run in base.chunks.items() if number in cut}
        base = replace(base, chunks=chunks)
        if base.nbytes > PARTIALS_CACHE_BYTES_MAX:
            raise TooManyGroupsError
    return _settled(replace(base, levels=levels))


def _settled(partials: StreamPartials) -> StreamPartials:
    """Return partials with a table that has few other groups, and with larger and larger units: few of them are new."""
    levels, runs = partials.levels, [*partials.chunks.values(), *partials.levels[:1]]
    some = [run.partial for run in runs]
    if partials.table.wastes(some):
        table, some = partials.table.compacted(some)
        runs = [replace(run, partial=one) for run, one in zip(runs, some, strict=True)]
        chunks = dict(zip(partials.chunks, runs, strict=False))
        partials = replace(partials, table=table, chunks=chunks, unions=Unions())
        levels = tuple(runs[len(chunks) :])
    base = replace(partials, levels=levels[:1])
    return replace(base, levels=_levels(levels, PARTIALS_CACHE_BYTES_MAX - base.nbytes))


def _segments(first: int, past: int) -> range:
    """Return the segments that the chunks `[first, past)` lie in."""
    return range(first // LEVEL_FANOUT, -(-past // LEVEL_FANOUT))


def _cut(spans: Sequence[Chunks]) -> set[int]:
    """Return the segments that the ends of spans cut."""
    return {edge // LEVEL_FANOUT for span in spans for edge in span if edge % LEVEL_FANOUT}


def _of_levels(levels: Sequence[PartialRun], first: int, past: int) -> list[Partial]:
    """Return partials that together are those of the units `[first, past)` of the first level."""
    parts, (units, *larger) = list[Partial](), levels
    for level in larger:
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


def _levels(known: Sequence[PartialRun], room: int) -> tuple[PartialRun, ...]:
    """Return the first level, if there is one, with those above it; `known` has some of their units.

    What is larger than `room` together would be made anew for each invocation.
    """
    levels = list(known[:1])
    while levels:
        place = len(levels)
        level = _coarser(levels[-1], known[place] if place < len(known) else None, room)
        if level is None:
            break
        levels.append(level)
        room -= level.nbytes
    return tuple(levels)


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
