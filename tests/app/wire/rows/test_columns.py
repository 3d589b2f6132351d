"""Rows as JSON by columns, over HTTP: the rows that any other format says, and the refusals only this one has."""

import json

import orjson
import pytest

from psoup.app.wire.rows.body import COLUMNS, JSON
from psoup.engine import limits
from tests.app.support import START_US, Api, assert_problem, row

pytestmark = pytest.mark.anyio

SHAPES = {
    b"[]": "not an object",
    b'[{"ts":[5]}]': "not an object",
    b"5": "not an object",
    b'{"ts":5}': "not an array",
    b'{"ts":[5],"px":null}': "not an array",
    b'{"ts":[5],"px":{"0":1}}': "not an array",
    b'{"ts":[5],"px":"1"}': "not an array",
    b'{"ts":[5,6],"px":[1]}': "lengths",
    b'{"ts":[],"px":[1]}': "lengths",
    b'{"ts":[5],"ts":[6]}': "duplicate member",
    b'{"ts":[5],"sym":["ts"],"t\\u0073":[6]}': "duplicate member",
    b'{"ts":[5],"px":1,"px":[2]}': "duplicate member",
}


@pytest.mark.parametrize("body", SHAPES)
async def test_rows_as_columns_of_another_shape_are_bad_body(api: Api, body):
    """Not one object, a member that is no array, another length, a column twice: 400, and nothing is stored."""
    await api.declare()
    assert_problem(await api.body(body, COLUMNS), "bad-body", reason=SHAPES[body])
    assert 0 == await api.count()
    assert 200 == (await api.body(b'{"ts":[5]}', COLUMNS)).status_code


async def test_rows_as_columns_of_unlike_lengths_are_named(api: Api):
    """The refusal names a short and a long column with their lengths, beside a detail that quotes nothing."""
    await api.declare()
    problem = assert_problem(
        await api.body(b'{"px":[1],"ts":[5,6],"qty":[1]}', COLUMNS), "bad-body"
    )
    assert ["px", "ts"] == problem["columns"]
    assert "one has 1, another 2." in problem["detail"]
    problem = assert_problem(await api.body(b'{"ts":[5],"px":1}', COLUMNS), "bad-body")
    assert "px" == problem["column"]
    assert "px" not in problem["detail"]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (b'{"qty":[5]}', [("/ts", "missing")]),
        (b"{}", [("/ts", "missing")]),
        (b'{"ts":[5],"what":[1],"a/b":1}', [("/what", "unknown-column"), ("/a~1b", "unknown-column")]),
    ],
)  # fmt: skip
async def test_rows_as_columns_of_other_names_are_rejected(api: Api, body, errors):
    """Columns that do not exist or have to be there are told as for CSV and Arrow: of the whole body, without line."""
    await api.declare()
    problem = assert_problem(await api.body(body, COLUMNS), "rows-rejected")
    assert errors == [(one["pointer"], one["code"]) for one in problem["errors"]]
    assert [None] * len(errors) == [one["index"] for one in problem["errors"]]
    assert not any("line" in one for one in problem["errors"])


async def test_rows_as_columns_left_out_are_null(api: Api):
    """A nullable column may be left out; a column of NULL is the same."""
    await api.declare()
    query_id = await api.register("SELECT * FROM trades")
    await api.body(b'{"ts":[%d,%d]}' % (START_US, START_US + 1), COLUMNS)
    await api.body(b'{"ts":[%d],"px":[null]}' % (START_US + 2), COLUMNS)
    rows = (await api.results(query_id, meta=0))["rows"]
    assert 3 == len(rows)
    assert {None} == {one[name] for one in rows for name in ("sym", "px", "qty", "up")}


WRONG = [
    ({"qty": 2**63}, "9223372036854775808"), ({"qty": 2**64}, "18446744073709551616"), ({"qty": "12"}, '"12"'), ({"qty": 1.5}, "1.5"),
    ({"qty": 1.0}, "1.0"), ({"qty": True}, "true"), ({"px": 2**53 + 1}, "9007199254740993"), ({"px": 2**70}, "1180591620717411303424"),
    ({"px": [2**70]}, "<list>"), ({"px": {}}, "{}"), ({"up": 1}, "1"), ({"sym": 5}, "5"), ({"sym": "a\0"}, '"a\\u0000"'),
    ({"ts": None}, "null"), ({"ts": "2026-11-21T10:00:00"}, '"2026-11-21T10:00:00"'), ({"ts": 10**18}, "1000000000000000000"),
    ({"ts": "2026-11-22T10:00:00.000001Z"}, '"2026-11-22T10:00:00.000001Z"'),
]  # fmt: skip


@pytest.mark.parametrize(("members", "got"), WRONG)
async def test_rows_as_columns_with_a_wrong_value_are_rejected_like_objects(api: Api, members, got):
    """One wrong value is refused with index, pointer, code, expected and got, all as in an array of objects."""
    await api.declare()
    rows = [row(), {"ts": START_US, **members}, row()]
    as_objects = assert_problem(await api.rows(rows), "rows-rejected", errors_total=1)
    columns = {name: [one.get(name) for one in rows] for name in rows[1]}
    text = json.dumps(columns).encode()  # orjson writes no vast integers
    by_column = assert_problem(await api.body(text, COLUMNS), "rows-rejected")
    assert as_objects["errors"] == by_column["errors"]
    assert (1, 1, got) == (
        by_column["errors_total"],
        by_column["errors"][0]["index"],
        by_column["errors"][0]["got"],
    )
    assert 0 == await api.count()


