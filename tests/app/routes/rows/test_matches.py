"""Which standing queries rows hit, over HTTP: kept up with registrations and removals, and storing nothing."""

import threading
from typing import Any

import anyio
import pytest

from psoup.app.backend.service import ANSWER_THREADS
from psoup.engine import limits
from tests.app.support import WINDOW, Api, assert_problem, row
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio


async def matched(
    api: Api, *rows: dict[str, Any], name: str = "trades", **more: Any
) -> dict[str, Any]:
    answer = await api.send("POST", f"/v1/streams/{name}/match", json={"rows": rows, **more})
    assert 200 == answer.status_code, answer.text
    return dict(answer.json())


@pytest.mark.services
async def test_match_names_the_queries_of_each_row(api: Api):
    """In the order of their registration, up to the limit; the total counts all."""
    await api.declare()
    dear = await api.register(f"SELECT px FROM trades WHERE px > 40 {WINDOW}")
    acme = await api.register("SELECT px FROM trades WHERE sym = 'ACME'", materialize="none")
    again = await api.register("SELECT sym FROM trades WHERE px > 40")
    rows = [row(0, sym="ACME", px=41), row(0, sym="B", px=41), row(0, px=1), row(0)]
    assert {"matches": [[dear, acme, again], [dear, again], [], []], "total": [3, 2, 0, 0]} == (
        await matched(api, *rows)
    )
    assert {"matches": [[dear], [dear], [], []], "total": [3, 2, 0, 0]} == (
        await matched(api, *rows, limit=1)
    )
    assert {"matches": [], "total": []} == await matched(api)
    assert 0 == await api.count()


@pytest.mark.services
async def test_match_follows_what_comes_and_goes(api: Api):
    """Registrations, removals, a stream dropped with its queries: the next answer knows, by the log."""
    await api.declare()
    one, other = row(0, px=41), row(0, px=9)
    first = await api.register("SELECT px FROM trades WHERE px > 40")
    assert [[first], []] == (await matched(api, one, other))["matches"]
    second = await api.register("SELECT px FROM trades WHERE px < 10")
    await api.rows([one])
    assert [[first], [second]] == (await matched(api, one, other))["matches"]
    await api.send("DELETE", f"/v1/queries/{first}")
    third = await api.register("SELECT sym FROM trades")
    assert [[third], [second, third]] == (await matched(api, one, other))["matches"]
    statistics = api.service.standing.statistics()
    assert (1, 2, 1) == (statistics.streams, statistics.queries, statistics.compared)
    await api.send("DELETE", "/v1/streams/trades", params={"cascade": "true"})
    await api.declare()
    assert [[], []] == (await matched(api, one, other))["matches"]
    api.service.standing.check()


@pytest.mark.services
async def test_match_knows_a_query_by_what_it_was_replaced_with(api: Api):
    """Followed by the log, and compared where it is asked for the first time."""
    await api.declare()
    body = {"sql": "SELECT px FROM trades WHERE px > 40"}
    query_id = (await api.send("PUT", "/v1/queries/dear", json=body)).json()["id"]
    assert [[query_id], []] == (await matched(api, row(0, px=41), row(0, px=1)))["matches"]
    body = {"sql": "SELECT px FROM trades WHERE px < 10"}
    replaced = await api.send("PUT", "/v1/queries/dear?replace=true", json=body)
    assert query_id == replaced.json()["id"]
    assert [[], [query_id]] == (await matched(api, row(0, px=41), row(0, px=1)))["matches"]


@pytest.mark.services
async def test_match_orders_by_registration_where_a_query_was_replaced(api: Api):
    """A replacement keeps the place of its handle: before what was registered after it."""
    await api.declare()
    body = {"sql": "SELECT px FROM trades WHERE px > 40"}
    first = (await api.send("PUT", "/v1/queries/dear", json=body)).json()["id"]
    second = await api.register("SELECT px FROM trades WHERE px > 30")
    assert [[first, second]] == (await matched(api, row(0, px=41)))["matches"]
    body = {"sql": "SELECT px FROM trades WHERE px > 20"}
    await api.send("PUT", "/v1/queries/dear?replace=true", json=body)
    assert [[first, second]] == (await matched(api, row(0, px=41)))["matches"]
    assert [[first]] == (await matched(api, row(0, px=41), limit=1))["matches"]


