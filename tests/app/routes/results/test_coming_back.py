"""Coming back with a cursor: what is told of rows that entered, left or were dropped, in each format, and in pages."""

from typing import Any

import orjson
import pytest

from psoup.app.wire.rows.body import ARROW, CSV, JSON, NDJSON
from psoup.engine import limits
from psoup.engine.limits import SECOND_US
from tests.app.routes.results.client import Client, read
from tests.app.support import MOVES_THE_CLOCK, WINDOW, Api, assert_problem, row

pytestmark = pytest.mark.anyio

SQL = f"SELECT qty FROM trades WHERE qty >= 0 {WINDOW}"
ARRIVING = {"columns": [{"name": "qty", "type": "int64"}]}
MINUTE_US = 60 * SECOND_US


async def filled(api: Api, rows: int = 3, sql: str = SQL, **stream: Any) -> str:
    """Return the path of a query's results, over so many rows: 0, 1, 2 ..."""
    await api.declare(**stream)
    query_id = await api.register(sql)
    await api.rows([row(i, qty=i) for i in range(rows)])
    return f"/v1/queries/{query_id}/results"


async def asked(api: Api, path: str, cursor: str | None = "", **parameters: Any) -> dict[str, Any]:
    answer = await api.get(path, params={"cursor": cursor, **parameters})
    assert 200 == answer.status_code, answer.text
    return read(answer)


def quantities(answer: dict[str, Any]) -> list[int]:
    return [one["qty"] for one in answer["rows"]]


@pytest.mark.services
async def test_cursor_brings_what_arrived_since(api: Api):
    """Rows that are new alone; the count is that of everything, and the next cursor goes on from there."""
    path = await filled(api)
    first = await asked(api, path)
    assert (True, [0, 1, 2], 3) == (first["reset"], quantities(first), first["count"])
    await api.rows([row(3, qty=3), row(-5, qty=4), row(4, qty=-1)])
    second = await asked(api, path, first["cursor"])
    assert (False, [4, 3], 5) == (second["reset"], quantities(second), second["count"])
    assert ([], None) == (second["removed"], second["keep"])
    assert second["cursor"] != first["cursor"]


@pytest.mark.services
async def test_cursor_is_the_same_while_nothing_changes(api: Api):
    """So is the URL: whatever else arrives or is asked, an answer without news brings the cursor it was asked with."""
    path = await filled(api)
    cursor = (await asked(api, path))["cursor"]
    await api.rows([row(2, qty=-1)])
    again = await asked(api, path, cursor)
    assert (False, [], 3, cursor) == tuple(
        again[name] for name in ("reset", "rows", "count", "cursor")
    )
    assert 5_000 == again["poll_after_ms"]


@MOVES_THE_CLOCK
async def test_cursor_tells_what_the_clock_brings_and_never_what_it_takes(api: Api):
    """A row of a delayed window enters without arriving; one that leaves is told by its `_x` and by the count."""
    await api.send("PUT", "/v1/streams/arriving", json=ARRIVING)
    delayed = await api.register(
        "SELECT qty FROM arriving BEGIN (NOW - INTERVAL '3' MINUTE) END (NOW - INTERVAL '1' MINUTE)"
    )
    path = f"/v1/queries/{delayed}/results"
    await api.rows([{"qty": 1}], name="arriving")
    first = await asked(api, path)
    assert ([], "2026-11-21T10:01:00.000000Z") == (first["rows"], first["changes_at"])
    assert 5_000 == first["poll_after_ms"]
    api.clock.advance(MINUTE_US)
    second = await asked(api, path, first["cursor"])
    assert ([1], 1) == (quantities(second), second["count"])
    assert second["rows"][0]["_x"] == second["changes_at"] == "2026-11-21T10:03:00.000001Z"
    api.clock.advance(2 * MINUTE_US - SECOND_US)
    third = await asked(api, path, second["cursor"])
    assert ([], 1, second["cursor"], 1_001) == tuple(
        third[name] for name in ("rows", "count", "cursor", "poll_after_ms")
    )
    api.clock.advance(SECOND_US + 1)
    last = await asked(api, path, third["cursor"])
    assert ([], 0, [], None) == tuple(last[name] for name in ("rows", "count", "removed", "keep"))


