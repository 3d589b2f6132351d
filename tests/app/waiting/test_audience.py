"""Those who stand at one place are told by one piece; who cannot take it sees for himself."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from psoup.app.waiting.audience import Audience, Heard, Manner, place_of
from psoup.app.waiting.standing import Standing
from psoup.app.waiting.watch import On, Wake
from psoup.engine.errors import NotFoundError
from psoup.engine.invocation.position.answer import Since
from tests.app.waiting.fakes import Q, Room, changed, opened, standing

pytestmark = pytest.mark.anyio
LONG_S = 1_000.0
NEVER_S = 1e12


@dataclass(eq=False)
class Follower:
    """A listener whose connection takes everything, or nothing."""

    since: Since
    standing: Standing
    answer: Callable[[Sequence[Since]], list[Heard | None]]
    takes: bool = True
    heard: list[bytes] = field(default_factory=list)

    def hear(self, piece: bytes) -> bool:
        self.heard.append(piece)
        return self.takes

    async def ask(self, places: Sequence[Since]) -> list[Heard | None]:
        return self.answer(places)


@dataclass
class Stage:
    """An audience in a room, and those who listen."""

    room: Room
    audience: Audience
    ended: list[str]
    asked: list[int] = field(default_factory=list)
    told: Standing = field(default_factory=lambda: standing(2))
    fits: bool = True

    def answer(self, places: Sequence[Since]) -> list[Heard | None]:
        self.asked.append(len(places))
        one = Heard(b"news", self.told.since, self.told)
        return [one if self.fits else None for _ in places]

    def follow(self, *, takes: bool = True, left_s: float = LONG_S, at: Standing | None = None):
        at = at or standing()
        one = Follower(at.since, at, self.answer, takes)
        leaving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(
            self.audience.listen(one, left_s=left_s, leaving=leaving, told_s=0.0)
        )
        return one, task, leaving


def staged(room: Room) -> Stage:
    """Return an empty audience, told at once, and without pings."""
    ended: list[str] = []
    manner = Manner(On.ENTER, linger_s=0.0, ping=b"ping", ping_s=NEVER_S)
    return Stage(room, Audience(room.room, Q, manner, end=lambda: ended.append("ended")), ended)


async def test_all_who_stand_at_one_place_are_told_by_one_answer():
    """They are counted as waiting each, stand at the new place, and wait on."""
    async with opened() as room:
        stage = staged(room)
        followers = [stage.follow() for _ in range(5)]
        await room.settle()
        assert (5, 5) == (len(stage.audience), room.room.statistics().waiting)
        await room.see(2, changed(Q, stage.told))
        assert [1] == stage.asked
        assert [[b"news"]] * 5 == [one.heard for one, _, _ in followers]
        assert {stage.told.since} == {one.since for one, _, _ in followers}
        assert not any(task.done() for _, task, _ in followers)
        room.room.close()
        assert [Wake.CLOSED] * 5 == [await task for _, task, _ in followers]
        assert (0, ["ended"]) == (len(stage.audience), stage.ended)


async def test_each_place_is_asked_for_once_and_then_all_stand_at_one():
    """Of two places, in one question."""
    async with opened() as room:
        stage = staged(room)
        early, late = standing(), standing()
        late = late._replace(since=replace(late.since, count=7))
        first, second = stage.follow(at=early), stage.follow(at=late)
        await room.settle()
        await room.see(2, changed(Q, stage.told))
        assert [2] == stage.asked
        assert place_of(first[0].since) == place_of(second[0].since)
        room.room.close()
        await asyncio.gather(first[1], second[1])


@pytest.mark.parametrize("why", ["slow", "large"])
async def test_who_cannot_be_told_so_sees_for_himself(why: str):
    """His connection has not taken all of it, or it is more than one event: the others go on."""
    async with opened() as room:
        stage = staged(room)
        stage.fits = why != "large"
        one, task, _ = stage.follow(takes=why != "slow")
        await room.settle()
        await room.see(2, changed(Q, stage.told))
        assert Wake.CHANGED is await task
        assert ([b"news"], stage.told.since) == (one.heard, one.since) or why == "large"
        assert (0, ["ended"]) == (len(stage.audience), stage.ended)


async def test_who_has_gone_or_whose_time_is_over_is_forgotten():
    """And the one who is left listens on."""
    async with opened() as room:
        stage = staged(room)
        _, gone, leaving = stage.follow()
        _, over, _ = stage.follow(left_s=0.01)
        _, stays, _ = stage.follow()
        leaving.set_result(None)
        assert (Wake.LEFT, Wake.TIMED_OUT) == (await gone, await over)
        assert (1, 1) == (len(stage.audience), room.room.statistics().left)
        room.room.close()
        assert Wake.CLOSED is await stays


async def test_where_there_is_no_answer_each_sees_for_himself():
    """His own request says why."""
    async with opened() as room:
        stage = staged(room)
        one, task, _ = stage.follow()

        def refuse(_: Sequence[Since]) -> list[Heard | None]:
            raise NotFoundError("There is no such query.")

        one.answer = refuse
        await room.settle()
        await room.see(2, changed(Q, stage.told))
        assert Wake.CHANGED is await task


async def test_listeners_give_way_when_requests_are_turned_away():
    """Those who are there are released, and nobody is let in for a while."""
    async with opened() as room:
        stage = staged(room)
        _, task, _ = stage.follow()
        await room.settle()
        room.room.relieve()
        assert Wake.SHED is await task
        _, refused, _ = stage.follow()
        assert Wake.SHED is await refused
        assert 2 == room.room.statistics().shed
