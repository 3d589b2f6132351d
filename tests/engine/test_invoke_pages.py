"""Pages of answers, and answers that are read while things change."""

import dataclasses

import pytest

from psoup.engine.errors import (
    NotFoundError,
    NotYetVisibleError,
    PageExpiredError,
)
from psoup.engine.invoke import InvocationCache, Request, invoke
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.recent import ENTRY_BYTES
from psoup.engine.results.contract import Gen
from psoup.engine.results.delta import merge
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import schema_keeping
from tests.engine.one_stream import T0, ask, send, times, world_of


class Counting:
    """A source that counts what it is asked for."""

    def __init__(self, source):
        self._source = source
        self.columns_read = 0
        self.times_read = 0
        self.scanned = []

    def reach(self, stream_id, *span):
        return self._source.reach(stream_id, *span)

    def oldest(self, stream_id, **span):
        return self._source.oldest(stream_id, **span)

    def matching(self, stream_id, clause, first_row, past_row):
        self.scanned.append((first_row, past_row))
        return self._source.matching(stream_id, clause, first_row, past_row)

    def joining(self, plan, spans):
        return self._source.joining(plan, spans)

    def joining_count(self, plan, spans):
        return self._source.joining_count(plan, spans)

    def partnered(self, plan, spans, source):
        return self._source.partnered(plan, spans, source)

    def times(self, stream_id, rows):
        self.times_read += len(rows)
        return self._source.times(stream_id, rows)

    def tuples(self, stream_id, names, rows):
        self.columns_read += len(rows) * len(names)
        return self._source.tuples(stream_id, names, rows)

    def tuples_between(self, stream_id, names, first_row, past_row):
        self.columns_read += (past_row - first_row) * len(names)
        return self._source.tuples_between(stream_id, names, first_row, past_row)


def paged(world, query_id, *, cache=None, limit=7):
    """Return all tuple ids of an answer, page by page, and the source that counted."""
    source = Counting(world.engine.source)
    ids, position = [], None
    while True:
        answer = invoke(
            world.store.results,
            source,
            query_id=query_id,
            request=Request(limit=limit, position=position),
            cache=cache or InvocationCache(BoundQueries(), order_bytes_max=0),
        )
        assert position is None or position == answer.at
        ids += answer.tuple_ids.tolist()
        position = answer.next
        if position is None:
            return ids, source


def test_invoke_page_by_page_is_the_whole_answer_at_the_cost_of_pages():
    """Pages join to the answer; with its order kept, times are read once, without it at every page."""
    world = world_of()
    query_id = world.register("SELECT a, t FROM s WHERE a > 1 BEGIN (NOW - 0.0001) END (NOW)")
    send(world, *[(T0 + i % 90, i % 5, "x") for i in range(100)])
    expected = ask(world, query_id).tuple_ids.tolist()
    kept, cheap = paged(world, query_id, cache=InvocationCache(BoundQueries()))
    fresh, costly = paged(world, query_id)
    assert (expected, expected) == (kept, fresh)
    assert 2 * len(expected) == cheap.times_read == cheap.columns_read
    assert (9 + 1) * len(expected) == costly.times_read  # 9 pages of 7


def test_invoke_page_behind_another_keeps_the_order_whatever_its_limit():
    """Pages that are cut by their bytes ask for more rows than are left: only the first of them looks for the order."""
    world, cache = world_of(), InvocationCache(BoundQueries())
    query_id = world.register("SELECT DISTINCT a, t FROM s")
    send(world, *[(T0 + i, i % 50, "x") for i in range(100)])
    first = ask(world, query_id)
    assert first.at is not None
    read = []
    for offset in (10, 20, 30):
        source = Counting(world.engine.source)
        position = dataclasses.replace(first.at, offset=offset)
        request = Request(limit=1_000, position=position)
        answer = invoke(
            world.store.results, source, query_id=query_id, request=request, cache=cache
        )
        assert first.tuple_ids.tolist()[offset:] == answer.tuple_ids.tolist()
        read.append(source.columns_read)
    assert [2 * (100 + 40), 2 * 30, 2 * 20] == read


def test_invoke_pages_stay_at_their_position_whatever_happens():
    """New tuples, floors that move and a clock that moves do not touch an answer in progress."""
    world = world_of(schema_keeping(rows=10))
    query_id = world.register("SELECT ts FROM s BEGIN (NOW - 0.000020) END (NOW)")
    send(world, *[(T0 + i, i) for i in range(12)])
    whole = ask(world, query_id)
    first = ask(world, query_id, limit=4)
    send(world, *[(T0 + 3 + i, i) for i in range(30)])
    second = ask(world, query_id, limit=100, position=first.next)
    assert whole.tuple_ids.tolist() == [*first.tuple_ids.tolist(), *second.tuple_ids.tolist()]
    for one in (first, second):
        same = ("now_us", "begin_us", "end_us", "count", "complete_from_us")
        assert [getattr(whole, name) for name in same] == [getattr(one, name) for name in same]
        assert whole.cut.seq == one.cut.seq
    assert ask(world, query_id).count == 10


