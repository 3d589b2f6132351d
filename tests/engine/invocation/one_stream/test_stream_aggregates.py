"""Aggregates of a stream through partials: the bits of reading every row, whatever was asked before."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.aggregates.grouping import Grouping, RowsToAggregate
from psoup.engine.aggregates.partials import stream_partials
from psoup.engine.aggregates.partials.chunk_rows import extent_of
from psoup.engine.aggregates.partials.partial import finished
from psoup.engine.aggregates.partials.partial_cache import TOO_MANY_GROUPS, PartialCache
from psoup.engine.aggregates.partials.stream_partials import StreamPartials
from psoup.engine.invocation.one_stream import stream_aggregates
from psoup.engine.invocation.one_stream.stream_aggregates import aggregates_of
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.values.expression import AggregateFunction as Function, ColumnRef
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.aggregates.reference import bits, call_of

ROWS = 2 * SEGMENT_ROWS + 5 * CHUNK_ROWS + 77
CHUNKS = ROWS // CHUNK_ROWS
CALLS = [
    call_of(Function.COUNT, None),
    call_of(Function.SUM, Type.FLOAT64),
    call_of(Function.VAR_POP, Type.FLOAT64),
    call_of(Function.MAX, Type.FLOAT64),
    call_of(Function.LAST, Type.FLOAT64),
]
GENERATOR = np.random.default_rng(8)
VALUES = GENERATOR.normal(size=ROWS)
TIMES = np.arange(ROWS) + GENERATOR.integers(0, 3 * CHUNK_ROWS, ROWS)
TEXTS = ("b", "a", "c")


class Hits:
    """Every third row of a stream, and how many rows were read; a window of times."""

    every = False

    def __init__(self, begin_us=0, end_us=1 << 60, groups=3):
        self.begin_us, self.end_us, self.groups = begin_us, end_us, groups
        self.rows_read = 0

    def hits(self, first_row, past_row):
        return np.arange(-(-first_row // 3) * 3, past_row, 3)

    def dated(self, rows):
        return rows[(TIMES[rows] >= self.begin_us) & (TIMES[rows] <= self.end_us)]

    def narrowed(self, span):
        """Return the span: times are in no order."""
        return span

    def read(self, rows):
        self.rows_read += len(rows)
        columns = {
            "x": Column(Type.FLOAT64, VALUES[rows]),
            "key": Column(Type.STRING, (rows % self.groups).astype(np.int32), None, TEXTS),
            "wide": Column(Type.INT64, rows * 7),
            "many": Column(Type.INT64, rows % 4_001),
        }
        return RowsToAggregate(lambda ref: columns[ref.name], len(rows), TIMES[rows], rows)

    def read_between(self, first_row, past_row):
        assert self.every
        assert first_row // SEGMENT_ROWS == (past_row - 1) // SEGMENT_ROWS
        return self.read(np.arange(first_row, past_row))

    def spans(self):
        """Return where visible rows lie, chunk by chunk, as a source tells."""
        found: list[Any] = []
        for first in range(0, ROWS, CHUNK_ROWS):
            past = min(first + CHUNK_ROWS, ROWS)
            least, most = TIMES[first:past].min(), TIMES[first:past].max()
            if most < self.begin_us or least > self.end_us:
                continue
            inside = bool(least >= self.begin_us and most <= self.end_us)
            if found and found[-1][1:] == (first, inside):
                found[-1] = (found[-1][0], past, inside)
            else:
                found.append((first, past, inside))
        return found

    def visible(self):
        """Return the visible rows."""
        return self.dated(self.hits(0, ROWS))

    def whole(self, grouping):
        """Return the aggregates of the visible rows, all of them read."""
        return grouping.aggregated(self.read(self.visible()))


class AllRows(Hits):
    """All rows of the stream."""

    every = True

    def hits(self, first_row, past_row):
        return np.arange(first_row, past_row)


def grouping_of(*keys):
    kinds = {"key": Type.STRING, "wide": Type.INT64, "many": Type.INT64}
    return Grouping([ColumnRef(0, key, kinds[key]) for key in keys], CALLS)


def shown(groups):
    """Return groups so that they are equal iff their bits are."""
    results = [bits(one.column.to_list()) for one in groups.results]
    return groups.count, [key.to_list() for key in groups.keys], results


def ask(hits, grouping, known, *, lowest_row=0):
    return aggregates_of(
        hits.spans(),
        grouping,
        hits,
        known=known,
        lowest_row=lowest_row,
        whole_row=ROWS // CHUNK_ROWS * CHUNK_ROWS,
    )


@pytest.mark.parametrize("keys", [(), ("key",)], ids=str)
@pytest.mark.parametrize("hits_of", [Hits, AllRows])
@settings(max_examples=12, deadline=None)
@given(
    windows=st.lists(
        st.tuples(st.integers(-CHUNK_ROWS, ROWS), st.integers(0, ROWS + 4 * CHUNK_ROWS)),
        min_size=1,
        max_size=5,
    )
)
def test_aggregates_differential_are_those_of_all_rows_whatever_is_kept(hits_of, keys, windows):
    """Windows that slide, grow, jump and shrink share one set of partials, which stays sound."""
    grouping, cache = grouping_of(*keys), PartialCache()
    for begin_us, length_us in windows:
        hits = hits_of(begin_us, begin_us + length_us)
        found = ask(hits, grouping, cache.partials(1, 2, grouping))
        assert shown(hits.whole(grouping)) == shown(found.groups)
        assert extent_of(hits.visible()) == found.extent
        if found.partials is not None:
            cache.keep(1, 2, grouping, found.partials)
        cache.check()


def test_a_window_that_is_asked_for_again_reads_the_rows_at_its_ends_alone():
    """Whole chunks are read once, for all windows; the chunk that is still open each time."""
    grouping, hits = grouping_of("key"), Hits()
    first = ask(hits, grouping, None)
    assert len(hits.hits(0, ROWS)) == hits.rows_read
    hits.rows_read = 0
    again = ask(hits, grouping, first.partials)
    assert len(hits.hits(CHUNKS * CHUNK_ROWS, ROWS)) == hits.rows_read
    assert again.partials is first.partials
    assert shown(first.groups) == shown(again.groups)


def test_a_segment_is_read_again_by_the_first_window_that_cuts_it():
    """Until then it has one partial, and none of its chunks; where a window has ended before, they have them."""
    grouping, cache, hits = grouping_of("key"), PartialCache(), Hits()
    whole = CHUNKS * CHUNK_ROWS
    known: Any = None
    for first, past, segments in (
        (0, CHUNKS, [2]),
        (0, CHUNKS, []),
        (5, CHUNKS, [0]),
        (9, CHUNKS, []),
        (0, 20, [1]),
        (31, 32, []),
    ):
        hits.rows_read = 0
        spans = [(first * CHUNK_ROWS, past * CHUNK_ROWS, True)]
        found = aggregates_of(spans, grouping, hits, known=known, lowest_row=0, whole_row=whole)
        expected = [
            hits.hits(number * SEGMENT_ROWS, min((number + 1) * SEGMENT_ROWS, whole))
            for number in (range(3) if known is None else segments)
        ]
        assert sum(map(len, expected)) == hits.rows_read
        known = found.partials
        cache.keep(1, 2, grouping, known)
        cache.check()
        rows = hits.hits(first * CHUNK_ROWS, past * CHUNK_ROWS)
        assert shown(grouping.aggregated(hits.read(rows))) == shown(found.groups)


def test_chunks_of_too_many_groups_have_no_partials_but_segments_do():
    """A window is made of whole segments then, and of the rows beside them."""
    grouping, cache = grouping_of("many"), PartialCache()
    known: Any = None
    for begin, past in ((3 * CHUNK_ROWS, ROWS), (0, ROWS), (SEGMENT_ROWS, ROWS - 9)):
        hits = Hits()
        spans = [(begin, past, True)]
        found = aggregates_of(
            spans, grouping, hits, known=known, lowest_row=0, whole_row=CHUNKS * CHUNK_ROWS
        )
        known = found.partials
        assert not known.divided
        assert {} == known.chunks
        cache.keep(1, 2, grouping, known)
        cache.check()
        rows = hits.hits(begin, past)
        assert extent_of(rows) == found.extent
        assert shown(grouping.aggregated(hits.read(rows))) == shown(found.groups)
    assert (0, 2 * stream_partials.LEVEL_FANOUT) == (known.first, known.past)


@pytest.mark.parametrize("units", [2, 3, stream_partials.LEVEL_FANOUT])
def test_partials_grow_at_both_ends_and_lose_what_was_dropped(monkeypatch, units):
    """Only what lacks is made; chunks below the lowest row that is held go. Many levels of units, or one."""
    monkeypatch.setattr(stream_partials, "LEVEL_FANOUT", units)
    monkeypatch.setattr(stream_partials, "_UNION_GROUPS_MIN", 2)
    grouping, cache = grouping_of("key"), PartialCache()
    known = None
    for begin, past, lowest_row, expected in (
        (4, 8, 0, (4, 8)),
        (6, 20, 0, (4, 20)),
        (2, 5, 0, (2, 20)),
        (22, 25, 0, (2, 25)),
        (6, 20, 5 * CHUNK_ROWS + 1, (6, 25)),
        (24, 26, 5 * CHUNK_ROWS + 1, (6, 26)),
        (30, 31, 28 * CHUNK_ROWS, (30, 31)),
    ):
        hits = Hits()
        found = aggregates_of(
            [(begin * CHUNK_ROWS, past * CHUNK_ROWS, True)],
            grouping,
            hits,
            known=known,
            lowest_row=lowest_row,
            whole_row=ROWS,
        )
        known = found.partials
        assert isinstance(known, StreamPartials)
        assert expected == (known.first, known.past)
        cache.keep(1, 2, grouping, known)
        cache.check()
        rows = hits.hits(begin * CHUNK_ROWS, past * CHUNK_ROWS)
        assert extent_of(rows) == found.extent
        assert shown(grouping.aggregated(hits.read(rows))) == shown(found.groups)
        for first in range(known.first, known.past, 3):
            some = hits.hits(first * CHUNK_ROWS, known.past * CHUNK_ROWS)
            spans = [(first * CHUNK_ROWS, known.past * CHUNK_ROWS, True)]
            found = aggregates_of(
                spans, grouping, hits, known=known, lowest_row=lowest_row, whole_row=ROWS
            )
            assert shown(grouping.aggregated(hits.read(some))) == shown(found.groups)
            known = found.partials
            assert isinstance(known, StreamPartials)
            assert expected == (known.first, known.past)
        cache.keep(1, 2, grouping, known)
        cache.check()


def test_units_of_many_groups_are_merged_once_for_windows_that_show_the_same_chunks(monkeypatch):
    """Those asked for last are remembered, also while the stream grows. Few groups are merged each time."""
    grouping, hits = grouping_of("key"), Hits()
    known: Any = ask(hits, grouping, None).partials
    assert known.of(0, CHUNKS)[0] is not known.of(0, CHUNKS)[0]
    monkeypatch.setattr(stream_partials, "_UNION_GROUPS_MIN", 2)
    some: Any = ask(Hits(end_us=SEGMENT_ROWS), grouping, None).partials
    (union,) = some.of(0, 9)
    grown = ask(hits, grouping, some).partials
    for partials in (some, grown):
        assert partials.of(0, 9) == [union]
    rows = hits.hits(0, 9 * CHUNK_ROWS)
    found = finished(grouping, grown.table.merged([union]))
    assert shown(grouping.aggregated(hits.read(rows))) == shown(found)
    for first in range(3):
        grown.of(first, 9)
    assert grown.of(0, 9)[0] is not union


def test_partials_far_away_are_not_bridged():
    """What lies between two windows is not read where it is more than both."""
    grouping = grouping_of()
    known = ask(Hits(0, 6 * CHUNK_ROWS), grouping, None).partials
    assert isinstance(known, StreamPartials)
    hits = Hits(25 * CHUNK_ROWS, 31 * CHUNK_ROWS)
    found = ask(hits, grouping, known).partials
    assert isinstance(found, StreamPartials)
    assert found.first > known.past


def test_too_many_groups_are_computed_of_the_rows_and_kept_so():
    """Partials that cost as much as rows are not made a second time."""
    grouping, hits = grouping_of("wide"), Hits()
    found = ask(hits, grouping, None)
    assert TOO_MANY_GROUPS is found.partials
    assert shown(hits.whole(grouping)) == shown(found.groups)
    hits.rows_read = 0
    again = ask(hits, grouping, found.partials)
    assert len(hits.hits(0, ROWS)) == hits.rows_read
    assert shown(found.groups) == shown(again.groups)


def test_too_many_groups_are_noticed_before_their_states_are_made(monkeypatch):
    """Digits of sums of every row's own group would take more memory than the rows."""
    made: list[int] = []
    for name in ("states_of", "tallies_of"):
        monkeypatch.setattr(Grouping, name, lambda *_: made.append(1))
    assert TOO_MANY_GROUPS is ask(Hits(), grouping_of("wide"), None).partials
    assert [] == made


