"""Queries by name and by label over HTTP: found, declared again, replaced, removed together."""

import asyncio

import pytest

from psoup.engine import limits
from tests.app.support import WINDOW, Api, assert_problem, row
from tests.patience import wait_until

pytestmark = pytest.mark.anyio

SQL = f"SELECT sym, px FROM trades WHERE px > 40 {WINDOW}"
OTHER = f"SELECT sym FROM trades WHERE px > 10 {WINDOW}"
NAMED = "/v1/queries/dear"


async def put(api: Api, sql: str, *, replace: bool = False, path: str = NAMED, **members):
    parameters = {"replace": "true"} if replace else None
    return await api.send("PUT", path, params=parameters, json={"sql": sql, **members})


@pytest.mark.services
async def test_query_is_found_by_its_exact_name(api: Api):
    """`name=` lists the query of that name, or none; other filters hold beside it."""
    await api.declare()
    query_id = await api.register(SQL, name="dear", labels={"user": "42"})
    await api.register(SQL, name="dearer")

    async def found(**parameters):
        answer = await api.get("/v1/queries", params=parameters)
        return [one["id"] for one in answer.json()["queries"]]

    assert [query_id] == await found(name="dear")
    assert [] == await found(name="Dear")
    assert [query_id] == await found(name="dear", label="user:42", stream="trades")
    assert [] == await found(name="dear", label="user:43")
    assert [] == await found(name="dear", stream="other")
    await api.send("DELETE", f"/v1/queries/{query_id}")
    assert [] == await found(name="dear")


@pytest.mark.services
async def test_query_put_is_registered_once(api: Api):
    """The first PUT is 201, the same again 200 with the same handle; so is a POST of it."""
    await api.declare()
    first = await put(api, SQL, labels={"user": "42"})
    body = first.json()
    assert (201, "dear", 1) == (first.status_code, body["name"], body["version"]), first.text
    assert f"/v1/queries/{body['id']}" == first.headers["location"]
    for replace in (False, True):
        again = await put(api, SQL, replace=replace)
        assert (200, body) == (again.status_code, again.json())
    posted = await api.send("POST", "/v1/queries", json={"sql": SQL, "name": "dear"})
    assert (200, body) == (posted.status_code, posted.json())


@pytest.mark.services
async def test_query_of_a_name_that_is_taken_is_replaced_only_where_that_is_asked_for(api: Api):
    """409 names the query that stands, which stays as it is."""
    await api.declare()
    query_id = (await put(api, SQL)).json()["id"]
    assert_problem(await put(api, OTHER), "name-taken", id=query_id)
    assert_problem(await put(api, SQL, materialize="none"), "name-taken", id=query_id)
    described = (await api.get(f"/v1/queries/{query_id}")).json()
    assert ["sym", "px"] == [one["name"] for one in described["columns"]]


@pytest.mark.services
async def test_query_replaced_answers_its_new_definition_under_its_handle(api: Api):
    """The handle and the name stay, the version is one more, and old data meet the new definition."""
    await api.declare()
    await api.rows([row(0, sym="A", px=41), row(1, sym="B", px=20)])
    before = (await put(api, SQL, labels={"user": "1"})).json()
    after = await put(api, OTHER, replace=True, labels={"user": "2"})
    body = after.json()
    assert (200, before["id"], 2) == (after.status_code, body["id"], body["version"])
    assert ("dear", {"user": "2"}, before["seq"]) == (body["name"], body["labels"], body["seq"])
    assert int(after.headers["psoup-seq"]) > before["seq"]
    described = (await api.get(f"/v1/queries/{body['id']}")).json()
    assert {**body, "plan": described["plan"]} == described
    answer = await api.results(body["id"])
    assert [{"sym": "A"}, {"sym": "B"}] == [{"sym": one["sym"]} for one in answer["rows"]]
    again = await put(api, OTHER, replace=True)
    assert (200, 2) == (again.status_code, again.json()["version"])
    third = await put(api, SQL, replace=True)
    assert (before["id"], 3) == (third.json()["id"], third.json()["version"])


@pytest.mark.services
async def test_client_of_a_replaced_query_is_reset(api: Api):
    """A cursor of before gets all rows, also where the same rows are shown; the tag is another one."""
    await api.declare()
    await api.rows([row(0, sym="A", px=41)])
    query_id = (await put(api, SQL)).json()["id"]
    path = f"/v1/queries/{query_id}/results"
    first = await api.get(path)
    cursor, tag = first.json()["cursor"], first.headers["etag"]
    assert 304 == (await api.get(path, headers={"If-None-Match": tag})).status_code
    await put(api, SQL.replace("px > 40", "px > 39"), replace=True)
    assert 200 == (await api.get(path, headers={"If-None-Match": tag})).status_code
    answer = await api.results(query_id, cursor=cursor)
    assert (True, 1) == (answer["reset"], len(answer["rows"]))
    again = await api.results(query_id, cursor=answer["cursor"])
    assert (False, []) == (again["reset"], again["rows"])


@pytest.mark.services
async def test_page_of_a_replaced_query_has_expired(api: Api):
    """Pages of an answer are of one definition: the next one of before is 410."""
    await api.declare()
    await api.rows([row(second, sym="A", px=41) for second in range(4)])
    query_id = (await put(api, SQL)).json()["id"]
    answer = await api.results(query_id, limit=2)
    await put(api, OTHER, replace=True)
    assert_problem(await api.get(answer["next"]), "page-expired")


