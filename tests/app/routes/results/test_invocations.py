"""Invoking over HTTP: envelope, formats, parameters, pages that belong to one position."""

import csv
import dataclasses
import io
import threading
from urllib.parse import quote

import orjson
import pyarrow as pa
import pytest

from psoup.app.admission import work_pool
from psoup.app.routes.results import envelopes
from psoup.app.wire.answers import fit
from psoup.app.wire.models.results.invocations import encode_answer
from psoup.app.wire.rows.body import ARROW, CSV, JSON, NDJSON
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.limits import SECOND_US
from psoup.engine.query.time_literals import UNITS_US
from tests.app.support import (
    LOOKS_INSIDE,
    SETTINGS,
    START_US,
    WINDOW,
    Api,
    assert_problem,
    row,
    running,
)
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio

HOUR_US = UNITS_US["HOUR"]
SQL = f"SELECT * FROM trades WHERE px >= 0 {WINDOW}"
META = {"_id": "1", "_x": "2026-11-21T10:10:00.000001Z"}
ROW = {"ts": "2026-11-21T10:00:00.000000Z", "sym": "A", "px": 41.5, "qty": None, "up": True}


async def filled(api: Api, rows: int = 1) -> str:
    await api.declare()
    query_id = await api.register(SQL)
    await api.rows([row(0, sym="A", px=41.5, up=True)] + [row(i, px=i) for i in range(1, rows)])
    return f"/v1/queries/{query_id}/results"


@pytest.mark.services
async def test_results_envelope_is_whole(api: Api):
    """An answer says which query, position, instant and window it belongs to, and what it leaves out."""
    path = await filled(api)
    answer = await api.get(path)
    body = answer.json()
    gen = body["gen"]
    cursor = body["cursor"]
    assert {
        "query": path.split("/")[3],
        "gen": gen,
        "seq": 3,
        "now": "2026-11-21T10:00:00.000000Z",
        "window": {"begin": "2026-11-21T09:50:00.000000Z", "end": "2026-11-21T10:00:00.000000Z"},
        "reset": True,
        "rows": [META | ROW],
        "removed": [],
        "keep": None,
        "count": 1,
        "complete_from": None,
        "changes_at": None,
        "complete": False,
        "cursor": cursor,
        "next": None,
        "poll_after_ms": 5_000,
    } == body
    assert "private, no-cache" == answer.headers["cache-control"]
    assert "eval;dur=" in answer.headers["server-timing"]
    assert body == (await api.get(path, params={"cursor": ""})).json()


@pytest.mark.services
async def test_results_before_the_first_tuple_have_no_now(api: Api):
    """An event-time query over a stream without a tuple answers `now: null`, and still names its columns."""
    await api.declare()
    path = f"/v1/queries/{await api.register(SQL)}/results"
    body = (await api.get(path, params={"shape": "columns"})).json()
    assert (None, [], 0) == (body["now"], body["rows"], body["count"])
    assert ["_id", "_x", "ts", "sym", "px", "qty", "up"] == body["columns"]
    assert b"_id,_x,ts,sym,px,qty,up\n" == (await api.get(path, params={"format": "csv"})).content


@pytest.mark.services
async def test_results_of_each_format_carry_the_same_rows(api: Api):
    """Objects, arrays, NDJSON, CSV and Arrow say the same; formats without an envelope carry headers."""
    path = await filled(api)
    body = (await api.get(path, params={"shape": "columns"})).json()
    assert ([*META, *ROW], [[*META.values(), *ROW.values()]]) == (body["columns"], body["rows"])
    answer = await api.get(path, headers={"Accept": NDJSON})
    assert NDJSON == answer.headers["content-type"]
    assert META | ROW == orjson.loads(answer.content)
    answer = await api.get(path, headers={"Accept": "text/*;q=0.5, application/json;q=0.1"})
    assert CSV == answer.headers["content-type"].partition(";")[0]
    cells = list(csv.DictReader(io.StringIO(answer.text)))
    assert [{**META, **ROW, "px": "41.5", "qty": "", "up": "true"}] == cells
    answer = await api.get(path, params={"format": "arrow"}, headers={"Accept": JSON})
    assert ARROW == answer.headers["content-type"]
    table = pa.ipc.open_stream(answer.content).read_all()
    assert [*META, *ROW] == table.column_names
    assert [START_US] == table["ts"].cast(pa.int64()).to_pylist()
    assert {"psoup-seq": "3", "psoup-now": ROW["ts"], "psoup-count": "1"} == {
        name: answer.headers[name] for name in ("psoup-seq", "psoup-now", "psoup-count")
    }