def test_invoke_page_of_a_lost_history_or_of_dropped_tuples_is_refused():
    """A page is exact or refused: another gen, or segments that are gone, end it."""
    world = world_of(schema_keeping(rows=5))
    query_id = world.register("SELECT ts FROM s")
    send(world, *[(T0 + i, i) for i in range(8)])
    position = ask(world, query_id, limit=2).next
    with pytest.raises(PageExpiredError):
        ask(world, query_id, position=dataclasses.replace(position, gen=Gen(7)))
    with pytest.raises(NotYetVisibleError):
        ask(world, query_id, position=dataclasses.replace(position, seq=Seq(99)))
    send(world, *[(T0, 0)] * SEGMENT_ROWS)
    assert 3 == len(times(ask(world, query_id, position=position)))
    world.clock.advance(RETIRED_US)
    world.tick()
    for cache in (world.cache, InvocationCache(BoundQueries())):
        world.cache = cache
        with pytest.raises(PageExpiredError):
            ask(world, query_id, position=position)
    whole = ask(world, query_id)
    cut_short = dataclasses.replace(whole.at, offset=2)
    assert (
        whole.tuple_ids.tolist()[2:] == ask(world, query_id, position=cut_short).tuple_ids.tolist()
    )


def test_invoke_before_min_seq_is_applied_is_refused():
    """Nothing is answered from before the position asked for."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s")
    assert 2 == ask(world, query_id, min_seq=Seq(2)).cut.seq
    with pytest.raises(NotYetVisibleError) as refused:
        ask(world, query_id, min_seq=Seq(3))
    assert {"applied": 2} == refused.value.extras


def test_cache_of_invocations_keeps_its_bounds_and_counts():
    """What is kept between invocations is counted in bytes."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s")
    send(world, *[(T0 + i, i) for i in range(6)])
    ask(world, query_id, limit=2)
    world.cache.check()
    hits, orders, *_ = world.cache.statistics()
    assert (0, 0) == (hits.entries, hits.size), "no chunk is whole"
    assert (1, ENTRY_BYTES + 6 * 8) == (orders.entries, orders.size)


def test_invoke_for_the_count_alone_fetches_no_column():
    """The count is that of the whole answer; no row is carried and no column is read."""
    world = world_of()
    query_id = world.register("SELECT a, t FROM s WHERE a < 3")
    send(world, *[(T0 + i, i, "x") for i in range(10)])
    source = Counting(world.engine.source)
    request = Request(limit=2, count_only=True)
    answer = invoke(
        world.store.results, source, query_id=query_id, request=request, cache=world.cache
    )
    assert (3, (), None, 0) == (answer.count, answer.columns, answer.next, source.columns_read)


class Meddling:
    """A source in which something happens between a snapshot and what is evaluated for it."""

    def __init__(self, source, *meddling):
        self._source = source
        self._meddling = list(meddling)

    def matching(self, stream_id, clause, first_row, past_row):
        if self._meddling:
            self._meddling.pop(0)()
        return self._source.matching(stream_id, clause, first_row, past_row)

    def __getattr__(self, name):
        return getattr(self._source, name)


class MeddlingResults:
    """A Results Structure in which something happens between a snapshot and the hits."""

    def __init__(self, results, meddling):
        self._results = results
        self._meddling = [meddling]

    def hits(self, clause, first_chunk, past_chunk):
        if self._meddling:
            self._meddling.pop()()
        return self._results.hits(clause, first_chunk, past_chunk)

    def __getattr__(self, name):
        return getattr(self._results, name)


def meddled(world, query_id, *meddling, position=None):
    return invoke(
        world.store.results,
        Meddling(world.engine.source, *meddling),
        query_id=query_id,
        request=Request(limit=100, position=position),
        cache=InvocationCache(BoundQueries()),
    )


def meddled_pages(world, query_id, meddling, *, limit):
    return invoke(
        MeddlingResults(world.store.results, meddling),
        world.engine.source,
        query_id=query_id,
        request=Request(limit=limit),
        cache=InvocationCache(BoundQueries()),
    )


def test_invoke_while_tuples_come_in_answers_from_its_snapshot():
    """What is published after the snapshot is not shown."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s")
    send(world, (T0, 0))
    answer = meddled(world, query_id, lambda: send(world, (T0 - 1, 0), (T0, 1)))
    assert ([1], 3) == (answer.tuple_ids.tolist(), answer.cut.seq)


def test_invoke_while_the_query_is_removed_is_not_found():
    """A query that goes while it is read has no answer, never an empty one."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s")
    send(world, (T0, 0))
    with pytest.raises(NotFoundError):
        meddled(world, query_id, lambda: world.remove(query_id))


