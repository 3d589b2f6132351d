"""Joins over HTTP: what they answer at every prefix, in every format and page by page, as DuckDB has it."""

import csv
import io
from typing import Any

import orjson
import pyarrow as pa
import pytest

from psoup.engine.limits import CHUNK_ROWS
from tests.app.routes.results.joining import (
    HOUR_US,
    PAGE_ROWS,
    SELECTED,
    SQL,
    Row,
    batches,
    database,
    declare,
    flights,
    held,
    instant_sql,
    weather,
)
from tests.app.support import START_US, Api, row

pytestmark = pytest.mark.anyio

HOURS = 24
KEPT = ["auto", "partial", "complete", "none"]


async def joined(
    api: Api, *, f_hours: int = 6, w_hours: int = 6, now: str | None = None
) -> list[Row]:
    """Return what the query of this page's head answers by DuckDB, over what the streams hold."""
    tables = {"flights": await held(api, "flights"), "weather": await held(api, "weather")}
    if not all(tables.values()):
        return []
    leaving = [f"{a}.ts + INTERVAL {h} HOUR" for a, h in (("f", f_hours), ("w", w_hours))]
    with database(**tables) as connection:
        found = connection.execute(
            f"""
            WITH clock AS (SELECT coalesce(CAST(? AS TIMESTAMP), max(ts)) AS now
                           FROM (SELECT ts FROM flights UNION ALL SELECT ts FROM weather))
            SELECT f.id || '-' || w.id AS _id,
                   {instant_sql(f"least({', '.join(leaving)}) + INTERVAL 1 MICROSECOND")} AS _x,
                   f.carrier, f.flight, w.visib
            FROM flights f, weather w, clock
            WHERE f.origin = w.origin AND f.hour = w.hour AND f.dep_delay > 60 AND w.visib < 2
              AND f.ts BETWEEN now - INTERVAL {f_hours} HOUR AND now
              AND w.ts BETWEEN now - INTERVAL {w_hours} HOUR AND now
            ORDER BY least(f.ts, w.ts), f.id, w.id
            """,
            [now],
        )
        names = [one[0] for one in found.description]
        return [dict(zip(names, one, strict=True)) for one in found.fetchall()]


def arrivals(
    kind: str, parts: int, *, rows: tuple[int, int], hours: int = HOURS
) -> list[tuple[str, list[Row]]]:
    """Return batches by stream in the order of their arrival."""
    f = [("flights", one) for one in batches(flights(rows[0], hours=hours), parts)]
    w = [("weather", one) for one in batches(weather(rows[1], hours=hours), parts)]
    between = [one for pair in zip(f, w, strict=True) for one in pair]
    return {"before": f + w, "after": w + f, "between": between}[kind]


@pytest.mark.services
@pytest.mark.parametrize("kind", ["before", "after", "between"])
async def test_join_answers_at_every_prefix_as_duckdb(api: Api, kind):
    """Flights before, after and between the weather; queries before, within and after the data."""
    await declare(api)
    arriving = arrivals(kind, 4, rows=(400, 240))
    queries = {f"{kept} first": await api.register(SQL, materialize=kept) for kept in KEPT}
    seen, expected = 0, await joined(api)
    for number, (name, rows) in enumerate(arriving):
        assert 200 == (await api.rows(rows, name=name)).status_code
        if number == len(arriving) // 2:
            for kept in KEPT:
                queries[f"{kept} within"] = await api.register(SQL, materialize=kept)
        expected = await joined(api)
        seen = max(seen, len(expected))
        for title, query_id in queries.items():
            body = await api.results(query_id, limit=PAGE_ROWS)
            assert (title, expected, len(expected)) == (title, body["rows"], body["count"])
    assert seen > 10
    for kept in KEPT:
        late = await api.results(await api.register(SQL, materialize=kept), limit=PAGE_ROWS)
        assert expected == late["rows"]


