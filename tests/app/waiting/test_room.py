"""Who waits in the room is woken by every change that concerns him, by nothing else, and is forgotten after it."""

import asyncio

import pytest

from psoup.app.waiting.pace import BUSY_S
from psoup.app.waiting.room import SHED_AT_ONCE, SHED_EVERY_S
from psoup.app.waiting.watch import On, Wake
from psoup.engine import limits
from psoup.engine.invocation.position.answer import Since
from psoup.engine.limits import SECOND_US
from psoup.engine.store.errors import StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from tests.app.waiting.fakes import Q, R, Room, changed, opened, standing, still

pytestmark = pytest.mark.anyio
LONG_S = 60.0


def begin(room: Room, query=Q, at=None, *, on=On.ENTER, timeout_s=LONG_S, leaving=None):
    """Let one wait, in a task."""
    at = standing() if at is None else at
    waits = room.room.wait({query: at}, on=on, timeout_s=timeout_s, leaving=leaving)
    return asyncio.ensure_future(waits)


async def test_a_change_wakes_those_who_wait_for_that_query():
    """And nobody else; who is woken is forgotten."""
    async with opened() as room:
        first, second, other = begin(room), begin(room), begin(room, R)
        await room.settle()
        assert 3 == room.room.statistics().waiting
        await room.see(2, changed(Q, standing(2)))
        assert {Wake.CHANGED} == set(await asyncio.gather(first, second))
        assert not other.done()
        assert 1 == room.room.statistics().waiting
        other.cancel()
        await room.settle()
        assert 0 == room.room.statistics().waiting
        assert 0 == room.time.left, "no timer is left behind"


async def test_rows_that_leave_wake_those_alone_who_wait_for_any_change():
    """`on=enter` waits on."""
    async with opened() as room:
        entering, anything = begin(room), begin(room, on=On.ANY)
        await room.settle()
        await room.see(2, changed(Q, standing(2), entered=False))
        assert Wake.CHANGED is await anything
        assert not entering.done()
        await room.see(3, changed(Q, standing(3)))
        assert Wake.CHANGED is await entering


async def test_what_changes_between_the_answer_and_the_wait_wakes_at_once():
    """Whether the room has seen it, for another, or has yet to look."""
    async with opened() as room:
        other = begin(room, on=On.ANY)
        await room.settle()
        await room.see(2, changed(Q, standing(2)))
        stays = begin(room, at=standing(2))
        await room.settle()
        late = begin(room, at=standing(1))
        await room.settle()
        assert Wake.CHANGED is late.result()
        assert Wake.CHANGED is other.result()
        assert not stays.done()
        room.lookout.next_sightings.append(changed(R, standing(2)))
        looks = len(room.lookout.errands)
        unseen = begin(room, R, at=standing(1))
        await room.settle()
        assert Wake.CHANGED is unseen.result(), "2 was applied before anybody waited for R"
        assert looks + 1 == len(room.lookout.errands)
        stays.cancel()
        await room.settle()


async def test_a_change_that_one_has_seen_already_does_not_wake_him():
    """He came while the look was under way, from a later position."""
    async with opened() as room:
        before = begin(room)
        await room.settle()
        room.applied.advance(Seq(3))
        after = begin(room, at=standing(3))
        await room.see(4, changed(Q, standing(3)))
        assert Wake.CHANGED is await before
        assert not after.done()
        await room.see(5, changed(Q, standing(5)))
        assert Wake.CHANGED is await after


async def test_one_look_sees_to_all_who_wait_for_a_query_and_all_positions_so_far():
    """Positions that come while a look is under way are looked at together."""
    async with opened() as room:
        waiting = [begin(room) for _ in range(50)]
        await room.settle()
        assert [] == room.lookout.errands, "nothing was applied: nobody looks"

        def apply_more() -> None:
            room.lookout.before_answer = lambda: None
            for seq in range(3, 100):
                room.applied.advance(Seq(seq))

        room.lookout.before_answer = apply_more
        await room.see(2)
        assert 2 == len(room.lookout.errands)
        assert [Q] == list(room.lookout.errands[0].added)
        assert {} == room.lookout.errands[1].added
        await room.see(100, changed(Q, standing(100)))
        assert {Wake.CHANGED} == set(await asyncio.gather(*waiting))


