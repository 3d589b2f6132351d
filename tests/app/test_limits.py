"""The tables of limits and of bad input, over HTTP: each has its status and code, nothing is stored of it,
and the next request works.
"""  # noqa: D205

import dataclasses
import gzip
import json
import re

import pytest

from psoup.app.wire.rows.body import COLUMNS, CSV, JSON, NDJSON
from psoup.engine import limits
from tests.app.support import SETTINGS, START_US, Api, assert_problem, row, running

pytestmark = pytest.mark.anyio

DEEP = b"[" * 33 + b"]" * 33
WIDE = b"{" + b",".join(b'"m%d":1' % i for i in range(257)) + b"}"
BAD_JSON = {
    "empty": b"",
    "not UTF-8": b'{"ts":"\xff"}',
    "byte order mark": b"\xef\xbb\xbf[]",
    "trailing bytes": b"[] x",
    "cut short": b'[{"ts":5}',
    "NaN": b'[{"px":NaN}]',
    "Infinity": b'[{"px":Infinity}]',
    "1e999": b'[{"px":1e999}]',
    "5,000 digits": b'[{"px":' + b"1" * 5_000 + b"}]",
    "33 characters of a number": b'[{"px":0.' + b"1" * 31 + b"}]",
    "lone surrogate": b'[{"sym":"\\ud800"}]',
    "depth 33": b'[{"sym":' + DEEP + b"}]",
    "257 members": b"[" + WIDE + b"]",
}


@pytest.mark.services
@pytest.mark.parametrize("case", BAD_JSON)
async def test_rows_of_bad_json_are_bad_body(api: Api, case):
    """What is not JSON as the contract reads it is 400 `bad-body`, as array and by line."""
    await api.declare()
    body = BAD_JSON[case]
    assert_problem(await api.body(body, JSON), "bad-body")
    lines = body[1:-1] if body.startswith(b"[{") and body.endswith(b"]") else body
    if case != "trailing bytes":
        assert_problem(await api.body(lines, NDJSON), "bad-body")
    assert 0 == await api.count()
    assert 200 == (await api.rows(row())).status_code


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfts\n5\n",
        b"ts\n\xff\n",
        b"ts,ts\n5,5\n",
        b"ts,sym\n5\n",
        b"ts,sym\n5,a,b\n",
        b'ts,sym\n5,"a\n',
        b'ts,sym\n5,"a"b\n',
        b'ts,sym\n5,a"b\n',
        b"\n",
        b",".join(b"m%d" % i for i in range(257)) + b"\n",
    ],
)
async def test_rows_of_bad_csv_are_bad_body(api: Api, body):
    """What is not CSV after RFC 4180 is 400 `bad-body`."""
    await api.declare()
    assert_problem(await api.body(body, CSV), "bad-body")
    assert 0 == await api.count()


@pytest.mark.parametrize("body", [*BAD_JSON.values(), b'{"a":1,"a":2}', b"{}}"])
@pytest.mark.parametrize(("method", "path"), [("PUT", "/v1/streams/s"), ("POST", "/v1/queries")])
async def test_control_bodies_of_bad_json_are_bad_body(api: Api, body, method, path):
    """The control plane refuses what is not JSON, duplicate members among it."""
    headers = {"Content-Type": JSON}
    assert_problem(await api.send(method, path, content=body, headers=headers), "bad-body")
    assert [] == (await api.get("/v1/streams")).json()["streams"]


@pytest.mark.parametrize(
    ("body", "media_type", "where"),
    [
        (b'[{"ts":5},{"qty":' + b"1" * 40 + b"}]", JSON, {"offset": 17}),
        (b'{"ts":5}\n{"qty":' + b"1" * 40 + b"}", NDJSON, {"offset": 16}),
        (b'{"qty":[' + b"1" * 40 + b"]}", COLUMNS, {"offset": 8}),
        (b"ts,qty,sym,qty\n5,1,a,2\n", CSV, {"column": "qty"}),
    ],
)
async def test_bad_bodies_of_rows_say_where_and_which(api: Api, body, media_type, where):
    """A number that is too long has its offset, a column that is named twice its name."""
    await api.declare()
    assert_problem(await api.body(body, media_type), "bad-body", **where)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b'{"sql":"a","labels":{"u":"1","v":"2","u":"3"}}', {"field": "u"}),
        (b'{"sql":"a","\\ud800":1,"\\ud800":2}', {"field": "\\ud800"}),
        (b'{"sql":"a","labels":{"u":"\\udfff"}}', {"field": "/labels/u"}),
    ],
)
async def test_bad_control_bodies_say_which(api: Api, body, where):
    """A member that stands twice is named, also where its name is no text; half a surrogate pair has its place."""
    headers = {"Content-Type": JSON}
    answer = await api.send("POST", "/v1/queries", content=body, headers=headers)
    assert_problem(answer, "bad-body", **where)