def test_invoke_of_kept_chunks_while_the_query_is_removed_or_rows_come_in():
    """Pages read after the snapshot are those of the snapshot, or the query is gone and says so."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s WHERE a = 3")
    rows = [(T0 + i, i % 50) for i in range(CHUNK_ROWS + 10)]
    send(world, *rows)
    expected = [i + 1 for i, (_, a) in enumerate(rows) if a == 3]
    answer = meddled_pages(world, query_id, lambda: send(world, *rows), limit=1_000)
    assert (expected, 3) == (answer.tuple_ids.tolist(), answer.cut.seq)
    with pytest.raises(NotFoundError):
        meddled_pages(world, query_id, lambda: world.remove(query_id), limit=1_000)


def test_invoke_evaluates_only_what_is_not_kept():
    """Sparse hits of whole chunks are read; the open chunk is evaluated; by `none` everything is."""
    world = world_of()
    sql = "SELECT ts FROM s WHERE a = 3"
    send(world, *[(T0 + i, i % 50) for i in range(CHUNK_ROWS)])
    kept = [world.register(sql, materialize=one) for one in Materialize]
    send(world, *[(T0 + i, i % 50) for i in range(CHUNK_ROWS + 10)])
    past = 2 * CHUNK_ROWS + 10
    scanned, answers = {}, []
    for query_id, policy in zip(kept, Materialize, strict=True):
        source = Counting(world.engine.source)
        answer = invoke(
            world.store.results,
            source,
            query_id=query_id,
            request=Request(limit=1_000),
            cache=world.cache,
        )
        answers.append(answer.tuple_ids.tolist())
        scanned[policy] = source.scanned
    behind = (2 * CHUNK_ROWS, past)
    assert {
        Materialize.AUTO: [(0, CHUNK_ROWS), behind],
        Materialize.PARTIAL: [behind],
        Materialize.COMPLETE: [behind],
        Materialize.NONE: [(0, past)],
    } == scanned
    assert [answers[0]] * 4 == answers


def lose_in(world):
    send(world, *[(T0, 0)] * SEGMENT_ROWS)
    world.clock.advance(RETIRED_US)
    world.tick()


def test_invoke_while_segments_are_dropped_answers_from_a_later_position():
    """An answer that lost tuples while it was read is read again; a page of an earlier one is refused."""
    world = world_of(schema_keeping(rows=5))
    query_id = world.register("SELECT ts FROM s")
    send(world, *[(T0 + i, i) for i in range(6)])
    answer = meddled(world, query_id, lambda: lose_in(world))
    assert (5, 5) == (answer.count, answer.cut.seq)
    world = world_of(schema_keeping(rows=5))
    query_id = world.register("SELECT ts FROM s")
    send(world, *[(T0 + i, i) for i in range(6)])
    position = ask(world, query_id, limit=2).next
    with pytest.raises(PageExpiredError):
        meddled(world, query_id, lambda: lose_in(world), position=position)


def test_invoke_of_kept_chunks_while_segments_are_dropped_answers_from_a_later_position():
    """Hits that were dropped between the snapshot and their reading are not taken for none."""
    world = world_of(schema_keeping(rows=CHUNK_ROWS + 5))
    query_id = world.register("SELECT ts FROM s WHERE a = 0")
    send(world, *[(T0 + i, i % 50) for i in range(2 * CHUNK_ROWS)])
    answer = meddled_pages(world, query_id, lambda: lose_in(world), limit=10_000)
    assert (CHUNK_ROWS + 5, 5) == (answer.count, answer.cut.seq)


def test_invoke_while_a_drop_is_applied_and_not_published_answers_as_before():
    """Until a drop is published its tuples stay readable; then the query is not found."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s")
    send(world, (T0, 0))
    world.drop("s", [query_id], fold=False)
    (operation,) = world.store.log.read(Seq(3), operations_max=1, bytes_max=1)
    delta = world.engine.apply(operation)
    assert 1 == ask(world, query_id).count
    world.publish(delta)
    with pytest.raises(NotFoundError):
        ask(world, query_id)


def test_invoke_while_expiry_is_applied_and_not_published_is_whole():
    """Segments dropped by operations that are not published yet are still there for who needs them."""
    world = world_of(schema_keeping(rows=SEGMENT_ROWS))
    query_id = world.register("SELECT ts FROM s")
    send(world, *[(T0, 0)] * SEGMENT_ROWS)
    position = ask(world, query_id, limit=10).next
    send(world, *[(T0 + 1, 0)] * SEGMENT_ROWS, fold=False)
    world.clock.advance(2 * RETIRED_US)
    world.tick(fold=False)
    deltas = [
        world.engine.apply(operation)
        for operation in world.store.log.read(Seq(3), operations_max=9, bytes_max=2**30)
    ]
    assert SEGMENT_ROWS == deltas[-1].streams[StreamId(1)].dropped_row
    answer = ask(world, query_id, position=position, limit=20)
    assert (SEGMENT_ROWS, 20) == (answer.count, len(answer.tuple_ids))
    world.publish(merge(deltas))
    assert SEGMENT_ROWS == ask(world, query_id).count
    with pytest.raises(PageExpiredError):
        ask(world, query_id, position=position)
