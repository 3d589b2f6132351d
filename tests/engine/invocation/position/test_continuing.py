"""Where a client stands: what can be gone on from, and what is complete."""

from dataclasses import replace
from threading import Lock

import pyarrow as pa
import pytest

from psoup.engine.errors import PageExpiredError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import BEFORE_ALL_US, Answer, PartPosition, Request
from psoup.engine.invoke import invoke, invoke_many
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SECOND_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.sources.cached_tuples import CachedTuples
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind
from tests.agreement.deltas.client import Client, names
from tests.engine.batches import schema_keeping
from tests.engine.one_stream import SLIDING, T0, ask, send, times, world_of
from tests.strategies import EPOCH_US
from tests.strategies_sql import instant


def asked(world, query_id, since, **request):
    return ask(world, query_id, since=since, **request)


def test_nothing_new_is_unchanged_and_stands_where_it_stood():
    """Rows that are no hits, and hits outside the window, change nothing; the very cursor comes back."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s WHERE a > 5 BEGIN (NOW - 0.000020) END (NOW)")
    send(world, (T0, 9))
    since = ask(world, query_id).stands
    send(world, (T0, 1), (T0 - 50, 9))
    found = asked(world, query_id, since)
    assert (found.unchanged, found.reset, found.count) == (True, False, 1)
    assert found.stands is since
    assert not len(found.tuple_ids)


@pytest.mark.parametrize(
    "changed",
    [
        lambda since: replace(since, gen=since.gen + 1),
        lambda since: replace(since, seq=since.seq + 1),
        lambda since: replace(since, now_us=since.now_us + 1),
        lambda since: replace(since, parts=since.parts * 2),
        lambda since: replace(since, parts=(PartPosition(9, 0, None),)),
        lambda since: replace(since, parts=(PartPosition(1, 1, None),)),
        lambda since: replace(since, parts=(PartPosition(1, 0, 5),)),
    ],
)
def test_a_position_that_the_answer_is_not_behind_is_answered_in_full(changed):
    """Another history, a position or an instant ahead, other streams: everything, and no error."""
    world = world_of()
    query_id = world.register(SLIDING)
    send(world, (T0, 1))
    since = ask(world, query_id).stands
    found = asked(world, query_id, changed(since))
    assert (found.reset, found.unchanged, len(found.tuple_ids)) == (True, False, 1)
    assert found.stands == since


def test_an_instant_that_is_asked_for_is_answered_in_full_and_nobody_goes_on_from_it():
    """`now_us` is no position of a client."""
    world = world_of()
    query_id = world.register(SLIDING)
    send(world, (T0, 1), (T0 + 5, 1))
    since = ask(world, query_id).stands
    found = asked(world, query_id, since, now_us=T0)
    assert (found.reset, found.stands, len(found.tuple_ids)) == (True, None, 1)


def test_before_the_first_tuple_a_client_stands_before_all_instants():
    """It is told that nothing has changed, and then of all that came."""
    world = world_of()
    query_id = world.register(SLIDING)
    first = ask(world, query_id)
    assert first.stands is not None
    assert (first.reset, first.stands.now_us, first.stands.count) == (True, BEFORE_ALL_US, 0)
    again = asked(world, query_id, first.stands)
    assert again.unchanged
    assert again.stands is first.stands
    send(world, (T0, 1))
    found = asked(world, query_id, again.stands)
    assert (found.reset, len(found.tuple_ids), found.count) == (False, 1, 1)


def test_many_queries_go_on_each_from_its_own_position():
    """One is unchanged, one is new, one has a new row."""
    world = world_of()
    first = world.register("SELECT ts FROM s WHERE a > 5")
    second = world.register("SELECT ts FROM s")
    send(world, (T0, 1))
    since = [ask(world, query_id).stands for query_id in (first, second)]
    send(world, (T0, 2))
    found = invoke_many(
        world.store.results,
        world.engine.source,
        query_ids=[first, second, second],
        request=Request(10),
        cache=world.cache,
        since=[*since, None],
    )
    answers = [one for one in found if isinstance(one, Answer)]
    told = [(one.reset, one.unchanged, len(one.tuple_ids)) for one in answers]
    assert told == [(False, True, 0), (False, False, 1), (True, False, 2)]


@pytest.mark.parametrize("materialize", [Materialize.COMPLETE, Materialize.NONE])
def test_changes_over_whole_chunks_are_those_of_the_rows_that_came(materialize):
    """Hits that are kept and hits that are evaluated tell the same."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s WHERE a > 0", materialize=materialize)
    send(world, *[(T0 + i, i % 2) for i in range(CHUNK_ROWS + 10)])
    since = ask(world, query_id, limit=100_000).stands
    send(world, *[(T0 + i, i % 2) for i in range(2 * CHUNK_ROWS)])
    found = asked(world, query_id, since, limit=100_000)
    assert (CHUNK_ROWS, CHUNK_ROWS + CHUNK_ROWS // 2 + 5) == (len(found.tuple_ids), found.count)


def test_pages_of_changes_say_once_what_is_forgotten_and_once_where_the_client_stands():
    """The first page resets or removes, the last one carries the position."""
    world = world_of(schema_keeping(rows=8))
    query_id = world.register("SELECT ts FROM s")
    send(world, *[(T0 + i, i) for i in range(8)])
    since = ask(world, query_id).stands
    for i in range(3):
        send(world, (T0 + 8 + i, i))
    first = asked(world, query_id, since, limit=3)
    assert (first.reset, first.next, first.count) == (False, None, 8)
    assert first.removed is not None
    assert len(first.removed) == 3
    pages = [asked(world, query_id, since, limit=2)]
    assert pages[0].reset  # three ids to forget, or five to keep, are more than a page has rows
    while pages[-1].next is not None:
        pages.append(ask(world, query_id, limit=2, position=pages[-1].next))
    assert [True, False, False, False] == [page.reset for page in pages]
    assert [None, None, None] == [page.stands for page in pages[:-1]]
    assert pages[-1].stands == first.stands


def test_pages_whose_order_is_not_kept_tell_alike_when_the_clock_changes_the_answer():
    """A row that is to come may be older than all that are shown: the page needs it as well."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s BEGIN (NOW - 0.000020) END (NOW - 0.000005)")
    send(world, *[(T0 + after, 1) for after in (8, 10, 1, 2)])
    first = ask(world, query_id, limit=1)
    assert first.changes_us == T0 + 8 + 5
    world.cache = InvocationCache(BoundQueries())
    last = ask(world, query_id, limit=1, position=first.next)
    assert last.stands is not None
    assert (last.state, last.stands.changes_us) == (first.state, first.changes_us)


def closed_world(time):
    schema = replace(schema_keeping(clock=ClockKind.SERVER), time=time)
    world = world_of(schema)
    end = instant(EPOCH_US + 10 * SECOND_US)
    sql = f"SELECT a FROM s BEGIN (TIMESTAMP '{instant(EPOCH_US)}') END (TIMESTAMP '{end}')"
    return world, world.register(sql)


def test_a_fixed_window_over_arrivals_is_complete_once_the_log_is_past_its_end():
    """NOW past END is not enough: a clock may be set back, the times of the log never are."""
    world, query_id = closed_world(None)
    send(world, (EPOCH_US, 1))
    assert not ask(world, query_id).complete
    world.clock.advance(11 * SECOND_US)
    assert not ask(world, query_id).complete
    world.tick()
    assert ask(world, query_id).complete


def test_a_fixed_window_over_dated_tuples_is_complete_only_when_retention_has_passed_it():
    """A late tuple may come at any time."""
    world, query_id = closed_world("ts")
    send(world, (EPOCH_US, 1))
    world.clock.advance(11 * SECOND_US)
    world.tick()
    assert not ask(world, query_id).complete
    send(world, (EPOCH_US + SECOND_US, 1))
    assert ask(world, query_id).count == 2


def test_a_page_of_changes_that_is_not_held_any_more_is_refused():
    """As a page of a full answer is."""
    world = world_of()
    query_id = world.register("SELECT ts FROM s")
    since = ask(world, query_id).stands
    send(world, *[(T0 + i, i) for i in range(4)])
    first = asked(world, query_id, since, limit=2)
    assert first.next is not None
    expired = replace(first.next, gen=first.next.gen + 1)
    with pytest.raises(PageExpiredError):
        ask(world, query_id, position=expired)


def send_many(world, first, count):
    """Append rows dated T0 + their numbers; the fifth of every ten thousand has a = 1, all others 0."""
    numbers = range(first, first + count)
    listed = [numbers, [int(i % 10_000 == 5) for i in numbers], [None] * count]
    schema = arrow_schema(world.streams["s"][1])
    listed[0] = pa.array([T0 + i for i in numbers]).cast(schema.field("ts").type)
    world.append_table("s", pa.table(listed, schema=schema))


def test_a_worker_that_has_not_heard_of_dropped_segments_tells_what_to_keep():
    """It knows of the dropped rows still, but their hits are gone: it must not take them for rows without hits."""
    world = world_of(schema_keeping(rows=60_000))
    sql = "SELECT ts FROM s WHERE a = 1"
    query_id = world.register(sql, materialize=Materialize.COMPLETE)
    tuples = CachedTuples(world.store.results, world.store.log, make_lock=Lock)

    def asked_of_worker(since=None):
        cache = InvocationCache(BoundQueries())
        request = Request(100, since=since)
        results = world.store.results
        return invoke(results, tuples, query_id=query_id, request=request, cache=cache)

    send_many(world, 0, 50_000)
    client = Client()
    client.take(asked_of_worker(), None)
    send_many(world, 50_000, 80_000)
    asked_of_worker()  # from here on it knows of all rows that are held
    world.clock.advance(RETIRED_US + 1)
    send_many(world, 130_000, 1)
    assert world.store.results.streams()[0].dropped_row == SEGMENT_ROWS
    found = asked_of_worker(client.cursor)
    client.take(found, client.cursor)
    assert found.keep is not None
    assert set(client.rows) == set(names(asked_of_worker().tuple_ids))


DISTINCT = "SELECT DISTINCT a FROM s WHERE a < 5 BEGIN (NOW - 0.000020) END (NOW)"


def test_states_are_unequal_where_a_row_of_distinct_has_another_place():
    """The first of its equals leaves, the row stays: pages of the two answers hold other rows."""
    world = world_of()
    query_id = world.register(DISTINCT)
    send(world, (T0, 1), (T0 + 5, 2), (T0 + 8, 1))
    before = ask(world, query_id)
    send(world, (T0 + 22, 9))
    after = ask(world, query_id)
    assert (times(before), times(after)) == ([1, 2], [2, 1])
    assert before.state != after.state
    assert before.changes_us == T0 + 26, "when 2 leaves"


def test_the_state_of_distinct_stays_where_retention_drops_what_no_window_shows():
    """Floors that move before the window are nothing to those who ask with a tag."""
    world = world_of(schema_keeping(rows=4))
    query_id = world.register(DISTINCT)
    send(world, (T0, 1), (T0 + 50, 1), (T0 + 51, 2), (T0 + 51, 9))
    before = ask(world, query_id)
    send(world, (T0 + 51, 9))
    after = ask(world, query_id)
    assert before.at is not None
    assert after.at is not None
    assert before.at.parts[0].floor_row < after.at.parts[0].floor_row
    assert (before.complete_from_us, after.complete_from_us) == (None, None)
    assert before.state == after.state


def test_the_state_tells_that_an_answer_is_complete():
    """Who has the same rows learns by it that no others will come, and asks no more."""
    world, query_id = closed_world(None)
    send(world, (EPOCH_US, 1))
    world.clock.advance(11 * SECOND_US)
    before = ask(world, query_id)
    world.tick()
    after = ask(world, query_id)
    assert (before.complete, after.complete) == (False, True)
    assert before.state != after.state


def test_the_next_row_that_the_clock_brings_or_takes_may_lie_behind_whole_chunks_of_later_ones():
    """Tuples arrive against the order of their times: each chunk has one that comes, or goes, earlier."""
    world = world_of()
    rows = 2 * CHUNK_ROWS + 10
    delayed = world.register("SELECT ts FROM s BEGIN (NOW - 1) END (NOW - 0.5)")
    sliding = world.register("SELECT ts FROM s BEGIN (NOW - 1) END (NOW)")
    send(world, *[(T0 - i, 1) for i in range(rows)])
    least_us = T0 - rows + 1
    found = [ask(world, one, count_only=True) for one in (delayed, sliding)]
    assert [0, rows] == [one.count for one in found]
    assert [least_us + SECOND_US // 2, least_us + SECOND_US + 1] == [
        one.changes_us for one in found
    ]
