"""Pages of answers from the archive, against the engine's own: the same rows make the same bytes, in every format.

The oracle is the engine's answer over a stream that forgets nothing. Its rows are sent as the parts of a history of
the same query over a stream that has forgotten nearly all.
"""

from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from psoup.engine import limits
from psoup.engine.store.archive_answers import HistoryId
from tests.app.archive_job import (
    OTHER,
    WORKER,
    ask,
    claim,
    compute,
    forgetting,
    part,
    prices,
    put,
    tell,
)
from tests.app.support import MOVES_THE_CLOCK, START_US, Api, row

pytestmark = pytest.mark.anyio
ROWS = 400
TEXTS = ["plain", 'quoted "and", cut', "größer ☃", "", None]
ONE = "SELECT ts, sym, px, qty, up, px * qty AS product FROM {0}"
SLIDING = " BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
JOIN = "SELECT a.ts, b.ts AS later, a.sym, b.px FROM {0} a, {0} b WHERE a.qty = b.qty"
SHOWN = [
    {"format": "json"},
    {"format": "json", "shape": "columns"},
    {"format": "json", "meta": "0"},
    {"format": "ndjson"},
    {"format": "csv"},
    {"format": "csv", "meta": "0"},
    {"format": "arrow"},
]


def sent(count: int = ROWS) -> list[dict[str, Any]]:
    """Return rows of every type, NULLs, quotes and several of one time among them."""
    return [
        row(
            i // 3,
            sym=TEXTS[i % 5],
            px=None if i % 7 == 0 else i / 8,
            qty=None if i % 11 == 0 else i * 10**12,
            up=None if i % 13 == 0 else i % 2 == 0,
        )
        for i in range(count)
    ]


async def both(api: Api, sql: str, rows: list[dict[str, Any]]) -> tuple[str, str]:
    """Return queries over the same rows, in a stream that forgets nothing and in one that forgets."""
    assert 201 == (await api.declare("whole")).status_code
    assert 201 == (await api.declare("trades", retention={"rows": 2})).status_code
    for name in ("whole", "trades"):
        assert 200 == (await api.rows(rows, name=name)).status_code
    return await api.register(sql.format("whole")), await api.register(sql.format("trades"))


def read(answer: httpx2.Response) -> pa.Table:
    """Return an answer in Arrow."""
    assert 200 == answer.status_code, answer.text
    return pa.ipc.open_stream(answer.content).read_all()


async def parts_of(api: Api, query_id: str, times: tuple[str, ...], *, rows: int) -> list[bytes]:
    """Return the engine's answer as parts of so many rows; a row's time is the least of those outputs."""
    params = {"format": "arrow", "limit": limits.PAGE_ROWS_MAX}
    table = read(await api.get(f"/v1/queries/{query_id}/results", params=params))
    instants = [table[name].cast(pa.int64()) for name in times]
    time = pc.min_element_wise(*instants).cast(table[times[0]].type)
    table = table.add_column(0, "_time", time)
    bodies = []
    for first in range(0, table.num_rows, rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(first, rows), max_chunksize=17)
        bodies.append(bytes(sink.getvalue().to_pybytes()))
    return bodies


