"""Details of the contract, each once: transfer codings, labels, list pages, escaped texts, hints, cursors."""

import pytest

from psoup.app.http.problems import problem_body
from psoup.engine import limits
from psoup.engine.errors import SqlSyntaxError, TextPosition
from tests.app.support import START_US, WINDOW, Api, assert_problem, row

pytestmark = pytest.mark.anyio


async def test_pages_of_another_instant_never_have_a_cursor(api: Api):
    """A client stands at NOW: neither the first nor a later page of a `now=` answer says where it stands."""
    await api.declare()
    path = f"/v1/queries/{await api.register(f'SELECT px FROM trades {WINDOW}')}/results"
    await api.rows([row(i, px=i) for i in range(5)])
    following = f"{path}?limit=2&now={START_US + 4_000_000 - 1}"
    cursors = []
    while following:
        body = (await api.get(following)).json()
        cursors.append(body["cursor"])
        following = body["next"]
    assert [None, None] == cursors
    first = (await api.get(f"{path}?limit=4")).json()
    second = (await api.get(first["next"])).json()
    assert (True, False) == (first["cursor"] is None, second["cursor"] is None)


@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip", "identity", "chunked, chunked", ""])
async def test_transfer_codings_other_than_chunked_are_refused(api: Api, coding):
    """A coding that is not undone would be stored as it is: 400 `framing`, and the connection ends."""
    await api.declare()
    headers = {"Content-Type": "application/json", "Transfer-Encoding": coding}
    answer = await api.send("POST", "/v1/streams/trades/rows", content=b"[]", headers=headers)
    assert_problem(answer, "framing")
    assert "close" == answer.headers["connection"]
    headers["Transfer-Encoding"] = " Chunked "
    answer = await api.send("POST", "/v1/streams/trades/rows", content=b"[]", headers=headers)
    assert 200 == answer.status_code


async def test_headers_of_several_lines_are_one_list(api: Api):
    """A proxy may cut a list into lines (RFC 9110, 5.3): all of them count, and a producer's headers have one."""
    await api.declare()
    path = f"/v1/queries/{await api.register('SELECT px FROM trades')}/results"
    accepted = await api.get(path, headers=[("Accept", "text/html"), ("Accept", "text/csv")])
    assert "text/csv" in accepted.headers["content-type"]
    known = [("If-None-Match", '"x"'), ("If-None-Match", (await api.get(path)).headers["etag"])]
    assert 304 == (await api.get(path, headers=known)).status_code
    rows = "/v1/streams/trades/rows"
    app, version = ("Psoup-Txn-App", "a"), ("Psoup-Txn-Version", "1")
    for code, lines in (
        ("body-too-large", [("Content-Encoding", "gzip")] * 2),
        ("txn-headers", [app, app, version]),
        ("txn-headers", [app, version, version]),
    ):
        headers = [("Content-Type", "application/json"), *lines]
        assert_problem(await api.send("POST", rows, content=b"[]", headers=headers), code)


async def test_label_keys_with_a_colon_are_refused(api: Api):
    """`label=a:b:v` is key `a` and value `b:v`: a key that could not be found cannot be registered."""
    await api.declare()
    body = {"sql": "SELECT * FROM trades", "labels": {"a:b": "v"}}
    assert_problem(await api.send("POST", "/v1/queries", json=body), "invalid-field")
    query_id = await api.register("SELECT * FROM trades", labels={"a": "b:v"})
    found = (await api.get("/v1/queries?label=a:b:v")).json()["queries"]
    assert [query_id] == [one["id"] for one in found]


@pytest.mark.services
async def test_name_registered_again_with_other_labels_keeps_the_first(api: Api):
    """A name stands for a definition: labels are those of the first registration, and the answer shows them."""
    await api.declare()
    query = {"sql": "SELECT * FROM trades", "name": "dear"}
    first = await api.register(**query, labels={"user": "1"})
    again = await api.send("POST", "/v1/queries", json=query | {"labels": {"user": "2"}})
    assert (200, first, {"user": "1"}) == (
        again.status_code,
        again.json()["id"],
        again.json()["labels"],
    )


@pytest.mark.services
async def test_list_page_of_another_filter_is_refused(api: Api):
    """A token goes on with the list it came from: another filter, or another list, is 400 `bad-page`."""
    await api.declare()
    for number in range(4):
        await api.register(
            f"SELECT * FROM trades WHERE qty = {number}", labels={"a": "1", "b": "2"}
        )
    filters = "label=a:1&label=b:2&stream=trades"
    following = (await api.get(f"/v1/queries?{filters}&limit=2")).json()["next"]
    token = following.partition("page=")[2].partition("&")[0]
    for other in ("", "&label=a:1", "&stream=trades", f"&{filters}&state=live"):
        assert_problem(await api.get(f"/v1/queries?page={token}{other}"), "bad-page")
    reordered = f"/v1/queries?stream=trades&label=b:2&label=a:1&limit=1&page={token}"
    for path in (following, reordered):
        assert 200 == (await api.get(path)).status_code


async def test_query_text_escaped_counts_as_what_it_says(api: Api):
    """64 KiB of SQL written in escapes throughout are taken; a character more is `query-too-complex`."""
    await api.declare()
    sql = "SELECT * FROM trades".ljust(limits.QUERY_TEXT_BYTES_MAX)

    def body(text: str) -> bytes:
        escaped = "".join(f"\\u{ord(character):04x}" for character in text)
        return b'{"sql":"%s"}' % escaped.encode()

    headers = {"Content-Type": "application/json"}
    answer = await api.send("POST", "/v1/queries", content=body(sql), headers=headers)
    assert 201 == answer.status_code, answer.text
    answer = await api.send("POST", "/v1/queries", content=body(sql + " "), headers=headers)
    assert_problem(answer, "query-too-complex", limit=limits.QUERY_TEXT_BYTES_MAX)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("write SELECT a", "It is none. Write SELECT a"),
        ("NOW stands alone", "It is none. NOW stands alone"),
        ("", "It is none."),
    ],
)
def test_sql_hints_read_as_sentences(hint, expected):
    """What is wrong and what to write are two sentences, each beginning as one."""
    error = SqlSyntaxError("It is none.", position=TextPosition(1, 1, 1), excerpt="x", remedy=hint)
    assert expected == problem_body(error, instance="i")["hint"]


async def test_query_without_a_text_is_told_what_to_write(api: Api):
    """The hint of a real refusal begins each of its sentences with a capital."""
    hint = (await api.send("POST", "/v1/queries", json={"sql": ""})).json()["hint"]
    assert hint.startswith("The text holds no query. Write SELECT ")