@MOVES_THE_CLOCK
async def test_window_that_is_over_is_complete(api: Api):
    """Of rows dated by their arrival, once a time past END has arrived: nothing can enter, nothing is polled for."""
    await api.send("PUT", "/v1/streams/arriving", json=ARRIVING)
    sql = "SELECT qty FROM arriving BEGIN ('2026-11-21 10:00:00') END ('2026-11-21 10:00:30')"
    path = f"/v1/queries/{await api.register(sql)}/results"
    await api.rows([{"qty": 1}], name="arriving")
    assert False is (await asked(api, path))["complete"]
    api.clock.advance(MINUTE_US)
    await api.rows([{"qty": 2}], name="arriving")
    answer = await asked(api, path)
    assert (True, [1], None, None) == (
        answer["complete"],
        quantities(answer),
        answer["poll_after_ms"],
        answer["changes_at"],
    )


@pytest.mark.services
@pytest.mark.parametrize("form", ["json", "ndjson", "csv", "arrow"])
async def test_cursor_that_is_none_is_answered_in_full(api: Api, form):
    """Empty, forged, cut short, of another query, or a page token: never an error."""
    path = await filled(api)
    cursor = (await asked(api, path))["cursor"]
    other = f"/v1/queries/{await api.register(SQL)}/results"
    token = (await asked(api, path, limit=1))["next"].partition("page=")[2].partition("&")[0]
    for given in (
        "",
        "x",
        "é",
        "\0",
        cursor[:-1],
        cursor[:-1] + "-",
        (await asked(api, other))["cursor"],
        token,
    ):
        answer = await asked(api, path, given, format=form)
        assert (True, 3) == (answer["reset"], len(answer["rows"])), given


@pytest.mark.services
async def test_bytes_that_are_no_text_are_a_first_load_as_cursor_alone(api: Api):
    """A cursor is never an error; any other parameter of such bytes is one."""
    path = await filled(api)
    answer = await api.get(f"{path}?cursor=%FF%FE%00")
    assert (200, True) == (answer.status_code, answer.json()["reset"])
    assert_problem(await api.get(f"{path}?now=%FF"), "invalid-field")
    assert_problem(await api.get(f"{path}?now=%00"), "invalid-field")
    assert_problem(await api.get(f"{path}?%FF=1"), "invalid-field")


@pytest.mark.parametrize("length", [limits.CURSOR_LENGTH_MAX, limits.CURSOR_LENGTH_MAX + 1, 1_900])
async def test_text_too_long_to_be_a_cursor_is_a_first_load(api: Api, length):
    """A cursor is never an error, and what is too long to be one is none."""
    path = await filled(api)
    answer = await api.get(path, params={"cursor": "A" * length})
    assert (200, True) == (answer.status_code, answer.json()["reset"])


@pytest.mark.services
async def test_cursor_from_before_the_first_row_goes_on(api: Api):
    """Who asked when there was no NOW yet is told of all rows as changes."""
    path = await filled(api, rows=0)
    first = await asked(api, path)
    assert (None, True, []) == (first["now"], first["reset"], first["rows"])
    same = await asked(api, path, first["cursor"])
    assert (False, first["cursor"]) == (same["reset"], same["cursor"])
    await api.rows([row(0, qty=7)])
    client = Client(cursor=first["cursor"])
    client.take(await asked(api, path, client.cursor), asked=client.cursor)
    assert [7] == [one["qty"] for one in client.rows.values()]


@pytest.mark.services
@pytest.mark.parametrize("form", ["json", "ndjson", "csv", "arrow"])
async def test_pages_say_reset_first_and_give_the_cursor_last(api: Api, form):
    """Of a full answer and of changes alike; a page belongs to its answer whatever arrives meanwhile."""
    path = await filled(api, 5)
    client = Client()
    for resets, expected in ((True, 5), (False, 9)):
        given = client.cursor
        answer, pages = await asked(api, path, given or "", limit=2, format=form), []
        while True:
            pages.append((answer["reset"], answer["cursor"] is not None))
            client.take(answer, asked=given)
            if answer["next"] is None:
                break
            answer = read(await api.get(answer["next"]))
        assert resets == pages[0][0]
        assert [False] * (len(pages) - 1) == [reset for reset, _ in pages[1:]]
        assert [False] * (len(pages) - 1) + [True] == [has_cursor for _, has_cursor in pages]
        assert expected == len(client.rows)
        await api.rows([row(10 + i, qty=10 + i) for i in range(4)])


