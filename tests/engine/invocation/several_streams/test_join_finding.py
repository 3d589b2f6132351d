"""What an invocation of a join reads and looks for, and what it does where things go meanwhile."""

import numpy as np
import pytest

from psoup.engine.data.source import DatedRows
from psoup.engine.errors import (
    AnswerTooLargeError,
    NotFoundError,
    NowOutOfRangeError,
    PageExpiredError,
    QuerySuspendedError,
)
from psoup.engine.invocation.position.pinning import is_empty
from psoup.engine.invocation.several_streams import join_finding
from psoup.engine.invocation.several_streams.composite_dates import Dates
from psoup.engine.invoke import InvocationCache, Request, invoke, invoke_many
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.window import Bound, Window
from psoup.engine.results.composites import PageBounds
from psoup.engine.results.delta import JoinRecord, Suspension
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.invocation.several_streams.join_worlds import GROUP, QUERY, Joined, Told, rows_of

A, B = StreamId(1), StreamId(2)
C = CHUNK_ROWS
ROWS = 3 * CHUNK_ROWS


def world_of(matches=(), *, kept=True, rows=ROWS + 9, streams=(A, B), **query):
    """Return streams of three chunks and nine rows more, tuple `row` dated `row`, and a query that joins them."""
    times = np.arange(SEGMENT_ROWS + 5 * C, dtype=np.int64)
    world = Joined(
        list(streams),
        Told(dict.fromkeys(streams, times), list(matches)),
        join=JoinRecord(GROUP, (0,) * len(streams)) if kept else None,
        **query,
    )
    world.grow(dict.fromkeys(streams, rows))
    return world


def test_joins_of_open_rows_are_the_chunks_that_are_not_whole_with_all_the_rest():
    """Open rows of one source, all rows of those before it, whole chunks of those behind it; no empty span."""
    world = world_of(streams=(A, B, StreamId(3)))
    world.ask()
    whole, every, fresh = (0, ROWS), (0, ROWS + 9), (ROWS, ROWS + 9)
    assert [[fresh, whole, whole], [every, fresh, whole], [every, every, fresh]] == (
        world.source.asked
    )
    world = world_of(rows=5)
    world.grow({B: ROWS})
    world.source.asked.clear()
    world.ask()
    assert [[(0, 5), (0, ROWS)]] == world.source.asked, "no whole chunk of A, no open row of B"
    world = world_of(kept=False)
    world.ask(count_only=True)
    assert [[every, every]] == world.source.asked
    world = world_of(kept=False, rows=0)
    world.grow({B: ROWS})
    assert (0, []) == (world.ask().count, world.source.asked), "no row of A"


def test_windows_and_floors_go_with_the_spans_that_are_joined():
    """A span begins where the window or retention does, and ends at NOW at the latest."""
    spans = []
    world = world_of(
        kept=False,
        window=Window(Bound(7, moving=False), Bound(10**9, moving=False)),
        ranges=(None, 5),
    )
    world.grow(floors={A: (3, 9), B: (4, 2)})
    world.source.matches = []
    asked = world.source

    class Noting:
        def joining(self, plan, of_sources):
            spans.extend(of_sources)
            return asked.joining(plan, of_sources)

        def __getattr__(self, name):
            return getattr(asked, name)

    answer = world.ask(source=Noting())
    now_us = ROWS + 8
    assert [
        DatedRows(A, 3, ROWS + 9, 9, now_us),
        DatedRows(B, 4, ROWS + 9, now_us - 5, now_us),
    ] == spans
    assert (7, 10**9, now_us) == (answer.begin_us, answer.end_us, answer.now_us)


def test_window_that_ends_behind_now_shows_nothing_dated_after_it():
    """`now=` before the end of a constant window."""
    world = world_of(
        [(5, 5), (5, 20), (20, 5), (ROWS, 5)],
        window=Window(Bound(0, moving=False), Bound(10**9, moving=False)),
    )
    assert [((51, 52), None, (2, 4))] == rows_of(world.ask(now_us=10))
    assert 4 == world.ask().count


