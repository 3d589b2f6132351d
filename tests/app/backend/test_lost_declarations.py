"""A stream that was lost and declared anew with the id it had: requests that began with the old one begin again.

Such a loss takes a server that is killed; here what this process remembers of the stream is made up instead.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from psoup.app.backend.catalogue import Declaration
from psoup.app.wire.rows.body import NDJSON
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from tests.app.staged import commit
from tests.app.support import Api, assert_problem, row

pytestmark = [pytest.mark.anyio, pytest.mark.services]
WIDER = {"name": "more", "type": "string"}
SQL = "SELECT * FROM trades"


def present(api: Api) -> Declaration:
    """Return the stream in force."""
    api.service.catalogue.forget_all()
    return api.service.catalogue.stream("trades")


def before(api: Api) -> Declaration:
    """Return what this process may still take it for: the same but for a column more."""
    now = present(api)
    more = ColumnSchema("more", ColumnType.STRING)
    return replace(now, schema=replace(now.schema, columns=(*now.schema.columns, more)))


async def test_rows_checked_against_a_lost_declaration_are_checked_again(api: Api):
    """Those that fit the stream that took its id are stored, as its rows; others are refused as such, not as stale."""
    await api.declare()
    catalogue = api.service.catalogue
    catalogue._held["trades"] = before(api)
    assert 200 == (await api.rows([row(1)])).status_code
    catalogue._held["trades"] = before(api)
    assert_problem(await api.rows([{**row(2), "more": "x"}]), "rows-rejected")
    query_id = await api.register(SQL)
    assert 1 == (await api.results(query_id))["count"] == await api.count()


async def test_part_checked_against_a_lost_declaration_is_checked_again(api: Api):
    """So are parts: what is committed later fits."""
    await api.declare()
    path = "/v1/streams/trades/stages"
    api.service.catalogue._held["trades"] = before(api)
    told = await api.send("POST", path, json=[row(1)])
    api.service.catalogue._held["trades"] = before(api)
    assert_problem(await api.send("POST", path, json=[{**row(2), "more": "x"}]), "rows-rejected")
    assert 200 == (await commit(api, [told.json()["stage"]])).status_code
    assert 1 == await api.count()


@pytest.fixture
def bound_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Let what is bound next be bound against a lost declaration; what is asked of it is a list that then is empty."""
    asked: list[object] = []
    streams = api.service.catalogue.streams

    def lost() -> object:
        if not asked:
            return streams()
        old = before(api)
        return asked.pop() and {"trades": (old.stream_id, old.schema)}

    monkeypatch.setattr(api.service.catalogue, "streams", lost)
    yield asked
    assert [] == asked


async def test_query_bound_against_a_lost_declaration_is_bound_again(api: Api, bound_once):
    """Its text stands, bound to the columns in force; one that names a lost column is an error of the text."""
    await api.declare()
    bound_once.append(SQL)
    query_id = await api.register(SQL)
    await api.rows([row(1)])
    assert 1 == (await api.results(query_id))["count"]
    bound_once.append(SQL)
    answer = await api.send("POST", "/v1/queries", json={"sql": f"{SQL} WHERE more = 'x'"})
    assert_problem(answer, "unknown-column")


async def test_lines_bound_against_a_lost_declaration_are_bound_again(api: Api, bound_once):
    """Each line by itself."""
    await api.declare()
    bound_once.append(SQL)
    lines = "\n".join(json.dumps({"sql": sql}) for sql in (SQL, f"{SQL} WHERE more = 'x'"))
    answer = await api.send(
        "POST", "/v1/batch/queries", content=lines, headers={"Content-Type": NDJSON}
    )
    assert [201, 422] == [json.loads(line)["status"] for line in answer.text.splitlines()]


async def test_stream_that_took_a_lost_ones_id_is_not_dropped_for_it(api: Api, monkeypatch):
    """A removal that began with the lost one finds it gone."""
    await api.declare()
    results, old = api.service.results, before(api)
    record = results.stream("trades")
    with monkeypatch.context() as patch:
        patch.setattr(type(results), "stream", lambda *_: replace(record, schema=old.schema))
        answer = await api.send("DELETE", "/v1/streams/trades")
    assert_problem(answer, "not-found")
    assert 200 == (await api.get("/v1/streams/trades")).status_code
    assert 204 == (await api.send("DELETE", "/v1/streams/trades")).status_code
