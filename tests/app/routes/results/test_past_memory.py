"""Answers past memory for who asks: queued, computed elsewhere, and served like any other answer."""

import dataclasses

import pytest

from psoup.app.http.problems import SPREAD_S
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US
from psoup.engine.store.archive_answers import HistoryId
from psoup.engine.store.errors import StoreFullError
from tests.app.archive_job import (
    ask,
    claim,
    compute,
    forgetting,
    prices,
    put,
    queued,
    tell,
)
from tests.app.faults import FaultyStore
from tests.app.support import (
    INTERFERES,
    MOVES_THE_CLOCK,
    START_US,
    WINDOW,
    Api,
    assert_problem,
    hurried,
    row,
    running,
)

pytestmark = pytest.mark.anyio


@pytest.mark.services
async def test_history_of_what_memory_holds_is_the_answer_of_memory(api: Api):
    """Where the window is retained nothing is begun: the answer is byte for byte that without the parameter."""
    sql = "SELECT px FROM trades BEGIN (NOW - INTERVAL '2' SECOND) END (NOW)"
    query_id = (await forgetting(api, sql=sql)).query_id
    plain = await api.get(f"/v1/queries/{query_id}/results", params={"limit": 2})
    found = await ask(api, query_id, limit=2)
    assert 200 == found.status_code
    assert plain.content == found.content
    assert [9.0] == [one["px"] for one in (await api.get(found.json()["next"])).json()["rows"]]
    assert [] == await queued(api)
    listed = await ask(api, query_id, count="only", pages="all", limit=2)
    assert 2 == len(listed.json()["pages"])
    falsely = await ask(api, query_id, history="false")
    assert "history" not in falsely.json()
    assert_problem(await ask(api, query_id, history="1"), "invalid-field")


@pytest.mark.services
async def test_history_begins_and_waits_for_a_worker(api: Api):
    """Who asks first begins it; whoever asks meanwhile is told the same: position, instant and how far it is."""
    given = await forgetting(api)
    first = await ask(api, given.query_id, limit=3, format="csv")
    assert 202 == first.status_code
    told = first.json()
    assert {"query", "gen", "seq", "now", "window", "history"} == set(told)
    assert ("2026-11-21T10:00:09.000000Z", given.query_id) == (told["now"], told["query"])
    assert {"begin": None, "end": None} == told["window"]
    assert {"id", "state", "done", "of", "asked_at"} == set(told["history"])
    assert ("queued", 0, None) == tuple(told["history"][name] for name in ("state", "done", "of"))
    asked_again = f"/v1/queries/{given.query_id}/results?history=true&limit=3&format=csv"
    assert asked_again == first.headers["location"]
    assert str(limits.HISTORY_POLL_S) == first.headers["retry-after"]
    assert str(told["seq"]) == first.headers["psoup-seq"]
    assert "application/json" == first.headers["content-type"]
    await api.rows(row(99, px=99))
    again = await api.get(first.headers["location"])
    assert (202, told) == (again.status_code, again.json())
    (record,) = await queued(api)
    assert (told["history"]["id"], told["seq"]) == (record["id"], record["seq"])
    assert "SELECT px FROM trades" == record["sql"]
    await claim(api, record["id"], done=3, of=10)
    running_now = (await ask(api, given.query_id)).json()["history"]
    assert ("running", 3, 10) == tuple(running_now[name] for name in ("state", "done", "of"))


@pytest.mark.services
async def test_history_that_is_done_is_an_answer(api: Api):
    """It has the position and the instant of its beginning, and is the same for whoever asks later."""
    given = await forgetting(api)
    told = (await ask(api, given.query_id)).json()
    history_id = await compute(api, [prices(0, 3), prices(3, 10)], rows=10)
    await api.rows(row(99, px=99))
    found = await ask(api, given.query_id)
    answer = found.json()
    assert 200 == found.status_code
    assert [one["px"] for one in given.sent] == [one["px"] for one in answer["rows"]]
    assert [str(i) for i in range(1, 11)] == [one["_id"] for one in answer["rows"]]
    kept = ("query", "gen", "seq", "now", "window")
    assert {name: told[name] for name in kept} == {name: answer[name] for name in kept}
    assert (10, None, None) == (answer["count"], answer["complete_from"], answer["cursor"])
    assert (history_id, "done") == (answer["history"]["id"], answer["history"]["state"])
    assert (str(answer["seq"]), "10") == (found.headers["psoup-seq"], found.headers["psoup-count"])
    assert answer == (await ask(api, given.query_id)).json()
    assert answer["seq"] < (await api.results(given.query_id))["seq"]
    counted = (await ask(api, given.query_id, count="only")).json()
    assert (10, False, None) == (counted["count"], "rows" in counted, counted["next"])


