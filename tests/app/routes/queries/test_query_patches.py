"""A query that is changed under its handle over HTTP: what is given changes, and what others have read is compared."""

import asyncio
from dataclasses import replace

import pytest

from psoup.engine import limits
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import QueryId, Remove, Replace
from tests.app.support import WINDOW, Api, assert_problem, row
from tests.patience import WAIT_S, wait_until

pytestmark = pytest.mark.anyio

SQL = f"SELECT sym, px FROM trades WHERE px > 40 {WINDOW}"
OTHER = f"SELECT sym FROM trades WHERE px > 10 {WINDOW}"
GIVEN = f"SELECT sym FROM trades WHERE px > :min {WINDOW}"
NAMED = "/v1/queries/dear"
HOUR_US = 3_600 * limits.SECOND_US


async def patch(api: Api, query_id: str, *, if_match: str | None = None, **members):
    headers = {} if if_match is None else {"If-Match": if_match}
    return await api.send("PATCH", f"/v1/queries/{query_id}", json=members, headers=headers)


async def tag_of(api: Api, query_id: str) -> str:
    return str((await api.get(f"/v1/queries/{query_id}")).headers["etag"])


@pytest.mark.services
async def test_query_with_another_text_answers_as_one_that_is_registered_so(api: Api):
    """Old rows meet it before 200; the version is one more, and a client with a cursor begins anew."""
    await api.declare()
    await api.rows([row(i, sym="A", px=float(10 * i)) for i in range(9)])
    query_id = await api.register(SQL, labels={"user": "42"})
    before = await api.results(query_id)
    answer = await patch(api, query_id, sql=OTHER)
    body = answer.json()
    assert (200, 2, {"user": "42"}) == (answer.status_code, body["version"], body["labels"])
    fresh = await api.results(await api.register(OTHER))
    found = await api.results(query_id, cursor=before["cursor"])
    assert (True, fresh["rows"]) == (found["reset"], found["rows"])
    await api.rows([row(9, sym="B", px=15.0)])
    assert 8 == len((await api.results(query_id))["rows"])
    again = await patch(api, query_id, sql=OTHER)
    assert (200, body) == (again.status_code, again.json())


@pytest.mark.services
async def test_query_with_other_labels_or_time_to_live_answers_as_before(api: Api):
    """Version, cursor and tag of the answer stay; what is left out stays, and null takes away."""
    await api.declare()
    await api.rows([row(0, sym="A", px=50.0)])
    query_id = await api.register(SQL, labels={"user": "42"})
    before = await api.results(query_id)
    lasting = (await patch(api, query_id, ttl="7d")).json()
    assert ("7d", {"user": "42"}, 1) == (lasting["ttl"], lasting["labels"], lasting["version"])
    assert lasting["expires_at"] is not None
    labelled = (await patch(api, query_id, labels={"user": "43"})).json()
    assert ("7d", {"user": "43"}, 1) == (labelled["ttl"], labelled["labels"], labelled["version"])
    assert [query_id] == [
        one["id"]
        for one in (await api.get("/v1/queries", params={"label": "user:43"})).json()["queries"]
    ]
    bare = (await patch(api, query_id, labels=None, ttl=None)).json()
    assert ({}, None, None) == (bare["labels"], bare["ttl"], bare["expires_at"])
    after = await api.results(query_id, cursor=before["cursor"])
    assert (False, []) == (after["reset"], after["rows"])


async def test_time_to_live_of_a_query_begins_when_it_is_given(api: Api):
    """Also where it is the one that the query has, and however little of it has passed: the answer says until when."""
    await api.declare()
    query_id = await api.register(SQL, ttl="7d")
    before = (await api.get(f"/v1/queries/{query_id}")).json()
    api.clock.advance(limits.SECOND_US)
    after = (await patch(api, query_id, ttl="7d")).json()
    assert before["expires_at"] < after["expires_at"]
    assert {**before, "expires_at": after["expires_at"]} == {**after, "plan": before["plan"]}
    again = (await patch(api, query_id, labels={})).json()
    assert after == again


