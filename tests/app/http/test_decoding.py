"""Decoding of a compressed body: in its turn, within its deadline, for a client that is still there."""

import asyncio
import functools
import gzip
import threading

import pytest

from psoup.app.admission.work_pool import WorkPool
from psoup.app.errors import BadBodyError, FramingError
from psoup.app.http.bodies import BodyBudget, HeldBody
from psoup.app.http.decoding import decoded_body
from psoup.app.wire.content import decode_body
from psoup.engine.errors import OverloadedError
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio

BODY = b"0123456789" * 1_000


class Client:
    """One end of a request whose body has arrived."""

    def __init__(self) -> None:
        self.leaves = asyncio.Event()

    async def gone(self) -> None:
        await self.leaves.wait()


async def decoded(body: bytes, client: Client, pool: WorkPool, held: HeldBody) -> bytes:
    return await decoded_body(
        body,
        "gzip",
        bytes_max=len(BODY),
        pool=pool,
        deadline_s=WAIT_S,
        gone=client.gone,
        held=held,
    )


async def test_client_that_has_gone_costs_nothing_more():
    """Its body leaves the queue, its memory is given back, and what decodes it stops at the next piece."""
    budget, pool, client = BodyBudget(), WorkPool("test", threads=1), Client()
    held, going_on = HeldBody(budget), threading.Event()
    held.resize(5)
    busy = asyncio.create_task(
        pool.run(functools.partial(going_on.wait, WAIT_S), deadline_s=WAIT_S)
    )
    waiting = asyncio.create_task(decoded(gzip.compress(BODY), client, pool, held))
    await asyncio.sleep(0)
    client.leaves.set()
    with pytest.raises(FramingError):
        await waiting
    held.release()
    going_on.set()
    assert await busy
    with pytest.raises(FramingError):
        decode_body(gzip.compress(BODY), "gzip", bytes_max=len(BODY), checkpoint=held.resize)
    assert 0 == budget.statistics().held_bytes
    await asyncio.to_thread(pool.close)


async def test_body_counts_while_it_is_decoded():
    """Where there is no room for what it decodes to, it is refused on the way; where there is, it counts once."""
    pool, client, packed = WorkPool("test", threads=1), Client(), gzip.compress(BODY)
    with pytest.raises(OverloadedError) as refused:
        await decoded(packed, client, pool, HeldBody(BodyBudget(len(BODY))))
    assert "memory" == refused.value.extras["reason"]
    budget = BodyBudget(len(BODY) + len(packed))
    held = HeldBody(budget)
    assert BODY == await decoded(packed, client, pool, held)
    assert len(BODY) == budget.statistics().held_bytes
    with pytest.raises(BadBodyError):
        await decoded(packed[:-1], client, pool, held)
    await asyncio.to_thread(pool.close)


async def test_body_past_its_deadline_is_not_decoded():
    """The deadline holds in the queue and between pieces."""
    pool, client = WorkPool("test", threads=1), Client()
    with pytest.raises(OverloadedError) as refused:
        await decoded_body(
            gzip.compress(BODY),
            "gzip",
            bytes_max=len(BODY),
            pool=pool,
            deadline_s=-1.0,
            gone=client.gone,
            held=HeldBody(BodyBudget()),
        )
    assert "deadline" == refused.value.extras["reason"]
    await asyncio.to_thread(pool.close)