async def test_history_says_from_when_it_is_complete(api: Api):
    """Where archive and memory do not reach back to the window's begin."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    await compute(api, [prices(5, 10)], rows=5, complete_from="2026-11-21T10:00:05Z")
    answer = (await ask(api, given.query_id)).json()
    assert ("2026-11-21T10:00:05.000000Z", 5) == (answer["complete_from"], answer["count"])


async def test_history_of_no_rows_has_columns_and_no_pages(api: Api):
    """An answer of no rows is one."""
    given = await forgetting(api, sql="SELECT px, sym FROM trades WHERE px > 99")
    await ask(api, given.query_id)
    await compute(api, [], rows=0)
    assert [] == (await ask(api, given.query_id)).json()["rows"]
    assert b"_id,_x,px,sym\n" == (await ask(api, given.query_id, format="csv")).content
    assert b"px,sym\n" == (await ask(api, given.query_id, format="csv", meta="0")).content
    listed = (await ask(api, given.query_id, count="only", pages="all")).json()
    assert ([], 0) == (listed["pages"], listed["count"])


@pytest.mark.services
async def test_history_of_another_instant_is_another_one(api: Api):
    """`now` may lie before what retention has kept, and not after NOW."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    early = await ask(api, given.query_id, now="2026-11-21T10:00:02Z")
    assert (202, "2026-11-21T10:00:02.000000Z") == (early.status_code, early.json()["now"])
    assert 2 == len(await queued(api))
    late = await ask(api, given.query_id, now="2026-11-21T10:00:10Z")
    assert_problem(late, "now-out-of-range", newest="2026-11-21T10:00:09.000000Z")
    without = await api.get(
        f"/v1/queries/{given.query_id}/results", params={"now": "2026-11-21T10:00:02Z"}
    )
    assert_problem(without, "now-out-of-range")
    snapshot = await api.register(
        "SELECT px FROM trades BEGIN (TIMESTAMP '2026-11-21 10:00:08') END (TIMESTAMP '2026-11-21 10:00:09')"
    )
    assert 200 == (await ask(api, snapshot)).status_code
    before = await ask(api, snapshot, now="2026-11-21T10:00:02Z")
    assert 202 == before.status_code, "memory does not answer for that instant"


@pytest.mark.services
async def test_history_that_was_just_done_stays_whatever_others_ask_for(api: Api):
    """Who asks for a later position is told to come again; all others get it, and its pages."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    await compute(api, [prices(0, 10)], rows=10)
    first = (await ask(api, given.query_id, limit=4)).json()
    seq = (await api.rows(row(50, px=50))).json()["seq"]
    refused = await ask(api, given.query_id, min_seq=seq)
    assert_problem(refused, "not-yet-visible", applied=first["seq"])
    assert 1 <= int(refused.headers["retry-after"]) <= limits.HISTORY_RETRY_S + SPREAD_S
    assert [] == await queued(api)
    assert first == (await ask(api, given.query_id, limit=4)).json()
    assert 200 == (await api.get(first["next"])).status_code


@MOVES_THE_CLOCK
async def test_history_of_a_later_position_is_begun_anew_after_a_while(api: Api):
    """A finished one that ends before `min_seq` is then replaced; pages of it are gone."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    await compute(api, [prices(0, 10)], rows=10)
    first = (await ask(api, given.query_id, limit=4)).json()
    seq = (await api.rows(row(50, px=50))).json()["seq"]
    assert 200 == (await ask(api, given.query_id, min_seq=first["seq"])).status_code
    api.clock.advance(limits.HISTORY_RETRY_S * SECOND_US - 1)
    refused = await ask(api, given.query_id, min_seq=seq)
    assert_problem(refused, "not-yet-visible")
    assert 1 <= int(refused.headers["retry-after"]) <= SPREAD_S
    api.clock.advance(1)
    anew = await ask(api, given.query_id, min_seq=seq)
    assert 202 == anew.status_code
    assert seq == anew.json()["seq"]
    assert first["history"]["id"] != anew.json()["history"]["id"]
    assert_problem(await api.get(first["next"]), "page-expired", action="invoke")
    with hurried(api, "invoke_deadline_s"):
        assert_problem(await ask(api, given.query_id, min_seq=seq + 9), "not-yet-visible")


