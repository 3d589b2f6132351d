"""A query that is changed under its handle over HTTP: what is given changes, and what others have read is compared."""

import asyncio
from dataclasses import replace

import pytest

from psoup.engine import limits
from psoup.engine.log.operation import Replace
from tests.app.support import WINDOW, Api, assert_problem, row
from tests.patience import WAIT_S

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