async def test_without_anybody_who_waits_nobody_looks():
    """However much is applied; and a query that nobody waits for any more is dropped at the next look."""
    async with opened() as room:
        await room.see(2)
        assert [] == room.lookout.errands
        gone, stays = begin(room, at=standing(2)), begin(room, R, at=standing(2))
        await room.settle()
        await room.see(3)
        gone.cancel()
        await room.settle()
        await room.see(4)
        assert [Q] == list(room.lookout.errands[-1].dropped)
        stays.cancel()
        await room.settle()


async def test_an_instant_wakes_without_ticking():
    """One timer for all who wait for the query; the look at that instant is told which query is due."""
    async with opened() as room:
        at = standing(alarm_us=10 * SECOND_US)
        waiting = [begin(room, at=at, on=On.ANY) for _ in range(3)]
        await room.settle()
        assert 1 == room.room.statistics().alarms.timers
        room.time.pass_s(9.999)
        await room.settle()
        assert [] == room.lookout.errands
        after = standing(now_us=10 * SECOND_US, alarm_us=12 * SECOND_US)
        room.lookout.next_sightings.append(changed(Q, after, entered=False))
        room.time.pass_s(0.001)
        await room.settle()
        assert [Q] == list(room.lookout.errands[0].due)
        assert {Wake.CHANGED} == set(await asyncio.gather(*waiting))


async def test_on_enter_has_a_timer_only_where_rows_enter_by_the_clock():
    """Rows that leave concern it not, so nobody looks for them."""
    async with opened() as room:
        leaves = begin(room, at=standing(alarm_us=SECOND_US))
        enters = begin(room, R, at=standing(alarm_us=SECOND_US, enters=True))
        await room.settle()
        assert 1 == room.room.statistics().alarms.queries
        room.lookout.next_sightings.append(changed(R, standing(now_us=SECOND_US)))
        room.time.pass_s(1)
        await room.settle()
        assert Wake.CHANGED is enters.result()
        assert not leaves.done()
        leaves.cancel()
        await room.settle()


async def test_a_look_may_move_the_instant():
    """What is new may leave sooner than what was there."""
    async with opened() as room:
        waits = begin(room, at=standing(alarm_us=50 * SECOND_US), on=On.ANY)
        await room.settle()
        await room.see(2, still(Q, standing(2, alarm_us=5 * SECOND_US)))
        assert not waits.done()
        room.lookout.next_sightings.append(changed(Q, standing(2, now_us=5 * SECOND_US)))
        room.time.pass_s(5)
        await room.settle()
        assert Wake.CHANGED is waits.result()


async def test_a_wait_ends_with_its_time():
    """And not before."""
    async with opened() as room:
        waits = begin(room, timeout_s=25)
        await room.settle()
        room.time.pass_s(24.9)
        await room.settle()
        assert not waits.done()
        room.time.pass_s(0.1)
        await room.settle()
        assert Wake.TIMED_OUT is waits.result()


async def test_a_client_that_is_gone_is_forgotten_at_once():
    """Nothing of it stays, and it counts as having left."""
    async with opened() as room:
        leaving, staying = (asyncio.get_running_loop().create_future() for _ in range(2))
        waits, stays = begin(room, leaving=leaving), begin(room, leaving=staying)
        await room.settle()
        leaving.set_result(None)
        await room.settle()
        assert Wake.LEFT is waits.result()
        assert Wake.LEFT is await begin(room, leaving=leaving)
        assert (1, 2) == (room.room.statistics().waiting, room.room.statistics().left)
        stays.cancel()
        await room.settle()