@pytest.mark.services
async def test_history_goes_with_its_query(api: Api):
    """Nothing of it is kept, and its pages are those of no query."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    await compute(api, [prices(0, 10)], rows=10)
    page = (await ask(api, given.query_id, limit=4)).json()["next"]
    assert 204 == (await api.send("DELETE", f"/v1/queries/{given.query_id}")).status_code
    assert_problem(await ask(api, given.query_id), "not-found")
    assert_problem(await api.get(page), "not-found")
    kept = api.service.store.histories.statistics()
    assert (0, 0) == (kept.count, kept.nbytes)


async def test_history_of_a_dropped_stream_goes_with_it(api: Api):
    """Queries that a stream takes along take their histories along."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    gone = await api.send("DELETE", "/v1/streams/trades?cascade=true")
    assert 204 == gone.status_code
    assert 0 == api.service.store.histories.statistics().count


async def test_history_page_tokens_are_those_of_their_query(api: Api):
    """A page belongs to its answer: no parameter of a new one, no other query, no forged token."""
    given = await forgetting(api)
    other = await api.register("SELECT sym FROM trades")
    await ask(api, given.query_id)
    await compute(api, [prices(0, 10)], rows=10)
    page = str((await ask(api, given.query_id, limit=4)).json()["next"])
    assert "history=" not in page
    with_parameter = await api.get(page + "&history=true")
    assert with_parameter.json() == (await api.get(page)).json()
    assert_problem(await api.get(page + "&now=5"), "invalid-field")
    assert_problem(await api.get(page + "&count=only"), "invalid-field")
    assert_problem(await api.get(page.replace(given.query_id, other)), "bad-page")
    with hurried(api, "invoke_deadline_s"):
        assert_problem(await api.get(page + "&min_seq=999"), "not-yet-visible")


@MOVES_THE_CLOCK
async def test_history_that_failed_tells_why(api: Api):
    """The job's own words, and when it is begun anew."""
    given = await forgetting(api)
    history_id = (await ask(api, given.query_id)).json()["history"]["id"]
    await claim(api, history_id)
    why = "The archive of trades ends at 7: run psoup pipeline archive."
    await tell(api, history_id, state="failed", detail=why)
    problem = await ask(api, given.query_id)
    assert why in assert_problem(problem, "history-failed", history=history_id)["detail"]
    assert "2026-11-21T10:01:00.000000Z" == problem.json()["retry_at"]
    assert [] == await queued(api)


@MOVES_THE_CLOCK
async def test_history_that_failed_is_begun_anew_after_a_while(api: Api):
    """What was wrong may have been mended."""
    given = await forgetting(api)
    history_id = (await ask(api, given.query_id)).json()["history"]["id"]
    await claim(api, history_id)
    await tell(api, history_id, state="failed", detail="no archive")
    api.clock.advance(limits.HISTORY_RETRY_S * SECOND_US - 1)
    assert_problem(await ask(api, given.query_id), "history-failed")
    api.clock.advance(1)
    anew = await ask(api, given.query_id)
    assert 202 == anew.status_code
    assert history_id != anew.json()["history"]["id"]


@MOVES_THE_CLOCK
async def test_history_is_kept_for_its_life(api: Api):
    """From then on its pages are gone, and it is begun anew when it is asked for."""
    given = await forgetting(api)
    await ask(api, given.query_id)
    history_id = await compute(api, [prices(0, 10)], rows=10)
    page = (await ask(api, given.query_id, limit=4)).json()["next"]
    api.clock.advance(limits.HISTORY_LIFE_S * SECOND_US - 1)
    assert 200 == (await api.get(page)).status_code
    api.clock.advance(1)
    assert_problem(await api.get(page), "page-expired")
    anew = await ask(api, given.query_id)
    assert 202 == anew.status_code
    assert history_id != anew.json()["history"]["id"]


@MOVES_THE_CLOCK
async def test_history_of_a_window_by_the_servers_clock(api: Api):
    """NOW is fixed when the history begins, whatever the clock does until it is done."""
    await api.declare(time=None, columns=[{"name": "px", "type": "float64"}], retention={"rows": 4})
    await api.rows([{"px": float(i)} for i in range(10)])
    query_id = await api.register(f"SELECT px FROM trades {WINDOW}")
    told = (await ask(api, query_id)).json()
    assert "2026-11-21T10:00:00.000000Z" == told["now"] == told["window"]["end"]
    api.clock.advance(5 * SECOND_US)
    await compute(api, [prices(0, 10)], rows=10)
    answer = (await ask(api, query_id)).json()
    assert (told["now"], 10) == (answer["now"], answer["count"])