async def test_query_with_parameters_gets_other_values_of_the_same_text(api: Api):
    """And without them another text alone would lack its values."""
    await api.declare()
    query_id = await api.register(GIVEN, params={"min": 40})
    given = (await patch(api, query_id, params={"min": 10})).json()
    assert (GIVEN, {"min": 10}, 2) == (given["sql"], given["params"], given["version"])
    assert "px > 10.0" in given["canonical"]
    refused = await patch(api, query_id, params=None)
    assert_problem(refused, "invalid-field")
    plain = (await patch(api, query_id, sql=SQL, params=None)).json()
    assert (3, False) == (plain["version"], "sql" in plain)


async def test_query_that_has_changed_is_not_changed_by_who_has_not_read_it(api: Api):
    """412 by PATCH and by PUT; the tag of what stands, or *, lets it pass. A renewal changes no tag."""
    await api.declare()
    query_id = await api.register(SQL, name="dear", ttl="1h")
    first = await tag_of(api, query_id)
    api.clock.advance(1_000 * limits.SECOND_US)
    await api.results(query_id)
    await asyncio.to_thread(api.service.renewals.renew, ())
    assert await api.service.applied.wait(api.service.store.log.head(), timeout_s=WAIT_S)
    assert first == await tag_of(api, query_id)
    changed = await patch(api, query_id, if_match=first, labels={"user": "42"})
    second = changed.headers["etag"]
    assert (200, second) == (changed.status_code, await tag_of(api, query_id))
    assert first != second
    assert_problem(await patch(api, query_id, if_match=first, ttl=None), "precondition-failed")
    assert_problem(await patch(api, query_id, if_match="W/x", ttl=None), "precondition-failed")

    async def put(if_match, path=NAMED, **parameters):
        return await api.send(
            "PUT", path, params=parameters, json={"sql": OTHER}, headers={"If-Match": if_match}
        )

    assert_problem(await put(first, replace="true"), "precondition-failed")
    assert_problem(await put("*", path="/v1/queries/none"), "precondition-failed")
    assert_problem(await put(second), "name-taken")
    replaced = await put(second, replace="true")
    assert (200, 2) == (replaced.status_code, replaced.json()["version"])
    assert 200 == (await patch(api, query_id, if_match="*", ttl="2h")).status_code


async def test_query_that_changes_while_it_is_changed_keeps_both_changes(api: Api, monkeypatch):
    """The one that comes second is made again of what the first has left."""
    await api.declare()
    query_id = await api.register(SQL)
    append = api.service.store.log.append_many
    between: list[Replace] = []

    def interfering(contents):
        (content,) = contents
        if not between and isinstance(content, Replace):
            between.append(content)
            append([replace(content, query=replace(content.query, labels={}, ttl_us=HOUR_US))])
        return append(contents)

    monkeypatch.setattr(api.service.submission._appender._log, "append_many", interfering)
    answer = await patch(api, query_id, labels={"user": "42"})
    body = answer.json()
    assert (200, {"user": "42"}, "1h") == (answer.status_code, body["labels"], body["ttl"])
    assert between


async def test_query_of_all_columns_keeps_them_where_its_text_stays(api: Api):
    """Labels and time to live leave it as it is where a column was added; other values read its text anew."""
    await api.declare()
    await api.rows([row(0, sym="A", px=50.0)])
    query_id = await api.register(
        f"SELECT * FROM trades WHERE px > :min {WINDOW}", params={"min": 40}
    )
    before = await api.results(query_id)
    described = (await api.get(f"/v1/queries/{query_id}")).json()
    added = {"add_columns": [{"name": "note", "type": "string"}]}
    assert 200 == (await api.send("PATCH", "/v1/streams/trades", json=added)).status_code
    changed = (await patch(api, query_id, labels={"user": "42"}, ttl="7d")).json()
    kept = [described[name] for name in ("version", "columns", "canonical", "sql")]
    assert kept == [changed[name] for name in ("version", "columns", "canonical", "sql")]
    after = await api.results(query_id, cursor=before["cursor"])
    assert (False, []) == (after["reset"], after["rows"])
    wider = (await patch(api, query_id, params={"min": 10})).json()
    assert (2, "note") == (wider["version"], wider["columns"][-1]["name"])


