"""Who waits for an operation is remembered as long as he waits, and no longer."""

import asyncio

import pytest

from psoup.app.backend import applied
from psoup.app.backend.applied import AppliedPosition
from psoup.engine.tuples.batch import Seq
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio
FAR: Seq = Seq(999_999_999)
SOON_S = 0.01


async def test_who_waits_no_more_is_forgotten():
    """After his time, and where his wait is cancelled: a position that nobody reaches would keep him for ever."""
    position = AppliedPosition(asyncio.get_running_loop())
    near = asyncio.ensure_future(position.wait(Seq(1), timeout_s=WAIT_S))
    far = [asyncio.ensure_future(position.wait(FAR, timeout_s=SOON_S)) for _ in range(10)]
    patient = asyncio.ensure_future(position.wait(FAR, timeout_s=WAIT_S))
    assert [False] * len(far) == await asyncio.gather(*far)
    patient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await patient
    position.check()
    assert 1 == position.statistics().waiting
    position.advance(Seq(1))
    assert await near
    assert 0 == position.statistics().waiting
    position.check()


async def test_who_waits_when_the_engine_goes_is_told_as_soon_as_who_comes_later(monkeypatch):
    """He would wait for his deadline otherwise, a minute; an engine that is back in time is waited for."""
    monkeypatch.setattr(applied, "UNMOVED_WAIT_S", SOON_S)
    position = AppliedPosition(asyncio.get_running_loop())
    early = asyncio.ensure_future(position.wait(FAR, timeout_s=10 * WAIT_S))
    await asyncio.sleep(0)
    position.set_stalled(stalled=True)
    late = asyncio.ensure_future(position.wait(FAR, timeout_s=10 * WAIT_S))
    told = await asyncio.wait_for(asyncio.gather(early, late), WAIT_S)
    assert not any(told)
    position.set_stalled(stalled=False)
    patient = asyncio.ensure_future(position.wait(Seq(1), timeout_s=10 * WAIT_S))
    await asyncio.sleep(0)
    position.set_stalled(stalled=True)
    position.set_stalled(stalled=False)
    await asyncio.sleep(5 * SOON_S)
    assert not patient.done()
    position.advance(Seq(1))
    assert await patient
    position.check()
