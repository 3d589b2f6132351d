"""Groups, orders and limits over HTTP: in every format, in pages, and told to those who wait."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.app.routes.results.client import Client, read
from tests.app.routes.results.following import Site, site
from tests.app.support import START_US, WINDOW, Api, row
from tests.patience import wait_until

pytestmark = [pytest.mark.services, pytest.mark.anyio]
GROUPS = f"SELECT sym, COUNT(*) AS n, SUM(qty) AS val FROM trades GROUP BY sym {WINDOW}"
DEAREST = f"SELECT sym, px FROM trades ORDER BY px DESC LIMIT 2 {WINDOW}"
FORMATS = ["json", "ndjson", "csv", "arrow"]


@pytest.fixture
async def trades(api: Api) -> Api:
    """Yield a service that holds five trades of three symbols, one of them without a quantity."""
    await api.declare()
    symbols, quantities = ["A", "B", "A", None, "B"], [1, 2, 30, 4, None]
    rows = zip(symbols, quantities, range(5), strict=True)
    await api.rows([row(place, sym=sym, qty=qty, px=float(place)) for sym, qty, place in rows])
    return api


@pytest.mark.parametrize("media", FORMATS)
async def test_groups_come_by_their_keys_in_every_format(trades: Api, media: str):
    """NULL is a group of its own, and the last; a first load has ids and instants of change."""
    query = await trades.register(GROUPS)
    answer = await trades.get(f"/v1/queries/{query}/results?format={media}&cursor=")
    told = read(answer)
    assert [("A", 2, 31), ("B", 2, 2), (None, 1, 4)] == [
        (one["sym"], int(one["n"]), one["val"]) for one in told["rows"]
    ]
    assert (3, True) == (told["count"], told["reset"])
    assert 3 == len({one["_id"] for one in told["rows"]})
    leaving = [one["_x"] for one in told["rows"]]
    assert leaving == sorted(leaving), "A's first trade leaves before B's, B's before the other"


@pytest.mark.parametrize("media", FORMATS)
async def test_a_cursor_brings_the_groups_that_have_changed(trades: Api, media: str):
    """Each takes the place of the one with its id; of others nothing is sent; where nothing has changed 304."""
    query = await trades.register(GROUPS)
    client, path = Client(), f"/v1/queries/{query}/results?format={media}&cursor="
    answer = await trades.get(path)
    client.take(read(answer), asked="")
    await trades.rows([row(6, sym="B", qty=7), row(7, sym="C", qty=9)])
    told = read(await trades.get(path + str(client.cursor)))
    assert [("B", 9), ("C", 9)] == [(one["sym"], one["val"]) for one in told["rows"]]
    assert not told["reset"]
    client.take(told, asked=client.cursor)
    held = {one["sym"]: one["val"] for one in client.rows.values()}
    assert {"A": 31, "B": 9, "C": 9, None: 4} == held
    again = await trades.get(path + str(client.cursor))
    tagged = {"If-None-Match": again.headers["etag"]}
    assert 304 == (await trades.get(path + str(client.cursor), headers=tagged)).status_code


async def test_the_first_of_an_order_are_sent_whole_where_they_change(trades: Api):
    """A trade below the dearest two changes nothing; one among them replaces the answer."""
    query = await trades.register(DEAREST)
    described = (await trades.get(f"/v1/queries/{query}")).json()
    assert "replace" == described["delta"]
    first = await trades.results(query)
    assert [4.0, 3.0] == [one["px"] for one in first["rows"]]
    path = f"/v1/queries/{query}/results?cursor={first['cursor']}"
    tagged = {"If-None-Match": (await trades.get(path)).headers["etag"]}
    await trades.rows([row(7, sym="E", px=-1.0)])
    told = (await trades.get(path)).json()
    assert ([], False, 2) == (told["rows"], told["reset"], told["count"])
    assert 304 == (await trades.get(path, headers=tagged)).status_code
    await trades.rows([row(8, sym="D", px=99.0)])
    told = await trades.results(query, cursor=told["cursor"])
    assert ([99.0, 4.0], True, 2) == (
        [one["px"] for one in told["rows"]],
        told["reset"],
        told["count"],
    )


async def test_an_equal_row_that_comes_late_changes_nothing_in_the_first_of_distinct_rows(
    trades: Api,
):
    """It is dated before all others, and a row of DISTINCT says no time of its own: 304."""
    query = await trades.register("SELECT DISTINCT sym FROM trades ORDER BY sym LIMIT 1")
    path = f"/v1/queries/{query}/results"
    first = await trades.get(path)
    await trades.rows([row(-5, sym="A")])
    tagged = {"If-None-Match": first.headers["etag"]}
    assert 304 == (await trades.get(path, headers=tagged)).status_code


async def test_a_group_known_by_its_id_alone_changes_the_tag(trades: Api):
    """Another group comes first, of as many rows, and its key is not shown."""
    dearest = "SELECT COUNT(*) AS n FROM trades GROUP BY sym ORDER BY MAX(px) DESC LIMIT 1"
    path = f"/v1/queries/{await trades.register(dearest)}/results"
    first = await trades.get(path)
    await trades.rows([row(6, sym="Q", px=99.0), row(7, sym="Q", px=99.0)])
    told = await trades.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert 200 == told.status_code
    (before,), (after,) = first.json()["rows"], told.json()["rows"]
    assert before["n"] == after["n"] == 2
    assert before["_id"] != after["_id"]


async def test_pages_of_groups_and_of_an_order_hold_while_rows_arrive(trades: Api):
    """Each page is of the position of the first one, and all together are the answer."""
    for sql, name, expected in (
        (GROUPS, "sym", ["A", "B", None]),
        (DEAREST.replace("LIMIT 2", "LIMIT 4 OFFSET 1"), "px", [3.0, 2.0, 1.0, 0.0]),
    ):
        query = await trades.register(sql)
        page = await trades.results(query, limit=1)
        await trades.rows([row(9, sym=f"Z{name}", px=-5.0, qty=1)])
        found, pages = [one[name] for one in page["rows"]], [page]
        while pages[-1]["next"] is not None:
            page = (await trades.get(pages[-1]["next"])).json()
            found += [one[name] for one in page["rows"]]
            pages.append(page)
        assert expected == found
        assert len(expected) == len(pages)
        assert {len(expected)} == {one["count"] for one in pages}


async def test_count_is_that_of_the_answer(trades: Api):
    """Behind HAVING, LIMIT and OFFSET; aggregates of nothing are one row."""
    for sql, count in (
        (GROUPS, 3),
        (GROUPS.replace("BEGIN", "HAVING n > 1 BEGIN"), 2),
        (GROUPS.replace("BEGIN", "HAVING n > 1 LIMIT 5 OFFSET 1 BEGIN"), 1),
        ("SELECT COUNT(*) FROM trades WHERE sym = 'nobody'", 1),
        ("SELECT sym, COUNT(*) FROM trades WHERE sym = 'nobody' GROUP BY sym", 0),
    ):
        query = await trades.register(sql)
        told = await trades.results(query, count="only")
        assert (count, None) == (told["count"], told.get("rows"))


async def test_a_sum_beyond_its_type_is_null_and_said(trades: Api):
    """In the envelope, in a header for formats without one; an answer without overflow has neither."""
    most = 2**62
    query = await trades.register("SELECT sym, SUM(qty) AS val FROM trades GROUP BY sym")
    before = await trades.get(f"/v1/queries/{query}/results")
    assert "warnings" not in before.json()
    assert "psoup-warnings" not in before.headers
    await trades.rows([row(6, sym="A", qty=most), row(7, sym="A", qty=most)])
    told = await trades.results(query)
    assert [None, 2, 4] == [one["val"] for one in told["rows"]]
    assert ["overflow"] == [one["code"] for one in told["warnings"]]
    bare = await trades.get(f"/v1/queries/{query}/results?format=csv&meta=0")
    assert "overflow" == bare.headers["psoup-warnings"]
    assert "A," in bare.text.splitlines()


@pytest.fixture
def here():
    """A server with one stream."""
    with site() as one:
        yield one


def test_a_group_that_changes_ends_a_wait_and_is_an_event(here: Site):
    """The one that has changed, for a long poll, for a stream of events and for a sync."""
    query = here.register("SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym")
    here.trade(0, sym="A")
    here.trade(1, sym="B")
    cursor = here.results(query)["cursor"]
    with ThreadPoolExecutor(1) as threads, here.events(query) as events:
        first = events.next()
        assert first is not None
        assert [("A", 1), ("B", 1)] == [(one["sym"], one["n"]) for one in first.data["rows"]]
        waits = threads.submit(here.results, query, cursor=cursor, wait=50)
        wait_until(lambda: here.room.statistics().waiting >= 2, "both wait")
        here.trade(2, sym="B")
        told = waits.result()
        event = events.next()
    assert event is not None
    for one in (told, event.data):
        assert ([("B", 2)], False) == (
            [(group["sym"], group["n"]) for group in one["rows"]],
            one["reset"],
        )
    status, synced = here.send("POST", "/v1/sync", {"queries": {query: {"cursor": cursor}}})
    assert 200 == status
    assert [("B", 2)] == [(one["sym"], one["n"]) for one in synced["results"][query]["rows"]]


def test_a_row_below_the_first_of_an_order_ends_no_wait(here: Site):
    """The wait goes on until the answer is another one."""
    query = here.register("SELECT px FROM trades ORDER BY px DESC LIMIT 1")
    here.trade(0, px=5.0)
    cursor = here.results(query)["cursor"]
    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(here.results, query, cursor=cursor, wait=50)
        here.wait_for(1)
        here.trade(1, px=1.0)
        here.trade(2, px=2.0)
        assert not waits.done()
        here.trade(3, px=9.0)
        told = waits.result()
    assert ([9.0], True) == ([one["px"] for one in told["rows"]], told["reset"])


def test_a_group_whose_rows_leave_is_told_at_that_instant(here: Site):
    """NOW moves on with rows of another symbol: A loses its first trade, and later its last."""
    query = here.register(
        "SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym BEGIN (NOW - 10) END (NOW)"
    )
    for second in (0, 5):
        here.trade(second, sym="A")
    client, answer = Client(), here.results(query)
    client.take(answer, asked="")
    for second, groups in ((11, {"A": 1, "Z": 1}), (16, {"Z": 2}), (40, {"Z": 1})):
        here.rows({"ts": START_US + second * 1_000_000, "sym": "Z", "px": 1.0})
        client.take(here.results(query, cursor=client.cursor), asked=client.cursor)
        assert groups == {one["sym"]: one["n"] for one in client.rows.values()}
