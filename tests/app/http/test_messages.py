"""What a newcomer reads: a refusal says what is wrong, where, and what to do, and `detail` quotes nothing."""

import pytest

from tests.app.support import Api, assert_problem, row

pytestmark = pytest.mark.anyio

QUERIES = [
    # text behind SELECT, part of detail, part of hint
    ('sym FROM trades WHERE sym = "Zebra"', "A text stands in single quotes", "'Zebra'"),
    ('sym FROM trades WHERE sym LIKE "Zebra%"', "A text stands in single quotes", "'Zebra%'"),
    ("sym FROM trades WHERE sym = Zebra", "no column of this name", "'Zebra'"),
    ("sym FROM trades WHERE sym = `Zebra`", "A backtick quotes nothing", "write 'Zebra'"),
    ("sym FROM trades WHERE sym = \u2018Zebra\u2019", "A curly quote is no quote", "write 'Zebra'"),
    ("sym FROM trades WHERE sym = \u201cZebra\u201d", "A curly quote is no quote", "write 'Zebra'"),
    ("sym FROM trades WHERE\u200b px > 1", "invisible character U+200B", "delete it"),
    ("sym FROM trades WHERE px ≥ 1", "does not know the sign ≥", "write >="),
    ("px * 2 AS zebra FROM trades WHERE zebra > 4", "not the names that AS gives", "px * 2.0"),
    ("sym FROM trades WHERE ts > CURRENT_TIMESTAMP", "known to the window alone", "BEGIN (NOW -"),
    ("sym FROM trades WHERE ts > NOW()", "known to the window alone", "BEGIN (NOW -"),
    ("sym FROM trades WHERE ts > NOW - INTERVAL '1' HOUR", "known to the window", "BEGIN (NOW -"),
    ("* EXCEPT (zebra) FROM trades", "* takes no EXCEPT", "name the columns"),
    ("* EXCLUDE (zebra) FROM trades", "* takes no EXCLUDE", "name the columns"),
    ("all FROM trades", "as a name it stands in double quotes", '"all"'),
    ("order FROM trades", "as a name it stands in double quotes", '"order"'),
    ("sym FROM group", "as a name it stands in double quotes", '"group"'),
    ("sym, FROM trades", "without a comma behind the last", "without a comma"),
    ("sym FORM trades", "misspelt FROM", "did you mean FROM in place of FORM?"),
    ("sym FROM trades WERE px > 1", "misspelt WHERE", "did you mean WHERE in place of WERE?"),
    ("sym FROM trades BEGIN (NOW - 99999999999999) END (NOW)", "counts seconds", "3155760000"),
    ("sym FROM trades BEGIN (NOW - INTERVAL '10m') END (NOW)", "Units are", "INTERVAL '10' MINUTE"),
    ("sym FROM trades BEGIN (NOW - 10m) END (NOW)", "INTERVAL '10' MINUTE", "INTERVAL '10' MINUTE"),
    ("sym FROM trades BEGIN (NOW - INTERVAL '1' MONTH) END (NOW)", "write days", "'30' DAY"),
    ("sym FROM trades BEGIN (NOW - '9 zebras') END (NOW)", "the word INTERVAL", "'9 zebras'"),
    (
        "sym FROM trades BEGIN (NOW - 5) END (NOW) WHERE px > 1",
        "and the window BEGIN (...) END (...)",
        "WHERE",
    ),
    ("sym FROM trades WHERE px > 1,5", "has a point", "1.5"),
    ("sym FROM trades WHERE px => 1", "written >=", ">="),
    ("sym FROM trades WHERE px IN ()", "list of IN is empty", "at least one constant"),
    ("sym FROM trades WHERE px > %s", "placeholder", "write :name or $name"),
    ("sym FROM trades WHERE px > {zebra}", "write :name or $name", "write :name or $name"),
    ("sym FROM trades WHERE px > 0x10", "decimal digits", "decimal digits"),
    ("sym FROM trades WHERE px > 'zebra'", "DOUBLE does not compare with VARCHAR", "'zebra'"),
    ("sym FROM trades WHERE ts > 'zebra'", "The text is no time", "'zebra' is no time"),
    ("sym FROM zebra.trades", "without a schema or database", "without a schema"),
    ("sym FROM 'zebra'", "single quotes make a text", "zebra"),
    ("sym FROM zebra", "GET /v1/streams lists", "declared streams: trades"),
    ("zebra FROM trades", "no column of this name", "columns of trades"),
    ("zebra.px FROM trades", "alias before the column", "trades.column"),
    ("sym, px AS sym FROM trades", "Two outputs have one name", "AS sym_2"),
    ("ZEBRA(px) FROM trades", "This function is not offered", "ZEBRA()"),
    ("DISTINCT ON (sym) sym FROM trades", "takes no ON", "SELECT DISTINCT"),
    ("TOP 5 sym FROM trades", "TOP is not offered", "ORDER BY a DESC LIMIT 10"),
    ("_id FROM trades", "every row of an answer has _id", "leave it out"),
    ("sym FROM trades WHERE sym CONTAINS 'zebra'", "LIKE '%text%'", "LIKE"),
    ("t.Order Zebra FROM trades t", "double quotes", '"Order Zebra"'),
    ("t.[Zebra One] FROM trades t", "brackets quote nothing", "double quotes"),
    ("zebra2.5 FROM trades", "a name with a point stands in double quotes", '"zebra2.5"'),
    ("sym FROM trades WHERE zebra2.5 > 1", "a name with a point", '"zebra2.5"'),
    ("sym FROM trades WHERE ts > 2016-12-29", "without them 2014-01-05 is a subtraction", "quotes"),
]


