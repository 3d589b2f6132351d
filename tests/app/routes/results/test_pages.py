"""All pages of an answer listed at once: read in any order, by anybody, while the service goes on."""

import random
import time
from typing import Any

import pyarrow as pa
import pytest

from psoup.app.wire.rows.body import ARROW, COLUMNS
from psoup.engine import limits
from psoup.engine.limits import RETIRED_US, SECOND_US, SEGMENT_ROWS
from tests.app.routes.results import joining
from tests.app.support import (
    MOVES_THE_CLOCK,
    START_US,
    WINDOW,
    Api,
    assert_problem,
    row,
)
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio
Body = dict[str, Any]


async def listed(api: Api, query_id: str, **parameters: Any) -> Body:
    """Return the envelope with the pages of an answer."""
    return await api.results(query_id, count="only", pages="all", **parameters)


async def read(api: Api, body: Body, *, order: random.Random | None = None) -> list[Any]:
    """Return the rows of all pages listed, in the order of the answer, read in another one."""
    places = list(range(len(body["pages"])))
    if order is not None:
        order.shuffle(places)
    found: dict[int, list[Any]] = {}
    for place in places:
        page = (await api.get(body["pages"][place])).json()
        same = ("query", "gen", "seq", "now", "window", "count", "complete_from")
        assert [body[name] for name in same] == [page[name] for name in same]
        assert None is page["next"]
        found[place] = page["rows"]
    return [one for place in sorted(found) for one in found[place]]


@pytest.mark.services
async def test_pages_listed_are_the_answer_in_any_order(api: Api):
    """Whoever reads them, twice, backwards, while rows arrive: together they are the very answer they belong to."""
    await api.declare()
    query_id = await api.register(f"SELECT qty FROM trades WHERE qty >= 0 {WINDOW}")
    await api.rows([row(i % 7, qty=i) for i in range(23)])
    whole = await api.results(query_id)
    body = await listed(api, query_id, limit=5)
    assert (5, 23, None) == (len(body["pages"]), body["count"], body["next"])
    envelope = {name: value for name, value in body.items() if name != "pages"}
    assert whole == envelope | {name: whole[name] for name in ("rows", "cursor")}
    await api.rows([row(590 + i, qty=99) for i in range(9)])
    for seed in range(2):
        assert whole["rows"] == await read(api, body, order=random.Random(seed))
    assert [5, 5, 5, 5, 3] == [len((await api.get(url)).json()["rows"]) for url in body["pages"]]
    assert (await api.results(query_id))["seq"] > body["seq"]