@pytest.mark.parametrize("name", ["json", "ndjson", "csv", "arrow"])
async def test_results_without_meta_hide_id_and_expiry(api: Api, name):
    """`meta=0` hides `_id` and `_x` in every format."""
    path = await filled(api)
    answer = await api.get(path, params={"format": name, "meta": "0"})
    names = {
        "json": lambda: orjson.loads(answer.content)["rows"][0],
        "ndjson": lambda: orjson.loads(answer.content),
        "csv": lambda: answer.text.splitlines()[0].split(","),
        "arrow": lambda: pa.ipc.open_stream(answer.content).schema.names,
    }[name]()
    assert list(ROW) == list(names)


@pytest.mark.parametrize("name", ["ndjson", "csv", "arrow"])
async def test_results_sent_back_are_the_same_rows(api: Api, name):
    """What an answer holds can be sent as rows: NULL and the empty text stay apart."""
    await api.declare()
    rows = [row(0, sym="", px=0.1, qty=2**63 - 1), row(1, sym='"\n,', px=-1e300, up=False)]
    await api.rows(rows)
    first = await api.register("SELECT * FROM trades")
    answer = await api.get(f"/v1/queries/{first}/results", params={"format": name, "meta": "0"})
    await api.declare("copy")
    copied = await api.body(answer.content, answer.headers["content-type"], name="copy")
    assert 200 == copied.status_code, copied.text
    second = await api.register("SELECT * FROM copy")
    assert (await api.results(first, meta=0))["rows"] == (await api.results(second, meta=0))["rows"]


@pytest.mark.services
async def test_results_counted_carry_no_rows(api: Api):
    """`count=only` is the envelope with the number and without rows."""
    path = await filled(api, 5)
    body = (await api.get(path, params={"count": "only"})).json()
    assert (5, None) == (body["count"], body["next"])
    assert "rows" not in body


@pytest.mark.services
async def test_results_pages_belong_to_one_answer(api: Api):
    """While rows arrive and leave, all pages show one position; the next answer shows the new one."""
    path = await filled(api, 7)
    whole = (await api.get(path)).json()
    seen, following = [], f"{path}?limit=3"
    while following:
        page = (await api.get(following)).json()
        assert (whole["seq"], whole["now"], 7) == (page["seq"], page["now"], page["count"])
        seen += page["rows"]
        following = page["next"]
        await api.rows([row(590 + len(seen), px=1)])
    assert whole["rows"] == seen
    assert whole["seq"] < (await api.get(path)).json()["seq"]


@pytest.mark.services
async def test_results_pages_without_envelope_follow_the_link_header(api: Api):
    """NDJSON pages are chained by `Link`, which keeps format and limit."""
    path = await filled(api, 5)
    first = await api.get(path, params={"format": "ndjson", "limit": 4})
    url = first.headers["link"].removeprefix("<").partition(">")[0]
    second = await api.get(url)
    assert (4, 1) == (len(first.text.splitlines()), len(second.text.splitlines()))
    assert "link" not in second.headers


@pytest.mark.services
async def test_results_page_token_of_another_query_is_refused(api: Api):
    """A token opens only the answer it belongs to, and only unchanged."""
    path = await filled(api, 3)
    url = (await api.get(path, params={"limit": 1})).json()["next"]
    token = url.partition("page=")[2].partition("&")[0]
    other = f"/v1/queries/{await api.register(SQL)}/results"
    assert_problem(await api.get(other, params={"page": token}), "bad-page")
    assert_problem(await api.get(path, params={"page": token[:-2] + "AA"}), "bad-page")
    assert_problem(await api.get(path, params={"page": "é"}), "bad-page")
    assert_problem(await api.get(path, params={"page": token, "now": "1"}), "invalid-field")
    assert_problem(await api.get("/v1/streams", params={"page": token}), "bad-page")
    assert 200 == (await api.get(path, params={"page": token})).status_code


@pytest.mark.services
async def test_results_at_another_instant_hide_what_came_later(api: Api):
    """`now=` answers for an instant up to NOW, without a cursor; later ones are refused with the range."""
    path = await filled(api, 5)
    body = (await api.get(path, params={"now": "2026-11-21T10:00:02Z"})).json()
    assert (3, None) == (body["count"], body["cursor"])
    assert (
        body["count"]
        == (await api.get(path, params={"now": START_US + 2 * SECOND_US})).json()["count"]
    )
    problem = assert_problem(
        await api.get(path, params={"now": "2026-11-21T10:00:05Z"}), "now-out-of-range"
    )
    assert "2026-11-21T10:00:04.000000Z" == problem["newest"]