@pytest.mark.parametrize("digits", [20, 33, 40])
async def test_rows_with_digits_in_text_are_no_numbers(api: Api, digits):
    """The limit of a number's length counts numbers, not digits in a text."""
    await api.declare()
    assert 200 == (await api.rows(row(sym="1" * digits, px=1e300))).status_code


@pytest.mark.parametrize("media_type", [None, "", "text/plain", "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded", "application/json; charset=latin1"])  # fmt: skip
async def test_rows_of_another_media_type_are_unsupported(api: Api, media_type):
    """A missing or unknown Content-Type is 415 and names what is taken."""
    await api.declare()
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = await api.send("POST", "/v1/streams/trades/rows", content=b"[]", headers=headers)
    assert_problem(answer, "unsupported-media")
    assert "text/csv" in answer.headers["accept-post"]


async def test_bodies_of_unknown_encodings_are_unsupported(api: Api):
    """An encoding that is not taken is 415, and names what is taken, media types of rows as well."""
    await api.declare()
    answer = await api.body(b"[]", JSON, Content_Encoding="br")
    assert_problem(answer, "unsupported-media", supported=["gzip", "zstd"])
    assert "gzip, zstd" == answer.headers["accept-encoding"]
    assert "text/csv" in answer.headers["accept-post"]


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"[" + b" " * (2 * limits.MIB) + b"]"), "gzip"),
        (gzip.compress(gzip.compress(b"[]")), "gzip, gzip"),
        (b"x" * (limits.BODY_INGEST_BYTES_MAX + 1), "identity"),
        (b"[" + b"{}," * limits.BATCH_ROWS_MAX + b"{}]", "identity"),
    ],
)
async def test_bodies_over_a_limit_are_too_large(api: Api, body, encoding):
    """Bombs, two layers, bytes and rows over their limits are 413; who splits a batch is told both of its bounds."""
    await api.declare()
    problem = assert_problem(
        await api.body(body, JSON, Content_Encoding=encoding),
        "body-too-large",
        max_rows=limits.BATCH_ROWS_MAX,
    )
    assert problem["limit"]
    assert problem["max_bytes"]
    assert 0 == await api.count()
    assert 200 == (await api.rows(row())).status_code


@pytest.mark.parametrize("media_type", [NDJSON, CSV])
async def test_rows_of_one_batch_are_bounded(api: Api, media_type):
    """A batch has 200,000 rows and not one more."""
    await api.declare(columns=[{"name": "a", "type": "int64"}], time=None)
    line, head = (b"1\n", b"a\n") if media_type == CSV else (b'{"a":1}\n', b"")
    body = head + line * limits.BATCH_ROWS_MAX
    for longer in (body + line, body + line.removesuffix(b"\n")):
        assert_problem(
            await api.body(longer, media_type),
            "body-too-large",
            max_rows=limits.BATCH_ROWS_MAX,
            max_bytes=limits.BODY_INGEST_BYTES_MAX,
        )
    answer = await api.body(body, media_type)
    assert (200, limits.BATCH_ROWS_MAX) == (answer.status_code, answer.json()["accepted"])


async def test_rows_too_many_for_one_entry_are_too_large(api: Api):
    """Typed rows over 16 MiB are 413, with the number of rows that would fit."""
    await api.declare()
    text = json.dumps(row(sym="x" * 8_000)).encode()
    body = b"\n".join([text] * 2_200)
    problem = assert_problem(await api.body(body, NDJSON), "body-too-large")
    assert limits.ENTRY_BYTES_MAX == problem["max_bytes"]
    assert 1_000 < problem["max_rows"] < 2_200


async def test_control_bodies_over_their_limit_are_too_large(api: Api):
    """A declaration has 16 KiB, a registration its query's 64 KiB and an envelope."""
    big = {"columns": [], "time": "x" * limits.BODY_OTHER_BYTES_MAX}
    assert_problem(await api.send("PUT", "/v1/streams/s", json=big), "body-too-large")
    big = {"sql": "x" * limits.BODY_REGISTER_BYTES_MAX}
    assert_problem(await api.send("POST", "/v1/queries", json=big), "body-too-large")


async def test_query_text_over_its_limit_is_too_complex(api: Api):
    """A query of 64 KiB and one byte is 422, with the limit and its size."""
    await api.declare()
    sql = "SELECT * FROM trades"
    sql += " " * (limits.QUERY_TEXT_BYTES_MAX + 1 - len(sql))
    problem = await api.send("POST", "/v1/queries", json={"sql": sql})
    assert_problem(problem, "query-too-complex", limit=limits.QUERY_TEXT_BYTES_MAX, actual=len(sql))