async def test_query_that_goes_while_it_is_compared_is_not_registered_anew(api: Api, monkeypatch):
    """If-Match names a query: what it was is no other one's. It goes before it is read, or before it is replaced."""
    await api.declare()
    results, log = api.service.results, api.service.store.log
    named, append = results.named, log.append_many

    def remove(query_id: str) -> None:
        if results.snapshots([QueryId(query_id)]) != [None]:
            append([Remove(QueryId(query_id))])
            api.service.backend.wake()
            wait_until(lambda: results.snapshots([QueryId(query_id)]) == [None], "it is removed")

    def found(name):
        query = named(name)
        remove(query_id)
        return query

    def submitted(contents):
        remove(query_id)
        return append(contents)

    for target, name, interfering in (
        (results, "named", found),
        (api.service.submission._appender._log, "append_many", submitted),
    ):
        query_id = await api.register(SQL, name="dear")
        headers = {"If-Match": await tag_of(api, query_id)}
        with monkeypatch.context() as patched:
            patched.setattr(target, name, interfering)
            answer = await api.send(
                "PUT", NAMED, params={"replace": "true"}, json={"sql": OTHER}, headers=headers
            )
        assert_problem(answer, "precondition-failed")
        assert [] == (await api.get("/v1/queries")).json()["queries"]


async def test_query_that_matches_is_as_declared_again(api: Api):
    """The same definition changes nothing, with If-Match as without: labels are those of the first registration."""
    await api.declare()
    query_id = await api.register(SQL, name="dear", labels={"user": "42"})
    tag, head = await tag_of(api, query_id), api.service.store.log.head()
    for parameters in ({}, {"replace": "true"}):
        answer = await api.send(
            "PUT", NAMED, params=parameters, json={"sql": SQL}, headers={"If-Match": tag}
        )
        body = answer.json()
        assert (200, query_id, {"user": "42"}) == (answer.status_code, body["id"], body["labels"])
        assert tag == answer.headers["etag"]
    assert head == api.service.store.log.head()


@pytest.mark.parametrize("method", ["PUT", "POST"])
async def test_query_that_goes_before_it_is_declared_again_is_registered_anew(
    api: Api, monkeypatch, method
):
    """The log knows it still, and it has expired before it can be described: that is no answer to a registration."""
    await api.declare()
    first = await api.register(SQL, name="dear")
    results, log = api.service.results, api.service.store.log
    append = log.append_many

    def interfering(contents):
        outcomes = append(contents)
        (outcome,) = outcomes
        if isinstance(outcome, Appended) and outcome.duplicate:
            append([Remove(QueryId(first))])
            api.service.backend.wake()
            wait_until(lambda: results.snapshots([QueryId(first)]) == [None], "it is removed")
        return outcomes

    monkeypatch.setattr(api.service.submission._appender._log, "append_many", interfering)
    path, name = (NAMED, {}) if method == "PUT" else ("/v1/queries", {"name": "dear"})
    answer = await api.send(method, path, json={"sql": SQL, **name})
    assert (201, "dear") == (answer.status_code, answer.json()["name"]), answer.text
    assert first != answer.json()["id"]


async def test_query_is_left_as_it_is_by_a_change_that_is_refused(api: Api):
    """Nothing given, a member that does not exist, a text that does not bind, a handle that is none."""
    await api.declare()
    query_id = await api.register(SQL)
    before = (await api.get(f"/v1/queries/{query_id}")).json()
    assert_problem(await patch(api, query_id), "invalid-field")
    assert_problem(await patch(api, query_id, name="other"), "unknown-field")
    assert_problem(await patch(api, query_id, sql="SELECT nothing FROM trades"), "unknown-column")
    assert_problem(await patch(api, query_id, sql=""), "unsupported-sql")
    assert_problem(await patch(api, query_id, ttl="1s"), "invalid-field")
    assert_problem(await patch(api, "dear", ttl="1h"), "not-found")
    assert_problem(await patch(api, f"q_{'0' * 22}", ttl="1h"), "not-found")
    assert before == (await api.get(f"/v1/queries/{query_id}")).json()