@pytest.mark.parametrize("kind", ["before", "after", "between"])
async def test_join_of_whole_chunks_answers_as_duckdb(api: Api, kind):
    """Rows past a chunk on both sides: what is kept and what is found when asked for are one answer."""
    await declare(api)
    arriving = arrivals(kind, 3, rows=(3 * CHUNK_ROWS, 2 * CHUNK_ROWS + 100), hours=10 * HOURS)
    queries = [await api.register(SQL, materialize=kept) for kept in KEPT]
    for number, (name, rows) in enumerate(arriving):
        assert 200 == (await api.rows(rows, name=name)).status_code
        if number == len(arriving) // 2:
            queries += [await api.register(SQL, materialize=kept) for kept in KEPT]
    queries += [await api.register(SQL, materialize=kept) for kept in KEPT]
    for now in ({}, {"now": START_US + 4 * HOURS * HOUR_US}):
        found = await api.results(queries[0], limit=PAGE_ROWS, **now)
        expected = await joined(api, now=found["now"])
        assert len(expected) > 300
        for query_id in queries:
            body = await api.results(query_id, limit=PAGE_ROWS, **now)
            assert (expected, len(expected)) == (body["rows"], body["count"])
            counted = await api.results(query_id, count="only", **now)
            assert len(expected) == counted["count"]


async def filled(api: Api) -> str:
    """Fill both streams, and return the path of the query's answers."""
    await declare(api)
    for name, rows in arrivals("between", 2, rows=(400, 240)):
        await api.rows(rows, name=name)
    return f"/v1/queries/{await api.register(SQL)}/results"


@pytest.mark.services
async def test_join_rows_are_the_same_in_every_format(api: Api):
    """Ids joined by `-` are text everywhere; `meta=0` hides them."""
    path = await filled(api)
    expected = await joined(api)
    names = ["_id", "_x", "carrier", "flight", "visib"]
    arrays = [[one[name] for name in names] for one in expected]
    assert [] != expected
    body = (await api.get(path, params={"shape": "columns"})).json()
    assert (names, arrays) == (body["columns"], body["rows"])
    lines = (await api.get(path, params={"format": "ndjson"})).content.splitlines()
    assert expected == [orjson.loads(line) for line in lines]
    cells = list(csv.reader(io.StringIO((await api.get(path, params={"format": "csv"})).text)))
    assert [names, *([str(value) for value in one] for one in arrays)] == cells
    answer = await api.get(path, params={"format": "arrow"})
    table = pa.ipc.open_stream(answer.content).read_all()
    assert (names, pa.string()) == (table.column_names, table.schema.field("_id").type)
    assert [one["_id"] for one in expected] == table["_id"].to_pylist()
    assert [one["visib"] for one in expected] == table["visib"].to_pylist()
    assert str(len(expected)) == answer.headers["psoup-count"]
    for name in ("json", "ndjson", "csv", "arrow"):
        bare = await api.get(path, params={"format": name, "meta": "0"})
        assert b"_id" not in bare.content


async def test_join_without_rows_names_its_columns(api: Api):
    """Before the first tuple there is no NOW, and the columns are known all the same."""
    await declare(api)
    query_id = await api.register(SQL)
    body = await api.results(query_id, shape="columns")
    assert (None, [], 0) == (body["now"], body["rows"], body["count"])
    assert ["_id", "_x", "carrier", "flight", "visib"] == body["columns"]
    await api.rows(flights(3, hours=1), name="flights")
    assert 0 == (await api.results(query_id))["count"]


@pytest.mark.services
async def test_join_pages_belong_to_one_answer_while_tuples_arrive(api: Api):
    """Every page is of the position of the first, whatever comes to either stream meanwhile."""
    path = await filled(api)
    whole = (await api.get(path)).json()
    later = iter(flights(200, hours=2, seed=7) + weather(200, hours=2, seed=8))
    seen, following = [], f"{path}?limit=3"
    while following:
        page = (await api.get(following)).json()
        assert (whole["seq"], whole["now"], whole["count"]) == (
            page["seq"],
            page["now"],
            page["count"],
        )
        seen += page["rows"]
        following = page["next"]
        one = next(later)
        shifted = one | {name: one[name] + HOURS * HOUR_US for name in ("ts", "hour") if one[name]}
        await api.rows(shifted, name="weather" if "visib" in one else "flights")
    assert whole["rows"] == seen
    assert whole["seq"] < (await api.get(path)).json()["seq"]


async def test_join_at_another_instant_is_that_of_then(api: Api):
    """`now=` moves the windows of both streams; later than NOW it is refused with the range."""
    path = await filled(api)
    for hours in (3, 8, 20):
        now = (await api.get(path, params={"now": START_US + hours * HOUR_US})).json()
        expected = await joined(api, now=now["now"])
        assert (expected, None) == (now["rows"], now["cursor"])
    answer = await api.get(path, params={"now": START_US + 10 * HOURS * HOUR_US})
    assert ("now-out-of-range", 422) == (answer.json()["code"], answer.status_code)