@pytest.mark.parametrize(("text", "detail", "hint"), QUERIES, ids=lambda one: one[:50])
async def test_refused_query_says_what_is_wrong_where_and_what_to_do(api: Api, text, detail, hint):
    """`detail` alone is enough to find and mend it, and holds no word of the sender; the hint quotes."""
    await api.declare()
    body = (await api.send("POST", "/v1/queries", json={"sql": f"SELECT {text}"})).json()
    at = body["position"]
    said = str(body["detail"])
    assert said.startswith(f"Line {at['line']}, column {at['column']}: "), said
    assert detail.casefold() in said.casefold()
    assert "zebra" not in said.casefold()
    assert hint.casefold() in str(body["hint"]).casefold()


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/v1/streams?limit=99999999999999999999", "limit expected a whole number from 1 to 9"),
        ("/v1/streams?limt=5", "Those that do: limit, page"),
        ("/v1/queries?state=zebra", "live, filling, suspended"),
        ("/v1/streams/zebra", "GET /v1/streams"),
        ("/v1/queries/zebra", "GET /v1/queries"),
        ("/zebra", "/openapi.json"),
    ],
)
async def test_refused_url_says_what_is_expected(api: Api, path, part):
    """A parameter, a name or a path that is none: `detail` says what there is."""
    body = (await api.get(path)).json()
    assert part in body["detail"]
    assert "zebra" not in body["detail"]


async def test_column_with_a_point_is_asked_for_in_double_quotes(api: Api):
    """The column is there: its name stands in double quotes, in whatever case it was written."""
    columns = [{"name": "id.orig_h", "type": "string"}, {"name": "n", "type": "int64"}]
    await api.send("PUT", "/v1/streams/tls", json={"columns": columns})
    for text in ("SELECT id.orig_h FROM tls", "SELECT n FROM tls WHERE ID.Orig_H = 'a'"):
        body = (await api.send("POST", "/v1/queries", json={"sql": text})).json()
        assert "unknown-column" == body["code"]
        assert '"id.orig_h"' in body["hint"]
        assert "orig" not in body["detail"]


async def test_table_without_times_is_joined_as_the_refusal_says(api: Api):
    """A stream that dates its rows and one that does not: an old date in each row, and a window of its own."""
    await api.declare()
    names = {"columns": [{"name": "sym", "type": "string"}, {"name": "home", "type": "string"}]}
    await api.send("PUT", "/v1/streams/names", json=names)
    text = "SELECT t.px, n.home FROM trades t, names n WHERE t.sym = n.sym"
    body = (await api.send("POST", "/v1/queries", json={"sql": text})).json()
    assert "table to look things up in needs a time column" in body["detail"]
    assert "names [RANGE INTERVAL '36500' DAY]" in body["hint"]
    dated = {
        "columns": [{"name": "since", "type": "timestamp"}, *names["columns"]],
        "time": "since",
    }
    await api.send("PUT", "/v1/streams/dated", json=dated)
    old = {"since": "2000-01-01T00:00:00Z", "sym": "ACME", "home": "DE"}
    await api.send("POST", "/v1/streams/dated/rows", json=[old])
    await api.rows([row(sym="ACME", px=1.0)])
    text = (
        "SELECT t.px, n.home FROM trades t, dated AS n [RANGE INTERVAL '36500' DAY] WHERE t.sym = n.sym"
        " BEGIN (NOW - INTERVAL '1' DAY) END (NOW)"
    )
    query = (await api.send("POST", "/v1/queries", json={"sql": text})).json()
    answer = (await api.get(f"/v1/queries/{query['id']}/results?meta=0")).json()
    assert [{"px": 1.0, "home": "DE"}] == answer["rows"]


