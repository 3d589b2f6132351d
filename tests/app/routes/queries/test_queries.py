"""Standing queries over HTTP: registering, describing, listing, removing."""

import re
from typing import get_args

import pytest

from psoup.app.wire.models.queries import MaterializeWord
from psoup.engine import limits
from psoup.engine.log.operation import Materialize
from tests.app.support import WINDOW, Api, assert_problem, row, running

pytestmark = pytest.mark.anyio

SQL = f"SELECT sym, px FROM trades WHERE px > 40 {WINDOW}"


@pytest.mark.services
async def test_query_registered_is_described(api: Api):
    """A registration is answered 201 with handle, canonical text, window and columns."""
    await api.declare()
    answer = await api.send(
        "POST", "/v1/queries", json={"sql": SQL, "name": "dear", "labels": {"user": "42"}}
    )
    body = answer.json()
    assert 201 == answer.status_code
    assert re.fullmatch(r"q_[0-9A-Za-z]{22}", body["id"])
    path = f"/v1/queries/{body['id']}"
    assert path == answer.headers["location"]
    links = {"self": path, "results": f"{path}/results", "events": f"{path}/events"}
    assert links == body["links"]
    window = {"kind": "sliding", "begin": "now-10m", "end": "now", "ranges": {}}
    assert (window, None) == (body["window"], body["suspended"])
    assert [{"name": "sym", "type": "string"}, {"name": "px", "type": "float64"}] == body["columns"]
    assert ("live", "dear", {"user": "42"}, 2) == tuple(
        body[name] for name in ("state", "name", "labels", "seq")
    )
    described = (await api.get(f"/v1/queries/{body['id']}")).json()
    assert described.pop("plan")
    assert body == described


@pytest.mark.services
async def test_query_registered_after_the_data_answers_it(api: Api):
    """Old data have been applied before 201 is sent."""
    await api.declare()
    await api.rows([row(0, sym="A", px=41), row(1, sym="B", px=39)])
    query_id = await api.register(SQL)
    assert ["A"] == [one["sym"] for one in (await api.results(query_id))["rows"]]


@pytest.mark.services
async def test_query_of_the_same_name_and_text_is_found(api: Api):
    """Registering a name again is 200 with the same handle, else 409 with it."""
    await api.declare()
    query_id = await api.register(SQL, name="dear")
    again = await api.send("POST", "/v1/queries", json={"sql": SQL.lower(), "name": "dear"})
    assert (200, query_id) == (again.status_code, again.json()["id"]), again.text
    other = await api.send(
        "POST", "/v1/queries", json={"sql": "SELECT * FROM trades", "name": "dear"}
    )
    assert_problem(other, "name-taken", id=query_id)


@pytest.mark.parametrize("kept", list(Materialize))
async def test_query_tells_what_is_kept_of_its_matches(api: Api, kept):
    """`materialize` is auto where it was not given, and stands in every description."""
    await api.declare()
    members = {} if kept is Materialize.AUTO else {"materialize": kept.value}
    answer = await api.send("POST", "/v1/queries", json={"sql": SQL, **members})
    body = answer.json()
    assert (201, kept.value) == (answer.status_code, body["materialize"])
    assert kept.value == (await api.get(f"/v1/queries/{body['id']}")).json()["materialize"]
    api.service.forget()
    listed = (await api.get("/v1/queries")).json()["queries"]
    assert [body] == listed
    snapshot = api.service.results.snapshot(body["id"])
    assert kept is snapshot.clause.materialize


@pytest.mark.parametrize("value", ["all", "AUTO", "", None, True])
async def test_query_that_keeps_what_cannot_be_is_refused(api: Api, value):
    """Another value is 422 and names those there are."""
    await api.declare()
    answer = await api.send("POST", "/v1/queries", json={"sql": SQL, "materialize": value})
    (error,) = assert_problem(answer, "invalid-field")["errors"]
    assert "/materialize" == error["pointer"]
    assert [] == [one for one in Materialize if one.value not in error["reason"]]


@pytest.mark.services
async def test_query_of_the_same_name_that_keeps_otherwise_is_refused(api: Api):
    """What is kept belongs to the definition a name stands for, on every store."""
    await api.declare()
    members = {"sql": SQL, "name": "dear", "materialize": "partial"}
    query_id = await api.register(**members)
    again = await api.send("POST", "/v1/queries", json=members)
    assert (200, query_id) == (again.status_code, again.json()["id"])
    assert "partial" == again.json()["materialize"]
    for other in ({"materialize": "none"}, {"materialize": "auto"}):
        answer = await api.send("POST", "/v1/queries", json={**members, **other})
        assert_problem(answer, "name-taken", id=query_id)


async def test_queries_listed_while_one_is_removed_are_the_others(api: Api, monkeypatch):
    """A query that goes while the list is made is left out of it."""
    await api.declare()
    ids = [await api.register(SQL) for _ in range(3)]
    results = api.service.results
    found = results.queries()
    monkeypatch.setattr(results, "queries", lambda: found)
    await api.send("DELETE", f"/v1/queries/{ids[1]}")
    listed = (await api.get("/v1/queries")).json()["queries"]
    assert [ids[0], ids[2]] == [one["id"] for one in listed]


