"""Joins as standing queries over HTTP: registered, refused, listed, suspended, removed with their streams."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from psoup.app.wire.rows.body import NDJSON
from psoup.engine import limits
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import QueryId
from tests.app.routes.results.joining import SQL, WEATHER, declare, flights, weather
from tests.app.support import Api, assert_problem, row, running

pytestmark = pytest.mark.anyio

SELF = "SELECT a.px, b.px AS other FROM trades a, trades b WHERE a.sym = b.sym"
FULL = int(limits.JOIN_MATCHES_MAX**0.5) // CHUNK_ROWS + 1
"""Chunks of either side, all of one key, that hold more pairs than one entrant may find."""


@pytest.fixture
async def joins(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Api]:
    """Yield an application with both streams and `trades`, whose engine tells its figures at every turn."""
    monkeypatch.setattr(limits, "FIGURES_EVERY_S", 0.0)
    async with running() as api:
        await declare(api)
        await api.declare()
        yield api


async def listed(api: Api, query: str) -> list[str]:
    """Return the handles that a list names."""
    body = (await api.get(f"/v1/queries?{query}")).json()
    return [one["id"] for one in body["queries"]]


@pytest.mark.services
async def test_join_registered_is_described(joins: Api):
    """Columns of both streams, the window, nothing suspended; the canonical text is the query again."""
    answer = await joins.send("POST", "/v1/queries", json={"sql": SQL, "name": "low"})
    body = answer.json()
    assert (201, "live", None) == (answer.status_code, body["state"], body["suspended"])
    assert {"kind": "sliding", "begin": "now-6h", "end": "now", "ranges": {}} == body["window"]
    assert [("carrier", "string"), ("flight", "int64"), ("visib", "float64")] == [
        (one["name"], one["type"]) for one in body["columns"]
    ]
    described = (await joins.get(f"/v1/queries/{body['id']}")).json()
    assert ["flights", "weather"] == [one["stream"] for one in described.pop("plan")["streams"]]
    assert body == described
    joins.service.forget()
    assert [body] == (await joins.get("/v1/queries")).json()["queries"]
    again = {"sql": body["canonical"], "name": "low"}
    found = await joins.send("POST", "/v1/queries", json=again)
    assert (200, body) == (found.status_code, found.json())
    reversed_join = SQL.replace("f.origin = w.origin", "w.origin = f.origin")
    found = await joins.send("POST", "/v1/queries", json={"sql": reversed_join, "name": "low"})
    assert (200, body["id"]) == (found.status_code, found.json()["id"])


@pytest.mark.parametrize(
    ("sql", "code", "at"),
    [
        ("SELECT * FROM flights, nope WHERE flight = 1", "unknown-stream", "nope"),
        (SQL.replace("w.visib", "w.sight", 1), "unknown-column", "w.sight"),
        (SQL.replace("w.visib", "x.visib", 1), "unknown-column", "x.visib"),
        (SQL.replace("f.hour = w.hour", "hour = w.hour"), "unknown-column", "hour = w"),
        (SQL.replace("f.hour = w.hour", "f.hour = w.visib"), "type-mismatch", None),
        ("SELECT * FROM flights f, weather w", "unsupported-sql", None),
        ("SELECT * FROM flights f, weather w WHERE f.flight = 1", "unsupported-sql", None),
        ("SELECT * FROM flights, flights WHERE flight = 1", "unsupported-sql", None),
        (SQL.replace(", weather AS w", " RIGHT JOIN weather AS w ON f.flight = w.visib"), "unsupported-sql", "RIGHT"),
        ("SELECT * FROM flights f NATURAL JOIN weather w", "unsupported-sql", "NATURAL"),
        ("SELECT f.hour, count(*) FROM flights f, weather w WHERE f.hour = w.hour", "unsupported-sql", "f.hour"),
        ("SELECT * FROM flights f, untimed u WHERE f.flight = u.flight", "unsupported-sql", None),
        (SQL.replace("AS w", "AS w [RANGE 'x']"), "sql-syntax", None),
        (
            "SELECT * FROM " + ", ".join(f"flights f{i}" for i in range(limits.QUERY_STREAMS_MAX + 1))
            + " WHERE " + " AND ".join(f"f0.hour = f{i}.hour" for i in range(1, limits.QUERY_STREAMS_MAX + 1)),
            "query-too-complex",
            None,
        ),
    ],
)  # fmt: skip
async def test_join_refused_says_where_and_what(joins: Api, sql, code, at):
    """Every refusal of a join is 422 with its place in the text and what would do; nothing is registered."""
    untimed = {"columns": [{"name": "flight", "type": "int64"}], "time": None}
    assert 201 == (await joins.declare("untimed", **untimed)).status_code
    body = assert_problem(await joins.send("POST", "/v1/queries", json={"sql": sql}), code)
    assert body["excerpt"]
    assert body["hint"]
    assert 1 == body["position"]["line"]
    if at is not None:
        assert sql.index(at) <= body["position"]["column"] - 1 < sql.index(at) + len(at)
    assert [] == await listed(joins, "")


async def test_joins_are_listed_under_each_of_their_streams(joins: Api):
    """A join is a query of both streams, a join of one stream with itself one query of that."""
    both, itself = await joins.register(SQL), await joins.register(SELF)
    alone = await joins.register("SELECT * FROM weather")
    assert [both] == await listed(joins, "stream=flights")
    assert [both, alone] == await listed(joins, "stream=weather")
    assert [itself] == await listed(joins, "stream=trades")
    counted = {
        one["name"]: one["queries"] for one in (await joins.get("/v1/streams")).json()["streams"]
    }
    assert {"flights": 1, "weather": 2, "trades": 1} == counted
    assert 204 == (await joins.send("DELETE", f"/v1/queries/{both}")).status_code
    assert [alone] == await listed(joins, "stream=weather")
    assert_problem(await joins.get(f"/v1/queries/{both}/results"), "not-found")
    assert 204 == (await joins.send("DELETE", f"/v1/queries/{itself}")).status_code
    counted = {
        one["name"]: one["queries"] for one in (await joins.get("/v1/streams")).json()["streams"]
    }
    assert {"flights": 0, "weather": 1, "trades": 0} == counted


@pytest.mark.services
@pytest.mark.parametrize("dropped", ["flights", "weather"])
async def test_join_goes_with_any_of_its_streams(joins: Api, dropped):
    """A stream that a join reads is held by it; a cascade takes the join, and the other stream stays."""
    query_id, itself = await joins.register(SQL), await joins.register(SELF)
    await joins.rows(flights(50, hours=2), name="flights")
    await joins.rows(weather(50, hours=2), name="weather")
    assert_problem(await joins.send("DELETE", f"/v1/streams/{dropped}"), "has-queries", queries=1)
    gone = await joins.send("DELETE", f"/v1/streams/{dropped}?cascade=true")
    assert 204 == gone.status_code
    assert_problem(await joins.get(f"/v1/queries/{query_id}"), "not-found")
    assert [itself] == await listed(joins, "")
    other = "weather" if dropped == "flights" else "flights"
    left = (await joins.get(f"/v1/streams/{other}")).json()
    assert (50, 0) == (left["rows"], left["queries"])
    assert 204 == (await joins.send("DELETE", f"/v1/streams/{other}")).status_code
    await declare(joins)
    again = await joins.register(SQL)
    assert 0 == (await joins.results(again))["count"]
    assert 204 == (await joins.send("DELETE", "/v1/streams/trades?cascade=true")).status_code
    assert [again] == await listed(joins, "")


async def test_join_bound_to_a_stream_of_before_is_bound_again(joins: Api, monkeypatch):
    """A stream declared anew between binding and the log is found stale, whichever of FROM it is."""
    catalogue = joins.service.catalogue
    before = catalogue.streams()
    await joins.send("DELETE", "/v1/streams/weather")
    assert 201 == (await joins.declare("weather", **WEATHER)).status_code
    present, asked = catalogue.streams, [before]
    monkeypatch.setattr(catalogue, "streams", lambda: asked.pop() if asked else present())
    query_id = await joins.register(SQL)
    assert [] == asked
    snapshot = joins.service.results.snapshot(QueryId(query_id))
    assert [present()[name][0] for name in ("flights", "weather")] == list(snapshot.clause.streams)


async def test_joins_are_registered_and_invoked_among_others(joins: Api):
    """Bulk registration takes joins line by line; one invocation answers them beside queries of one stream."""
    lines = [SQL, "SELECT * FROM weather", "SELECT * FROM flights f, weather w", SELF]
    body = "\n".join(json.dumps({"sql": sql}) for sql in lines)
    answer = await joins.send(
        "POST", "/v1/batch/queries", content=body, headers={"Content-Type": NDJSON}
    )
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert [201, 201, 422, 201] == [one["status"] for one in told]
    query_ids = [one["query"]["id"] for one in told if "query" in one]
    await joins.rows(flights(200, hours=4), name="flights")
    await joins.rows(weather(200, hours=4), name="weather")
    await joins.rows([row(i, sym="A", px=i) for i in range(20)])
    found: list[dict[str, Any]] = []
    for shape in ("rows", "columns"):
        asked = {"queries": query_ids, "shape": shape, "limit": 7}
        found = (await joins.send("POST", "/v1/invoke", json=asked)).json()["results"]
        for query_id, one in zip(query_ids, found, strict=True):
            alone = await joins.results(query_id, shape=shape, limit=7)
            assert 7 == len(one["rows"]) < one["count"]
            assert {k: v for k, v in alone.items() if k not in ("next", "cursor")} == {
                k: v for k, v in one.items() if k not in ("next", "cursor")
            }
            after = (await joins.get(one["next"])).json()
            assert (await joins.get(alone["next"])).json()["rows"] == after["rows"]
    counted = await joins.send("POST", "/v1/invoke", json={"queries": query_ids, "count": "only"})
    assert [one["count"] for one in found] == [one["count"] for one in counted.json()["results"]]


async def crossed(api: Api) -> None:
    """Fill both streams with chunks of one origin and hour, so that every tuple matches every other."""
    alike: dict[str, Any] = {"origin": "JFK", "hour": 0}
    for name, value in (("flights", {"dep_delay": 90}), ("weather", {"visib": 1})):
        rows = [{**row(i), **alike, **value} for i in range(FULL * CHUNK_ROWS)]
        assert 200 == (await api.rows(rows, name=name)).status_code


@pytest.mark.parametrize("late", [False, True])
async def test_join_over_its_bound_is_suspended_alone(joins: Api, late):
    """The query says since when and why, and is 409; its streams and other queries go on."""
    narrow = await joins.register(
        SQL.replace("f.dep_delay > 60", "f.dep_delay > 100"), materialize="partial"
    )
    members = {"sql": SQL, "materialize": "partial", "name": "wide"}
    if late:
        await crossed(joins)
    answer = await joins.send("POST", "/v1/queries", json=members)
    assert (201, "suspended" if late else "live") == (answer.status_code, answer.json()["state"])
    wide = answer.json()["id"]
    if not late:
        await crossed(joins)
    described = (await joins.get(f"/v1/queries/{wide}")).json()
    told = answer.json()["warnings"] if late else described["warnings"]
    assert "query-suspended" == told[-1]["code"]
    assert '"materialize": "none"' in told[-1]["detail"]
    suspended = described["suspended"]
    assert "suspended" == described["state"]
    assert 0 < suspended["since_seq"] <= joins.service.applied.seq
    assert suspended["reason"]
    assert [wide] == await listed(joins, "state=suspended")
    assert [narrow] == await listed(joins, "state=live")
    assert [narrow, wide] == await listed(joins, "")
    results = f"/v1/queries/{wide}/results"
    for path in (results, f"{results}?count=only", f"{results}?format=csv"):
        assert_problem(await joins.get(path), "query-suspended", **suspended)
    asked = {"queries": [narrow, wide]}
    alive, refused = (await joins.send("POST", "/v1/invoke", json=asked)).json()["results"]
    assert (0, "query-suspended") == (alive["count"], refused["problem"]["code"])
    again = await joins.send("POST", "/v1/queries", json=members)
    assert (200, wide, "suspended") == (
        again.status_code,
        again.json()["id"],
        again.json()["state"],
    )
    assert 200 == (await joins.rows(weather(3, hours=1), name="weather")).status_code
    assert 204 == (await joins.send("DELETE", f"/v1/queries/{wide}")).status_code
    assert [] == await listed(joins, "state=suspended")


async def test_join_found_when_asked_for_has_a_bound(joins: Api):
    """An answer of more rows than are put in order is 422 with the limit; a narrower window is answered."""
    await crossed(joins)
    wide = await joins.register(SQL, materialize="none")
    assert FULL * CHUNK_ROWS * FULL * CHUNK_ROWS > limits.JOIN_ANSWER_ROWS_MAX
    body = assert_problem(await joins.get(f"/v1/queries/{wide}/results"), "answer-too-large")
    assert body["limit"]
    assert "window" in body["detail"]
    narrow = await joins.register(SQL.replace("'6' HOUR", "'9' SECOND"), materialize="none")
    found = (await joins.send("POST", "/v1/invoke", json={"queries": [wide, narrow]})).json()[
        "results"
    ]
    assert ("answer-too-large", 100) == (found[0]["problem"]["code"], found[1]["count"])
    assert "live" == (await joins.get(f"/v1/queries/{wide}")).json()["state"]


async def test_status_tells_how_groups_are_joined(joins: Api):
    """Queries of one FROM list and the same join factors are one group, with its counters and orders."""
    for delay in (60, 90, 120):
        sql = SQL.replace("f.dep_delay > 60", f"f.dep_delay > {delay}")
        await joins.register(sql, materialize="partial")
    itself = await joins.register(SELF, materialize="partial")
    some_flights, some_weather = flights(CHUNK_ROWS, hours=24), weather(CHUNK_ROWS, hours=24)
    await joins.rows(some_flights, name="flights")
    await joins.rows(some_weather, name="weather")
    await joins.rows([])
    told = (await joins.get("/v1/status")).json()["joins"]
    assert 2 == told["groups"]
    group = told["costliest"][0]
    assert (["flights", "weather"], 3, 2) == (
        group["streams"],
        group["clauses"],
        len(group["factors"]),
    )
    ways = [{"source": 0, "probed": 1}, {"source": 1, "probed": 0}]
    assert [{"entering": at, "probes": [way]} for at, way in enumerate(ways)] == group["routes"]
    measured = [one for one in group["fan_outs"] if one["fan_out"] > 0]
    assert [ways[1]] == [{name: one[name] for name in ways[1]} for one in measured]
    late = Counter((f["origin"], f["hour"]) for f in some_flights if (f["dep_delay"] or 0) > 60)
    seen = [w for w in some_weather if w["origin"] is not None and w["visib"] is not None]
    low = [(w["origin"], w["hour"]) for w in seen if w["visib"] < 2]
    assert sum(late[key] for key in low) == group["results"] <= group["steps"]
    assert 0 < group["candidates"] <= group["steps"]
    assert 0 < group["fresh_rows"] < 2 * CHUNK_ROWS
    assert told["total"]["results"] == sum(one["results"] for one in told["costliest"])
    lines = (await joins.get("/metrics")).text.splitlines()
    assert {"psoup_join_groups 2.0", f"psoup_join_results_total {float(group['results'])}"} <= set(
        lines
    )
    assert 204 == (await joins.send("DELETE", f"/v1/queries/{itself}")).status_code
    await joins.rows([])
    assert 1 == (await joins.get("/v1/status")).json()["joins"]["groups"]