def test_partials_that_do_not_fit_the_cache_are_given_up(monkeypatch):
    """They would be made anew each time. The table of their groups counts with them."""
    grouping, hits = grouping_of("key"), Hits()
    kept = ask(hits, grouping, None).partials
    for bytes_max in (2_000, kept.nbytes - 1):
        for room in (stream_aggregates, stream_partials):
            monkeypatch.setattr(room, "PARTIALS_CACHE_BYTES_MAX", bytes_max)
        found = ask(hits, grouping, None)
        assert TOO_MANY_GROUPS is found.partials
        assert shown(hits.whole(grouping)) == shown(found.groups)


def test_partials_of_larger_units_are_kept_where_they_save_merging_and_fit(monkeypatch):
    """Not of units that have no group in common; nor what would make all of them too large for the cache."""
    monkeypatch.setattr(stream_partials, "LEVEL_FANOUT", 2)
    monkeypatch.setattr(stream_aggregates, "CHUNK_GROUPS_MAX", CHUNK_ROWS)
    apart, hits = ask(Hits(), grouping_of("wide"), None).partials, Hits()
    assert [18] == [len(level.edges) - 1 for level in apart.levels]
    grouping = grouping_of("key")
    ends = SEGMENT_ROWS + 8 * CHUNK_ROWS, 2 * ROWS
    some, every = (ask(Hits(end_us=end), grouping, None).partials for end in ends)
    assert [18, 9, 4, 2, 1] == [len(level.edges) - 1 for level in every.levels]
    bytes_max = every.nbytes - 1
    monkeypatch.setattr(stream_partials, "PARTIALS_CACHE_BYTES_MAX", bytes_max)
    for known in (None, some):
        found = ask(hits, grouping, known)
        assert 1 < len(found.partials.levels) < 5
        assert found.partials.nbytes <= bytes_max
        assert shown(hits.whole(grouping)) == shown(found.groups)


