"""Registrations whose parameters are made to break out of their place, or to cost what a text may not."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from psoup.engine import limits
from tests.attack.target import Target

pytestmark = pytest.mark.services

BREAKING_OUT = [
    "' OR '1'='1",
    "''; DROP STREAM trades; --",
    "x' BEGIN (NOW) END (NOW) --",
    "\\' OR TRUE --",
    "\u02bc OR TRUE",
    "\uff07 OR TRUE",
    "$sym",
    ":sym",
    "/*",
    "*/ OR TRUE /*",
    "\r\n-- ",
    "\u2028OR TRUE",
    "\u202e' eurT RO '",
    "%' OR sym LIKE '%",
    "{{7*7}}",
    "\x1b[2J",
    "a" * 5_000,
]


@pytest.fixture(scope="module")
def trades(target: Target) -> Target:
    """Return the service, with a stream of two rows."""
    columns = [{"name": "sym", "type": "string"}, {"name": "px", "type": "float64"}]
    target.ask("PUT", "/v1/streams/trades", json={"columns": columns})
    rows = [{"sym": "A", "px": 1.0}, {"sym": "B", "px": 2.0}]
    assert target.ask("POST", "/v1/streams/trades/rows", json=rows).status_code == 200
    return target


def register(target: Target, body: Mapping[str, object]) -> Any:
    return target.ask("POST", "/v1/queries", json=body)


@pytest.mark.parametrize("value", BREAKING_OUT, ids=ascii)
def test_text_that_would_break_out_of_a_literal_is_compared_with_rows(trades: Target, value):
    """It equals no row, so nothing is answered; its description and its canonical text say it as it was sent."""
    sql = "SELECT sym FROM trades WHERE sym = :sym OR sym LIKE :sym"
    answer = register(trades, {"sql": sql, "params": {"sym": value}})
    if len(value) > limits.QUERY_PATTERN_LENGTH_MAX:
        assert (422, "query-too-complex") == (answer.status_code, answer.json()["code"])
        return
    body = answer.json()
    assert (201, {"sym": value}) == (answer.status_code, body["params"]), answer.text
    shown = trades.ask("GET", f"{body['links']['results']}?meta=0").json()
    assert (0, []) == (shown["count"], shown["rows"])
    assert ["sym"] == [one["name"] for one in body["columns"]]
    again = register(trades, {"sql": body["canonical"]}).json()
    assert body["canonical"] == again["canonical"]
    assert trades.ask("GET", "/v1/streams/trades").status_code == 200


@pytest.mark.parametrize(
    "name", ["a'", "a b", "a;b", "é\u0301x'", "a\u0000", "__proto__'", "a" * 65, "1", "", "$a"]
)
def test_name_that_no_text_could_have_is_refused(trades: Target, name):
    """In `params` as 422 with its pointer, NUL and all."""
    sql = "SELECT sym FROM trades WHERE sym = :a"
    answer = register(trades, {"sql": sql, "params": {name: "x", "a": "x"}})
    assert (422, "invalid-field") == (answer.status_code, answer.json()["code"])
    assert answer.json()["errors"][0]["pointer"].startswith("/params")


def test_texts_that_stand_for_more_than_a_text_may_have_are_refused(trades: Target):
    """Thousands of places for a long value, and thousands of names without one: a short answer, before all is bound."""
    long, longest = "x" * 60_000, limits.QUERY_TEXT_BYTES_MAX
    places = ":a, " * ((longest - 100) // 4)
    names = ", ".join([f":n{i}" for i in range(7_000)])
    bodies: list[dict[str, object]] = [
        {"sql": f"SELECT sym FROM trades WHERE sym IN ({places}:a)", "params": {"a": long}},
        {"sql": f"SELECT {places}:a FROM trades", "params": {"a": long}},
        {"sql": f"SELECT sym FROM trades WHERE sym IN ({places}:a)", "params": {"a": "x"}},
        {"sql": f"SELECT sym FROM trades WHERE sym IN ({names})"},
        {"sql": f"SELECT sym FROM trades WHERE sym IN ({names})", "params": {"m1": 1}},
        {"sql": "SELECT sym FROM trades", "params": {f"n{i}": long[:400] for i in range(128)}},
        {"sql": f"SELECT sym FROM trades WHERE sym = :{long}"},
    ]
    for body in bodies:
        answer = register(trades, body)
        assert 422 == answer.status_code, answer.text[:200]
        assert answer.json()["code"] in ("query-too-complex", "invalid-field")
        assert len(answer.content) < 20_000
    assert trades.ask("GET", "/readyz").status_code == 200


def test_lines_of_a_bulk_registration_are_refused_each_by_itself(trades: Target):
    """Hostile values among good ones hold up no other line."""
    sql = "SELECT sym FROM trades WHERE sym = :a"
    values: list[object] = ["A", ["A"], {"a": "A"}, 5, None, "' OR TRUE --", 1e300, True, 10**30]
    lines = [orjson.dumps({"sql": sql, "params": {"a": one}}) for one in values[:-1]]
    lines.append(b'{"sql": "%b", "params": {"a": %d}}' % (sql.encode(), 10**30))
    answer = trades.ask(
        "POST",
        "/v1/batch/queries",
        content=b"\n".join(lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    statuses = [orjson.loads(line)["status"] for line in answer.content.splitlines()]
    assert [201, 422, 422, 422, 201, 201, 422, 422, 422] == statuses