async def test_rows_as_columns_errors_first_hundred_are_shown_in_order(api: Api):
    """Errors are counted in full and shown in the order of rows, then of columns, though they are found by column."""
    await api.declare()
    body = {"qty": ["y"] * 3_000, "ts": [START_US] * 3_000, "px": ["x"] * 3_000}
    problem = assert_problem(await api.body(orjson.dumps(body), COLUMNS), "rows-rejected")
    assert (6_000, 100) == (problem["errors_total"], len(problem["errors"]))
    shown = [(error["index"], error["pointer"]) for error in problem["errors"]]
    assert [(i // 2, ("/px", "/qty")[i % 2]) for i in range(100)] == shown


BAD = {
    "not UTF-8": b'{"ts":[5],"sym":["\xff"]}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "trailing bytes": b'{"ts":[5]} x',
    "two objects": b'{"ts":[5]}\n{"ts":[5]}',
    "cut short": b'{"ts":[5]',
    "NaN": b'{"ts":[5],"px":[NaN]}',
    "1e999": b'{"ts":[5],"px":[1e999]}',
    "5,000 digits": b'{"ts":[5],"px":[' + b"1" * 5_000 + b"]}",
    "33 characters of a number": b'{"ts":[5],"px":[0.' + b"1" * 31 + b"]}",
    "lone surrogate": b'{"ts":[5],"sym":["\\ud800"]}',
    "depth 33": b'{"ts":[5],"sym":[' + b"[" * 31 + b"]" * 31 + b"]}",
    "depth 2,000": b'{"ts":[5],"sym":[' + b"[" * 2_000 + b"]" * 2_000 + b"]}",
    "257 members": b'{"ts":[5],' + b",".join(b'"m%d":[1]' % i for i in range(256)) + b"}",
    "number too long, and too deep": b'{"a":[' + b"[" * 40 + b"1" * 33 + b"]" * 40 + b"]}",
}


@pytest.mark.parametrize("case", BAD)
async def test_rows_as_columns_of_bad_json_are_bad_body(api: Api, case):
    """What is not JSON as the contract reads it is 400, as in the other formats."""
    await api.declare()
    assert_problem(await api.body(BAD[case], COLUMNS), "bad-body")
    assert 0 == await api.count()


async def test_rows_as_columns_too_many_are_too_large(api: Api):
    """A batch has 200,000 rows and not one more, whatever its values are, nested ones among them."""
    await api.declare(columns=[{"name": "a", "type": "int64"}], time=None)
    most = limits.BATCH_ROWS_MAX
    for value in (b"1", b'"\\n"', b"[]"):
        body = b'{"a":[' + b",".join([value] * (most + 1)) + b"]}"
        assert_problem(await api.body(body, COLUMNS), "body-too-large", max_rows=most)
    body = b'{"a":[' + b",".join([b"1"] * most) + b"]}"
    answer = await api.body(body, COLUMNS)
    assert (200, most) == (answer.status_code, answer.json()["accepted"])


async def test_rows_as_columns_with_escapes_are_the_same_rows(api: Api):
    """Texts and names may be escaped, floats be vast, integers the smallest there is."""
    await api.declare()
    query_id = await api.register("SELECT * FROM trades")
    body = (
        b'{"\\u0074s":[%d],"sym":["\\u00e9\\n[\\"]"],"px":[1e19],"qty":[-9223372036854775808]}'
        % START_US
    )
    assert 200 == (await api.body(body, COLUMNS)).status_code
    (found,) = (await api.results(query_id, meta=0))["rows"]
    assert ('é\n["]', 1e19, -(2**63)) == (found["sym"], found["px"], found["qty"])


async def test_rows_as_columns_names_are_counted_outside_of_texts(api: Api):
    """A text that looks like a member is none: the columns are named once each."""
    await api.declare()
    body = b'{"ts":[5],"sym":["\\"ts\\":[6]"]}'
    assert 200 == (await api.body(body, COLUMNS)).status_code
    assert (
        200
        == (
            await api.body(b'{"ts":[5],"sym":["sym"],"qty":[-9223372036854775808]}', COLUMNS)
        ).status_code
    )
    assert_problem(
        await api.body(b'{"ts":[5],"sym":["sym"],"sym":["\\n"]}', COLUMNS),
        "bad-body",
        reason="duplicate member",
    )


async def test_rows_as_columns_are_listed_where_media_types_are(api: Api):
    """The refusal of another media type and the OpenAPI name it; as application/json it is one row, and wrong."""
    await api.declare()
    headers = {"Content-Type": "text/plain"}
    answer = await api.send("POST", "/v1/streams/trades/rows", content=b"{}", headers=headers)
    assert COLUMNS in assert_problem(answer, "unsupported-media")["supported"]
    assert COLUMNS in answer.headers["accept-post"]
    described = (await api.get("/openapi.json")).json()["paths"]["/v1/streams/{name}/rows"]
    assert COLUMNS in described["post"]["requestBody"]["content"]
    assert_problem(await api.body(b'{"ts":[5]}', JSON), "rows-rejected")
    charset = f"{COLUMNS}; charset=utf-8"
    assert 200 == (await api.body(b'{"ts":[5]}', charset)).status_code
