"""Row windows over HTTP: in each format, by count, in pages, at an instant, by cursor, by ETag, and in a sync."""

from typing import Any

import pytest

from psoup.app.wire.rows.body import ARROW, CSV, JSON, NDJSON
from tests.app.routes.results.client import read
from tests.app.support import Api, assert_problem, row

pytestmark = [pytest.mark.anyio, pytest.mark.services]

LATEST = "SELECT sym, qty FROM trades [PARTITION BY sym ROWS 1] WHERE qty > 1"


async def filled(api: Api, sql: str = LATEST) -> str:
    """Return the path of a query's results over five trades of two symbols."""
    await api.declare()
    query_id = await api.register(sql)
    await api.rows([row(i, sym="ab"[i % 2], qty=i) for i in range(5)])
    return f"/v1/queries/{query_id}/results"


async def asked(api: Api, path: str, **parameters: Any) -> dict[str, Any]:
    answer = await api.get(path, params=parameters)
    assert 200 == answer.status_code, answer.text
    return read(answer)


def shown(answer: dict[str, Any]) -> list[tuple[str, int]]:
    return [(one["sym"], int(one["qty"])) for one in answer["rows"]]  # CSV tells texts


@pytest.mark.parametrize("media_type", [JSON, NDJSON, CSV, ARROW])
async def test_latest_row_of_each_key_in_each_format(api: Api, media_type: str):
    """A newer row that WHERE does not let through takes the place of one that it did."""
    path = await filled(api)
    answer = await api.get(path, params={"cursor": ""}, headers={"Accept": media_type})
    assert [("b", 3), ("a", 4)] == shown(read(answer))
    await api.rows([row(6, sym="b", qty=0)])
    answer = await api.get(path, params={"cursor": ""}, headers={"Accept": media_type})
    assert [("a", 4)] == shown(read(answer))


async def test_description_says_that_answers_are_replaced(api: Api):
    """`delta` is `replace`, and the canonical text holds the window."""
    path = await filled(api)
    description = (await api.get(path.removesuffix("/results"))).json()
    assert "replace" == description["delta"]
    assert "[PARTITION BY sym ROWS 1]" in description["canonical"]


async def test_cursor_etag_count_and_instant(api: Api):
    """What changes nothing is unchanged and `304`; what changes a row brings all of them."""
    path = await filled(api)
    first = await asked(api, path, cursor="")
    etag = (await api.get(path)).headers["etag"]
    await api.rows([row(1, sym="a", qty=9)])  # older than the latest of its symbol
    same = await asked(api, path, cursor=first["cursor"])
    assert (False, [], first["cursor"]) == (same["reset"], same["rows"], same["cursor"])
    assert 304 == (await api.get(path, headers={"If-None-Match": etag})).status_code
    await api.rows([row(7, sym="a", qty=7)])
    later = await asked(api, path, cursor=first["cursor"])
    assert (True, [("b", 3), ("a", 7)]) == (later["reset"], shown(later))
    assert 2 == (await asked(api, path, count="only"))["count"]
    earlier = await asked(api, path, now=first["now"])
    assert [("b", 3), ("a", 4)] == shown(earlier)


async def test_pages_are_those_of_one_answer(api: Api):
    """Rows that arrive between two pages are in neither."""
    path = await filled(
        api, "SELECT sym, qty FROM trades [ROWS 4] WHERE qty <> 2 ORDER BY qty DESC"
    )
    first = (await api.get(path, params={"limit": 2})).json()
    await api.rows([row(9, sym="c", qty=99)])
    second = (await api.get(first["next"])).json()
    assert [("a", 4), ("b", 3)] == shown(first)
    assert [("b", 1)] == shown(second)


async def test_sync_and_groups(api: Api):
    """Many queries at once, groups over the newest rows among them."""
    path = await filled(api, "SELECT sym, COUNT(*) AS qty FROM trades [ROWS 3] GROUP BY sym")
    query_id = path.split("/")[3]
    body: dict[str, Any] = {"queries": {query_id: {}}}
    first = (await api.send("POST", "/v1/sync", json=body)).json()["results"][query_id]
    assert [("a", 2), ("b", 1)] == shown(first)
    await api.rows([row(6, sym="b", qty=0)])
    body = {"queries": {query_id: {"cursor": first["cursor"]}}}
    second = (await api.send("POST", "/v1/sync", json=body)).json()["results"][query_id]
    assert (True, [("a", 1), ("b", 2)]) == (second["reset"], shown(second))


async def test_row_window_that_is_refused_says_where(api: Api):
    """A number of rows below 1, a key that the stream does not have."""
    await api.declare()
    for sql, code in (
        ("SELECT sym FROM trades [ROWS 0]", "unsupported-sql"),
        ("SELECT sym FROM trades [PARTITION BY nothing ROWS 1]", "unknown-column"),
    ):
        answer = await api.send("POST", "/v1/queries", json={"sql": sql})
        assert_problem(answer, code)
