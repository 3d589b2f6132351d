"""Columns that are added to a stream over HTTP while it holds rows and queries."""

import asyncio
from typing import Any

import httpx2
import pyarrow as pa
import pytest

from psoup.app.wire.rows.body import ARROW, CSV, NDJSON
from psoup.engine import limits
from psoup.engine.limits import CHUNK_ROWS
from tests.app.staged import commit, stage
from tests.app.support import LOOKS_INSIDE, Api, assert_problem, row

pytestmark = pytest.mark.anyio

TRADES = "/v1/streams/trades"
NOTE = {"name": "note", "type": "string"}
LOT = {"name": "lot", "type": "int64", "nullable": True}


async def add(api: Api, *columns: Any, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await api.send("PATCH", TRADES, json={"add_columns": columns}, headers=named)


async def added(api: Api, *columns: Any) -> dict[str, Any]:
    answer = await add(api, *columns)
    assert 200 == answer.status_code, answer.text
    return dict(answer.json())


async def shown(api: Api, query_id: str, *names: str) -> list[tuple[Any, ...]]:
    """Return the named columns of an answer's rows."""
    rows = (await api.results(query_id))["rows"]
    return [tuple(one[name] for name in names) for one in rows]


@pytest.mark.services
async def test_old_rows_are_null_in_an_added_column(api: Api):
    """New queries see it in all rows, their conditions too; queries of before answer what they did."""
    await api.declare()
    before = await api.register("SELECT * FROM trades")
    named = await api.register("SELECT sym FROM trades WHERE px > 1")
    await api.rows([row(1, sym="A", px=1), row(2, sym="B", px=2)])
    first = await api.get(f"/v1/queries/{before}/results")
    stream = await added(api, NOTE, LOT)
    assert ["note", "lot"] == [column["name"] for column in stream["columns"]][-2:]
    assert [True, True] == [column["nullable"] for column in stream["columns"]][-2:]
    again = await api.get(
        f"/v1/queries/{before}/results", headers={"If-None-Match": first.headers["etag"]}
    )
    assert 304 == again.status_code, "the answer is the one of before"
    await api.rows([row(3, sym="C", px=3, note="new", lot=7), row(4, sym="D", px=4)])
    everything = await api.register("SELECT * FROM trades")
    expected = [("A", None, None), ("B", None, None), ("C", "new", 7), ("D", None, None)]
    assert expected == await shown(api, everything, "sym", "note", "lot")
    nulls = await api.register("SELECT sym FROM trades WHERE note IS NULL AND px > 1")
    assert [("B",), ("D",)] == await shown(api, nulls, "sym")
    seven = await api.register("SELECT sym FROM trades WHERE lot + 1 = 8")
    assert [("C",)] == await shown(api, seven, "sym")
    joined = await api.register("SELECT a.sym FROM trades AS a, trades AS b WHERE a.lot = b.lot")
    assert [("C",)] == await shown(api, joined, "sym")
    rows = (await api.results(before))["rows"]
    assert {"ts", "sym", "px", "qty", "up", "_id"} == set(rows[-1]) - {"_x"}
    assert [("B",), ("C",), ("D",)] == await shown(api, named, "sym")
    sample = (await api.get(f"{TRADES}/sample")).json()["rows"]
    assert [None, None, "new", None] == [one["note"] for one in sample]
    matched = await api.send(
        "POST", f"{TRADES}/match", json={"rows": [row(5, px=0, lot=7), row(5, px=0, lot=8)]}
    )
    assert [True, False] == [seven in one for one in matched.json()["matches"]]


@pytest.mark.services
async def test_added_column_is_null_in_whole_chunks(api: Api):
    """Chunks that were whole before are scanned, indexed and joined as those that come after."""
    await api.declare(time=None)
    body = "sym,px\n" + "A,1\n" * (CHUNK_ROWS + 10)
    await api.body(body.encode(), CSV)
    await added(api, LOT)
    await api.body(("sym,px,lot\n" + "B,2,5\n" * CHUNK_ROWS).encode(), CSV)
    counts = [
        ("SELECT COUNT(*) AS n FROM trades WHERE lot IS NULL", CHUNK_ROWS + 10),
        ("SELECT COUNT(*) AS n FROM trades WHERE lot = 5", CHUNK_ROWS),
        ("SELECT COUNT(lot) AS n FROM trades", CHUNK_ROWS),
        ("SELECT SUM(lot) AS n FROM trades WHERE px >= 1", 5 * CHUNK_ROWS),
    ]
    for sql, expected in counts:
        assert [(expected,)] == await shown(api, await api.register(sql), "n"), sql


@pytest.mark.services
async def test_every_format_names_an_added_column_or_leaves_it_out(api: Api):
    """So do staged parts; a part that was staged before the column came is committed after it."""
    await api.declare()
    early = await stage(api, [row(0, sym="staged early")])
    await added(api, NOTE)
    late = await stage(api, [row(1, sym="staged late", note="late")])
    assert 200 == (await commit(api, [early, late])).status_code
    narrow, wide = pa.table({"ts": [2], "sym": ["arrow"]}), pa.table({"ts": [3], "note": ["arrow"]})
    bodies = [(b"ts,sym\n4,csv\n", CSV), (b"ts,note\n5,csv\n", CSV)]
    bodies += [(b'{"ts":6,"sym":"ndjson"}\n', NDJSON), (b'{"ts":7,"note":"ndjson"}\n', NDJSON)]
    for table in (narrow, wide):
        sink = pa.BufferOutputStream()
        exact = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", tz="UTC")))
        with pa.ipc.new_stream(sink, exact.schema) as writer:
            writer.write_table(exact)
        bodies.append((sink.getvalue().to_pybytes(), ARROW))
    for body, media_type in bodies:
        answer = await api.body(body, media_type)
        assert 200 == answer.status_code, answer.text
    found = await shown(api, await api.register("SELECT sym, note FROM trades"), "sym", "note")
    expected: list[tuple[Any, ...]] = [("staged early", None), ("staged late", "late")]
    for kind in ("csv", "ndjson", "arrow"):
        expected += [(kind, None), (None, kind)]
    assert sorted(expected, key=str) == sorted(found, key=str)


@pytest.mark.services
async def test_version_that_is_sent_again_after_a_column_came_is_known(api: Api):
    """Its rows are those of before: NULL in the added column is as if it were not there."""
    await api.declare()
    rows = [row(1, sym="A", px=None), row(2, sym="B")]
    txn = {"Psoup_Txn_App": "p", "Psoup_Txn_Version": "1"}
    first = (await api.rows(rows, **txn)).json()
    await added(api, NOTE)
    again = (await api.rows(rows, **txn)).json()
    assert (0, True, first["seq"]) == (again["accepted"], again["duplicate"], again["seq"])
    other = [rows[0] | {"note": "x"}, rows[1]]
    assert_problem(await api.rows(other, **txn), "txn-content-differs")
    assert 2 == await api.count()


@pytest.mark.services
async def test_addition_that_is_sent_again_changes_nothing(api: Api):
    """Columns that are there just so stay, others follow; the wider declaration is then the one in force."""
    declared = (await api.declare()).json()["columns"]
    first = await added(api, NOTE)
    again = await added(api, NOTE)
    assert (first["seq"], first["columns"]) == (again["seq"], again["columns"])
    both = await added(api, NOTE, LOT)
    names = [column["name"] for column in both["columns"]]
    assert [column["name"] for column in declared] + ["note", "lot"] == names
    wide = await api.declare(columns=both["columns"])
    assert (200, both["seq"]) == (wide.status_code, wide.json()["seq"])
    differs = assert_problem(await api.declare(), "stream-differs")
    assert ["columns"] == [one["member"] for one in differs["diff"]]


@pytest.mark.services
async def test_addition_with_if_match(api: Api):
    """It is made to the declaration that was read, or not at all; retention may change with it."""
    tag = (await api.declare()).headers["etag"]
    answer = await add(api, NOTE, If_Match=tag)
    assert 200 == answer.status_code
    assert tag != answer.headers["etag"]
    assert_problem(await add(api, LOT, If_Match=tag), "precondition-failed")
    both = await api.send("PATCH", TRADES, json={"add_columns": [LOT], "retention": {"rows": 9}})
    assert (9, "lot") == (both.json()["retention"]["rows"], both.json()["columns"][-1]["name"])


@pytest.mark.services
async def test_rows_and_queries_amid_additions_are_all_taken(api: Api):
    """What was checked against a declaration of before is checked once more, and NULL in what it does not name."""
    await api.declare()

    async def send(first: int) -> None:
        for second in range(first, first + 4):
            answer = await api.rows([row(second, sym="A", px=1)])
            assert 200 == answer.status_code, answer.text

    queries: list[str] = []
    for number in range(6):
        change = added(api, {"name": f"c{number}", "type": "float64"})
        query = api.register("SELECT sym FROM trades WHERE px = 1")
        _, found, _, _ = await asyncio.gather(
            change, query, send(10 * number), send(100 + 10 * number)
        )
        answer = await api.rows([row(200 + number, sym="B", **{f"c{number}": 0.5})])
        assert 200 == answer.status_code, answer.text
        queries.append(found)
    for query_id in queries:
        assert 48 == len((await api.results(query_id))["rows"])
    both = await asyncio.gather(add(api, NOTE), add(api, LOT))
    assert [200, 200] == [answer.status_code for answer in both]
    names = [column["name"] for column in (await api.get(TRADES)).json()["columns"]]
    assert {"note", "lot"} <= set(names)
    assert 54 == await api.count()


@LOOKS_INSIDE
async def test_rows_that_name_a_column_added_elsewhere_are_taken(api: Api):
    """A process that knows the declaration of before looks again before it rejects them."""
    await api.declare()
    await api.rows([row(1)])
    known = api.service.catalogue.known("trades")
    assert known is not None
    await added(api, NOTE)
    api.service.catalogue._held["trades"] = known
    answer = await api.rows([row(2, note="x")])
    assert 200 == answer.status_code, answer.text
    api.service.catalogue._held["trades"] = known
    match = await api.send("POST", f"{TRADES}/match", json={"rows": [row(3, note="x")]})
    assert 200 == match.status_code, match.text
    assert_problem(await api.rows([row(4, nothing="x")]), "rows-rejected")


@LOOKS_INSIDE
async def test_rows_without_a_column_added_elsewhere_meet_queries_that_read_it(api: Api):
    """A process that knows the declaration of before looks again where queries that stand read more than that has."""
    await api.declare()
    known = api.service.catalogue.stream("trades")
    await added(api, NOTE)
    query_id = await api.register("SELECT sym FROM trades WHERE note IS NULL OR note = 'x'")
    other = await api.register("SELECT sym FROM trades WHERE note = 'x'")
    for _ in range(2):
        api.service.catalogue._held["trades"] = known
        match = await api.send("POST", f"{TRADES}/match", json={"rows": [row(3)]})
        assert [[query_id]] == match.json()["matches"], match.text
        assert other not in match.text


async def test_same_text_means_more_columns_after_they_came(api: Api):
    """A text that was bound before is bound again; a query under a name is another one then."""
    await api.declare()
    first = await api.register("SELECT * FROM trades", name="all")
    await added(api, LOT)
    listed = "SELECT ts, sym, px, qty, up FROM trades"
    same = await api.send("POST", "/v1/queries", json={"sql": listed, "name": "all"})
    assert (200, first) == (same.status_code, same.json()["id"])
    more = await api.send("POST", "/v1/queries", json={"sql": "SELECT * FROM trades"})
    assert "lot" == more.json()["columns"][-1]["name"]
    differs = {"sql": "SELECT * FROM trades", "name": "all"}
    assert_problem(await api.send("POST", "/v1/queries", json=differs), "name-taken")
    path = "/v1/queries/all?replace=true"
    replaced = await api.send("PUT", path, json={"sql": "SELECT * FROM trades"})
    assert (first, 2) == (replaced.json()["id"], replaced.json()["version"])


async def test_cursor_of_before_goes_on(api: Api):
    """A client of a query of before gets what is new, without a reset."""
    await api.declare()
    query_id = await api.register("SELECT sym FROM trades")
    await api.rows([row(1, sym="A")])
    cursor = (await api.results(query_id))["cursor"]
    await added(api, NOTE)
    await api.rows([row(2, sym="B", note="x")])
    answer = await api.get(f"/v1/queries/{query_id}/results", params={"cursor": cursor})
    body = answer.json()
    assert not body.get("reset"), answer.text
    assert ["B"] == [one["sym"] for one in body["rows"]]


async def test_batches_of_before_are_read_with_the_added_column(api: Api):
    """A batch is answered with the columns the stream has now."""
    await api.declare()
    seq = (await api.rows([row(1, sym="A")])).json()["seq"]
    await added(api, NOTE)
    table = pa.ipc.open_stream((await api.get(f"{TRADES}/batches/{seq}")).content).read_all()
    assert ["A", None] == [table["sym"][0].as_py(), table["note"][0].as_py()]


@pytest.mark.parametrize(
    ("column", "code", "pointer"),
    [
        ({"name": "px", "type": "int64"}, "incompatible-change", "/add_columns/0"),
        ({"name": "ts", "type": "timestamp"}, "incompatible-change", "/add_columns/0"),
        (NOTE | {"nullable": False}, "incompatible-change", "/add_columns/0/nullable"),
        (NOTE | {"name": "_id"}, "invalid-field", "/add_columns/0/name"),
        (NOTE | {"name": "_x"}, "invalid-field", "/add_columns/0/name"),
        (NOTE | {"name": ""}, "invalid-field", "/add_columns/0/name"),
        (NOTE | {"name": "a\nb"}, "invalid-field", "/add_columns/0/name"),
        (NOTE | {"type": "text"}, "invalid-field", "/add_columns/0/type"),
        (NOTE | {"unit": "ms"}, "invalid-field", "/add_columns/0/unit"),
        ({"name": "note"}, "invalid-field", "/add_columns/0/type"),
    ],
)
async def test_column_that_cannot_be_added_is_refused(api: Api, column, code, pointer):
    """The problem points at it, and nothing changes."""
    before = (await api.declare()).json()["columns"]
    problem = assert_problem(await add(api, column), code)
    assert [pointer] == [one["pointer"] for one in problem["errors"]]
    assert before == (await api.get(TRADES)).json()["columns"]


async def test_additions_that_cannot_be_are_refused_together(api: Api):
    """None of several is added where one cannot be; nor more than a stream may have, nor the same name twice."""
    before = (await api.declare()).json()["columns"]
    many = [{"name": f"c{i}", "type": "bool"} for i in range(limits.COLUMNS_COUNT_MAX - 4)]
    for columns, code, pointer in (
        ([NOTE, {"name": "px", "type": "int64"}], "incompatible-change", "/add_columns/1"),
        (many, "incompatible-change", "/add_columns"),
        ([NOTE, NOTE], "invalid-field", "/add_columns/1/name"),
        ([], "invalid-field", "/add_columns"),
    ):
        problem = assert_problem(await add(api, *columns), code)
        assert [pointer] == [one["pointer"] for one in problem["errors"]]
    body = {"add_columns": [NOTE], "widen": {"px": "string", "price": "float64", "sym": "string"}}
    problem = assert_problem(await api.send("PATCH", TRADES, json=body), "incompatible-change")
    assert ["/widen/px", "/widen/price"] == [one["pointer"] for one in problem["errors"]]
    assert "the column is float64 and keeps its type" in problem["errors"][0]["reason"]
    same = await api.send("PATCH", TRADES, json={"widen": {"px": "float64"}})
    assert (200, before) == (same.status_code, same.json()["columns"])
    assert before == (await api.get(TRADES)).json()["columns"]
    assert 200 == (await add(api, *many[1:])).status_code, "as many as there may be"
