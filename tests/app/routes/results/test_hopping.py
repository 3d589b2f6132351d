"""Windows that hop over HTTP: NOW stands still from hop to hop, and all that is told of time is told in hops."""

from collections.abc import Iterator
from typing import Any

import pytest

from psoup.engine.limits import SECOND_US
from tests.app.routes.results.client import Client, read
from tests.app.routes.results.following import Site, site
from tests.app.support import MOVES_THE_CLOCK, Api, assert_problem, row

EVERY = "BEGIN (NOW - INTERVAL '2' MINUTE) END (NOW) EVERY INTERVAL '1' MINUTE"
SQL = f"SELECT qty FROM trades {EVERY}"
GROUPS = f"SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym {EVERY}"
ARRIVING = {"columns": [{"name": "qty", "type": "int64"}]}
FORMATS = ["json", "ndjson", "csv", "arrow"]


def instant(minute: int, second: int = 0) -> str:
    return f"2026-11-21T10:{minute:02d}:{second:02d}.000000Z"


async def quantities(api: Api, query_id: str, **parameters: str) -> list[Any]:
    return [one["qty"] for one in (await api.results(query_id, **parameters))["rows"]]


@pytest.mark.anyio
@pytest.mark.services
async def test_description_says_how_the_window_hops(api: Api):
    """Where it does: a window without EVERY has no members for it."""
    await api.declare()
    query_id = await api.register(f"{SQL} ALIGN TIMESTAMP '2026-01-01 00:00:10'")
    description = (await api.get(f"/v1/queries/{query_id}")).json()
    assert {
        "kind": "sliding",
        "begin": "now-2m",
        "end": "now",
        "every": "1m",
        "align": "1970-01-01T00:00:10.000000Z",
        "ranges": {},
    } == description["window"]
    assert description["canonical"] == f"{SQL} ALIGN TIMESTAMP '1970-01-01 00:00:10'"
    plain = await api.register("SELECT qty FROM trades")
    window = (await api.get(f"/v1/queries/{plain}")).json()["window"]
    assert {"kind", "begin", "end", "ranges"} == window.keys()


@pytest.mark.anyio
@pytest.mark.services
@pytest.mark.parametrize("form", FORMATS)
async def test_answer_is_that_of_the_last_hop(api: Api, form: str):
    """Nothing later is shown, and rows say the hop at which they leave; a cursor goes on from hop to hop."""
    await api.declare()
    path = f"/v1/queries/{await api.register(SQL)}/results"
    await api.rows([row(0, qty=0), row(59, qty=1)])
    client = Client()
    asked = {"format": form, "cursor": ""}
    first = read(await api.get(path, params=asked))
    client.take(first, asked="")
    assert instant(0) == first["now"]
    assert {0: instant(3)} == {int(one["qty"]): one["_x"] for one in first["rows"]}
    asked["cursor"] = first["cursor"]
    await api.rows([row(58, qty=2)])  # late, and behind the hop all the same
    unchanged = read(await api.get(path, params=asked))
    assert ([], first["cursor"]) == (unchanged["rows"], unchanged["cursor"])
    await api.rows([row(60, qty=3), row(61, qty=4)])
    second = read(await api.get(path, params=asked))
    client.take(second, asked=first["cursor"])
    assert instant(1) == second["now"]
    assert [2, 1, 3] == [int(one["qty"]) for one in second["rows"]]
    await api.rows([row(181, qty=5)])
    third = read(await api.get(path, params={"format": form, "cursor": second["cursor"]}))
    client.take(third, asked=second["cursor"])
    assert (instant(3), [4], 2) == (
        third["now"],
        [int(one["qty"]) for one in third["rows"]],
        third["count"],
    )
    assert {3, 4} == {int(one["qty"]) for one in client.rows.values()}


@pytest.mark.anyio
@pytest.mark.services
async def test_instant_asked_for_is_rounded_down(api: Api):
    """Also in answers to many queries; what lies before retention is refused with the first hop that does not."""
    await api.declare(retention={"time": "90s"})
    query_id = await api.register(SQL)
    await api.rows([row(second, qty=second) for second in range(0, 201, 20)])
    newest = instant(3)
    for asked in (instant(3), instant(3, 0).replace(".000000", ".000001")):
        answer = await api.results(query_id, now=asked)
        assert newest == answer["now"]
    answer = await api.results(query_id, now=instant(2, 59))
    assert (instant(2), {"begin": instant(0), "end": instant(2)}) == (
        answer["now"],
        answer["window"],
    )
    assert [120] == [one["qty"] for one in answer["rows"]]
    early = await api.get(f"/v1/queries/{query_id}/results", params={"now": instant(1, 59)})
    problem = assert_problem(early, "now-out-of-range")
    assert (instant(2), instant(3, 20)) == (problem["oldest"], problem["newest"])
    body = {"queries": [query_id], "now": instant(2, 1)}
    many = (await api.send("POST", "/v1/invoke", json=body)).json()
    assert [instant(2)] == [one["now"] for one in many["results"]]