async def test_what_cannot_be_looked_at_wakes_all_who_wait_for_it():
    """A removed query, a suspended one: their own requests tell them what is the matter."""
    async with opened() as room:
        waits = begin(room)
        await room.settle()
        await room.see(2, changed(Q, standing(2))._replace(place=None, standing=None))
        assert Wake.CHANGED is waits.result()


async def test_another_history_is_looked_at_whole():
    """Its positions say nothing about those of before."""
    async with opened() as room:
        waits = begin(room)
        await room.settle()
        anew = Since(room_gen(8), Seq(1), 0, (), None, 0)
        room.lookout.next_sightings.append(changed(Q, standing()._replace(since=anew)))
        room.applied.begin_anew(Seq(1))
        await room.settle()
        assert room.lookout.errands[0].everything
        assert Wake.CHANGED is waits.result()


async def test_a_store_that_is_away_is_looked_at_again():
    """Nobody is woken, and nothing is lost."""
    async with opened() as room:
        waits = begin(room)
        await room.settle()
        room.lookout.error = StoreUnavailableError("away")
        await room.see(2)
        assert not waits.done()
        room.lookout.next_sightings.append(changed(Q, standing(2)))
        assert Wake.CHANGED is await waits
        assert [True, True] == [errand.streams for errand in room.lookout.errands]


async def test_one_may_wait_for_many_queries():
    """The first that changes wakes him, and nothing of him stays with the others."""
    async with opened() as room:
        seen = {Q: standing(), R: standing()}
        waits = asyncio.ensure_future(room.room.wait(seen, on=On.ENTER, timeout_s=LONG_S))
        other = begin(room)
        await room.settle()
        assert (2, 3) == (room.room.statistics().waiting, room.room.statistics().watched)
        await room.see(2, changed(R, standing(2)))
        assert Wake.CHANGED is waits.result()
        assert (1, 1) == (room.room.statistics().waiting, room.room.statistics().watched)
        await room.see(3)
        assert [R] == list(room.lookout.errands[-1].dropped)
        other.cancel()
        await room.settle()


async def test_more_than_the_room_holds_are_not_let_in(monkeypatch):
    """They are told at once, and come back later."""
    monkeypatch.setattr(limits, "WATCHED_QUERIES_MAX", 2)
    async with opened() as room:
        waiting = [begin(room) for _ in range(2)]
        await room.settle()
        assert Wake.SHED is await begin(room, R)
        waiting[0].cancel()
        await room.settle()
        third = begin(room, R)
        await room.settle()
        assert not third.done()
        for one in (waiting[1], third):
            one.cancel()
        await room.settle()


async def test_the_end_of_the_service_wakes_everybody():
    """And lets nobody wait any more."""
    async with opened() as room:
        waiting = [begin(room), begin(room, R)]
        await room.settle()
        room.room.close()
        assert {Wake.CLOSED} == set(await asyncio.gather(*waiting))
        assert Wake.CLOSED is await begin(room)
        assert 0 == room.time.left


async def test_those_who_wait_give_way_when_requests_are_turned_away():
    """Those who came first go first, some at a time; nobody else is let in for a while, and all come back later."""
    async with opened() as room:
        waiting = [begin(room) for _ in range(SHED_AT_ONCE + 1)]
        await room.settle()
        leisure_ms = room.room.pace.poll_after_ms()
        room.room.relieve()
        room.room.relieve()
        await room.settle()
        assert {Wake.SHED} == {one.result() for one in waiting[:-1]}
        assert not waiting[-1].done()
        assert Wake.SHED is await begin(room)
        assert room.room.pace.poll_after_ms() > leisure_ms
        room.time.pass_s(SHED_EVERY_S)
        room.room.relieve()
        assert Wake.SHED is await waiting[-1]
        room.time.pass_s(BUSY_S)
        calm = begin(room)
        await room.settle()
        assert not calm.done()
        assert room.room.pace.poll_after_ms() == leisure_ms
        calm.cancel()
        await room.settle()


def room_gen(number: int):
    """Return a generation."""
    return type(standing().since.gen)(number)