@pytest.mark.services
async def test_results_as_of_a_position_leave_out_what_came_later(api: Api):
    """`seq=` answers as it was answered then, in pages too; of other queries' positions as well, without a cursor."""
    path = await filled(api, 3)
    then = (await api.get(path)).json()
    await api.rows([row(1, sym="LATE", px=50.0)])
    now, again = (await api.get(path)).json(), await api.get(path, params={"seq": then["seq"]})
    assert (4, 3) == (now["count"], again.json()["count"])
    assert {**then, "cursor": None, "poll_after_ms": None} == again.json()
    assert "private, no-cache" == again.headers["cache-control"]
    tag = {"If-None-Match": again.headers["etag"]}
    assert 304 == (await api.get(path, params={"seq": then["seq"]}, headers=tag)).status_code
    page = (await api.get(path, params={"seq": then["seq"], "limit": 2})).json()
    assert then["rows"][:2] == page["rows"]
    rest = (await api.get(page["next"])).json()
    assert (then["rows"][2:], None) == (rest["rows"], rest["cursor"])
    with_now = {"seq": then["seq"], "now": "2026-11-21T10:00:01Z"}
    assert 2 == (await api.get(path, params=with_now)).json()["count"]
    for wrong in ({"wait": 1}, {"history": "true"}, {"page": page["next"].partition("page=")[2]}):
        refused = await api.get(path, params={"seq": then["seq"], **wrong})
        assert refused.status_code in (400, 422)
    assert_problem(await api.get(path, params={"seq": -1}), "invalid-field")


@pytest.mark.services
async def test_results_as_of_a_position_of_another_definition_are_refused(api: Api):
    """A query that was replaced is asked about positions from then on, in pages as well."""
    await api.declare()
    body = {"sql": "SELECT px FROM trades"}
    query_id = (await api.send("PUT", "/v1/queries/all", json=body)).json()["id"]
    path = f"/v1/queries/{query_id}/results"
    before = (await api.rows([row(0, px=1), row(1, px=2)])).json()["seq"]
    assert 2 == (await api.get(path, params={"seq": before})).json()["count"]
    body = {"sql": "SELECT px FROM trades WHERE px > 0"}
    assert 200 == (await api.send("PUT", "/v1/queries/all?replace=true", json=body)).status_code
    oldest = (await api.get(path)).json()["seq"]
    await api.rows([row(2, px=3)])
    assert_problem(await api.get(path, params={"seq": before}), "seq-out-of-range", oldest=oldest)
    page = (await api.get(path, params={"seq": oldest, "limit": 1})).json()
    assert (2, 1) == (page["count"], len((await api.get(page["next"])).json()["rows"]))


async def test_results_as_of_a_position_to_come_or_forgotten_are_refused():
    """A later one is waited for and not yet visible; one that retention has passed names the first there is."""
    settings = dataclasses.replace(SETTINGS, invoke_deadline_s=0.05)
    async with running(settings) as api:
        api.in_haste = True
        path = await filled(api)
        assert_problem(await api.get(path, params={"seq": 2**62}), "not-yet-visible")
        await api.declare("short", retention={"time": "2s"})
        seqs = [
            (await api.rows([row(second, px=1)], name="short")).json()["seq"] for second in range(5)
        ]
        short = f"/v1/queries/{await api.register('SELECT * FROM short')}/results"
        problem = assert_problem(await api.get(short, params={"seq": seqs[0]}), "seq-out-of-range")
        assert seqs[2] == problem["oldest"]
        assert 200 == (await api.get(short, params={"seq": seqs[2]})).status_code


@pytest.mark.services
async def test_results_wait_for_the_position_asked_for(api: Api):
    """`min_seq` of what is applied answers at once; of what is not, it says so with the applied one."""
    path = await filled(api)
    assert 200 == (await api.get(path, params={"min_seq": 3})).status_code


async def test_results_of_a_position_to_come_are_not_yet_visible():
    """`min_seq` past what is applied within the wait is 503 and names the applied position."""
    settings = dataclasses.replace(SETTINGS, invoke_deadline_s=0.05)
    async with running(settings) as api:
        api.in_haste = True
        path = await filled(api)
        answer = await api.get(path, params={"min_seq": 2**62})
        assert_problem(answer, "not-yet-visible", applied=3)


