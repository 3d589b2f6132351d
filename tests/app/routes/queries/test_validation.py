"""Queries that are looked at: what a registration would say, and nothing stored."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from psoup.app.wire.models.streams import definition
from psoup.engine import limits
from tests.app.support import WINDOW, Api, assert_problem, row, running
from tests.golden.query_files import ACCEPTED, REFUSED, STREAMS, given, read_all_cases

pytestmark = pytest.mark.anyio
SQL = f"SELECT sym, px FROM trades WHERE px > 40 AND sym = 'ACME' {WINDOW}"


@pytest.fixture
async def golden() -> AsyncIterator[Api]:
    """Yield a service with the streams of the golden queries."""
    async with running() as api:
        for name, (_, schema) in STREAMS.items():
            answer = await api.send("PUT", f"/v1/streams/{name}", json=definition(schema))
            assert 201 == answer.status_code, answer.text
        yield api


async def validated(api: Api, sql: str, **members: Any) -> dict[str, Any]:
    answer = await api.send("POST", "/v1/validate", json={"sql": sql, **members})
    assert 200 == answer.status_code, answer.text
    return dict(answer.json())


def state_of(api: Api) -> object:
    """Return all that is stored: the records at the applied position, and where the log ends."""
    checkpoint = api.service.results.checkpoint()
    records = replace(checkpoint, cut=replace(checkpoint.cut, server_now_us=0))
    return records, api.service.store.log.head(), api.service.store.log.statistics()


@pytest.mark.services
async def test_validation_says_what_a_registration_would(api: Api):
    """The members that a description has, the plan, and the forecast."""
    await api.declare()
    await api.rows([row(i, sym="ACME" if i % 2 else "B", px=38.0 + i) for i in range(10)])
    found = await validated(api, SQL, name="dear", labels={"user": "42"}, materialize="partial")
    asked = {"sql": SQL, "name": "dear", "labels": {"user": "42"}, "materialize": "partial"}
    assert found == (await api.send("QUERY", "/v1/validate", json=asked)).json()
    registered = (await api.send("POST", "/v1/queries", json={"sql": SQL})).json()
    for member in ("canonical", "window", "columns", "delta", "warnings"):
        assert registered[member] == found[member], member
    stream = {
        "stream": "trades",
        "alias": "trades",
        "driver": "sym = 'ACME'",
        "index": "hash",
        "residual": ["px > 40.0"],
    }
    plan = {"streams": [stream], "joined_on": [], "residual": [], "shared_with": 0}
    assert plan == found["plan"]
    rows = (await api.results(registered["id"]))["count"]
    assert {
        "rows": rows,
        "rows_at_most": rows,
        "bytes": rows * (len("ACME") + 8),
        "matches_per_s": 0.444,
        "basis": "all 10 rows of trades in reach of the window",
    } == found["forecast"]
    assert 4 == rows


@pytest.mark.services
async def test_validation_changes_nothing(api: Api):
    """The log ends where it did, and what is published is the same, whatever was validated."""
    await api.declare()
    await api.rows([row(i, sym="A", px=float(i)) for i in range(3)])
    await api.register(SQL, name="dear")
    before = state_of(api)
    await validated(api, SQL, name="dear")
    await validated(api, "SELECT px FROM trades", name="new", materialize="complete")
    refused = await api.send("POST", "/v1/validate", json={"sql": "SELECT price FROM trades"})
    assert 422 == refused.status_code
    assert before == state_of(api)
    assert 1 == len((await api.get("/v1/queries")).json()["queries"])


async def test_validation_refuses_what_a_registration_refuses(golden: Api):
    """Each golden refusal is the same problem, to the letter."""
    for case in read_all_cases(REFUSED):
        body = {"sql": case.text, "params": dict(given(case.text))}
        problems = []
        for path in ("/v1/validate", "/v1/queries"):
            answer = await golden.send("POST", path, json=body)
            problem = answer.json()
            assert 422 == answer.status_code, (case.text, answer.text)
            assert problem.pop("instance")
            problems.append(problem)
        assert problems[0] == problems[1], case.text


async def test_validation_accepts_what_a_registration_accepts(golden: Api):
    """Each golden query is described as its registration describes it."""
    for case in read_all_cases(ACCEPTED):
        params = dict(given(case.text))
        found = await validated(golden, case.text, params=params)
        answer = await golden.send("POST", "/v1/queries", json={"sql": case.text, "params": params})
        assert 201 == answer.status_code, answer.text
        described = answer.json()
        same = ("canonical", "window", "columns", "delta", "warnings")
        assert [described[name] for name in same] == [found[name] for name in same]


async def test_validation_refuses_members_as_a_registration_does(api: Api):
    """Wrong members and values are refused by name."""
    await api.declare()
    wrong = await api.send("POST", "/v1/validate", json={"sq": SQL})
    assert_problem(wrong, "unknown-field", field="/sq", nearest="sql")
    assert_problem(await api.send("POST", "/v1/validate", json={"sql": 12}), "invalid-field")


@pytest.mark.services
async def test_plan_counts_the_queries_that_share_it(api: Api):
    """Those with the same FROM, WHERE and materialize, whatever they show; the query itself is no other."""
    await api.declare()
    where = "FROM trades WHERE px > 40"
    first = await api.register(f"SELECT sym {where}")
    await api.register(f"SELECT px {where} {WINDOW}")
    await api.register(f"SELECT px {where}", materialize="complete")
    await api.register("SELECT px FROM trades WHERE px > 41")
    plan = (await api.get(f"/v1/queries/{first}")).json()["plan"]
    assert ("px > 40.0", 1) == (plan["streams"][0]["driver"], plan["shared_with"])
    assert 2 == (await validated(api, f"SELECT qty {where}"))["plan"]["shared_with"]
    kept = await validated(api, f"SELECT qty {where}", materialize="complete")
    assert 1 == kept["plan"]["shared_with"]


async def test_plan_does_not_count_among_too_many(api: Api, monkeypatch):
    """Past the bound nothing is said of who shares it."""
    await api.declare()
    ids = [await api.register("SELECT px FROM trades") for _ in range(3)]
    monkeypatch.setattr(limits, "SHARING_LOOKED_AT_MAX", 2)
    assert (await api.get(f"/v1/queries/{ids[0]}")).json()["plan"]["shared_with"] is None
    assert (await validated(api, "SELECT px FROM trades"))["plan"]["shared_with"] is None


@pytest.mark.services
async def test_validation_of_a_join_names_its_streams(api: Api):
    """Each stream of FROM has its part of the plan; the forecast is a bound, and says from what."""
    await api.declare()
    await api.declare("quotes")
    await api.rows([row(i, sym="A", px=float(i)) for i in range(3)])
    sql = "SELECT t.px FROM trades AS t, quotes AS q WHERE t.sym = q.sym AND q.px > 3 BEGIN (NOW - 9) END (NOW)"
    found = await validated(api, sql)
    plan = found["plan"]
    assert [("trades", None), ("quotes", "quotes.px > 3.0")] == [
        (one["stream"], one["driver"]) for one in plan["streams"]
    ]
    assert ["quotes.sym = trades.sym"] == plan["joined_on"]
    assert {
        "rows": None,
        "rows_at_most": 0,
        "bytes": None,
        "matches_per_s": None,
        "basis": "3 rows of trades and 0 rows of quotes in reach of the windows; which of these find each other is not estimated",
    } == found["forecast"]


@pytest.mark.services
@pytest.mark.parametrize(
    ("sql", "rows", "basis"),
    [
        ("SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym", None, "how many groups these make"),
        ("SELECT DISTINCT sym FROM trades", None, "how many of these differ"),
        ("SELECT sym FROM trades [ROWS 9]", None, "how many of these the row window shows"),
        ("SELECT COUNT(*) AS n FROM trades", 1, None),
    ],
)
async def test_validation_says_why_rows_are_not_estimated(api: Api, sql, rows, basis):
    """And how many there are at most."""
    await api.declare()
    await api.rows([row(0, sym="A", px=1.0)])
    forecast = (await validated(api, sql))["forecast"]
    assert (rows, 1) == (forecast["rows"], forecast["rows_at_most"])
    why = f"; {basis} is not estimated" if basis else ""
    assert f"all 1 row of trades in reach of the window{why}" == forecast["basis"]