@pytest.mark.parametrize(
    "members",
    [
        {"sql": 5},
        {"sql": "SELECT\0"},
        {"name": ""},
        {"name": "x" * 129},
        {"name": "a\nb"},
        {"labels": {"a": 1}},
        {"labels": {"": "a"}},
        {"labels": {str(i): "x" for i in range(17)}},
        {"labels": []},
    ],
)
async def test_registrations_with_wrong_members_are_invalid(api: Api, members):
    """Members of a wrong type or value are 422, and no query is registered."""
    await api.declare()
    body = {"sql": "SELECT * FROM trades", **members}
    assert_problem(await api.send("POST", "/v1/queries", json=body), "invalid-field")
    assert [] == (await api.get("/v1/queries")).json()["queries"]


@pytest.mark.services
@pytest.mark.parametrize(
    ("body", "field", "nearest"),
    [({"sql": "x", "lables": {}}, "/lables", "labels"), ({"qsl": "x"}, "/qsl", "sql")],
)
async def test_members_that_do_not_exist_are_named(api: Api, body, field, nearest):
    """An unknown member is 400, with its place and the nearest known one."""
    answer = await api.send("POST", "/v1/queries", json=body)
    assert_problem(answer, "unknown-field", field=field, nearest=nearest)


@pytest.mark.services
@pytest.mark.parametrize("path", ["/v1/streams", "/v1/queries", "/healthz", "/v1/status"])
async def test_parameters_that_do_not_exist_are_named(api: Api, path):
    """An unknown parameter is 400 on every path."""
    assert_problem(await api.get(f"{path}?nope=1"), "unknown-field", field="nope")


async def test_urls_and_headers_over_their_limits_are_refused(api: Api):
    """Long URLs are 414; long, many or large headers are 431; at the limit they pass."""
    path = "/v1/streams?page="
    assert_problem(
        await api.get(path + "x" * (limits.URL_BYTES_MAX - len(path) + 1)),
        "url-too-long",
        limit=limits.URL_BYTES_MAX,
    )
    fitting = path + "x" * (limits.URL_BYTES_MAX - len(path))
    assert_problem(await api.get(fitting), "bad-page")
    for headers in (
        {"x": "y" * limits.HEADER_BYTES_MAX},
        {f"x{i}": "y" for i in range(limits.HEADERS_COUNT_MAX)},
        {f"x{i}": "y" * 6_000 for i in range(3)},
    ):
        assert_problem(await api.get("/healthz", headers=headers), "headers-too-large")
    passing = {"x": "y" * (limits.HEADER_BYTES_MAX - 5)}
    assert 200 == (await api.get("/healthz", headers=passing)).status_code


@pytest.mark.services
@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/v1/streams/s", "DELETE, GET, HEAD, PATCH, PUT"),
        ("PUT", "/v1/queries", "DELETE, GET, HEAD, POST"),
        ("GET", "/v1/streams/s/rows", "POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("OPTIONS", "/v1/queries", "DELETE, GET, HEAD, POST"),
    ],
)
async def test_methods_that_do_not_exist_name_those_that_do(api: Api, method, path, allow):
    """An unknown method of a known path is 405 with all methods of the path."""
    answer = await api.send(method, path)
    assert_problem(answer, "method")
    assert allow == answer.headers["allow"]


@pytest.mark.services
async def test_limits_are_all_told(api: Api):
    """`/v1/limits` names every bound of `engine/limits.py`, and what is used of those that fill up."""
    await api.declare()
    body = (await api.get("/v1/limits")).json()
    named = {name.lower() for name in vars(limits) if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)}
    assert named - set(body["limits"]) == {"kib", "mib", "gib", "second_us", "day_us"}
    assert limits.BATCH_ROWS_MAX == body["limits"]["batch_rows_max"]
    assert 1 == body["use"]["streams_count_max"]


@pytest.mark.services
async def test_streams_past_their_number_are_over_the_quota():
    """One more than the setting allows is 429, with the limit and what to do; dropping one makes room."""
    async with running(dataclasses.replace(SETTINGS, streams=3)) as api:
        assert 3 == (await api.get("/v1/limits")).json()["limits"]["streams_count_max"]
        for i in range(3):
            assert 201 == (await api.declare(f"s{i}")).status_code
        refused = await api.declare("more")
        assert_problem(refused, "quota-exceeded", limit=3)
        assert "PSOUP_STREAMS" in refused.json()["detail"]
        assert 200 == (await api.declare("s0")).status_code
        await api.send("DELETE", "/v1/streams/s0")
        assert 201 == (await api.declare("more")).status_code


async def test_floats_of_every_size_are_kept(api: Api):
    """Floats that look like vast integers are floats: only integer literals have to be exact."""
    await api.declare()
    query_id = await api.register("SELECT px FROM trades")
    body = b'[{"ts":%d,"px":1e19},{"ts":%d,"px":2.0e300}]' % (START_US, START_US + 1)
    assert 200 == (await api.body(body, JSON)).status_code
    assert [1e19, 2e300] == [one["px"] for one in (await api.results(query_id))["rows"]]
