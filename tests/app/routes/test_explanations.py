"""Explanations over HTTP: rows that are stored, rows that are given, and what cannot be explained."""

import itertools
from typing import Any

import pytest

from psoup.app.wire.models.explanations import spoken
from tests.app.support import WINDOW, Api, assert_problem, row

pytestmark = pytest.mark.anyio
SQL = f"SELECT sym, px FROM trades WHERE sym = 'ACME' AND px > 40 {WINDOW}"


async def explained(api: Api, query_id: str, row_id: str, **more: Any) -> dict[str, Any]:
    parameters = {"row_id": row_id, **more}
    answer = await api.get(f"/v1/queries/{query_id}/explain", params=parameters)
    assert 200 == answer.status_code, answer.text
    return dict(answer.json())


async def given(api: Api, query_id: str, **body: Any) -> Any:
    return await api.send("POST", f"/v1/queries/{query_id}/explain", json=body)


async def standing(api: Api) -> str:
    """Return a query over five rows, the last of them 11 minutes behind the first."""
    await api.declare()
    query_id = await api.register(SQL)
    await api.rows(
        [
            row(0, sym="ACME", px=41.0),
            row(61, sym="ACME", px=39.5),
            row(62, sym="ACME"),
            row(63, sym="B", px=41.0),
            row(660, sym="ACME", px=44.0),
        ]
    )
    return query_id


@pytest.mark.services
async def test_explanation_of_a_stored_row_has_predicates_and_window(api: Api):
    """The contract's members; unknown is null; what is told of each row is what the answer holds."""
    query_id = await standing(api)
    answer = await api.results(query_id)
    found = [await explained(api, query_id, str(number)) for number in range(1, 6)]
    assert {
        "now": answer["now"],
        "matches": False,
        "predicates": [
            {"sql": "px > 40.0", "value": 39.5, "result": False},
            {"sql": "sym = 'ACME'", "value": "ACME", "result": True},
        ],
        "window": {
            "in": "2026-11-21T10:01:01.000000Z",
            "out": "2026-11-21T10:11:01.000001Z",
            "visible": False,
            "because": "does not match",
        },
    } == found[1]
    assert [
        (True, "left 60 s ago"),
        (False, "does not match"),
        (False, "does not match"),
        (False, "does not match"),
        (True, "in the window"),
    ] == [(one["matches"], one["window"]["because"]) for one in found]
    assert {"sql": "px > 40.0", "value": None, "result": None} == found[2]["predicates"][0]
    shown = {one["_id"] for one in answer["rows"]}
    assert shown == {str(i) for i, one in enumerate(found, 1) if one["window"]["visible"]}


@pytest.mark.services
async def test_explanation_at_another_instant_is_of_that_instant(api: Api):
    """`now` is as for results."""
    query_id = await standing(api)
    now = "2026-11-21T10:00:30Z"
    first, last = [await explained(api, query_id, one, now=now) for one in ("1", "5")]
    assert (True, "in the window") == (first["window"]["visible"], first["window"]["because"])
    assert "not yet, enters in 10.5 min" == last["window"]["because"]
    late = await api.get(
        f"/v1/queries/{query_id}/explain", params={"row_id": "1", "now": "2027-01-01"}
    )
    assert_problem(late, "now-out-of-range")


@pytest.mark.services
async def test_explanation_of_a_given_row_stores_nothing(api: Api):
    """It is as if it arrived: a later row moves NOW, and comes in; an earlier one has left."""
    query_id = await standing(api)
    before = (await api.get("/v1/streams/trades")).json()
    bodies = [row(700, sym="ACME", px=50), row(1, sym="ACME", px=50), row(700, sym="ACME", px=1)]
    found = [(await given(api, query_id, row=one)).json() for one in bodies]
    assert [
        (True, "in the window"),
        (True, "left 59 s ago"),
        (False, "does not match"),
    ] == [(one["matches"], one["window"]["because"]) for one in found]
    assert "2026-11-21T10:11:40.000000Z" == found[0]["now"]
    assert before == (await api.get("/v1/streams/trades")).json()


@pytest.mark.services
async def test_explanation_of_a_join_takes_rows_and_their_parts(api: Api):
    """The id of a row, that of a tuple, rows for all aliases, and for one; all as the text calls its streams."""
    await api.declare()
    await api.declare("quotes")
    query_id = await api.register(
        "SELECT t.px FROM trades AS t, quotes AS q WHERE t.sym = q.sym AND q.px > 3 AND t.qty = 2"
        " BEGIN (NOW - 9) END (NOW)"
    )
    await api.rows([row(0, sym="A", qty=2), row(0, sym="B", qty=1)])
    await api.rows([row(1, sym="A", px=4.0)], name="quotes")
    whole = await explained(api, query_id, "1-3")
    equal = {
        "sql": "q.sym = t.sym",
        "value": {"t.sym": "A", "q.sym": "A"},
        "result": True,
    }
    assert (True, True) == (whole["matches"], whole["window"]["visible"])
    assert equal in whole["predicates"]
    assert "2026-11-21T10:00:09.000001Z" == whole["window"]["out"]
    assert not (await explained(api, query_id, "2-3"))["matches"]
    part = await explained(api, query_id, "2")
    assert (False, None, []) == (part["matches"], part["window"], part["predicates"])
    assert [
        {
            "alias": "t",
            "stream": "trades",
            "matches": False,
            "predicates": [{"sql": "t.qty = 2", "value": 1, "result": False}],
        }
    ] == [{name: one[name] for name in one if name != "window"} for one in part["parts"]]
    quote = row(2, sym="B", px=9.0)
    for trades, quotes in (("t", "q"), ("trades", "quotes")):
        rows = {trades: row(0, sym="B", qty=2), quotes: quote}
        both = await given(api, query_id, rows=rows)
        assert both.json()["window"]["visible"], both.text
    twice = await given(api, query_id, rows={"q": quote, "quotes": row(2, sym="C", px=9.0)})
    assert ["/rows/quotes"] == [one["pointer"] for one in twice.json()["errors"]]
    one = await given(api, query_id, rows={"q": quote})
    assert [True] == [part["matches"] for part in one.json()["parts"]]