async def test_text_that_is_called_as_a_column_is_warned_of(api: Api):
    """Single quotes make a text of what was meant as a column; a text that is no column's name is not warned of."""
    columns = [{"name": "Order ID", "type": "string"}, {"name": "n", "type": "int64"}]
    await api.send("PUT", "/v1/streams/orders", json={"columns": columns})
    text = "SELECT 'order id' AS a, n FROM orders WHERE n > 1 AND \"Order ID\" <> 'n' AND 'zebra' <> 'n'"
    body = (await api.send("POST", "/v1/queries", json={"sql": text})).json()
    details = [one["detail"] for one in body["warnings"] if one["code"] == "text-like-column"]
    assert "'order id' is a text; the column is written \"Order ID\"" in details
    assert "'n' is a text; the column is written n" in details
    first = next(one for one in body["warnings"] if "order id" in one["detail"])
    assert (1, 8, 10) == tuple(first["position"][part] for part in ("line", "column", "length"))
    text = "SELECT n FROM orders WHERE \"Order ID\" = 'zebra'"
    assert [] == (await api.send("POST", "/v1/queries", json={"sql": text})).json()["warnings"]


async def test_stream_that_is_misspelt_is_answered_with_the_one_that_may_be_meant(api: Api):
    """Whoever reads, drops or sends rows; the sentence itself quotes nothing."""
    await api.declare()
    path = "/v1/streams/trade"
    for method, place in (("GET", ""), ("DELETE", ""), ("POST", "/rows"), ("POST", "/stages")):
        options = {"json": [{"px": 1.0}]} if method == "POST" else {}
        body = (await api.send(method, path + place, **options)).json()
        assert ("not-found", "trade", "trades") == (body["code"], body["stream"], body["nearest"])
        assert "trade" not in body["detail"].replace("/v1/streams", "")


async def test_time_without_a_zone_is_answered_with_how_utc_is_written(api: Api):
    """A row's text has to say its zone: the one letter that does is named."""
    await api.declare()
    body = (await api.rows([{"ts": "2026-03-02T09:11:00", "sym": "a"}])).json()
    assert "add Z for UTC" in body["errors"][0]["expected"]


async def test_member_that_other_services_know_is_answered_with_ours(api: Api):
    """`query` is not like `sql`, and means it."""
    body = (await api.send("POST", "/v1/queries", json={"query": "SELECT 1"})).json()
    assert ("unknown-field", "sql") == (body["code"], body["nearest"])