@pytest.mark.services
@pytest.mark.parametrize("other", [OTHER, SQL + " EVERY INTERVAL '1' SECOND", "another stream"])
async def test_who_waits_for_a_replaced_query_is_told(api: Api, other):
    """A wait ends with the replacement, though no row arrives."""
    await api.declare()
    await api.declare("more")
    await api.rows([row(0, sym="A", px=41)])
    query_id = (await put(api, SQL)).json()["id"]
    cursor = (await api.results(query_id))["cursor"]
    waiting = asyncio.create_task(api.results(query_id, cursor=cursor, wait=50))
    room = api.app.state.context.room
    await asyncio.to_thread(wait_until, lambda: room.statistics().waiting == 1, "it waits")
    text = OTHER.replace("trades", "more") if other == "another stream" else other
    assert 200 == (await put(api, text, replace=True)).status_code
    assert (await asyncio.wait_for(waiting, 20))["reset"]


@pytest.mark.services
async def test_queries_that_share_a_condition_are_replaced_apart(api: Api):
    """What another handle shares with a replaced one it keeps."""
    await api.declare()
    await api.rows([row(0, sym="A", px=41), row(1, sym="B", px=20)])
    query_id = (await put(api, SQL)).json()["id"]
    other_id = await api.register(SQL)
    await put(api, OTHER, replace=True)
    assert 1 == len((await api.results(other_id))["rows"])
    await put(api, SQL.replace("sym, px", "px"), replace=True)  # back to a shared condition
    assert [41.0] == [one["px"] for one in (await api.results(query_id))["rows"]]
    stream = (await api.get("/v1/streams/trades")).json()
    assert 2 == stream["queries"]


@pytest.mark.services
async def test_join_is_replaced(api: Api):
    """A query over several streams may take the place of one over one stream, and the other way round."""
    await api.declare()
    await api.declare("more")
    await api.rows([row(0, sym="A", px=41)])
    await api.rows([row(1, sym="A", px=42)], name="more")
    query_id = (await put(api, SQL)).json()["id"]
    join = f"SELECT a.px AS one, b.px AS other FROM trades a, more b WHERE a.sym = b.sym {WINDOW}"
    assert 200 == (await put(api, join, replace=True)).status_code
    (found,) = (await api.results(query_id))["rows"]
    assert (41.0, 42.0) == (found["one"], found["other"])
    assert [1, 1] == [one["queries"] for one in (await api.get("/v1/streams")).json()["streams"]]
    assert 200 == (await put(api, SQL, replace=True)).status_code
    assert 1 == len((await api.results(query_id))["rows"])
    assert [0, 1] == [one["queries"] for one in (await api.get("/v1/streams")).json()["streams"]]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/v1/queries/q_" + "0" * 22, "is the handle of a query"),
        ("/v1/queries/" + "n" * (limits.QUERY_NAME_LENGTH_MAX + 1), "printable characters"),
        ("/v1/queries/a%07b", "printable characters"),
        ("/v1/queries/%FF", "not UTF-8"),
        ("/v1/queries/%2E%2e", "clients take these out of a path"),
    ],
)
async def test_name_that_cannot_be_is_refused(api: Api, path, reason):
    """PUT takes names alone, of the same form as POST does."""
    await api.declare()
    (error,) = assert_problem(await put(api, SQL, path=path), "invalid-field")["errors"]
    assert "/name" == error["pointer"]
    assert reason in error["reason"]


@pytest.mark.parametrize("name", [".", ".."])
async def test_name_that_is_no_segment_of_a_path_is_refused(api: Api, name):
    """Nobody could PUT it. A dot is a letter of a name like any other."""
    await api.declare()
    answer = await api.send("POST", "/v1/queries", json={"sql": SQL, "name": name})
    (error,) = assert_problem(answer, "invalid-field")["errors"]
    assert "/name" == error["pointer"]
    assert "clients take these out of a path" in error["reason"]
    assert [] == (await api.get("/v1/queries")).json()["queries"]
    await api.register(SQL, name=f"{name}x")


async def test_replacement_that_is_wrong_changes_nothing(api: Api):
    """A text that does not bind is 422, a member that does not exist 400, and the query stays."""
    await api.declare()
    query_id = (await put(api, SQL)).json()["id"]
    assert_problem(await put(api, "SELECT no FROM trades", replace=True), "unknown-column")
    assert_problem(await put(api, OTHER, replace=True, name="n"), "unknown-field", field="/name")
    answer = await api.send("PUT", f"{NAMED}?replace=yes", json={"sql": OTHER})
    assert_problem(answer, "invalid-field")
    assert 1 == (await api.get(f"/v1/queries/{query_id}")).json()["version"]


@pytest.mark.services
async def test_queries_are_removed_by_label(api: Api):
    """All that have every label go, and none else; a second time there is none."""
    await api.declare()
    labels = {"user": "42", "kind": "x"}
    gone = [await api.register(SQL, labels=labels) for _ in range(3)]
    kept = [await api.register(SQL, labels={"user": "42"}), await api.register(SQL)]
    parameters = [("label", "user:42"), ("label", "kind:x")]
    answer = await api.send("DELETE", "/v1/queries", params=parameters)
    assert (200, {"deleted": 3}) == (answer.status_code, answer.json())
    assert "psoup-seq" in answer.headers
    listed = (await api.get("/v1/queries")).json()["queries"]
    assert kept == [one["id"] for one in listed]
    assert_problem(await api.get(f"/v1/queries/{gone[0]}"), "not-found")
    again = await api.send("DELETE", "/v1/queries", params=parameters)
    assert (200, {"deleted": 0}) == (again.status_code, again.json())


async def test_queries_are_not_removed_without_a_label(api: Api):
    """Nothing stands for all queries: without a label it is 422."""
    await api.declare()
    await api.register(SQL)
    (error,) = assert_problem(await api.send("DELETE", "/v1/queries"), "invalid-field")["errors"]
    assert "?label" == error["pointer"]
    assert 1 == len((await api.get("/v1/queries")).json()["queries"])