async def test_histories_have_a_number(api: Api, monkeypatch):
    """One more is turned away; memory's answers and those that are done are not."""
    monkeypatch.setattr(limits, "HISTORIES_MAX", 1)
    given = await forgetting(api)
    other = await api.register("SELECT sym FROM trades")
    await ask(api, given.query_id)
    assert_problem(await ask(api, other), "overloaded", reason="histories")
    await compute(api, [prices(0, 10)], rows=10)
    assert_problem(await ask(api, other), "overloaded", reason="histories")
    done = await ask(api, given.query_id)
    assert 200 == done.status_code
    used = (await api.get("/v1/limits")).json()["use"]
    assert 1 == used["histories_max"]
    assert 0 < used["histories_bytes_max"]
    metrics = (await api.get("/metrics")).text
    assert "psoup_histories 1.0" in metrics
    assert f"psoup_history_bytes {float(used['histories_bytes_max'])}" in metrics
    gone = await api.send("DELETE", f"/v1/histories/{done.json()['history']['id']}")
    assert 204 == gone.status_code
    assert 202 == (await ask(api, other)).status_code


async def test_history_of_a_suspended_join_is_refused(api: Api, monkeypatch):
    """What found too much is not computed elsewhere either."""
    monkeypatch.setattr(limits, "JOIN_MATCHES_MAX", 20)
    await api.declare(retention={"rows": 8})
    sql = "SELECT a.px FROM trades a, trades b WHERE a.sym = b.sym"
    query_id = await api.register(sql, materialize="partial")
    await api.rows([row(i, px=i, sym="s") for i in range(limits.CHUNK_ROWS)])
    assert_problem(await ask(api, query_id), "query-suspended")
    assert [] == await queued(api)


@INTERFERES
async def test_history_in_full_memory_is_not_begun():
    """The store's word is passed on, and nothing was changed."""
    store = FaultyStore(ManualClock(START_US))
    async with running(store=store) as api:
        given = await forgetting(api)
        with store.failing("histories", "begin", StoreFullError("Full.")):
            assert_problem(await ask(api, given.query_id), "store-full")
        assert [] == await queued(api)
        assert 202 == (await ask(api, given.query_id)).status_code


@INTERFERES
async def test_history_that_goes_while_it_is_read_is_begun_anew():
    """A first page finds nothing of it, so it is computed once more; a later page is gone."""
    store = FaultyStore(ManualClock(START_US))
    async with running(store=store) as api:
        given = await forgetting(api)
        await ask(api, given.query_id)
        history_id = HistoryId(await compute(api, [prices(0, 10)], rows=10))
        store.histories.before["body"] = lambda: store.plain.histories.drop(history_id)
        answer = await ask(api, given.query_id)
        assert 202 == answer.status_code
        assert history_id != answer.json()["history"]["id"]


async def test_history_whose_window_leaves_memory_while_it_is_answered(api: Api, monkeypatch):
    """An answer is from memory or from the archive: never part of one under history=true."""
    given = await forgetting(api)
    looks = []

    def looked(snapshot, now_us):
        looks.append(now_us)
        return None if len(looks) == 1 else now_us

    monkeypatch.setattr("psoup.app.routes.results.past_memory.complete_from", looked)
    answer = await ask(api, given.query_id)
    assert (202, 2) == (answer.status_code, len(looks))
    monkeypatch.setattr("psoup.app.routes.results.past_memory.complete_from", lambda *_: None)
    assert_problem(await ask(api, given.query_id), "overloaded", reason="retention")


async def test_history_of_another_generation_is_none(api: Api, monkeypatch):
    """Where another one has begun since the query was looked up, its histories are not this one's."""
    given = await forgetting(api)
    first = await ask(api, given.query_id)
    await compute(api, [prices(0, 10)], rows=10)
    page = (await ask(api, given.query_id, limit=4)).json()["next"]
    histories = api.service.store.histories
    find, get = histories.find, histories.get

    def of_the_next(found):
        asked = dataclasses.replace(found.asked, gen=found.asked.gen + 1)
        return dataclasses.replace(found, asked=asked)

    monkeypatch.setattr(histories, "get", lambda *what: of_the_next(get(*what)))
    assert_problem(await api.get(page), "page-expired")
    monkeypatch.setattr(histories, "find", lambda *what: of_the_next(find(*what)))
    anew = await ask(api, given.query_id)
    assert first.json()["gen"] == anew.json()["gen"]
    assert first.json()["history"]["id"] != anew.json()["history"]["id"]


async def test_parts_sent_again_count_once(api: Api):
    """The later one stands."""
    given = await forgetting(api)
    history_id = (await ask(api, given.query_id)).json()["history"]["id"]
    await claim(api, history_id)
    assert 204 == (await put(api, history_id, 0, prices(0, 3))).status_code
    assert 204 == (await put(api, history_id, 0, prices(0, 5))).status_code
    done = await tell(api, history_id, state="done", parts=1, rows=5)
    assert (200, 5) == (done.status_code, done.json()["rows"])
    assert 5 == (await ask(api, given.query_id)).json()["count"]