@pytest.mark.parametrize(
    ("path", "body", "part"),
    [
        ("/v1/streams/s", [], "expected an object, got an array"),
        ("/v1/streams/s", {}, "in columns: is missing"),
        ("/v1/streams/s", {"columns": "zebra"}, "in columns: expected an array, got a text"),
        ("/v1/streams/s", {"columns": [{"name": "a", "type": "varchar"}]}, "is string here"),
        ("/v1/streams/s", {"columns": [{"name": 5, "type": "bool"}]}, "a text, got a number"),
        (
            "/v1/streams/s",
            {"columns": [{"name": "a", "type": "int64"}], "time": "zebra"},
            "no column",
        ),
        ("/v1/queries", {"sql": None}, "in sql: expected a text, got null"),
        (
            "/v1/queries",
            {"zebra": "SELECT"},
            "Those that do: sql, labels, params, materialize, ttl, name",
        ),
        ("/v1/queries", {"sql": "", "name": ""}, "in name: expected a text of at least 1"),
        ("/v1/queries", {"sql": "", "labels": {"zebra": 5}}, "in labels: expected a text"),
        ("/v1/queries", {"sql": "", "labels": {"": "a"}}, "in labels: expected a text of at least"),
        ("/v1/queries", {"sql": "", "params": {"a": [5]}}, "in params: expected a number, a text,"),
        ("/v1/queries", {"sql": "", "params": {"a-b": 5}}, "in params: expected a name of letters"),
        ("/v1/queries", {"sql": "", "materialize": True}, "one of: auto, partial, complete, none"),
        ("/v1/invoke", {"queries": []}, "in queries: expected at least 1 entries"),
        ("/v1/invoke", {"queries": ["a"], "limit": 0}, "in limit: expected a number from 1"),
        (
            "/v1/invoke",
            {"queries": ["a"], "limit": 10**30},
            "in limit: expected a number less than",
        ),
        (
            "/v1/invoke",
            {"queries": ["a"], "meta": 0},
            "in meta: expected true or false, got a number",
        ),
        ("/v1/commits", {"app": "a", "version": 1, "stages": ["zebra"]}, "a text of the form ^st_"),
    ],
)
async def test_refused_body_speaks_plainly_and_never_in_words_of_pydantic(
    api: Api, path, body, part
):
    """Every reason is one of ours, and the first stands in `detail`."""
    method = "PUT" if "streams" in path else "POST"
    problem = (await api.send(method, path, json=body)).json()
    assert part in problem["detail"]
    assert "zebra" not in problem["detail"]
    assert "Input should" not in str(problem)
    assert "[key]" not in str(problem)


@pytest.mark.parametrize(
    ("media_type", "body", "expected"),
    [
        ("application/json", b'[{"ts":1,"symm":"A"}]', "did you mean sym?"),
        ("application/x-ndjson", b'{"ts":1,"SYM":"A"}', "did you mean sym?"),
        ("text/csv", b"ts,symm\n1,A\n", "did you mean sym?"),
        ("text/csv", b"ts;sym\n1;A\n", "columns separated by commas"),
        ("application/vnd.psoup.columns+json", b'{"tss":[1]}', "did you mean ts?"),
        ("application/json", b'[{"ts":1,"zebra":"A"}]', "one of the columns ts, sym, px"),
    ],
)
async def test_unknown_column_of_a_row_names_the_closest(api: Api, media_type, body, expected):
    """`expected` is the declared column most like the one that was sent, and all of them."""
    await api.declare()
    problem = assert_problem(await api.body(body, media_type), "rows-rejected")
    errors = [one for one in problem["errors"] if one["code"] == "unknown-column"]
    assert expected in errors[0]["expected"]


async def test_rejected_rows_are_counted_in_the_detail(api: Api):
    """How many, and where the first is."""
    await api.declare()
    problem = assert_problem(
        await api.rows([row(0), {"sym": "A"}, {"ts": 1, "px": "A"}]), "rows-rejected"
    )
    assert problem["detail"].endswith("Errors: 2, the first missing in row 1, counted from 0.")


async def test_condition_that_is_never_true_is_shown_where_it_is_registered(api: Api):
    """The registration has the place in the text that was sent; later descriptions have the sentence alone."""
    await api.declare()
    sql = {"sql": "SELECT sym\nFROM trades\nWHERE px = NULL"}
    body = (await api.send("POST", "/v1/queries", json=sql)).json()
    (warning,) = body["warnings"]
    assert "never-true" == warning["code"]
    assert {"line": 3, "column": 7, "length": 9} == warning["position"]
    assert "WHERE px = NULL\n      ^^^^^^^^^" == warning["excerpt"]
    (kept,) = (await api.get(f"/v1/queries/{body['id']}")).json()["warnings"]
    assert {"code": "never-true", "detail": warning["detail"]} == kept


async def test_filter_that_names_no_stream_is_warned_of(api: Api):
    """The list is empty, as it is of a stream without queries, and says why."""
    await api.declare()
    body = (await api.get("/v1/queries?stream=trade")).json()
    assert [] == body["queries"]
    (warning,) = body["warnings"]
    assert ("unknown-stream", True) == (
        warning["code"],
        "did you mean trades?" in warning["detail"],
    )
    assert "warnings" not in (await api.get("/v1/queries?stream=trades")).json()
    assert "warnings" not in (await api.get("/v1/queries")).json()
