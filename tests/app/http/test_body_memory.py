"""The memory that bodies of all requests take together: bounded, refused past it, given back."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from psoup.app.errors import FramingError
from psoup.app.http.bodies import BodyBudget, HeldBody
from psoup.app.wire.rows.body import NDJSON
from psoup.engine import limits
from psoup.engine.errors import OverloadedError
from tests.app.support import Api, assert_problem, row
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio

ROWS = "/v1/streams/trades/rows"
SPACE = b"\n" * 600
"""Empty lines: bytes of a body that are no rows."""


class Slow:
    """A body of 600 bytes that says when it has sent them and ends when it is told to."""

    def __init__(self) -> None:
        self.sent = asyncio.Event()
        self.ending = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        yield SPACE
        self.sent.set()
        async with asyncio.timeout(WAIT_S):
            await self.ending.wait()
        yield b""

    async def post(self, api: Api) -> object:
        return await api.send("POST", ROWS, content=self.pieces(), headers={"Content-Type": NDJSON})


@pytest.fixture
async def budget(api: Api) -> BodyBudget:
    """Return the budget of an application with a stream: 1,000 bytes."""
    await api.declare()
    held = api.app.state.context.bodies = BodyBudget(1_000)
    return held


async def test_bodies_past_their_memory_are_overloaded(api: Api, budget: BodyBudget):
    """A body for which there is no room is 503 `memory`, while others are held; then it is taken."""
    slow = Slow()
    first = asyncio.create_task(slow.post(api))
    await asyncio.wait_for(slow.sent.wait(), WAIT_S)
    answer = await api.body(SPACE, NDJSON)
    assert_problem(answer, "overloaded", reason="memory")
    assert 200 == (await api.rows(row())).status_code, "a small one finds room"
    slow.ending.set()
    await first
    assert 200 == (await api.body(SPACE, NDJSON)).status_code
    assert (0, 1) == (budget.statistics().held_bytes, budget.statistics().refused)
    budget.check()


async def test_bodies_of_clients_that_go_away_are_given_back(api: Api, budget: BodyBudget):
    """A request that ends before its body does holds nothing any more."""
    slow = Slow()
    first = asyncio.create_task(slow.post(api))
    await asyncio.wait_for(slow.sent.wait(), WAIT_S)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert 0 == budget.statistics().held_bytes


async def test_bodies_count_as_they_are_once_decoded(api: Api, budget: BodyBudget):
    """A compressed body counts with what it decodes to, beside what was sent, and is given back when it is refused."""
    packed = gzip.compress(SPACE * 2)
    assert_problem(
        await api.body(packed, NDJSON, Content_Encoding="gzip"), "overloaded", reason="memory"
    )
    assert 0 == budget.statistics().held_bytes
    fits = gzip.compress(SPACE)
    assert 200 == (await api.body(fits, NDJSON, Content_Encoding="gzip")).status_code
    assert 600 + len(fits) == budget.statistics().highest_bytes


async def test_budget_is_taken_whole_or_not_at_all():
    """A refused growth leaves what was held; releasing twice gives back once."""
    budget = BodyBudget()
    first, second = HeldBody(budget), HeldBody(budget)
    first.resize(limits.BODIES_IN_FLIGHT_BYTES_MAX - 5)
    second.resize(5)
    with pytest.raises(OverloadedError):
        second.resize(6)
    assert limits.BODIES_IN_FLIGHT_BYTES_MAX == budget.statistics().held_bytes
    first.release()
    first.release()
    assert 5 == budget.statistics().held_bytes
    with pytest.raises(
        FramingError
    ):  # a thread that has not noticed takes nothing for a request that has ended
        first.resize(1)
    assert 5 == budget.statistics().held_bytes
    budget.check()
