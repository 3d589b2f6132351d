"""What a program may ask before it registers or appends, and why a row is answered: as docs say it is asked."""

import datetime as dt
from typing import Any

import httpx2
import numpy as np
import orjson
import pytest

from psoup.client.answers import Asked
from psoup.client.connections.connection import Connection
from psoup.client.connections.operations import looked_up
from psoup.client.database import validated
from psoup.client.errors import DefinitionError
from psoup.client.streams import Matches, matched, sampled
from tests.client.scripted import Script, ok

NOW = "2026-01-05T10:00:00.000000Z"


def asked(operation, answer):
    """Carry an operation out with a service that gives one answer; return the request, its body and the result."""
    requests = []

    def reply(request):
        requests.append(request)
        return httpx2.Response(200, json=answer)

    with Connection("http://h", transport=httpx2.MockTransport(reply)) as connection:
        result = connection.run(operation)
    (request,) = requests
    body = orjson.loads(request.content) if request.content else None
    return f"{request.method} {request.url.raw_path.decode()}", body, result


def test_validation_sends_what_a_registration_would():
    """With the values of parameters; the answer comes as it is."""
    answer: dict[str, Any] = {"canonical": "SELECT 1", "plan": {}, "forecast": None}
    assert (
        "POST /v1/validate",
        {"sql": "SELECT :a", "params": {"a": 1}},
        answer,
    ) == asked(validated("SELECT :a", {"a": 1}), answer)


@pytest.mark.parametrize(
    ("now", "row", "line", "body"),
    [
        (None, "7", "GET /v1/queries/q_1/explain?row_id=7", None),
        ("0", "7-9", "GET /v1/queries/q_1/explain?row_id=7-9&now=0", None),
        (None, {"px": 1.0}, "POST /v1/queries/q_1/explain", {"row": {"px": 1.0}}),
        (
            None,
            {"a": {"px": 1.0}, "b": {}},
            "POST /v1/queries/q_1/explain",
            {"rows": {"a": {"px": 1.0}, "b": {}}},
        ),
    ],
)
def test_row_is_explained_by_its_id_or_by_its_values(now, row, line, body):
    """Of a join by the values of each alias."""
    answer = {"matches": False, "predicates": [], "window": {"visible": False}}
    assert (line, body, answer) == asked(Asked("q_1", now).explained(row), answer)


def test_rows_are_matched_without_being_stored():
    """Handles and totals for each row."""
    answer = {"matches": [["q_1"], []], "total": [812, 0]}
    rows: list[dict[str, Any]] = [{"ts": dt.datetime(2026, 1, 5, 10, tzinfo=dt.UTC)}, {"ts": NOW}]
    line, body, result = asked(matched("s", rows, 1), answer)
    assert "POST /v1/streams/s/match" == line
    assert 1 == body["limit"]
    assert [10, 10] == [dt.datetime.fromisoformat(row["ts"]).hour for row in body["rows"]]
    assert Matches([["q_1"], []], [812, 0]) == result


def test_latest_rows_have_instants():
    """By the columns of the answer."""
    columns = [{"name": "ts", "type": "timestamp"}]
    answer = {"stream": "s", "columns": columns, "rows": [{"_id": "1", "ts": NOW}], "count": 1}
    line, _, (row,) = asked(sampled("s", 5), answer)
    assert "GET /v1/streams/s/sample?limit=5" == line
    assert dt.datetime(2026, 1, 5, 10, tzinfo=dt.UTC) == row["ts"]


def test_query_is_looked_up_by_its_name():
    """By one request. The list of all is asked for where there is none, to tell what was meant."""
    script = Script(ok(queries=[{"id": "q_1", "name": "dear"}], next=None))
    assert "q_1" == script.service().run(looked_up("dear"))["id"]
    (request,) = script.requests
    assert ("/v1/queries", {"name": "dear"}) == (request.url.path, dict(request.url.params))
    nobody = ok(queries=[], next=None)
    script = Script(nobody, ok(queries=[{"name": None}, {"name": "dear"}], next=None))
    with pytest.raises(DefinitionError, match="Did you mean dear"):
        script.service().run(looked_up("deer"))
    assert 2 == len(script.requests)


def test_values_are_sent_as_rows_are_or_not_at_all():
    """JSON has no infinity: as null it would be a condition that is never true, and nobody would know."""
    at = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    params: dict[str, Any] = {"n": np.int64(2**62 + 1), "t": at.replace(tzinfo=None)}
    _, body, _ = asked(validated("SELECT n FROM s WHERE n = :n AND ts > :t", params), {})
    assert {"n": 2**62 + 1, "t": "2026-01-05T00:00:00Z"} == body["params"]
    row = {"px": float("inf"), "sym": None}
    for operation in (
        validated("SELECT px FROM s WHERE px < :x", {"x": float("-inf")}),
        matched("s", [row], None),
        Asked("q_1").explained(row),
    ):
        with pytest.raises(DefinitionError, match="infinity"):
            asked(operation, {})
