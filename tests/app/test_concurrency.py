"""Many clients at once, clients that go away, and the parts that make them wait for each other."""

import asyncio
import random

import pytest

from psoup.app.admission.work_pool import WorkPool
from psoup.app.backend.applied import AppliedPosition
from psoup.engine.errors import OverloadedError
from psoup.engine.tuples.batch import Seq
from tests.app.faults import FaultyStore
from tests.app.support import (
    INTERFERES,
    MOVES_THE_CLOCK,
    SETTINGS,
    Api,
    assert_problem,
    row,
    running,
)
from tests.patience import WAIT_S, wait_until

pytestmark = pytest.mark.anyio


async def test_clients_at_once_lose_and_double_nothing(api: Api):
    """Interleaved batches, registrations and invocations: every acknowledged row is there once."""
    seed = 20_261_121
    chance = random.Random(seed)
    await api.declare()
    first = await api.register("SELECT px FROM trades")

    async def produce(producer: int) -> None:
        for version in range(8):
            batch = [row(px=1_000 * producer + version)]
            txn = {"Psoup_Txn_App": str(producer), "Psoup_Txn_Version": str(version)}
            answers = [await api.rows(batch, **txn) for _ in range(chance.randint(1, 2))]
            assert {200} == {one.status_code for one in answers}
            seq = answers[-1].json()["seq"]
            seen = await api.results(first, min_seq=seq)
            assert batch[0]["px"] in [one["px"] for one in seen["rows"]], f"seed {seed}"

    registration = asyncio.create_task(api.register("SELECT px FROM trades"))
    await asyncio.gather(*(produce(i) for i in range(6)))
    second = await registration
    expected = sorted(1_000.0 * producer + version for producer in range(6) for version in range(8))
    for query_id in (first, second):
        rows = (await api.results(query_id))["rows"]
        assert expected == sorted(one["px"] for one in rows), f"seed {seed}"
    await asyncio.to_thread(api.service.backend.stop)
    api.service.check()


@INTERFERES
async def test_client_that_goes_away_leaves_its_batch_whole():
    """An append that was begun is finished: a cancelled request stores all of its rows."""
    async with running(SETTINGS) as probe:
        store = FaultyStore(probe.clock)
    async with running(SETTINGS, store=store) as api:
        await api.declare()
        with store.waiting("log", "append_many") as reached:
            request = asyncio.create_task(api.rows([row(0), row(1)]))
            assert await asyncio.to_thread(reached.wait, WAIT_S)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
        assert await api.service.applied.wait(Seq(2), timeout_s=WAIT_S)
        assert 2 == await api.count()
        # Who has appended folds, so the rows are shown before the append has ended.
        statistics = api.service.submission.statistics
        await asyncio.to_thread(wait_until, lambda: statistics().in_flight == 0, "it has ended")


@INTERFERES
async def test_client_that_goes_away_before_its_append_leaves_nothing():
    """A request cancelled before its append began has stored nothing."""
    async with running(SETTINGS) as probe:
        store = FaultyStore(probe.clock)
    async with running(SETTINGS, store=store) as api:
        await api.declare()
        api.service.catalogue.forget_all()
        store.interfere_with(api.service)
        with store.waiting("shown", "stream") as reached:
            request = asyncio.create_task(api.rows(row()))
            assert await asyncio.to_thread(reached.wait, WAIT_S)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
        assert 0 == await api.count()


async def test_applied_position_wakes_who_it_passes():
    """Waiting ends when the position passes, at the timeout, or when nothing will be applied any more."""
    position = AppliedPosition(asyncio.get_running_loop())
    waiting = [asyncio.create_task(position.wait(Seq(i), timeout_s=WAIT_S)) for i in (2, 1, 3)]
    await asyncio.to_thread(position.advance, Seq(2))
    assert [True, True] == [await waiting[0], await waiting[1]]
    position.advance(Seq(1))
    assert (2, 1) == (position.seq, position.statistics().waiting)
    assert not await position.wait(Seq(3), timeout_s=0.001)
    position.check()
    await asyncio.to_thread(position.close)
    assert not await waiting[2]
    assert not await position.wait(Seq(9), timeout_s=WAIT_S)


async def test_work_past_its_deadline_is_not_started():
    """Work that waited for a thread past its deadline is refused, and did not run."""
    pool = WorkPool("test", threads=1)
    ran: list[int] = []
    with pytest.raises(OverloadedError) as refused:
        await pool.run(lambda: ran.append(1), deadline_s=-1.0)
    assert ("deadline", []) == (refused.value.extras["reason"], ran)
    assert 5 == await pool.run(lambda: 5, deadline_s=WAIT_S)
    assert (0, 2, 1) == tuple(
        getattr(pool.statistics(), name) for name in ("running", "done", "refused")
    )
    pool.check()
    pool.close()


@MOVES_THE_CLOCK
async def test_idle_streams_expire_by_ticks(api: Api):
    """Where nothing arrives, the loop lets time pass: tuples leave their retention."""
    await api.declare(
        columns=[{"name": "a", "type": "int64"}], time=None, retention={"time": "10s"}
    )
    query_id = await api.register("SELECT a FROM trades")
    await api.rows([{"a": 1}])
    api.clock.advance(60_000_000)
    api.service.backend.wake()
    assert await api.service.applied.wait(Seq(4), timeout_s=WAIT_S)
    assert 0 == (await api.results(query_id))["count"]
    assert api.service.backend.figures().ticks > 0


@INTERFERES
async def test_restart_on_the_same_store_answers_the_same():
    """A service that starts on what another left behind recovers it: streams, tuples, queries, answers."""
    async with running(SETTINGS) as probe:
        store = FaultyStore(probe.clock)
    async with running(SETTINGS, store=store) as api:
        await api.declare()
        kept = await api.register("SELECT px FROM trades WHERE px > 1")
        gone = await api.register("SELECT sym FROM trades")
        await api.rows([row(i, px=i) for i in range(5)])
        await api.send("DELETE", f"/v1/queries/{gone}")
        before = await api.results(kept)
    async with running(SETTINGS, store=store) as api:
        after = await api.results(kept)
        assert before["rows"] == after["rows"]
        assert before["seq"] == after["seq"]
        assert_problem(await api.get(f"/v1/queries/{gone}"), "not-found")
        await api.rows([row(5, px=5)])
        assert before["count"] + 1 == (await api.results(kept))["count"]
