"""Appends that travel together, where the system gives no more threads to carry them."""

from typing import Any

import pytest

from psoup.app.backend.appender import Appender
from psoup.app.backend.at_hand import AtHand
from psoup.engine.errors import OverloadedError
from tests.app.backend.test_appender import Calls, append, said
from tests.storage.samples import declare, rows

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("is_kept", [False, True])
async def test_thread_that_cannot_be_started_refuses_what_it_was_to_carry(is_kept):
    """Nothing of it is stored, also where the pool has kept the work and does it later; the next append is made."""
    calls = Calls()
    calls.log.append(declare("a"))
    asked: list[Any] = []

    def start(work: Any) -> None:
        asked.append(work)
        if len(asked) == 1:
            raise RuntimeError("can't start new thread")
        work()

    one = Appender(calls, start=start, wake=lambda **_: None, at_hand=AtHand())  # type: ignore[arg-type]
    with pytest.raises(OverloadedError, match="Nothing was stored"):
        await append(one, rows(1))
    one.check()
    if is_kept:
        asked[0]()
    assert [(2, False)] == list(map(said, await append(one, rows(1))))
    assert [1] == [len(made) for made in calls.made]