async def test_results_compressed_for_who_takes_it(api: Api):
    """Larger answers are compressed as Accept-Encoding allows, and say so."""
    path = await filled(api, 100)
    plain = await api.get(path, headers={"Accept-Encoding": "identity"})
    packed = await api.get(path, headers={"Accept-Encoding": "gzip"})
    assert ("content-encoding" not in plain.headers, "gzip") == (
        True,
        packed.headers["content-encoding"],
    )
    assert plain.json() == packed.json()
    assert "Accept-Encoding" in packed.headers["vary"]


async def test_results_past_the_bytes_of_a_page_go_on_in_the_next(api: Api):
    """A page is cut to 16 MiB whatever its limit says, and no row is lost between pages."""
    await api.declare()
    query_id = await api.register("SELECT px, sym FROM trades")
    for batch in range(3):
        rows = [row(px=1_000 * batch + i, sym="\\" * 8_000) for i in range(500)]
        assert 200 == (await api.rows(rows)).status_code
    seen, pages = [], 0
    following = f"/v1/queries/{query_id}/results?limit=100000"
    while following:
        answer = await api.get(following)
        assert len(answer.content) <= limits.PAGE_BYTES_MAX
        body = answer.json()
        seen += [one["px"] for one in body["rows"]]
        following, pages = body["next"], pages + 1
    assert [1_000.0 * batch + i for batch in range(3) for i in range(500)] == seen
    assert 2 == pages


@pytest.mark.parametrize(
    ("now", "us"),
    [
        ("2026-11-21", START_US - 10 * HOUR_US),
        ("2026-11-21 09:00", START_US - HOUR_US),
        ("2026-11-21T09:00:00", START_US - HOUR_US),
        ("2026-11-21T10:00:00+01:00", START_US - HOUR_US),
        ("2026-11-21T10:00:00 01:00", START_US - HOUR_US),
        (str(START_US - HOUR_US), START_US - HOUR_US),
    ],
)
async def test_results_at_an_instant_written_as_in_sql(api: Api, now, us):
    """A date is its midnight, and without an offset it is UTC; a plus sign that a URL has lost is found again."""
    body = (await api.get(f"{await filled(api)}?now={quote(now, safe='+: ')}")).json()
    assert format_instant(us) == body["now"]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=-1", "limit=1.0", "limit=x", "count=all", "shape=cube", "format=xml", "meta=2",
     "now=yesterday", "now=2026-11-31", "now=10:00", "min_seq=-1", "limit=1&limit=2", "page=%00", "now=%ff"],
)  # fmt: skip
async def test_results_wrong_parameters_are_refused(api: Api, query):
    """A parameter of a wrong type or value, or given twice, is 422 and named."""
    path = await filled(api)
    body = assert_problem(await api.get(f"{path}?{query}"), "invalid-field")
    assert body["errors"][0]["pointer"].startswith("?")


async def test_results_limit_past_the_most_is_clipped(api: Api):
    """More rows than a page may have are a page with `next`, not an error."""
    path = await filled(api)
    assert 200 == (await api.get(path, params={"limit": 10**9})).status_code


@LOOKS_INSIDE
async def test_large_page_is_written_in_a_thread_and_counts_as_one_use(api: Api, monkeypatch):
    """Though the answer was small the last time, and made in the event loop; so is a list of pages."""
    written: list[bool] = []

    def watched(*given, **more):
        written.append(threading.current_thread() is threading.main_thread())
        return encode_answer(*given, **more)

    monkeypatch.setattr(envelopes, "encode_answer", watched)
    monkeypatch.setattr(fit, "AT_ONCE_BYTES_MAX", 1_000)
    for seconds in ("QUICK_S", "AT_ONCE_S"):
        monkeypatch.setattr(work_pool, seconds, WAIT_S)
    path = await filled(api)
    counting = {"count": "only", "limit": 1}
    asked = [
        ({}, 1),
        ({}, 1),
        ({}, 20),
        ({}, 1),
        *[(counting, 1)] * 2,
        (counting | {"pages": "all"}, 1),
    ]
    for parameters, more in asked:
        await api.rows([row(1, px=1)] * more)
        assert 200 == (await api.get(path, params=parameters)).status_code
    assert [False, True, False, False, False, True, False] == written
    assert len(asked) == api.service.invoked.count