def test_pages_that_no_window_reaches_are_not_looked_at():
    """What is remembered are the pages that the window has reached; those that are gone are forgotten."""
    world = world_of(rows=0, window=Window(Bound(C, moving=True), Bound(0, moving=True)))
    world.source.matches = [(row, row) for row in range(5, ROWS, C // 2)]
    remembered = []
    for chunk in (1, 2, 3):
        world.grow({A: chunk * C, B: chunk * C})
        assert world.expected() == rows_of(world.ask())
        snapshot = world.results.snapshot(QUERY)
        hits = world.cache.composites(snapshot)
        remembered.append(
            (len(hits), len(hits.seen) <= len(world.results.composites(snapshot.clause)))
        )
        world.cache.check()
    assert [(2, True), (4, True), (6, True)] == remembered
    world.cache = InvocationCache(BoundQueries(bind=world._bind))
    world.ask()
    assert len(world.cache.composites(world.results.snapshot(QUERY))) < 6


def bounds(earliest, latest):
    return PageBounds(earliest[0], earliest[1], latest[0], latest[1])


def test_dates_reach_pages_up_to_their_ends():
    """One source dated [10, 20], the other [15, 30]: a page is passed over iff no composite can be dated so."""
    dates = Dates([DatedRows(A, 0, 9, 10, 20), DatedRows(B, 0, 9, 15, 30)])
    assert [0, 1] == dates.unlike
    assert dates.reach(bounds((20, 25), (30, 40)))
    assert dates.reach(bounds((0, 10), (10, 15)))
    assert not dates.reach(bounds((21, 25), (30, 40)))
    assert not dates.reach(bounds((20, 25), (31, 40)))
    assert not dates.reach(bounds((0, 9), (10, 15)))
    assert not dates.reach(bounds((0, 10), (10, 14)))
    alike = Dates([DatedRows(A, 0, 9, 10, 20), DatedRows(B, 3, 9, 10, 20)])
    assert ([], True) == (alike.unlike, alike.reach(bounds((20, 20), (20, 20))))
    half = Dates([DatedRows(A, 0, 9, None, 20), DatedRows(B, 0, 9, 15, 20)])
    assert ([1], True) == (half.unlike, half.reach(bounds((-99, -99), (15, 15))))
    assert not half.reach(bounds((-99, -99), (14, 14)))


@pytest.mark.parametrize(
    ("first", "past", "begin", "end", "empty"),
    [
        (0, 1, None, 5, False),
        (1, 1, None, 5, True),
        (2, 1, 5, 5, True),
        (0, 1, 5, 5, False),
        (0, 1, 6, 5, True),
    ],
)
def test_span_is_empty_without_rows_or_without_instants(first, past, begin, end, empty):
    """Rows are half open, instants inclusive."""
    assert empty is is_empty(DatedRows(A, first, past, begin, end))


# --- What goes meanwhile -------------------------------------------------------------------------


class Meddling:
    """A source in which something happens before the first join."""

    def __init__(self, source, meddling):
        self._source = source
        self._meddling = [meddling]

    def joining(self, plan, spans):
        if self._meddling:
            self._meddling.pop()()
        return self._source.joining(plan, spans)

    def __getattr__(self, name):
        return getattr(self._source, name)


MATCHES = [(5, 6), (5, ROWS + 1), (C, C + 1), (ROWS + 2, C), (ROWS + 3, ROWS + 4)]


def test_join_while_rows_come_in_is_answered_from_its_snapshot():
    """Chunks that become whole while it is read are still those that were open."""
    world = world_of([*MATCHES, (ROWS + 20, 7), (7, ROWS + 20)])
    expected = world.expected()
    answer = world.ask(source=Meddling(world.source, lambda: world.grow({A: 5 * C, B: 5 * C})))
    assert expected == rows_of(answer)
    assert 7 == world.ask().count
    assert world.expected() == rows_of(world.ask())


def test_join_while_the_query_is_removed_is_not_found():
    """A query that goes while it is read has no answer."""
    world = world_of(MATCHES)
    with pytest.raises(NotFoundError):
        world.ask(source=Meddling(world.source, world.remove))


SUSPENSION = Suspension(Seq(77), "too many results")


def test_join_that_is_suspended_says_since_when_and_why():
    """Before it is read, while it is, for pages of earlier answers, and among many."""
    world = world_of(MATCHES)
    position = world.ask(limit=1).next
    source = Meddling(world.source, lambda: world.suspend(SUSPENSION))
    world.cache = InvocationCache(BoundQueries(bind=world._bind))
    with pytest.raises(QuerySuspendedError):
        world.ask(source=source)
    for request in ({}, {"position": position}, {"count_only": True}):
        with pytest.raises(QuerySuspendedError) as refused:
            world.ask(**request)
        assert {"since_seq": 77, "reason": "too many results"} == refused.value.extras
    (member,) = invoke_many(
        world.results,
        world.source,
        query_ids=[QUERY],
        request=Request(limit=1),
        cache=world.cache,
    )
    assert isinstance(member, QuerySuspendedError)


@pytest.mark.parametrize("stream_id", [A, B])
def test_page_of_a_join_is_refused_once_a_part_of_its_answer_is_dropped(stream_id):
    """Rows of either stream; a stream whose rows in the answer are all held refuses nothing."""
    matches = [(SEGMENT_ROWS + 1, 5), (SEGMENT_ROWS + 2, 6)]
    if stream_id == B:
        matches = [(b, a) for a, b in matches]
    world = world_of(matches, rows=SEGMENT_ROWS + C)
    first = world.ask(limit=1)
    other = {A: B, B: A}[stream_id]
    world.drop(stream_id, SEGMENT_ROWS)
    for cache in (world.cache, InvocationCache(BoundQueries(bind=world._bind))):
        world.cache = cache
        assert world.expected() == world.pages(1, first)[0]
    world.drop(other, SEGMENT_ROWS)
    world.source.dropped.clear()
    with pytest.raises(PageExpiredError):
        world.ask(position=first.next)


def test_join_while_a_segment_is_dropped_is_answered_from_a_later_position():
    """An answer that may have lost composites is read again; one whose rows are all held is not."""
    world = world_of([(5, 6), (SEGMENT_ROWS + 1, SEGMENT_ROWS + 2)], rows=SEGMENT_ROWS + C + 9)
    position = world.ask(limit=1).next

    def lose():
        world.grow(floors={A: (SEGMENT_ROWS, None)})
        world.drop(A, SEGMENT_ROWS)

    world.cache = InvocationCache(BoundQueries(bind=world._bind))
    answer = world.ask(source=Meddling(world.source, lose))
    assert (1, world.results.applied) == (answer.count, answer.cut.seq)
    with pytest.raises(PageExpiredError):
        world.ask(position=position)


def test_join_whose_pages_go_before_they_are_read_is_answered_from_a_later_position():
    """Composites that were dropped behind the snapshot are not taken for none."""
    world = world_of([(5, 6)], rows=SEGMENT_ROWS + C)
    world.cache = InvocationCache(BoundQueries(bind=world._bind))
    results = world.results
    meddling: list[bool] = []

    class Losing:
        def composites(self, clause):
            if not meddling:
                meddling.append(True)
                world.grow(floors={A: (SEGMENT_ROWS, None)})
                world.drop(A, SEGMENT_ROWS)
                world.forget_composites()
            return results.composites(clause)

        def __getattr__(self, name):
            return getattr(results, name)

    answer = invoke(
        Losing(), world.source, query_id=QUERY, request=Request(limit=9), cache=world.cache
    )
    assert (0, results.applied) == (answer.count, answer.cut.seq)


def test_count_of_a_join_stands_at_the_first_rows_that_may_be_in_it():
    """No row is known of it: it is refused once one that is retained is dropped, and not before."""
    world = world_of(MATCHES)
    world.grow(floors={A: (3, None)})
    answer = world.ask(count_only=True)
    assert (5, (3, 0), (2, 0)) == (answer.count, answer.at.oldest_rows, answer.tuple_ids.shape)


def test_hits_remembered_let_go_of_dropped_rows():
    """What is remembered grows with the pages that come, and shrinks with the segments that go."""
    world = world_of([(5, 6), (C, 9)], rows=SEGMENT_ROWS + C)
    world.ask()
    world.grow(floors={A: (SEGMENT_ROWS, None)})
    world.drop(A, SEGMENT_ROWS)
    world.source.matches.append((SEGMENT_ROWS + C + 1, 9))
    world.forget_composites()
    world.grow({A: SEGMENT_ROWS + 2 * C})
    assert 1 == world.ask().count
    hits = world.cache.composites(world.results.snapshot(QUERY))
    assert (1, 1) == (len(hits), len(hits.seen))


def test_join_over_the_bound_of_what_is_found_when_asked_is_refused(monkeypatch):
    """As many as allowed are shown; one more is refused, with the bound."""
    world = world_of(MATCHES)
    open_matches = 3
    monkeypatch.setattr(join_finding, "JOIN_ANSWER_ROWS_MAX", open_matches)
    assert 5 == world.ask().count
    monkeypatch.setattr(join_finding, "JOIN_ANSWER_ROWS_MAX", open_matches - 1)
    with pytest.raises(AnswerTooLargeError) as refused:
        world.ask()
    assert {"limit": 2} == refused.value.extras
    assert 5 == world.ask(count_only=True).count, "they are not put in order"


def test_later_pages_of_a_join_cost_a_page():
    """With the order kept, the times of a page's rows are read and no join is asked for."""
    world = world_of([(row, row + 1) for row in range(500)])
    first = world.ask(limit=10)
    world.source.read, asked = 0, len(world.source.asked)
    answer = world.ask(limit=10, position=first.next)
    assert (2 * 10, asked) == (world.source.read, len(world.source.asked))
    assert world.expected()[10:20] == rows_of(answer)


# --- Positions -----------------------------------------------------------------------------------


def test_now_of_a_join_is_the_largest_high_water_mark():
    """Of the streams that have one; none without a tuple in any."""
    world = world_of(rows=0)
    answer = world.ask()
    assert (None, 0, (2, 0)) == (answer.now_us, answer.count, answer.tuple_ids.shape)
    assert ["a", "both"] == [name for name, _ in answer.columns]
    assert () == world.ask(count_only=True).columns
    world.grow({B: 5})
    assert 4 == world.ask().now_us
    world.grow({A: 9})
    assert 8 == world.ask().now_us


def test_instants_of_a_join_lie_between_what_all_streams_keep_and_now():
    """The oldest is the latest that any stream is complete from."""
    world = world_of(MATCHES)
    world.grow(floors={A: (0, 7), B: (0, 12)})
    newest = ROWS + 8
    for now_us in (11, newest + 1):
        with pytest.raises(NowOutOfRangeError) as refused:
            world.ask(now_us=now_us)
        assert {"oldest": 12, "newest": newest} == refused.value.extras
    assert 12 == world.ask(now_us=12).now_us
    world.grow(floors={B: (0, newest + 99)})
    assert newest == world.ask(now_us=newest).now_us
    with pytest.raises(NowOutOfRangeError) as refused:
        world.ask(now_us=newest - 1)
    assert {"oldest": newest, "newest": newest} == refused.value.extras


@pytest.mark.parametrize(
    ("ranges", "floors", "expected"),
    [
        ((), (None, None), None),
        ((), (7, 12), 12),
        ((), (12, None), 12),
        ((5, 5), (7, 12), None),
        ((5, None), (12, 7), 7),
        ((None, 5), (12, 7), 12),
        ((ROWS, 5), (12, ROWS), 12),
    ],
)
def test_complete_from_of_a_join_is_that_of_the_streams_whose_window_reaches_further(
    ranges, floors, expected
):
    """A stream of whose window all is retained says nothing."""
    world = world_of(MATCHES, ranges=ranges)
    world.grow(floors={A: (0, floors[0]), B: (0, floors[1])})
    assert expected == world.ask().complete_from_us
