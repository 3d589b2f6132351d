"""A sync tells of many queries at once what has changed, all at one position and one instant."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from psoup.app.waiting.pace import POLL_AFTER_MS
from psoup.engine import limits
from tests.app.routes.results.client import Client
from tests.app.routes.results.following import SQL, Events, Site, site
from tests.app.support import START_US

pytestmark = pytest.mark.services
LONG_S = 50
LINGER_S, AHEAD_S = 20, 25
NOBODY = "q_AAAAAAAAAAAAAAAAAAAAAA"


@pytest.fixture
def here():
    """A server with one stream."""
    with site() as one:
        yield one


def sync(here: Site, queries: dict[str, str | None], **members: Any) -> Any:
    """Return what a sync answers; queries with their cursors."""
    status, body = here.send("POST", "/v1/sync", asked(queries, **members))
    assert status == 200, body
    return body


def asked(queries: dict[str, str | None], **members: Any) -> dict[str, Any]:
    """Return the body of a sync."""
    listed = {one: {} if cursor is None else {"cursor": cursor} for one, cursor in queries.items()}
    return {"queries": listed, **members}


def test_each_query_is_told_of_since_where_its_client_stands(here: Site):
    """One that has changed, one that has not, one that nobody knows, and a first load."""
    above, below = here.register(), here.register(SQL.replace("> 40", "< 40"))
    here.trade(0, 50.0)
    first = sync(here, {above: None, below: None})
    assert {above: True, below: True} == {
        one: answer["reset"] for one, answer in first["results"].items()
    }
    cursors = {one: answer["cursor"] for one, answer in first["results"].items()}
    here.trade(0, 51.0)
    later = here.register()
    answer = sync(here, {**cursors, NOBODY: None, "nonsense": None, later: None})
    assert [51.0] == [row["px"] for row in answer["results"][above]["rows"]]
    assert not answer["results"][above]["reset"]
    assert answer["results"][later]["reset"]
    assert [below] == answer["unchanged"]
    assert {NOBODY: 404, "nonsense": 404} == {
        one: problem["status"] for one, problem in answer["gone"].items()
    }
    assert {answer["seq"]} == {one["seq"] for one in answer["results"].values()}
    assert not answer["more"]


def test_nothing_new_is_a_short_answer(here: Site):
    """Many queries are not named one by one: all that are not named have not changed."""
    queries = [here.register(SQL.replace("40", str(number))) for number in range(40)]
    here.trade(0, 1_000.0)
    first = sync(here, dict.fromkeys(queries))
    cursors = {one: answer["cursor"] for one, answer in first["results"].items()}
    assert set(queries) == cursors.keys()
    for _ in range(3):  # the second is answered from what the first has left
        answer = sync(here, cursors)
        assert ({}, ["*"], {}) == (answer["results"], answer["unchanged"], answer["gone"])
    here.trade(1, 20.5)
    answer = sync(here, cursors)
    assert 21 == len(answer["results"])
    assert set(answer["results"]) == set(queries[:21])


def test_what_is_too_much_is_left_for_the_next_time(here: Site):
    """`more`: asking again with the new cursors brings the rest, also where some change all the time."""
    queries = [here.register(SQL.replace("40", str(number))) for number in range(8)]
    here.rows(*({"ts": START_US, "sym": "z" * 400, "px": 99.0 + i} for i in range(10)))
    clients = {one: Client() for one in queries}
    turns = 0
    while True:
        cursors = {one: client.cursor for one, client in clients.items()}
        answer = sync(here, cursors, max_bytes=12_000)
        assert 1 <= len(answer["results"]) < len(queries)
        for one, found in answer["results"].items():
            clients[one].take(found, asked=cursors[one])
        turns += 1
        if not answer["more"]:
            break
        assert 0 == answer["poll_after_ms"]
        here.trade(0, 1.5)  # the first two queries have changed again
    assert turns >= 4
    for one, client in clients.items():
        if one not in queries[:2]:
            shown = here.results(one, limit=1_000)["rows"]
            assert {row["_id"] for row in shown} == client.rows.keys()


def test_one_answer_is_given_however_small_the_room(here: Site):
    """Cut to a page, with a link to the next one."""
    query = here.register()
    here.rows(*({"ts": START_US, "sym": "z" * 900, "px": 99.0 + i} for i in range(10)))
    answer = sync(here, {query: None}, max_bytes=1)["results"][query]
    assert answer["next"] is not None
    client = Client()
    client.take(answer, asked=None)
    while answer["next"] is not None:
        _, answer = here.send("GET", answer["next"])
        client.take(answer, asked=None)
    assert 10 == len(client.rows)
    assert client.cursor is not None


def test_a_sync_waits_for_the_first_change_of_any(here: Site):
    """And for no other; its time over, nothing has changed."""
    above, below = here.register(), here.register(SQL.replace("> 40", "< 40"))
    here.trade(0, 50.0)
    first = sync(here, {above: None, below: None})
    cursors = {one: answer["cursor"] for one, answer in first["results"].items()}
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(sync, here, cursors, wait=LONG_S)
        here.wait_for(1)
        here.trade(0, 40.0)
        here.trade(0, 10.0)
        answer = waits.result()
    assert [below] == list(answer["results"])
    assert [10.0] == [row["px"] for row in answer["results"][below]["rows"]]
    here.wait_for(0)
    answer = sync(here, {above: cursors[above]}, wait=0.1)
    assert [above] == answer["unchanged"]


def test_a_change_is_told_at_once_where_the_wait_has_lasted_a_while(
    here: Site, waiting_clock, monkeypatch
):
    """Where no linger is given. The clock is set ahead, past a while of 20 s and not past the wait."""
    monkeypatch.setattr(limits, "LINGER_S_DEFAULT", LINGER_S)
    query = here.register()
    cursor = here.results(query)["cursor"]
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(sync, here, {query: cursor}, wait=LONG_S)
        here.wait_for(1)
        waiting_clock.monotonic = lambda: time.monotonic() + AHEAD_S
        here.trade(0)
        assert 1 == waits.result(timeout=LINGER_S / 2)["results"][query]["count"]


def test_a_linger_that_is_given_begins_with_the_change(here: Site, waiting_clock):
    """However long the wait has lasted, and no longer than the wait."""
    query = here.register()
    cursor = here.results(query)["cursor"]
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(sync, here, {query: cursor}, wait=LONG_S, linger=5)
        here.wait_for(1)
        waiting_clock.monotonic = lambda: time.monotonic() + LONG_S - 1  # a second is left
        here.trade(0)
        here.trade(1)
        assert 2 == waits.result(timeout=4)["results"][query]["count"]


def test_rows_that_left_during_a_wait_are_told_with_what_ends_it(here: Site):
    """They end no wait for rows that enter, and are no less news to a client who cannot see NOW move."""
    left = here.register(SQL.replace("'10' MINUTE", "'10' SECOND"))
    here.declare("others")
    enters = here.register(SQL.replace("trades", "others"))
    here.trade(0, 50.0)
    here.rows({"ts": START_US, "sym": "A", "px": 50.0}, name="others")
    first = sync(here, {left: None, enters: None})
    cursors = {one: answer["cursor"] for one, answer in first["results"].items()}
    with ThreadPoolExecutor(1) as pool:
        here.trade(60, 1.0)
        waits = pool.submit(sync, here, cursors, wait=LONG_S)
        here.wait_for(1)
        here.trade(61, 1.0)
        here.rows({"ts": START_US, "sym": "A", "px": 51.0}, name="others")
        answer = waits.result()
    assert {left: 0, enters: 2} == {one: it["count"] for one, it in answer["results"].items()}
    assert [] == answer["unchanged"]


def test_a_sync_that_sees_nothing_answers_for_the_end_of_its_wait(here: Site):
    """Its instant is not that of the beginning, and rows that have left by then have left."""
    query = here.register(SQL.replace("'10' MINUTE", "'10' SECOND"))
    here.trade(0, 50.0)
    first = sync(here, {query: None})
    cursors = {query: first["results"][query]["cursor"]}
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(sync, here, cursors, wait=1)
        here.wait_for(1)
        seq = here.trade(60, 1.0)
        answer = waits.result()
    assert (seq, 0) == (answer["seq"], answer["results"][query]["count"])


def test_a_sync_that_finds_no_room_is_answered_at_once(here: Site, monkeypatch):
    """Its client is to come back later than one that does not want to wait."""
    query = here.register()
    here.trade(0)
    cursor = sync(here, {query: None})["results"][query]["cursor"]
    monkeypatch.setattr(limits, "WATCHED_QUERIES_MAX", 0)
    answer = sync(here, {query: cursor}, wait=LONG_S)
    assert [query] == answer["unchanged"]
    assert answer["poll_after_ms"] > POLL_AFTER_MS
    assert 1 == here.room.statistics().shed


def test_a_removed_query_ends_the_wait(here: Site):
    """It is gone, and the others are as they were."""
    stays, goes = here.register(), here.register()
    here.trade(0)
    first = sync(here, {stays: None, goes: None})
    cursors = {one: answer["cursor"] for one, answer in first["results"].items()}
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(sync, here, cursors, wait=LONG_S)
        here.wait_for(1)
        here.send("DELETE", f"/v1/queries/{goes}")
        answer = waits.result()
    assert [goes] == list(answer["gone"])
    assert [stays] == answer["unchanged"]


def test_one_connection_tells_of_all_queries(here: Site):
    """As events, each the answer of a sync; it ends when no query is left."""
    above, below = here.register(), here.register(SQL.replace("> 40", "< 40"))
    here.trade(0, 50.0)
    body = asked({above: None, below: None, NOBODY: None})
    with Events(here.address, "/v1/sync", body=body) as events:
        first = events.next()
        assert first is not None
        assert {above, below} == set(first.data["results"])
        assert [NOBODY] == list(first.data["gone"])
        here.wait_for(1)
        here.trade(1, 10.0)
        second = events.next()
        assert second is not None
        assert [below] == list(second.data["results"])
        here.send("DELETE", f"/v1/queries/{below}")
        third = events.next()
        assert third is not None
        assert [below] == list(third.data["gone"])
        here.send("DELETE", f"/v1/queries/{above}")
        fourth, end = events.next(), events.next()
        assert fourth is not None
        assert end is not None
        assert [above] == list(fourth.data["gone"])
        assert ("end", "not-found") == (end.name, end.data["code"])
        assert events.next() is None
    here.wait_for(0)


def test_large_changes_come_in_several_events(here: Site):
    """Each of bounded size, one after the other, and nothing is left out."""
    queries = [here.register(SQL.replace("40", str(number))) for number in range(6)]
    here.rows(*({"ts": START_US, "sym": "z" * 400, "px": 99.0 + i} for i in range(10)))
    told: dict[str, int] = {}
    body = asked(dict.fromkeys(queries), max_bytes=12_000)
    with Events(here.address, "/v1/sync", body=body) as events:
        count = 0
        while len(told) < len(queries):
            event = events.next()
            assert event is not None
            told |= {one: len(found["rows"]) for one, found in event.data["results"].items()}
            count += 1
    assert count >= 3
    assert {10} == set(told.values())


def test_query_asks_the_same_as_post(here: Site):
    """It is safe to repeat: nothing is changed by it."""
    query = here.register()
    status, body = here.send("QUERY", "/v1/sync", asked({query: None}))
    assert (200, [query]) == (status, list(body["results"]))


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid-field"),
        ({"queries": {}}, 422, "invalid-field"),
        ({"queries": {NOBODY: {"since": 1}}}, 400, "unknown-field"),
        ({"queries": {NOBODY: {"cursor": 1}}}, 422, "invalid-field"),
        ({"queries": {NOBODY: {}}, "wait": -1}, 422, "invalid-field"),
        ({"queries": {NOBODY: {}}, "wait": True}, 422, "invalid-field"),
        ({"queries": {NOBODY: {}}, "on": "leave"}, 422, "invalid-field"),
        ({"queries": {NOBODY: {}}, "max_bytes": 0}, 422, "invalid-field"),
        ({"queries": {NOBODY: {}}, "cursor": ""}, 400, "unknown-field"),
    ],
)
def test_bodies_that_make_no_sense_are_refused(here: Site, body, status: int, code: str):
    """And nothing waits."""
    found, problem = here.send("POST", "/v1/sync", body)
    assert (status, code) == (found, problem["code"])
    assert 0 == here.room.statistics().waiting


def test_more_queries_than_the_limit_are_refused(here: Site):
    """By their number, with the limit; as many as it allows are not."""
    handles = [f"q_{number:022}" for number in range(limits.SYNC_QUERIES_MAX + 1)]
    status, problem = here.send("POST", "/v1/sync", asked(dict.fromkeys(handles)))
    assert status in (400, 422), problem
    answer = sync(here, dict.fromkeys(handles[:-1]))
    assert limits.SYNC_QUERIES_MAX == len(answer["gone"])