@pytest.mark.services
async def test_pages_of_joins_distinct_and_another_instant(api: Api):
    """They are listed of every kind of answer, and are what following `next` gives."""
    await joining.declare(api)
    for name, rows in (
        ("flights", joining.flights(200, hours=6)),
        ("weather", joining.weather(80, hours=6)),
    ):
        assert 200 == (await api.rows(rows, name=name)).status_code
    distinct = joining.SQL.replace(
        "SELECT f.carrier, f.flight, w.visib", "SELECT DISTINCT f.origin"
    )
    at = START_US + 4 * joining.HOUR_US
    cases: list[tuple[str, Body]] = [
        (joining.SQL, {}),
        (joining.SQL, {"now": at}),
        (distinct, {}),
        ("SELECT DISTINCT carrier, origin FROM flights", {}),
        ("SELECT * FROM flights WHERE dep_delay > 60", {"now": at}),
    ]
    for sql, parameters in cases:
        query_id = await api.register(sql)
        whole = await api.results(query_id, **parameters)
        assert whole["count"] > 2
        body = await listed(api, query_id, limit=2, **parameters)
        assert whole["rows"] == await read(api, body, order=random.Random(1)), sql
        assert -(-whole["count"] // 2) == len(body["pages"])


@pytest.mark.services
async def test_pages_of_nothing_are_none(api: Api):
    """No row, no page: before the first tuple, and where nothing matches."""
    await api.declare()
    query_id = await api.register(f"SELECT qty FROM trades WHERE qty > 5 {WINDOW}")
    body = await listed(api, query_id)
    assert (None, 0, []) == (body["now"], body["count"], body["pages"])
    await api.rows(row(1, qty=1))
    body = await listed(api, query_id)
    assert (0, []) == (body["count"], body["pages"])


async def test_pages_of_aggregates_over_no_tuple_are_one(api: Api):
    """There is no NOW yet, and one row all the same; it is read as of then, also once tuples have come."""
    await api.declare()
    query_id = await api.register(f"SELECT COUNT(*) AS n, SUM(qty) AS total FROM trades {WINDOW}")
    whole = await api.results(query_id)
    body = await listed(api, query_id, limit=5, meta=0)
    assert (None, 1, 1) == (body["now"], body["count"], len(body["pages"]))
    assert [{"n": 0, "total": None}] == await read(api, body)
    await api.rows([row(1, qty=3)])
    assert [{"n": 0, "total": None}] == await read(api, body)
    assert whole["rows"] == await read(api, whole | await listed(api, query_id, seq=whole["seq"]))


async def test_pages_are_read_in_each_format_with_their_parameters(api: Api):
    """`limit`, `shape` and `meta` stay with the pages; the format is chosen where a page is read."""
    await api.declare()
    query_id = await api.register("SELECT qty FROM trades")
    await api.rows([row(i, qty=i) for i in range(4)])
    body = await listed(api, query_id, limit=3, shape="columns", meta=0)
    first, second = body["pages"]
    assert [["qty"], [[3]]] == [
        (await api.get(second)).json()[name] for name in ("columns", "rows")
    ]
    answer = await api.get(first, headers={"Accept": ARROW})
    assert {"qty": [0, 1, 2]} == pa.ipc.open_stream(answer.content).read_all().to_pydict()
    assert "link" not in answer.headers
    assert "qty\n3\n" == (await api.get(f"{second}&format=csv")).text
    larger = (await api.get(first.replace("limit=3", "limit=100"))).json()
    assert ([[0], [1], [2]], None) == (larger["rows"], larger["next"])


async def test_pages_too_large_in_bytes_go_on_no_further_than_their_end(api: Api, monkeypatch):
    """One that was cut to its bytes has a `next` of its own, which ends where the next page begins."""
    await api.declare()
    query_id = await api.register("SELECT qty, sym FROM trades")
    await api.rows([row(i, qty=i, sym="x" * 100) for i in range(20)])
    body = await listed(api, query_id, limit=8)
    monkeypatch.setattr(limits, "PAGE_BYTES_MAX", 1_200)
    found = []
    for url in body["pages"]:
        rows, following = [], url
        while following:
            answer = await api.get(following)
            rows += [one["qty"] for one in answer.json()["rows"]]
            following = answer.json()["next"]
            assert len(answer.content) <= limits.PAGE_BYTES_MAX
        found.append(rows)
    assert [list(range(8)), list(range(8, 16)), list(range(16, 20))] == found
    smaller = (await api.get(body["pages"][1].replace("limit=8", "limit=1"))).json()
    assert [8] == [one["qty"] for one in smaller["rows"]]


async def test_pages_of_more_than_are_listed_ask_for_a_larger_limit(api: Api, monkeypatch):
    """It says which limit would do; with it they are listed."""
    monkeypatch.setattr(limits, "PAGES_LISTED_MAX", 3)
    await api.declare()
    query_id = await api.register("SELECT qty FROM trades")
    await api.rows([row(i, qty=i) for i in range(10)])
    path = f"/v1/queries/{query_id}/results"
    answer = await api.get(path, params={"count": "only", "pages": "all", "limit": 3})
    (error,) = assert_problem(answer, "invalid-field")["errors"]
    assert "?limit" == error["pointer"]
    assert "4 at least" in error["reason"]
    assert 3 == len((await listed(api, query_id, limit=4))["pages"])


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("pages=some&count=only", "?pages"),
        ("pages=all", "?pages"),
        ("pages=all&count=only&format=csv", "?pages"),
        ("pages=all&page=x", "?pages"),
    ],
)
async def test_pages_are_listed_beside_a_count_alone(api: Api, query, pointer):
    """Anything else that `pages` might mean is refused by name."""
    await api.declare()
    query_id = await api.register("SELECT qty FROM trades")
    answer = await api.get(f"/v1/queries/{query_id}/results?{query}")
    assert pointer in [one["pointer"] for one in assert_problem(answer, "invalid-field")["errors"]]


@MOVES_THE_CLOCK
async def test_pages_whose_tuples_are_gone_have_expired(api: Api):
    """Retention holds for them as for every page: readable ten minutes more, then 410; the others stay exact."""
    await api.declare(retention={"rows": 10})
    query_id = await api.register("SELECT qty FROM trades")
    await api.rows([row(i, qty=i) for i in range(4)])
    body = await listed(api, query_id, limit=2)
    more = SEGMENT_ROWS + 10
    many = {"ts": [START_US + 9 * SECOND_US] * more, "qty": [7] * more}
    sent = await api.send(
        "POST", "/v1/streams/trades/rows", json=many, headers={"Content-Type": COLUMNS}
    )
    assert 200 == sent.status_code
    assert [0, 1, 2, 3] == [one["qty"] for one in await read(api, body)]
    api.clock.advance(RETIRED_US)
    latest = time.monotonic() + WAIT_S
    while (answer := await api.get(body["pages"][1])).status_code == 200:
        assert time.monotonic() < latest, "it expires"
        await api.rows(row(9, qty=1))
    assert_problem(answer, "page-expired", action="invoke")
    assert 10 == (await listed(api, query_id))["count"]