@pytest.mark.parametrize(
    ("sql", "times", "rows"),
    [(ONE, ("ts",), 64), (ONE + SLIDING, ("ts",), 90), (JOIN, ("ts", "later"), 33)],
)
async def test_history_is_written_as_the_engine_writes_it(api: Api, sql, times, rows):
    """Every page of it, in each format, is byte for byte the page of the same answer from memory."""
    whole, past = await both(api, sql, sent())
    bodies = await parts_of(api, whole, times, rows=rows)
    count = (await api.results(whole, count="only"))["count"]
    assert 202 == (await ask(api, past)).status_code
    await compute(api, bodies, rows=count)
    for shown in SHOWN:
        for limit in (50, 137, 1_000):
            mine = await ask(api, past, limit=limit, **shown)
            other = await api.get(f"/v1/queries/{whole}/results", params={"limit": limit, **shown})
            for _ in range(count // limit + 2):
                assert rows_in(other) == rows_in(mine)
                if "next" not in other.links:
                    break
                mine = await api.get(mine.links["next"]["url"])
                other = await api.get(other.links["next"]["url"])
            assert "next" not in mine.links
            assert str(count) == mine.headers["psoup-count"]


def rows_in(answer: httpx2.Response) -> bytes:
    """Return the rows as they were sent; of JSON without the envelope, whose positions differ."""
    assert 200 == answer.status_code, answer.text
    if answer.headers["content-type"] != "application/json":
        return answer.content
    body = answer.content
    assert list(answer.json())[:5] == ["query", "gen", "seq", "now", "window"]
    begin = body.index(b'"columns":') if b'"columns":' in body else body.index(b'"rows":')
    return body[begin : body.index(b'"complete_from":')]


@pytest.mark.services
async def test_history_lists_all_its_pages(api: Api):
    """Each is read by anybody, in any order and format; parts may lie across them as they like."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    await compute(api, [prices(0, 1), prices(1, 1), prices(1, 7), prices(7, 10)], rows=10)
    listed = (await ask(api, given.query_id, count="only", pages="all", limit=4)).json()
    assert (10, 3) == (listed["count"], len(listed["pages"]))
    found = [(await api.get(page)).json() for page in reversed(listed["pages"])][::-1]
    assert [4, 4, 2] == [len(page["rows"]) for page in found]
    assert [one["px"] for one in given.sent] == [r["px"] for page in found for r in page["rows"]]
    assert [None] * 3 == [page["next"] for page in found]
    assert {listed["history"]["id"]} == {page["history"]["id"] for page in found}
    lines = (await api.get(listed["pages"][2] + "&format=csv")).text.splitlines()
    assert ["_id,_x,px", "9,,8.0", "10,,9.0"] == lines


async def test_history_has_no_more_pages_than_are_listed(api: Api, monkeypatch):
    """The refusal says what limit would do."""
    monkeypatch.setattr(limits, "PAGES_LISTED_MAX", 3)
    given = await forgetting(api)
    await ask(api, given.query_id)
    await compute(api, [prices(0, 10)], rows=10)
    refused = await ask(api, given.query_id, count="only", pages="all", limit=3)
    assert 422 == refused.status_code
    assert "has to be 4 at least" in refused.json()["errors"][0]["reason"]
    assert 422 == (await ask(api, given.query_id, pages="all")).status_code


@pytest.mark.parametrize("bound", [300, 2_000])
async def test_history_pages_are_cut_to_their_bytes(api: Api, monkeypatch, bound):
    """A page that is listed keeps to its end; one row is shown however large it is."""
    monkeypatch.setattr(limits, "PAGE_BYTES_MAX", bound)
    given = await forgetting(api, sql="SELECT sym FROM trades")
    await ask(api, given.query_id)
    rows = [(START_US + i, str(i + 1), None, f"{i}" * 200) for i in range(10)]
    await compute(api, [part(rows, [("sym", pa.string())])], rows=10)
    listed = (await ask(api, given.query_id, count="only", pages="all", limit=5)).json()["pages"]
    assert 2 == len(listed)
    found = []
    for page in listed:
        following, of_page = page, []
        while following is not None:
            answer = await api.get(following)
            assert len(answer.content) <= bound or len(answer.json()["rows"]) == 1
            of_page += [one["_id"] for one in answer.json()["rows"]]
            following = answer.json()["next"]
        found.append(of_page)
    assert [[str(i) for i in range(1, 6)], [str(i) for i in range(6, 11)]] == found


async def test_history_of_an_output_named_as_a_column_added(api: Api):
    """Columns are told by their place: an output may be called `_time`."""
    given = await forgetting(api, sql="SELECT qty AS _time, px FROM trades")
    await ask(api, given.query_id)
    outputs = [("_time", pa.int64()), ("px", pa.float64())]
    body = part([(START_US + i, str(i + 1), None, 7 * i, None) for i in range(5)], outputs)
    await compute(api, [body], rows=5)
    answer = (await ask(api, given.query_id, shape="columns", meta="0")).json()
    assert (["_time", "px"], [28, None]) == (answer["columns"], answer["rows"][4])


@MOVES_THE_CLOCK
@pytest.mark.parametrize(("worker", "later_us"), [(OTHER, 0), (WORKER, 1)])
async def test_history_that_is_computed_once_more_is_not_answered_from_old_parts(
    api: Api, worker, later_us
):
    """A crash can take back that it was done: whoever claims it next cuts other parts, under its handle."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    history_id = HistoryId(await compute(api, [prices(0, 6), prices(6, 10)], rows=10))
    before = (await ask(api, given.query_id)).json()
    histories = api.service.store.histories
    done = histories.get(history_id)
    assert done is not None
    histories.drop(history_id)
    histories.begin(done.asked)
    api.clock.advance(later_us)
    await claim(api, history_id, worker=worker)
    for number, body in enumerate([prices(0, 2), prices(2, 10)]):
        await put(api, history_id, number, body, **{"Psoup-Worker": worker})
    again = await tell(api, history_id, worker=worker, state="done", parts=2, rows=10)
    assert 200 == again.status_code
    assert before == (await ask(api, given.query_id)).json()


@pytest.fixture
def fetched(api: Api, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the parts that are read from the store, as they are."""
    numbers: list[int] = []
    body = api.service.store.histories.body

    def counting(history_id, number):
        numbers.append(number)
        return body(history_id, number)

    monkeypatch.setattr(api.service.store.histories, "body", counting)
    return numbers


async def test_parts_are_fetched_once_for_all_pages(api: Api, fetched):
    """What was read for a page serves the next one."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    await compute(api, [prices(0, 6), prices(6, 10)], rows=10)
    page = (await ask(api, given.query_id, limit=2)).json()
    assert [0] == fetched
    while page["next"]:
        page = (await api.get(page["next"])).json()
    assert [0, 1] == fetched
    api.service.check()


async def test_history_page_reads_no_more_parts_than_it_may_need(api: Api, monkeypatch, fetched):
    """Whatever `limit` says: what a page cannot show is not fetched, and comes with the next one."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    bodies = [prices(i, i + 1) for i in range(10)]
    await compute(api, bodies, rows=10)
    kept = api.service.store.histories.statistics().nbytes // 10
    monkeypatch.setattr(limits, "PAGE_BYTES_MAX", kept)
    page = (await ask(api, given.query_id, limit=100)).json()
    assert [0, 1, 2] == fetched
    found = page["rows"]
    while page["next"]:
        page = (await api.get(page["next"])).json()
        found += page["rows"]
    assert [one["px"] for one in given.sent] == [one["px"] for one in found]
    assert list(range(10)) == fetched
