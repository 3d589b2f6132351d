"""`Idempotency-Key`: a request that is sent again counts once, and nobody ignores the header."""

import asyncio
from typing import Any

import pytest

from psoup.app.wire.models.queries import QueryBody, body_digest
from tests.app.support import WINDOW, Api, assert_problem, row

pytestmark = pytest.mark.anyio

SQL = f"SELECT px FROM trades WHERE px > 1 {WINDOW}"


def keyed(key: str | bytes) -> dict[str, Any]:
    return {"Idempotency_Key": key}


async def register(api: Api, key: str | bytes, **members):
    headers = {"Idempotency-Key": key}
    return await api.send("POST", "/v1/queries", json={"sql": SQL} | members, headers=headers)


@pytest.mark.services
async def test_key_of_rows_is_answered_as_the_first_time(api: Api):
    """With quotes or without, sent at once or later: the same acknowledgement, and one batch."""
    await api.declare()
    batch = [row(1), row(2, px=1)]
    first, other = await asyncio.gather(*[api.rows(batch, **keyed("one")) for _ in range(2)])
    again = await api.rows(batch[::-1], **keyed('"one"'))
    told = {
        (one.json()["accepted"], one.json()["duplicate"], one.json()["seq"])
        for one in (first, other, again)
    }
    assert {(2, False, first.json()["seq"])} == told
    replayed = [one.headers.get("idempotency-replayed") for one in (first, other, again)]
    assert ("?1", {None, "?1"}) == (replayed[2], {*replayed[:2]})
    assert first.headers["psoup-seq"] == again.headers["psoup-seq"]
    assert 2 == await api.count()
    answer = await api.rows(row(3), **keyed("one"))
    assert_problem(answer, "idempotency-key-reused", seq=first.json()["seq"])


@pytest.mark.services
async def test_key_of_rows_counts_for_its_stream(api: Api):
    """Also where a stream of the same name comes after it; a rejected batch uses no key up."""
    await api.declare()
    await api.declare("other")
    assert_problem(await api.rows(row(px="x"), **keyed("one")), "rows-rejected")
    assert 1 == (await api.rows(row(), **keyed("one"))).json()["accepted"]
    assert (
        "idempotency-replayed" not in (await api.rows(row(), name="other", **keyed("one"))).headers
    )
    await api.send("DELETE", "/v1/streams/trades")
    await api.declare()
    assert "idempotency-replayed" not in (await api.rows(row(), **keyed("one"))).headers
    assert 1 == await api.count()


@pytest.mark.services
async def test_key_of_a_registration_leads_to_the_query_of_then(api: Api):
    """One handle; other members are refused; a query that was removed is not registered again."""
    await api.declare()
    first = await register(api, "one")
    again = await register(api, "one")
    assert (201, 201, "?1") == (
        first.status_code,
        again.status_code,
        again.headers["idempotency-replayed"],
    )
    assert (first.json(), first.headers["location"]) == (again.json(), again.headers["location"])
    assert_problem(
        await register(api, "one", labels={"a": "b"}),
        "idempotency-key-reused",
        seq=first.json()["seq"],
    )
    assert first.json()["id"] != (await register(api, "two")).json()["id"]
    await api.send("DELETE", first.headers["location"])
    assert_problem(await register(api, "one"), "not-found")
    assert 1 == len((await api.get("/v1/queries")).json()["queries"])


async def test_keys_that_are_no_ascii_are_told_apart(api: Api):
    """Each as the bytes it is: the last ones of these are blanks in other encodings than UTF-8."""
    await api.declare()
    for key in ("à", "Å", "я"):
        assert "idempotency-replayed" not in (await api.rows(row(), **keyed(key.encode()))).headers
    assert 3 == await api.count()


async def test_key_of_a_registration_that_is_refused_changes_no_refusal(api: Api):
    """Not even of a value that no column holds; and the key is not used up."""
    await api.declare()
    sql = f"SELECT px FROM trades WHERE px > :px {WINDOW}"
    assert_problem(await register(api, "one", sql=sql, params={"px": 2**64}), "invalid-field")
    assert 201 == (await register(api, "one", sql=sql, params={"px": 1})).status_code


def test_digest_of_a_registration_is_that_of_versions_to_come():
    """They may have more members; one that says its default says nothing."""

    class LaterBody(QueryBody):
        more: bool = False

    first = body_digest(QueryBody(sql=SQL))
    assert first == body_digest(LaterBody(sql=SQL, materialize="auto", name=None))
    assert first != body_digest(LaterBody(sql=SQL, more=True))


@pytest.mark.parametrize("key", ["", "a" * 201, '"open', "a\tb", '""', b"\xe9"])
async def test_key_that_is_malformed_is_refused(api: Api, key: str | bytes):
    """It is 400 and stores nothing, and so are two of them."""
    await api.declare()
    assert_problem(await api.rows(row(), **keyed(key)), "idempotency-key")
    assert_problem(await register(api, key), "idempotency-key")
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await api.send("POST", "/v1/streams/trades/rows", json=row(), headers=headers)
    assert_problem(answer, "idempotency-key")
    assert 0 == await api.count()


async def test_key_is_refused_where_it_would_not_be_looked_at(api: Api):
    """Beside a producer's version, and by every other POST that changes something; what only reads passes it over."""
    await api.declare()
    answer = await api.rows(row(), Psoup_Txn_App="a", Psoup_Txn_Version="1", **keyed("one"))
    assert_problem(answer, "txn-headers")
    headers = {"Idempotency-Key": "one"}
    for path in ("batch/queries", "commits", "streams/trades/stages"):
        answer = await api.send("POST", f"/v1/{path}", json={}, headers=headers)
        assert_problem(answer, "idempotency-key")
    answer = await api.send("POST", "/v1/validate", json={"sql": SQL}, headers=headers)
    assert 200 == answer.status_code
