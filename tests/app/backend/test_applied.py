"""Who waits for an operation is remembered as long as he waits, and no longer."""

import asyncio

import pytest

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
