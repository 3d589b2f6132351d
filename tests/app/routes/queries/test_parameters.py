"""Queries with parameters over HTTP: registered, described, listed, repeated, in bulk, refused."""

import asyncio
from typing import Any

import orjson
import pytest

from psoup.engine import limits
from tests.app.support import WINDOW, Api, assert_problem, row

pytestmark = pytest.mark.anyio

SQL = f"SELECT sym, px FROM trades WHERE px > :min AND sym <> $other {WINDOW}"
PARAMS = {"min": 40, "other": "it's"}
LITERAL = f"SELECT sym, px FROM trades WHERE px > 40 AND sym <> 'it''s' {WINDOW}"
NDJSON = {"Content-Type": "application/x-ndjson"}


async def send(api: Api, sql: str = SQL, **members: Any) -> Any:
    return await api.send("POST", "/v1/queries", json={"sql": sql, **members})


@pytest.mark.services
async def test_query_with_parameters_is_described_with_them_everywhere(api: Api):
    """As it was registered, in each answer that describes it; its canonical text has the values."""
    await api.declare()
    answer = await send(api, params=PARAMS, name="dear")
    body = answer.json()
    assert (201, SQL, PARAMS) == (answer.status_code, body["sql"], body["params"]), answer.text
    plain = (await send(api, LITERAL)).json()
    assert plain["canonical"] == body["canonical"]
    assert {"sql", "params"}.isdisjoint(plain)
    api.service.forget()
    described = (await api.get(answer.headers["location"])).json()
    assert {**body, "plan": described["plan"]} == described
    listed = (await api.get("/v1/queries")).json()["queries"]
    assert [body, plain] == listed


@pytest.mark.services
async def test_query_with_parameters_answers_what_its_literals_would(api: Api):
    """Rows of before and of after its registration; the two share their clause."""
    await api.declare()
    await api.rows([row(0, sym="A", px=41), row(1, sym="it's", px=42), row(2, sym="B", px=40)])
    ids = [(await send(api, params=PARAMS)).json()["id"], await api.register(LITERAL)]
    await api.rows([row(3, sym="C", px=40.5)])
    answers = [(await api.results(one))["rows"] for one in ids]
    assert ["A", "C"] == [one["sym"] for one in answers[0]]
    assert answers[0] == answers[1]
    first, second = (api.service.results.snapshot(one) for one in ids)
    assert first.clause.clause_id == second.clause.clause_id


@pytest.mark.services
async def test_registration_repeated_with_equal_values_is_the_same_query(api: Api):
    """By its name, with parameters or literals, spelled otherwise; other values under the name are another query."""
    await api.declare()
    first = await send(api, params=PARAMS, name="dear")
    for sql, members in (
        (SQL, {"params": PARAMS}),
        (SQL.replace("$other", ":o"), {"params": {"o": "it's", "min": 40.0}}),
        (LITERAL, {}),
    ):
        again = await send(api, sql, name="dear", **members)
        assert (200, first.json()) == (again.status_code, again.json())
    other = await send(api, params=PARAMS | {"min": 41}, name="dear")
    assert_problem(other, "name-taken", id=first.json()["id"])


@pytest.mark.services
async def test_registrations_in_bulk_take_parameters_each_its_own(api: Api):
    """One text with many values: a line each, as POST /v1/queries would answer."""
    await api.declare()
    lines = [{"sql": SQL, "params": {"min": n, "other": "x"}} for n in range(3)]
    lines += [{"sql": SQL, "params": {"min": 1}}, {"sql": SQL, "params": {"min": [1]}}]
    answer = await api.send(
        "POST",
        "/v1/batch/queries",
        content=b"\n".join(map(orjson.dumps, lines)),
        headers=NDJSON,
    )
    found = [orjson.loads(line) for line in answer.content.splitlines()]
    assert [201, 201, 201, 422, 422] == [one["status"] for one in found]
    for one, line in zip(found[:3], lines, strict=False):
        assert (line["sql"], line["params"]) == (one["query"]["sql"], one["query"]["params"])
    pointers = [one["problem"]["errors"][0]["pointer"] for one in found[3:]]
    assert ["/params/other", "/params/min"] == pointers