async def test_join_with_a_window_for_each_stream(api: Api):
    """`[RANGE]` holds for its stream alone; `_x` is the least of both; the description tells it by alias."""
    await declare(api)
    sql = SELECTED.replace("flights AS f", "flights AS f [RANGE INTERVAL '9' HOUR]").replace(
        "weather AS w", "weather AS w [RANGE INTERVAL '2' HOUR]"
    )
    query_id = await api.register(sql)
    expected: list[Row] = []
    for name, rows in arrivals("between", 3, rows=(400, 240)):
        await api.rows(rows, name=name)
        expected = await joined(api, f_hours=9, w_hours=2)
        assert expected == (await api.results(query_id))["rows"]
    assert [] != expected
    described = (await api.get(f"/v1/queries/{query_id}")).json()
    assert {"flights": "9h", "weather": "2h"} == described["window"]["ranges"]
    assert query_id == (await api.get("/v1/queries")).json()["queries"][0]["id"]
    again = await api.results(await api.register(described["canonical"]))
    assert expected == again["rows"]


@pytest.mark.services
async def test_join_of_a_stream_with_itself(api: Api):
    """Each pair of tuples in each order, a tuple with itself too, as the factors say."""
    await api.declare()
    sql = "SELECT a.px AS lower, b.px AS higher FROM trades a, trades b WHERE a.sym = b.sym AND a.px {} b.px"
    queries = {op: await api.register(sql.format(op)) for op in ("<", "=", "<=", ">", "<>")}
    rows = [row(i, sym=["A", "B", None][i % 3], px=(i * 7) % 5) for i in range(24)]
    seen = 0
    for part in batches(rows, 3):
        await api.rows(part)
        tuples = await held(api, "trades")
        for op, query_id in queries.items():
            with database(trades=tuples) as connection:
                expected = connection.execute(
                    "SELECT a.id || '-' || b.id, a.px, b.px FROM trades a, trades b WHERE a.sym = b.sym"
                    f" AND a.px {op} b.px ORDER BY least(a.ts, b.ts), a.id, b.id"
                ).fetchall()
            body = await api.results(query_id, shape="columns", limit=PAGE_ROWS)
            found = [(one[0], *one[2:]) for one in body["rows"]]
            assert (op, expected) == (op, found)
            seen += len(found)
    assert seen > 100


async def test_join_of_three_streams_has_three_ids(api: Api):
    """A chain of three, one of them twice, in order of the earliest part."""
    await declare(api)
    sql = (
        "SELECT a.flight, b.flight AS other, w.visib FROM flights a, flights b, weather w"
        " WHERE a.carrier = b.carrier AND a.hour = b.hour AND b.origin = w.origin AND b.hour = w.hour"
        " AND a.flight < b.flight"
    )
    query_id = await api.register(sql)
    for name, rows in arrivals("between", 2, rows=(60, 60)):
        await api.rows(rows, name=name)
    tables = {"flights": await held(api, "flights"), "weather": await held(api, "weather")}
    with database(**tables) as connection:
        expected = connection.execute(
            sql.replace("SELECT", "SELECT a.id || '-' || b.id || '-' || w.id,")
            + " ORDER BY least(a.ts, b.ts, w.ts), a.id, b.id, w.id"
        ).fetchall()
    body = await api.results(query_id, shape="columns", limit=PAGE_ROWS)
    assert ["_id", "_x", "flight", "other", "visib"] == body["columns"]
    assert expected == [(one[0], *one[2:]) for one in body["rows"]]
    assert [] != expected


async def test_join_shown_once_has_an_id_of_its_values_and_the_last_expiry(api: Api):
    """DISTINCT shows equal rows once, in order of the earliest: with an `_id` of their own, and the largest `_x`."""
    await filled(api)
    sql = SQL.replace("SELECT f.carrier, f.flight, w.visib", "SELECT DISTINCT f.carrier")
    rows = (await api.results(await api.register(sql)))["rows"]
    first: dict[str, Any] = {}
    for one in await joined(api):
        kept = first.setdefault(one["carrier"], {name: one[name] for name in ("_x", "carrier")})
        kept["_x"] = max(kept["_x"], one["_x"])
    ids = [one.pop("_id") for one in rows]
    assert list(first.values()) == rows
    assert len(rows) == len(set(ids))
    assert 1 < len(rows) < (await api.results(await api.register(SQL)))["count"]
