"""Streams whose retention is changed over HTTP."""

import asyncio

import pytest

from psoup.engine import limits
from tests.app.support import Api, assert_problem, row

pytestmark = pytest.mark.anyio

TRADES = "/v1/streams/trades"


async def patch(api: Api, body, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await api.send("PATCH", TRADES, json=body, headers=named)


@pytest.mark.services
async def test_retention_is_changed_part_by_part(api: Api):
    """The parts given change, null lifts a bound, the others stay; sent again nothing changes."""
    await api.declare(retention={"time": "1h", "rows": 100, "bytes": 1_000_000})
    answer = await patch(api, {"retention": {"time": "2h", "rows": None}})
    body = answer.json()
    kept = {"time": "2h", "rows": None, "bytes": 1_000_000}
    assert (200, kept) == (answer.status_code, body["retention"]), answer.text
    assert body["seq"] == int(answer.headers["psoup-seq"]) > body["declared"]
    again = await patch(api, {"retention": {"time": "2h", "rows": None}})
    assert (200, body) == (again.status_code, again.json())
    found = await api.get(TRADES)
    assert (kept, answer.headers["etag"]) == (found.json()["retention"], found.headers["etag"])
    assert_problem(await api.declare(retention={"time": "1h"}), "stream-differs")
    assert 200 == (await api.declare(retention=kept)).status_code


@pytest.mark.services
async def test_rows_out_of_a_narrower_retention_go_with_the_change(api: Api):
    """Nothing has to arrive, answers say from when they are complete, and a wider bound brings nothing back."""
    await api.declare()
    query_id = await api.register("SELECT px FROM trades")
    for second in range(10):
        await api.rows([row(second, sym="A", px=second)])
    cursor = (await api.results(query_id))["cursor"]
    narrow = (await patch(api, {"retention": {"time": "3s"}})).json()
    assert (4, "2026-11-21T10:00:06.000000Z") == (narrow["rows"], narrow["complete_from"])
    answer = await api.results(query_id)
    assert [6, 7, 8, 9] == [one["px"] for one in answer["rows"]]
    assert answer["complete_from"] is not None
    changed = await api.results(query_id, cursor=cursor)
    assert 4 == changed["count"]
    wide = (await patch(api, {"retention": {"time": None}})).json()
    assert (4, narrow["complete_from"]) == (wide["rows"], wide["complete_from"])
    await api.rows([row(100, sym="A", px=100), row(1, sym="A", px=1)])
    assert [6, 7, 8, 9, 100] == [one["px"] for one in (await api.results(query_id))["rows"]]
    fewer = (await patch(api, {"retention": {"rows": 1}})).json()
    assert 1 == fewer["rows"]


@pytest.mark.services
async def test_rows_are_sent_and_queries_registered_after_a_change(api: Api):
    """What was known of the declaration before is read anew; names and ids stay."""
    await api.declare()
    before = (await api.get(TRADES)).json()["declared"]
    await api.rows([row(0, sym="A", px=1)])
    query_id = await api.register("SELECT px FROM trades WHERE px > 0")
    await patch(api, {"retention": {"rows": 5}})
    assert 200 == (await api.rows([row(1, sym="A", px=2)])).status_code
    shared = await api.register("SELECT sym FROM trades WHERE px > 0")
    assert [2, 2] == [(await api.results(one))["count"] for one in (query_id, shared)]
    assert before == (await api.get(TRADES)).json()["declared"]
    assert 204 == (await api.send("DELETE", f"{TRADES}?cascade=true")).status_code


@pytest.mark.services
async def test_change_of_a_declaration_that_has_changed_is_refused(api: Api):
    """`If-Match` compares with the declaration in force: rows that arrive are no change of it."""
    await api.declare()
    tag = (await api.get(TRADES)).headers["etag"]
    await api.rows([row(0, sym="A", px=1)])
    first = await patch(api, {"retention": {"rows": 5}}, If_Match=tag)
    assert 200 == first.status_code
    assert_problem(
        await patch(api, {"retention": {"rows": 6}}, If_Match=tag), "precondition-failed"
    )
    assert 5 == (await api.get(TRADES)).json()["retention"]["rows"]
    for header in (f'"x", {first.headers["etag"]}', "*"):
        assert 200 == (await patch(api, {"retention": {"rows": 7}}, If_Match=header)).status_code
        first = await api.get(TRADES)


@pytest.mark.services
async def test_changes_at_once_are_all_done(api: Api):
    """Those that change different parts lose none of them: one that was overtaken begins again."""
    await api.declare()
    answers = await asyncio.gather(
        patch(api, {"retention": {"time": "1h"}}), patch(api, {"retention": {"rows": 9}})
    )
    assert [200, 200] == [one.status_code for one in answers]
    kept = (await api.get(TRADES)).json()["retention"]
    assert ("1h", 9) == (kept["time"], kept["rows"])


@pytest.mark.services
async def test_rows_sent_amid_a_change_are_all_stored(api: Api):
    """A batch that was checked against the declaration of before is checked once more."""
    await api.declare()

    async def send(first: int) -> None:
        for second in range(first, first + 4):
            answer = await api.rows([row(second, sym="A", px=1)])
            assert 200 == answer.status_code, answer.text

    for number in range(6):
        change = patch(api, {"retention": {"rows": 1_000 + number}})
        answer, _, _ = await asyncio.gather(change, send(10 * number), send(100 + 10 * number))
        assert 200 == answer.status_code
    stream = (await api.get(TRADES)).json()
    assert (48, 1_005) == (stream["rows"], stream["retention"]["rows"])


@pytest.mark.parametrize(
    "body",
    [
        {"retention": {"rows": 0}},
        {"retention": {"rows": limits.RETENTION_ROWS_MAX + 1}},
        {"retention": {"time": 5}},
        {"retention": {"bytes": "many"}},
        {"retention": None},
        {},
    ],
)
async def test_change_that_cannot_be_is_refused(api: Api, body):
    """It is 422 and changes nothing."""
    before = (await api.declare()).json()["retention"]
    assert_problem(await patch(api, body), "invalid-field")
    assert before == (await api.get(TRADES)).json()["retention"]


async def test_change_of_no_stream_or_of_no_such_member_is_refused(api: Api):
    """Other members of a declaration do not change; a stream that is not there is 404."""
    assert_problem(await patch(api, {"retention": {}}), "not-found")
    await api.declare()
    assert_problem(
        await patch(api, {"retention": {}, "time": None}), "unknown-field", field="/time"
    )
    assert 200 == (await patch(api, {"retention": {}})).status_code
