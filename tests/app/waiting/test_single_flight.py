"""What many ask for at once is computed once."""

import asyncio

import pytest

from psoup.app.waiting.single_flight import SingleFlight

pytestmark = pytest.mark.anyio


async def test_those_who_come_meanwhile_get_the_same():
    """Who comes afterwards gets another; other keys are computed for themselves."""
    flights: SingleFlight[int] = SingleFlight()
    computed: list[str] = []
    gate = asyncio.Event()

    async def compute(key: str) -> int:
        computed.append(key)
        await gate.wait()
        return len(computed)

    asked = [asyncio.ensure_future(flights.get("a", lambda: compute("a"))) for _ in range(9)]
    other = asyncio.ensure_future(flights.get("b", lambda: compute("b")))
    for _ in range(3):
        await asyncio.sleep(0)
    gate.set()
    assert [2] * 9 == await asyncio.gather(*asked)
    assert 2 == await other
    assert 3 == await flights.get("a", lambda: compute("a"))
    assert ["a", "b", "a"] == computed
    assert (3, 11) == (flights.statistics().computed, flights.statistics().asked)
    flights.check()


async def test_a_failure_is_told_to_all_and_not_kept():
    """The next one computes anew."""
    flights: SingleFlight[int] = SingleFlight()

    async def fail() -> int:
        raise ValueError("no")

    async def succeed() -> int:
        return 1

    told = await asyncio.gather(*(flights.get("a", fail) for _ in range(3)), return_exceptions=True)
    assert [ValueError] * 3 == [type(one) for one in told]
    assert 1 == await flights.get("a", succeed)


async def test_who_goes_does_not_take_the_others_result_away():
    """Not even the one that began it."""
    flights: SingleFlight[int] = SingleFlight()
    gate = asyncio.Event()

    async def compute() -> int:
        await gate.wait()
        return 1

    first, second = (asyncio.ensure_future(flights.get("a", compute)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert 1 == await second
