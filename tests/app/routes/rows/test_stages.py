"""Staging rows: checked as rows are, seen by nobody, forgotten in time."""

import gzip
import re

import pytest

from psoup.app.wire.rows.body import ARROW, CSV, JSON, NDJSON
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import sum_digests
from psoup.engine.store.errors import StoreFullError
from tests.app.faults import FaultyStore
from tests.app.routes.rows.test_rows import BODIES
from tests.app.staged import commit, stage, staged_commit
from tests.app.support import (
    INTERFERES,
    MOVES_THE_CLOCK,
    SETTINGS,
    START_US,
    Api,
    assert_problem,
    hurried,
    row,
    running,
)

pytestmark = pytest.mark.anyio
STAGES = "/v1/streams/trades/stages"


@pytest.mark.services
async def test_stage_is_kept_and_seen_by_nobody(api: Api):
    """A part has a handle, its rows, its digest and its end; no position moves, and no answer shows it."""
    await api.declare()
    query_id = await api.register("SELECT * FROM trades")
    before = await api.results(query_id)
    answer = await api.send("POST", STAGES, json=[row(1), row(2)])
    told = answer.json()
    assert 201 == answer.status_code
    assert {"stage", "stream", "rows", "digest", "expires_at"} == set(told)
    assert re.fullmatch("st_[0-9A-Za-z]{22}", told["stage"])
    assert ("trades", 2, 64) == (told["stream"], told["rows"], len(told["digest"]))
    assert "parse;dur=" in answer.headers["server-timing"]
    assert api.service.store.durability == answer.headers["psoup-durability"]
    assert before == await api.results(query_id)
    assert 0 == await api.count()


@MOVES_THE_CLOCK
async def test_stage_expires_after_its_life(api: Api):
    """It can be committed until the instant it was told, and from then on it is missing."""
    await api.declare()
    told = (await api.send("POST", STAGES, json=row(1))).json()
    assert "2026-11-21T11:00:00.000000Z" == told["expires_at"]
    later = await stage(api, row(2))
    api.clock.advance(limits.STAGE_LIFE_S * SECOND_US - 1)
    assert 200 == (await commit(api, [later], version=1)).status_code
    api.clock.advance(1)
    problem = await commit(api, [told["stage"]], version=2)
    assert_problem(problem, "stage-missing", stages=[told["stage"]])
    assert 1 == await api.count()


@pytest.mark.services
@pytest.mark.parametrize("media_type", BODIES)
async def test_stages_of_all_formats_have_one_digest(api: Api, media_type):
    """Whatever format rows come in, and however they are cut, the digest is that of the rows."""
    await api.declare()
    first = (await api.send("POST", STAGES, content=BODIES[ARROW], headers=_typed(ARROW))).json()
    other = await api.send("POST", STAGES, content=BODIES[media_type], headers=_typed(media_type))
    assert first["digest"] == other.json()["digest"]
    lines = [line for line in BODIES[NDJSON].split(b"\n") if line]
    parts = [
        (await api.send("POST", STAGES, content=line, headers=_typed(NDJSON))).json()
        for line in lines
    ]
    assert first["digest"] == sum_digests(bytes.fromhex(one["digest"]) for one in parts).hex()


@pytest.mark.services
async def test_stage_is_checked_as_rows_are(api: Api):
    """What rows are refused for, a part is refused for: nothing of it is kept."""
    assert_problem(await api.send("POST", STAGES, json=row(1)), "not-found")
    await api.declare()
    problem = await api.send("POST", STAGES, json=[row(1), row(2, px="n/a")])
    assert 1 == assert_problem(problem, "rows-rejected", errors_total=1)["errors"][0]["index"]
    assert_problem(await api.send("POST", STAGES, content=b"x"), "unsupported-media")
    assert_problem(await api.send("POST", STAGES, content=b"{", headers=_typed(JSON)), "bad-body")
    assert_problem(await api.send("POST", f"{STAGES}?mode=x", json=row(1)), "unknown-field")
    packed = gzip.compress(BODIES[CSV])
    headers = {**_typed(CSV), "Content-Encoding": "gzip"}
    assert 2 == (await api.send("POST", STAGES, content=packed, headers=headers)).json()["rows"]
    packed = gzip.compress(b"\n" * (2 * limits.BODY_RATIO_FREE_BYTES))
    problem = await api.send("POST", STAGES, content=packed, headers=headers)
    assert_problem(problem, "body-too-large")