async def test_page_cut_by_its_bytes_has_no_cursor(api: Api, monkeypatch):
    """It is not the last one, though its rows were as many as were asked for."""
    path = await filled(api, 20)
    monkeypatch.setattr(limits, "PAGE_BYTES_MAX", 1_500)
    answer = await asked(api, path)
    assert None is answer["cursor"]
    seen = quantities(answer)
    while answer["next"]:
        answer = read(await api.get(answer["next"]))
        seen += quantities(answer)
    assert list(range(20)) == seen
    assert answer["cursor"] is not None


@pytest.mark.services
async def test_cursor_of_a_count_is_none_of_rows(api: Api):
    """Who was given counts has no rows: with that cursor rows are given in full, and counts go on."""
    path = await filled(api)
    counted = (await api.get(path, params={"cursor": "", "count": "only"})).json()
    cursor = counted["cursor"]
    again = (await api.get(path, params={"cursor": cursor, "count": "only"})).json()
    assert (3, cursor) == (again["count"], again["cursor"])
    assert True is (await asked(api, path, cursor))["reset"]


@pytest.mark.services
async def test_answer_of_another_instant_has_no_cursor(api: Api):
    """`now=` goes before a cursor: what stood there is no position to go on from."""
    path = await filled(api)
    cursor = (await asked(api, path))["cursor"]
    answer = (await api.get(path, params={"cursor": cursor, "now": "2026-11-21T10:00:01Z"})).json()
    assert (True, None, None, 2) == tuple(
        answer[name] for name in ("reset", "cursor", "poll_after_ms", "count")
    )


@pytest.mark.services
async def test_rows_that_retention_drops_are_forgotten(api: Api):
    """A client has what is kept, by `removed` or by `keep`, though the window would show the rows that went."""
    path = await filled(api, 6, sql="SELECT qty FROM trades", retention={"rows": 6})
    client = Client()
    client.take(await asked(api, path), asked=None)
    for quantity in range(6, 10):
        await api.rows([row(quantity, qty=quantity)])
        answer = await asked(api, path, client.cursor)
        assert False is answer["reset"]
        client.take(answer, asked=client.cursor)
        assert list(range(quantity - 5, quantity + 1)) == sorted(
            one["qty"] for one in client.rows.values()
        )
        assert answer["complete_from"] is not None


@pytest.mark.parametrize("form", ["json", "ndjson", "csv", "arrow"])
async def test_client_that_keeps_nothing_is_told_to_begin_again(api: Api, form):
    """Where more went than a page may name, and nothing of it stayed: columns cannot say `keep` of no row."""
    path = await filled(api, 6, sql="SELECT qty FROM trades", retention={"rows": 2})
    client = Client()
    client.take(await asked(api, path), asked=None)
    await api.rows([row(10 + i, qty=10 + i) for i in range(6)])
    answer = await asked(api, path, client.cursor, limit=1, format=form)
    client.take(answer, asked=client.cursor)
    while answer["next"]:
        answer = read(await api.get(answer["next"]))
        client.take(answer, asked=client.cursor)
    assert [14, 15] == sorted(int(one["qty"]) for one in client.rows.values())


@pytest.mark.services
async def test_distinct_rows_are_known_by_their_values(api: Api):
    """`_id` stays the same when the first of the equal rows has left, and in each format."""
    path = await filled(api, 0, sql=f"SELECT DISTINCT qty FROM trades {WINDOW}")
    await api.rows([row(0, qty=1), row(300, qty=1)])
    first = await asked(api, path)
    await api.rows([row(700, qty=2)])
    second = await asked(api, path, first["cursor"])
    full = await asked(api, path)
    assert [2] == quantities(second)
    assert first["rows"][0]["_id"] == full["rows"][0]["_id"]
    for form in ("ndjson", "csv", "arrow"):
        found = await asked(api, path, format=form)
        assert [one["_id"] for one in full["rows"]] == [one["_id"] for one in found["rows"]]