@pytest.mark.anyio
@pytest.mark.services
async def test_groups_change_at_hops(api: Api):
    """A row that has arrived and is not shown yet changes no group; at the hop it does."""
    await api.declare()
    query_id = await api.register(GROUPS)
    await api.rows([row(0, sym="a"), row(30, sym="a")])
    first = await api.results(query_id, cursor="")
    assert [("a", 1)] == [(one["sym"], one["n"]) for one in first["rows"]]
    assert [instant(1)] == [one["_x"] for one in first["rows"]]  # the second row enters then
    await api.rows([row(59, sym="b")])
    second = await api.results(query_id, cursor=first["cursor"])
    assert (instant(0), 1) == (second["now"], second["count"])
    await api.rows([row(119, sym="a")])
    third = await api.results(query_id, cursor=second["cursor"])
    assert [("a", 2), ("b", 1)] == [(one["sym"], one["n"]) for one in third["rows"]]


@pytest.mark.anyio
@MOVES_THE_CLOCK
async def test_clock_between_hops_is_told_from_the_hop(api: Api):
    """`changes_at` is a hop; how long an answer is right, and when to poll, counts from the clock and not from NOW."""
    await api.send("PUT", "/v1/streams/arriving", json=ARRIVING)
    query_id = await api.register(f"SELECT qty FROM arriving {EVERY}")
    path = f"/v1/queries/{query_id}/results"
    api.clock.advance(20 * SECOND_US)
    await api.rows([{"qty": 1}], name="arriving")
    answer = await api.get(path)
    body = answer.json()
    assert (instant(0), [], instant(1)) == (body["now"], body["rows"], body["changes_at"])
    assert "private, max-age=40" == answer.headers["cache-control"]
    tag = answer.headers["etag"]
    api.clock.advance(30 * SECOND_US)
    again = await api.get(path, headers={"If-None-Match": tag})
    assert (304, "private, max-age=10") == (again.status_code, again.headers["cache-control"])
    api.clock.advance(9 * SECOND_US)
    assert 1_000 == (await api.results(query_id))["poll_after_ms"]
    api.clock.advance(SECOND_US)
    changed = await api.get(path, headers={"If-None-Match": tag})
    assert 200 == changed.status_code
    body = changed.json()
    assert (instant(1), [1], instant(3)) == (
        body["now"],
        [one["qty"] for one in body["rows"]],
        body["rows"][0]["_x"],
    )


@pytest.fixture
def here() -> Iterator[Site]:
    """A server with one stream."""
    with site() as one:
        yield one


@pytest.mark.services
@pytest.mark.parametrize("on", ["enter", "any"])
def test_wait_ends_at_the_hop_that_shows_a_row(here: Site, on: str):
    """By the server's clock: no row has to come then."""
    here.send("PUT", "/v1/streams/arriving", ARRIVING)
    query = here.register("SELECT qty FROM arriving BEGIN (NOW - 9) END (NOW) EVERY 0.5")
    first = here.results(query)
    here.rows({"qty": 1}, name="arriving")
    answer = here.results(query, cursor=first["cursor"], wait=50, on=on)
    assert [1] == [one["qty"] for one in answer["rows"]]
    hop = answer["now"].split(".")[1]
    assert hop in {"000000Z", "500000Z"}


@pytest.mark.services
def test_wait_ends_at_the_hop_at_which_a_row_leaves(here: Site):
    """By the server's clock as well, at the instant that the row's own answer has told."""
    here.send("PUT", "/v1/streams/arriving", ARRIVING)
    query = here.register("SELECT qty FROM arriving BEGIN (NOW - 5) END (NOW) EVERY 0.5")
    first = here.results(query)
    here.rows({"qty": 1}, name="arriving")
    answer = here.results(query, cursor=first["cursor"], wait=50)
    left = here.results(query, cursor=answer["cursor"], wait=50, on="any")
    assert ([], 0) == (left["rows"], left["count"])
    assert left["now"] == answer["rows"][0]["_x"]


@pytest.mark.services
def test_events_and_sync_tell_of_a_row_at_its_hop(here: Site):
    """So do streams of events, and the answers to several queries."""
    here.send("PUT", "/v1/streams/arriving", ARRIVING)
    query = here.register("SELECT qty FROM arriving BEGIN (NOW - 9) END (NOW) EVERY 0.5")
    with here.events(query) as events:
        first = events.next()
        assert first is not None
        assert [] == first.data["rows"]
        here.rows({"qty": 7}, name="arriving")
        event = events.next()
        assert event is not None
        assert [7] == [one["qty"] for one in event.data["rows"]]
    status, synced = here.send("POST", "/v1/sync", {"queries": {query: {}}})
    assert 200 == status
    assert [7] == [one["qty"] for one in synced["results"][query]["rows"]]
    assert synced["results"][query]["now"].endswith(("000000Z", "500000Z"))


@pytest.mark.anyio
@pytest.mark.services
async def test_answer_past_memory_is_asked_for_at_the_hop(api: Api):
    """At NOW, and at an instant before what is kept: a job computes it at the last hop before either."""
    await api.declare(retention={"time": "30s"})
    query_id = await api.register(SQL)
    await api.rows([row(second, qty=second) for second in range(0, 201, 20)])
    path = f"/v1/queries/{query_id}/results"
    for asked, hop in (({}, instant(3)), ({"now": instant(2, 30)}, instant(2))):
        pending = await api.get(path, params={"history": "true", **asked})
        assert (202, hop) == (pending.status_code, pending.headers["psoup-now"])