async def test_descriptions_kept_are_bounded(api: Api, monkeypatch):
    """Past their number they are made anew; what they say stays."""
    await api.declare()
    ids = [await api.register(SQL) for _ in range(5)]
    monkeypatch.setattr(limits, "DESCRIPTIONS_KEPT_MAX", 2)
    api.service.forget()  # the bound is that of the time at which it begins to keep them
    for _ in range(2):
        listed = (await api.get("/v1/queries")).json()["queries"]
        assert ids == [one["id"] for one in listed]
        assert len(api.service.descriptions) <= 2


@pytest.mark.services
async def test_query_removed_is_gone(api: Api):
    """A removed handle answers 404 everywhere, and its name is free."""
    await api.declare()
    query_id = await api.register(SQL, name="dear")
    path = f"/v1/queries/{query_id}"
    assert 204 == (await api.send("DELETE", path)).status_code
    assert_problem(await api.get(path), "not-found")
    assert_problem(await api.get(f"{path}/results"), "not-found")
    assert_problem(await api.send("DELETE", path), "not-found")
    assert query_id != await api.register("SELECT * FROM trades", name="dear")


@pytest.mark.services
@pytest.mark.parametrize("handle", ["q_0", "trades", "q_" + "0" * 22, "q_" + "é" * 22])
async def test_query_of_no_such_handle_is_not_found(api: Api, handle):
    """A handle that never was, or has another shape, is 404."""
    assert_problem(await api.get(f"/v1/queries/{handle}"), "not-found")
    assert_problem(await api.get(f"/v1/queries/{handle}/results"), "not-found")
    assert_problem(await api.send("DELETE", f"/v1/queries/{handle}"), "not-found")


@pytest.mark.services
async def test_queries_listed_are_filtered_and_paged(api: Api):
    """Labels, stream and state narrow the list; pages go on in the order of registration."""
    await api.declare()
    await api.declare("other")
    ids = [
        await api.register(f"SELECT * FROM trades WHERE qty = {i}", labels={"user": str(i % 2)})
        for i in range(5)
    ]
    other = await api.register("SELECT * FROM other")

    async def listed(query: str) -> list[str]:
        body = (await api.get(f"/v1/queries?{query}")).json()
        return [one["id"] for one in body["queries"]]

    assert [*ids, other] == await listed("")
    assert ids[1::2] == await listed("label=user:1")
    assert [] == await listed("label=user:1&label=user:0")
    assert [other] == await listed("stream=other")
    assert [] == await listed("stream=nope")
    assert [] == await listed("state=suspended")
    seen, following = [], "/v1/queries?limit=2&stream=trades"
    while following:
        body = (await api.get(following)).json()
        seen += [one["id"] for one in body["queries"]]
        following = body["next"]
    assert ids == seen


@pytest.mark.services
@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT FROM trades WHERE", "sql-syntax"),
        ("SELECT * FROM nope", "unknown-stream"),
        ("SELECT price FROM trades", "unknown-column"),
        ("SELECT * FROM trades WHERE sym > 5", "type-mismatch"),
        ("SELECT sym, count(*) FROM trades", "unsupported-sql"),
        ("SELECT px FROM trades GROUP BY sym", "unsupported-sql"),
        ("SELECT sym FROM trades ORDER BY nope", "unknown-column"),
        ("SELECT sym FROM trades LIMIT -5 BEGIN (NOW - 60) END (NOW)", "unsupported-sql"),
        ("DELETE FROM trades", "unsupported-sql"),
        (
            "SELECT * FROM trades BEGIN (TIMESTAMP '2014-01-06') END (TIMESTAMP '2014-01-05')",
            "window-empty",
        ),
        (
            f"SELECT * FROM trades WHERE qty IN ({','.join(map(str, range(1_001)))})",
            "query-too-complex",
        ),
    ],
)
async def test_query_refused_says_where_and_what(api: Api, sql, code):
    """A refused query is 422 with position, excerpt and hint; the sentence quotes nothing of it."""
    await api.declare()
    body = assert_problem(await api.send("POST", "/v1/queries", json={"sql": sql}), code)
    assert body["position"]["line"] == 1
    assert body["excerpt"]
    assert body["hint"]
    assert "price" not in body["detail"]
    assert [] == (await api.get("/v1/queries")).json()["queries"]
    assert await api.register(SQL)


async def test_handles_are_made_of_the_bits_that_are_drawn():
    """Handles hold 128 bits in base 62; chance is an argument."""
    numbers = iter([0, 2**128 - 1])
    async with running(handle_bits=lambda _: next(numbers)) as api:
        await api.declare()
        assert "q_" + "0" * 22 == await api.register(SQL)
        assert re.fullmatch(r"q_[0-9A-Za-z]{22}", await api.register(SQL))


def test_materialize_travels_as_the_engine_names_it():
    """The words of the contract are the engine's, no more and no fewer."""
    assert [one.value for one in Materialize] == list(get_args(MaterializeWord))