@pytest.mark.services
@pytest.mark.parametrize(
    ("params", "pointer", "reason"),
    [
        (None, "/params/min", "is missing: the query has this parameter"),
        ({}, "/params/min", "is missing: the query has this parameter"),
        ({"min": 40}, "/params/other", "is missing: the query has this parameter"),
        (PARAMS | {"max": 5}, "/params/max", "is not a parameter of the query"),
        (
            PARAMS | {"min": "40"},
            "/params/min",
            "DOUBLE does not compare with VARCHAR constant '40'. Write a number, without quotes",
        ),
        (
            PARAMS | {"other": 5},
            "/params/other",
            "VARCHAR does not compare with BIGINT constant 5. Write it as a text, in quotes: '5'",
        ),
    ],
)
async def test_parameter_that_does_not_fit_is_refused_by_its_name(
    api: Api, params, pointer, reason
):
    """Its pointer, what was given and expected, and its place in the text; nothing is registered."""
    await api.declare()
    members = {} if params is None else {"params": params}
    problem = assert_problem(await send(api, **members), "invalid-field")
    assert [{"pointer": pointer, "reason": reason}] == [
        one for one in problem["errors"] if one["pointer"] == pointer
    ]
    name = pointer.removeprefix("/params/")
    at = problem["position"]
    pointed = SQL[at["column"] - 1 : at["column"] - 1 + at["length"]]
    assert pointed in ("", f":{name}", f"${name}")
    assert problem["excerpt"].startswith(SQL[:20])
    assert problem["hint"]
    assert [] == (await api.get("/v1/queries")).json()["queries"]


TOO_LONG = "n" * (limits.QUERY_PARAMETER_NAME_LENGTH_MAX + 1)


@pytest.mark.parametrize(
    ("params", "pointer", "reason"),
    [
        ([1], "/params", "expected an object, got an array"),
        ("min=40", "/params", "expected an object, got a text"),
        ({"min": [40]}, "/params/min", "expected a number, a text, true, false or null, got an a"),
        ({"min": {"a": 1}}, "/params/min", "expected a number, a text, true, false or null, got"),
        ({"": 1}, "/params/", "expected a name of letters, digits and _"),
        ({"a b": 1}, "/params/a b", "expected a name of letters, digits and _"),
        ({"1": 1}, "/params/1", "expected a name of letters, digits and _"),
        ({"a/b~": 1}, "/params/a~1b~0", "expected a name of letters, digits and _"),
        ({TOO_LONG: 1}, f"/params/{TOO_LONG}", "expected a text of at most 64 characters"),
        ({"min": "a\0b"}, "/params/min", "holds the character NUL"),
        (
            {f"p{i}": i for i in range(limits.QUERY_PARAMETERS_MAX + 1)},
            "/params",
            f"expected at most {limits.QUERY_PARAMETERS_MAX} entries",
        ),
    ],
)
async def test_params_that_are_none_are_refused(api: Api, params, pointer, reason):
    """Another shape, names that no text could have, nested values, too many of them."""
    await api.declare()
    problem = assert_problem(await send(api, params=params), "invalid-field")
    assert pointer == problem["errors"][0]["pointer"]
    assert problem["errors"][0]["reason"].startswith(reason)


@pytest.mark.parametrize(
    "body",
    [
        b'{"sql": "SELECT * FROM trades WHERE px > :a", "params": {"a": NaN}}',
        b'{"sql": "SELECT * FROM trades WHERE px > :a", "params": {"a": 1e999}}',
        b'{"sql": "SELECT * FROM trades WHERE px > :a", "params": {"a": 1, "a": 2}}',
        b'{"sql": "SELECT * FROM trades WHERE sym > :a", "params": {"a": "\\ud800"}}',
        b'{"sql": "SELECT * FROM trades WHERE px > :a", "params": {"a": %b}}' % (b"9" * 5_000),
    ],
)
async def test_params_that_are_no_strict_json_are_refused_with_the_body(api: Api, body):
    """As anywhere else in a body, alone and as a line of many."""
    await api.declare()
    for path, headers in (
        ("/v1/queries", {"Content-Type": "application/json"}),
        ("/v1/batch/queries", NDJSON),
    ):
        assert_problem(await api.send("POST", path, content=body, headers=headers), "bad-body")


async def test_query_with_parameters_that_are_too_many_bytes_is_refused(api: Api):
    """Values count where they stand: a text of a few bytes could else stand for a gigabyte."""
    await api.declare()
    many = ", ".join([":a"] * 1_000)
    sql = f"SELECT sym FROM trades WHERE sym IN ({many})"
    found = await asyncio.gather(
        *[send(api, sql, params={"a": "x" * size}) for size in (50, 100, 60_000)]
    )
    assert [201, 422, 422] == [one.status_code for one in found]
    for one in found[1:]:
        assert_problem(one, "query-too-complex", limit=limits.QUERY_TEXT_BYTES_MAX)