async def test_stage_of_an_entry_too_large_is_refused(api: Api, monkeypatch):
    """A part is an entry of the log: it has its bound."""
    monkeypatch.setattr(limits, "ENTRY_BYTES_MAX", 1_000)
    await api.declare()
    problem = await api.send("POST", STAGES, json=[row(i) for i in range(99)])
    assert_problem(problem, "body-too-large", max_bytes=1_000)


@pytest.mark.services
async def test_stages_past_their_bytes_are_turned_away(api: Api, monkeypatch):
    """All that is staged has a bound; what is committed or discarded makes room."""
    monkeypatch.setattr(limits, "STAGED_BYTES_MAX", 4_000)
    await api.declare()
    parts = [await stage(api, row(i)) for i in range(3)]
    problem = await api.send("POST", STAGES, json=row(9))
    assert_problem(problem, "overloaded", reason="staged-bytes")
    assert 204 == (await api.send("DELETE", f"/v1/stages/{parts[0]}")).status_code
    assert 201 == (await api.send("POST", STAGES, json=row(9))).status_code


@MOVES_THE_CLOCK
async def test_stages_that_have_expired_make_room(api: Api, monkeypatch):
    """Orphans are swept by those that come after them."""
    monkeypatch.setattr(limits, "STAGED_BYTES_MAX", 4_000)
    await api.declare()
    for _ in range(3):
        await stage(api, row(1))
    api.clock.advance(limits.STAGE_LIFE_S * SECOND_US)
    assert 201 == (await api.send("POST", STAGES, json=row(9))).status_code


async def test_stage_checked_against_a_former_declaration_is_checked_again(api: Api):
    """A stream declared anew behind the service's back is looked up once more."""
    await api.declare()
    await stage(api, row(1))
    former = dict(api.service.catalogue._held)
    assert 204 == (await api.send("DELETE", "/v1/streams/trades")).status_code
    await api.declare(columns=[{"name": "ts", "type": "timestamp"}])
    api.service.catalogue._held.update(former)
    problem = await api.send("POST", STAGES, json=row(1, px=1))
    assert "/px" == assert_problem(problem, "rows-rejected")["errors"][0]["pointer"]
    api.service.catalogue._held.update(former)
    assert 1 == (await staged_commit(api, [row(1)], version=1))["accepted"]


@pytest.mark.services
async def test_discard_forgets_a_part_and_nothing_else(api: Api):
    """A part that was discarded is missing; discarding again, or what never was, is 204 as well."""
    await api.declare()
    gone, kept = await stage(api, row(1)), await stage(api, row(2))
    for text in (gone, gone, "st_0000000000000000000000", "st_1", "q_0000000000000000000000"):
        answer = await api.send("DELETE", f"/v1/stages/{text}")
        assert (204, b"") == (answer.status_code, answer.content)
    assert_problem(await commit(api, [gone, kept]), "stage-missing", stages=[gone])
    assert 200 == (await commit(api, [kept])).status_code


@INTERFERES
async def test_stage_without_an_answer_may_be_staged_again():
    """A part whose fate is unknown counts for nothing: the same rows are staged under another handle."""
    store = FaultyStore(ManualClock(START_US))
    async with running(store=store) as api:
        await api.declare()
        with store.waiting("log", "stage"), hurried(api):
            problem = await api.send("POST", STAGES, json=row(1))
            assert "Stage the part again" in assert_problem(problem, "commit-unknown")["detail"]
        with store.failing("log", "stage", StoreFullError("Full.")):
            assert_problem(await api.send("POST", STAGES, json=row(1)), "store-full")
        with store.waiting("log", "discard"), hurried(api):
            problem = await api.send("DELETE", "/v1/stages/st_0000000000000000000000")
            assert_problem(problem, "commit-unknown")
        assert 1 == (await staged_commit(api, [row(1)], version=1))["accepted"]
        assert 1 == await api.count()


async def test_stages_take_room_for_their_bodies():
    """The memory that bodies of requests share is theirs too."""
    async with running(SETTINGS) as api:
        await api.declare()
        api.app.state.context.bodies._bytes_max = 10
        problem = await api.send("POST", STAGES, json=[row(1), row(2)])
        assert_problem(problem, "overloaded", reason="memory")


def _typed(media_type: str) -> dict[str, str]:
    return {"Content-Type": media_type}