@pytest.mark.services
@pytest.mark.parametrize("media_type", [NDJSON, CSV, ARROW])
async def test_other_formats_stay_bare_rows_without_the_parameter(api: Api, media_type):
    """Operations are told to who gives a cursor, be it an empty one; headers carry the envelope in any case."""
    path = await filled(api)
    bare = await api.get(path, headers={"Accept": media_type})
    told = await api.get(path, params={"cursor": ""}, headers={"Accept": media_type})
    name = b'"op"' if media_type == NDJSON else b"_op"
    assert (False, True) == (name in bare.content, name in told.content)
    whole = (await api.get(path, headers={"Accept": JSON})).json()
    for answer in (bare, told):
        assert {
            "psoup-gen": str(whole["gen"]),
            "psoup-seq": str(whole["seq"]),
            "psoup-now": whole["now"],
            "psoup-reset": "true",
            "psoup-count": "3",
            "psoup-complete": "false",
            "psoup-cursor": whole["cursor"],
            "psoup-poll-after-ms": "5000",
        } == {name: one for name, one in answer.headers.items() if name.startswith("psoup-")}


async def test_end_of_operations_has_the_envelope(api: Api):
    """Who writes a body of NDJSON to a file has everything that headers have said."""
    path = await filled(api)
    body = (await api.get(path, params={"cursor": "", "format": "ndjson"})).content
    end = orjson.loads(body.splitlines()[-1])
    whole = (await api.get(path, params={"cursor": ""})).json()
    assert {"op": "end", **{name: whole[name] for name in end if name != "op"}} == end
    assert {"gen", "seq", "now", "count", "cursor", "next", "complete"} <= end.keys()


async def test_column_that_hides_operations_is_not_acceptable(api: Api):
    """A change feed has a column `op`: the refusal says what to do, and JSON is answered."""
    await api.declare(columns=[{"name": "op", "type": "string"}], time=None)
    path = f"/v1/queries/{await api.register('SELECT op FROM trades')}/results"
    parameters = {"cursor": "", "format": "ndjson"}
    assert_problem(await api.get(path, params=parameters), "not-acceptable")
    assert 200 == (await api.get(path, params={"cursor": ""})).status_code
    assert 200 == (await api.get(path, params={"format": "ndjson"})).status_code


@pytest.mark.services
async def test_many_are_invoked_with_a_cursor_each(api: Api):
    """Handles alone and with cursors, one twice: each is told its own changes, at one position and instant."""
    path = await filled(api)
    first, second = path.split("/")[3], await api.register(f"SELECT qty FROM trades {WINDOW}")
    cursor = (await asked(api, path))["cursor"]
    await api.rows([row(3, qty=3)])
    queries = [
        {"query": first, "cursor": cursor},
        second,
        {"query": first},
        {"query": second, "cursor": cursor},
        {"query": first, "cursor": ""},
    ]
    body = (await api.send("POST", "/v1/invoke", json={"queries": queries})).json()
    found = body["results"]
    assert [first, second, first, second, first] == [one["query"] for one in found]
    assert [False, True, True, True, True] == [one["reset"] for one in found]
    assert [[3], [0, 1, 2, 3]] == [quantities(one) for one in found[:2]]
    assert {(body["gen"], body["seq"], found[0]["now"])} == {
        (one["gen"], one["seq"], one["now"]) for one in found
    }
    assert 1 == len({one["cursor"] for one in found if one["query"] == first})


async def test_many_cursors_are_read_strictly_in_length_alone(api: Api):
    """A member that is none, and a text longer than any URL, are refused with their place; what is no cursor is not."""
    path = await filled(api)
    handle = path.split("/")[3]
    long = {"query": handle, "cursor": "x" * (limits.URL_BYTES_MAX + 1)}
    answer = await api.send("POST", "/v1/invoke", json={"queries": [handle, long]})
    body = assert_problem(answer, "invalid-field")
    assert "/queries/1/cursor" == body["errors"][0]["pointer"]
    answer = await api.send(
        "POST", "/v1/invoke", json={"queries": [{"query": handle, "cursr": ""}]}
    )
    assert "cursor" == assert_problem(answer, "unknown-field")["nearest"]
    answer = await api.send(
        "POST", "/v1/invoke", json={"queries": [{"query": handle, "cursor": "?" * 600}]}
    )
    assert True is answer.json()["results"][0]["reset"]