async def test_match_compares_where_the_log_does_not_reach(api: Api, monkeypatch):
    """Past so many operations the queries that stand are looked at in whole."""
    await api.declare()
    ids = [await api.register(f"SELECT px FROM trades WHERE px > {bound}") for bound in range(3)]
    assert [ids] == (await matched(api, row(0, px=9)))["matches"]
    await api.send("DELETE", f"/v1/queries/{ids[1]}")
    for second in range(3):
        await api.rows([row(second)])
    ids.append(await api.register("SELECT px FROM trades WHERE px > 8"))
    del ids[1]
    monkeypatch.setattr(limits, "LOG_ENTRIES_KEPT", 2)
    assert [ids] == (await matched(api, row(0, px=9)))["matches"]
    assert 2 == api.service.standing.statistics().compared


@pytest.mark.services
async def test_match_of_joins_asks_this_stream_alone(api: Api):
    """Each place that the stream takes in FROM; a query is counted once."""
    await api.declare()
    await api.declare("quotes")
    join = await api.register(
        "SELECT t.px FROM trades AS t, quotes AS q WHERE t.sym = q.sym AND t.px > 40 AND q.px < 3"
        " BEGIN (NOW - 9) END (NOW)"
    )
    twice = await api.register(
        "SELECT a.px FROM trades AS a, trades AS b WHERE a.sym = b.sym AND a.px > 40 AND b.qty = 1"
        " BEGIN (NOW - 9) END (NOW)"
    )
    rows = [row(0, px=41, qty=1), row(0, px=1, qty=1), row(0, px=1, qty=2)]
    assert [[join, twice], [twice], []] == (await matched(api, *rows))["matches"]
    assert [2, 1, 0] == (await matched(api, *rows))["total"]
    quotes = [row(0, px=2), row(0, px=4)]
    assert [[join], []] == (await matched(api, *quotes, name="quotes"))["matches"]


async def test_match_of_wrong_rows_and_streams_is_refused(api: Api):
    """As an append refuses them."""
    await api.declare()
    answer = await api.send("POST", "/v1/streams/trades/match", json={"rows": [row(), {"px": 1}]})
    (error,) = assert_problem(answer, "rows-rejected")["errors"]
    assert (1, "/ts") == (error["index"], error["pointer"])
    strange = await api.send("POST", "/v1/streams/trade/match", json={"rows": []})
    assert_problem(strange, "not-found", nearest="trades")
    bodies: list[dict[str, Any]] = [
        {},
        {"rows": [], "limit": 0},
        {"rows": [], "limit": limits.MATCH_QUERIES_MAX + 1},
        {"rows": [{}] * (limits.MATCH_ROWS_MAX + 1)},
        {"rows": [1]},
    ]
    for body in bodies:
        wrong = await api.send("POST", "/v1/streams/trades/match", json=body)
        assert_problem(wrong, "invalid-field")


async def test_match_of_many_rows_names_fewer_queries_of_each(api: Api, monkeypatch):
    """All handles of an answer together are bounded."""
    await api.declare()
    ids = [await api.register("SELECT px FROM trades") for _ in range(4)]
    monkeypatch.setattr(limits, "MATCH_HANDLES_MAX", 6)
    found = await matched(api, row(0), row(1), row(2))
    assert ([ids[:2]] * 3, [4] * 3) == (found["matches"], found["total"])


async def test_indexes_kept_are_bounded(api: Api, monkeypatch):
    """The stream that was asked about longest ago is forgotten, and its index built anew."""
    monkeypatch.setattr(limits, "STANDING_QUERIES_KEPT_MAX", 2)
    api.service.forget()
    ids = {}
    for name in ("a", "b", "c"):
        await api.declare(name)
        ids[name] = await api.register(f"SELECT px FROM {name}")
    for name in ("a", "b", "c", "a"):
        assert [[ids[name]]] == (await matched(api, row(0), name=name))["matches"]
    statistics = api.service.standing.statistics()
    assert (2, 4) == (statistics.streams, statistics.compared)


async def test_matches_that_take_long_hold_up_no_other_answer(api: Api, monkeypatch):
    """However many of them there are: invocations have threads of their own."""
    await api.declare()
    query_id = await api.register("SELECT px FROM trades WHERE px > 40")
    begun, released = threading.Event(), threading.Event()

    def matches(*_: object, **__: object) -> list[object]:
        begun.set()
        assert released.wait(WAIT_S)
        return []

    monkeypatch.setattr(api.service.standing, "matches", matches)
    try:
        async with anyio.create_task_group() as asked:
            for _ in range(2 * ANSWER_THREADS):
                asked.start_soon(matched, api, row(0, px=41))
            await anyio.to_thread.run_sync(begun.wait, WAIT_S)
            assert 200 == (await api.get(f"/v1/queries/{query_id}/results")).status_code
            released.set()
    finally:
        released.set()
