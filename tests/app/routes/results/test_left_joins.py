"""LEFT JOIN over HTTP: empty ids and NULL cells in each format, by cursor, by count, in pages, and in groups."""

from typing import Any

import pytest

from psoup.app.wire.rows.body import ARROW, CSV, JSON, NDJSON
from tests.app.routes.results.client import read
from tests.app.support import Api, row

pytestmark = [pytest.mark.anyio, pytest.mark.services]

SQL = "SELECT t.sym, t.qty, q.qty AS bid FROM trades t LEFT JOIN quotes q ON t.sym = q.sym WHERE t.qty < 9"


async def filled(api: Api, sql: str = SQL) -> str:
    """Return the path of a query's results over three trades, the second of which has two quotes."""
    for name in ("trades", "quotes"):
        await api.declare(name)
    query_id = await api.register(sql)
    await api.rows([row(i, sym="abc"[i], qty=i) for i in range(3)])
    await api.rows([row(i + 1, sym="b", qty=10 + i) for i in range(2)], name="quotes")
    return f"/v1/queries/{query_id}/results"


async def asked(api: Api, path: str, **parameters: Any) -> dict[str, Any]:
    answer = await api.get(path, params=parameters)
    assert 200 == answer.status_code, answer.text
    return read(answer)


def shown(answer: dict[str, Any]) -> list[tuple[str, int | None]]:
    bids = [one["bid"] for one in answer["rows"]]
    symbols = [one["sym"] for one in answer["rows"]]
    numbers = [None if bid in {None, ""} else int(bid) for bid in bids]  # CSV tells texts
    return list(zip(symbols, numbers, strict=True))


@pytest.mark.parametrize("media_type", [JSON, NDJSON, CSV, ARROW])
async def test_a_row_without_a_partner_has_an_empty_part_in_each_format(api: Api, media_type: str):
    """Its cells are NULL; the ids of all rows are texts with one `-`."""
    path = await filled(api)
    answer = await api.get(path, params={"cursor": ""}, headers={"Accept": media_type})
    told = read(answer)
    assert [("a", None), ("b", 10), ("b", 11), ("c", None)] == shown(told)
    ids = [one["_id"].split("-") for one in told["rows"]]
    assert [("1", ""), ("2", "4"), ("2", "5"), ("3", "")] == [tuple(parts) for parts in ids]


@pytest.mark.parametrize("shape", ["rows", "columns"])
async def test_rows_of_many_have_the_same_ids(api: Api, shape: str):
    """Long answers are written another way than short ones."""
    path = await filled(api)
    await api.rows([row(i, sym=f"s{i}", qty=1) for i in range(3_000)])
    answer = (await api.get(path, params={"limit": 10_000, "shape": shape})).json()
    if shape == "rows":
        ids = [one["_id"] for one in answer["rows"]]
    else:
        ids = [one[answer["columns"].index("_id")] for one in answer["rows"]]
    assert 3_004 == len(ids)
    assert {"2-4", "2-5"} == {one for one in ids if not one.endswith("-")}
    assert all(one.removesuffix("-").isdigit() for one in ids if one.endswith("-"))


async def test_a_partner_that_arrives_takes_the_row_beside_nulls_away(api: Api):
    """The answer is replaced; what changes no row leaves the cursor as it is."""
    path = await filled(api)
    first = await asked(api, path, cursor="")
    await api.rows([row(5, sym="z", qty=1)], name="quotes")
    same = await asked(api, path, cursor=first["cursor"])
    assert (False, first["cursor"]) == (same["reset"], same["cursor"])
    await api.rows([row(5, sym="a", qty=7)], name="quotes")
    later = await asked(api, path, cursor=first["cursor"])
    assert (True, 4) == (later["reset"], later["count"])
    assert ("a", 7) in shown(later)
    assert ("a", None) not in shown(later)
    assert 4 == (await asked(api, path, count="only"))["count"]


async def test_where_is_null_finds_rows_without_a_partner_in_pages(api: Api):
    """A page of one row each, at one position."""
    path = await filled(api, f"{SQL} AND q.sym IS NULL")
    first = (await api.get(path, params={"limit": 1})).json()
    await api.rows([row(5, sym="c", qty=7)], name="quotes")
    second = (await api.get(first["next"])).json()
    assert ([("a", None)], [("c", None)]) == (shown(first), shown(second))
    assert [("a", None)] == shown(await asked(api, path, cursor=""))


async def test_groups_count_partners(api: Api):
    """COUNT of a column of the right counts none for a row without a partner."""
    path = await filled(
        api,
        "SELECT t.sym, COUNT(q.qty) AS bid FROM trades t LEFT JOIN quotes q ON t.sym = q.sym GROUP BY t.sym",
    )
    assert [("a", 0), ("b", 2), ("c", 0)] == shown(await asked(api, path, cursor=""))