@pytest.mark.services
async def test_explanation_of_what_is_not_held_is_refused(api: Api):
    """Rows that retention has dropped, that never were, and handles that nobody knows."""
    await api.declare(retention={"rows": 2})
    query_id = await api.register("SELECT px FROM trades")
    await api.rows([row(i, px=float(i)) for i in range(4)])
    for row_id in ("1", "2", "5", "9" * 18, "1-2"):
        answer = await api.get(f"/v1/queries/{query_id}/explain", params={"row_id": row_id})
        assert_problem(answer, "not-found")
        assert "in memory" in answer.json()["detail"]
    assert (await explained(api, query_id, "3"))["window"]["visible"]
    unknown = f"/v1/queries/q_{'0' * 22}/explain"
    assert_problem(await api.get(unknown, params={"row_id": "1"}), "not-found")
    assert_problem(await api.send("POST", unknown, json={"row": row()}), "not-found")


async def test_explanation_of_wrong_requests_is_refused(api: Api):
    """Ids of another shape, rows that do not fit, bodies without rows or with aliases that FROM does not have."""
    query_id = await standing(api)
    path = f"/v1/queries/{query_id}/explain"
    for row_id in ("x", "", "-", "1--2", "f" * 24, "1-2-3-4-5"):
        assert_problem(await api.get(path, params={"row_id": row_id}), "invalid-field")
    assert_problem(await api.get(path), "invalid-field")
    wrong = await given(api, query_id, row={"ts": 0, "px": "dear"})
    assert ["/px"] == [one["pointer"] for one in assert_problem(wrong, "rows-rejected")["errors"]]
    huge = await given(api, query_id, row={"ts": 0, "qty": 10**30})
    assert_problem(huge, "rows-rejected")
    both = {"row": row(), "rows": {"trades": row()}}
    bodies: list[dict[str, Any]] = [{}, both, {"rows": {}}, {"row": None}]
    for body in bodies:
        assert_problem(await given(api, query_id, **body), "invalid-field")
    strange = await given(api, query_id, rows={"t": row()})
    assert [("/rows/t", "expected an alias of FROM: trades")] == [
        (one["pointer"], one["reason"])
        for one in assert_problem(strange, "invalid-field")["errors"]
    ]
    assert (await given(api, query_id, rows={"trades": row()})).json()["predicates"]


async def test_explanation_of_a_row_of_a_join_alone_names_the_aliases(api: Api):
    """`row` does not say which of the streams it is of."""
    await api.declare()
    query_id = await api.register(
        "SELECT a.px FROM trades AS a, trades AS b WHERE a.sym = b.sym BEGIN (NOW - 9) END (NOW)"
    )
    (error,) = assert_problem(await given(api, query_id, row=row()), "invalid-field")["errors"]
    assert error["reason"].endswith("by alias: a, b")


async def test_explanation_speaks_as_canonical_where_the_text_does_not_bind_any_more(api: Api):
    """A column that was added has made one of its names ambiguous; what is described keeps the text."""
    columns = [{"name": name, "type": "int64"} for name in ("qty", "bid")]
    await api.declare("quotes", columns=columns, time=None, clock="server")
    await api.declare("sales", clock="server")
    text = "SELECT px FROM sales s, quotes q WHERE s.qty = q.qty AND bid > 1"
    query_id = await api.register(text)

    async def predicates(sales: str, quotes: str) -> set[str]:
        rows = {sales: row(qty=1), quotes: {"qty": 1, "bid": 2}}
        found = (await given(api, query_id, rows=rows)).json()
        return {one["sql"] for one in found["predicates"]}

    assert {"q.bid > 1", "q.qty = s.qty"} == await predicates("s", "q")
    added = {"add_columns": [{"name": "bid", "type": "int64"}]}
    await api.send("PATCH", "/v1/streams/sales", json=added)
    assert {"quotes.bid > 1", "quotes.qty = sales.qty"} == await predicates("sales", "quotes")
    described = (await api.get(f"/v1/queries/{query_id}")).json()
    assert (text, {}) == (described["sql"], described["params"])


def test_length_of_time_is_told_for_a_person():
    """Three digits, in the largest unit that has one."""
    lengths = [0, 7, 1_500, 3_200_000, 90_000_000, 5_400_000_000, 200_000_000_000, 10**14]
    assert ["0 us", "7 us", "1.5 ms", "3.2 s", "1.5 min", "1.5 h", "2.31 d", "1157 d"] == [
        spoken(us) for us in lengths
    ]
    assert all(" " in spoken(us) for us in itertools.accumulate([10**k for k in range(16)]))