def test_chunks_of_segments_that_no_window_cuts_now_go_where_there_is_no_room(monkeypatch):
    """They are made again when a window cuts their segment."""
    grouping, hits = grouping_of("key"), Hits()
    known = ask(Hits(end_us=SEGMENT_ROWS + 5 * CHUNK_ROWS), grouping, None).partials
    whole = [(0, 2 * SEGMENT_ROWS, True)]
    given: dict[str, Any] = {"known": known, "lowest_row": 0, "whole_row": 2 * SEGMENT_ROWS}
    kept: Any = aggregates_of(whole, grouping, hits, **given).partials
    assert [1] == list(kept.chunks)
    monkeypatch.setattr(stream_partials, "PARTIALS_CACHE_BYTES_MAX", kept.nbytes - 1)
    found: Any = aggregates_of(whole, grouping, hits, **given)
    assert {} == found.partials.chunks
    rows = hits.hits(0, 2 * SEGMENT_ROWS)
    assert shown(grouping.aggregated(hits.read(rows))) == shown(found.groups)


def test_calls_without_states_are_computed_of_the_rows():
    """A median needs every value."""
    grouping = Grouping([], [call_of(Function.MEDIAN, Type.FLOAT64)])
    hits = Hits()
    found = ask(hits, grouping, None)
    assert found.partials is None
    assert shown(hits.whole(grouping)) == shown(found.groups)


def test_rows_of_many_chunks_are_read_some_chunks_at_once(monkeypatch):
    """However large the window is, what is read at once is bounded."""
    monkeypatch.setattr(stream_partials, "LEVEL_FANOUT", 3)
    grouping, hits = grouping_of("key"), Hits()
    assert shown(hits.whole(grouping)) == shown(ask(hits, grouping, None).groups)


def test_cache_keeps_its_bound_and_forgets_what_was_used_least():
    """Partials are counted with their bytes; what does not fit is not kept."""
    grouping, hits = grouping_of("key"), Hits()
    made = ask(hits, grouping, None).partials
    assert isinstance(made, StreamPartials)
    cache = PartialCache(2 * made.nbytes)
    for clause_id in range(3):
        cache.keep(1, clause_id, grouping, made)
    held = cache.statistics().asked
    assert (2, 2 * made.nbytes) == (held.entries, held.size)
    assert cache.partials(1, 0, grouping) is None
    assert cache.partials(2, 2, grouping) is None
    assert cache.partials(1, 2, grouping_of()) is None
    assert made is cache.partials(1, 2, grouping)
    cache.keep(1, 5, grouping, TOO_MANY_GROUPS)
    cache.check()
