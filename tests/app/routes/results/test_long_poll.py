"""A request that waits is answered when there is something new for its client, or when its time is over."""

import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from psoup.engine import limits
from tests.app.raw_http import head, read_answer
from tests.app.routes.results.client import Client
from tests.app.routes.results.following import SQL, Site, site
from tests.app.support import START_US
from tests.patience import wait_until

pytestmark = pytest.mark.services
LONG_S = 50
"""Longer than any of these tests takes where it does what it should."""


@pytest.fixture
def here():
    """A server with one stream."""
    with site() as one:
        yield one


@pytest.fixture
def pool():
    """Threads for those who wait."""
    with ThreadPoolExecutor(8) as threads:
        yield threads


def poll(here: Site, pool: ThreadPoolExecutor, query: str, **parameters: Any) -> Future[Any]:
    """Ask and wait, in a thread."""
    return pool.submit(here.results, query, **{"wait": LONG_S, **parameters})


def test_a_wait_ends_with_a_row_that_enters(here: Site, pool: ThreadPoolExecutor):
    """And with nothing else: rows of others, and those that do not match, leave it waiting."""
    query = here.register()
    here.declare("others")
    here.trade(0)
    cursor = here.results(query)["cursor"]
    waits = poll(here, pool, query, cursor=cursor)
    here.wait_for(1)
    here.trade(1, 1.0)
    here.rows({"ts": START_US, "sym": "A", "px": 99.0}, name="others")
    assert not waits.done()
    seq = here.trade(1, 55.0)
    answer = waits.result()
    assert ([55.0], False, 2) == (
        [row["px"] for row in answer["rows"]],
        answer["reset"],
        answer["count"],
    )
    assert answer["seq"] >= seq
    here.wait_for(0)


def test_what_is_new_already_is_not_waited_for(here: Site):
    """Nor is a first load."""
    query = here.register()
    first = here.results(query, wait=LONG_S)
    assert first["reset"]
    here.trade(0)
    answer = here.results(query, wait=LONG_S, cursor=first["cursor"])
    assert [41.0] == [row["px"] for row in answer["rows"]]
    assert here.results(query, wait=LONG_S, cursor="")["reset"]
    assert here.results(query, wait=LONG_S, cursor="of_another_time")["reset"]


def test_a_wait_that_sees_nothing_ends_with_the_same_cursor(here: Site):
    """200, or 304 where the client says what it has; neither is to be kept by a cache."""
    query = here.register()
    here.trade(0)
    cursor = here.results(query)["cursor"]
    answer = here.results(query, wait="100ms", cursor=cursor)
    assert (cursor, [], 1, False) == (
        answer["cursor"],
        answer["rows"],
        answer["count"],
        answer["reset"],
    )
    path = f"/v1/queries/{query}/results?cursor={cursor}"
    with socket.create_connection(here.address, timeout=60) as connection:
        connection.sendall(head("GET", path))
        _, headers, _ = read_answer(connection)
        assert "no-store" not in headers["cache-control"]
        tag = headers["etag"]
        connection.sendall(head("GET", path, f"If-None-Match: {tag}", "Prefer: wait=1"))
        status, headers, _ = read_answer(connection, has_body=False)
        assert (304, "no-store", tag) == (status, headers["cache-control"], headers["etag"])


def test_prefer_waits_as_the_parameter_does(here: Site, pool: ThreadPoolExecutor):
    """The parameter goes before it."""
    query = here.register()
    here.trade(0)
    cursor = here.results(query)["cursor"]
    path = f"/v1/queries/{query}/results?cursor={cursor}"
    waits = pool.submit(here.send, "GET", path, None, Prefer=f"respond-async, wait={LONG_S}")
    here.wait_for(1)
    begun_s = time.monotonic()
    assert 200 == here.send("GET", f"{path}&wait=0", None, Prefer=f"wait={LONG_S}")[0]
    assert time.monotonic() - begun_s < LONG_S
    here.trade(1)
    status, answer = waits.result()
    assert (200, 1) == (status, len(answer["rows"]))


def test_rows_that_leave_end_the_wait_of_who_asks_for_them(here: Site, pool: ThreadPoolExecutor):
    """`on=any`; by default it goes on, also where rows have left since the cursor was given."""
    query = here.register(SQL.replace("'10' MINUTE", "'10' SECOND"))
    here.trade(0)
    cursor = here.results(query)["cursor"]
    entering = poll(here, pool, query, cursor=cursor)
    anything = poll(here, pool, query, cursor=cursor, on="any")
    here.wait_for(2)
    here.trade(60, 1.0)
    assert 0 == anything.result()["count"]
    assert not entering.done()
    later = poll(here, pool, query, cursor=cursor)
    here.wait_for(2)
    here.trade(61, 77.0)
    for one in (entering, later):
        assert [77.0] == [row["px"] for row in one.result()["rows"]]


def test_a_count_is_waited_for_as_its_rows_are(here: Site, pool: ThreadPoolExecutor):
    """One row that enters where one leaves is news, though as many are there as before; one that leaves is none."""
    query = here.register(SQL.replace("'10' MINUTE", "'10' SECOND"))
    here.trade(0)
    cursor = here.results(query, count="only")["cursor"]
    here.trade(20, 1.0)
    waits = poll(here, pool, query, cursor=cursor, count="only")
    here.wait_for(1)
    assert not waits.done()
    here.trade(21, 77.0)
    here.wait_for(0)
    answer = waits.result()
    assert (1, False) == (answer["count"], answer["reset"])
    assert answer["cursor"] != cursor
    at_once = here.results(query, cursor=cursor, count="only", wait=LONG_S)
    assert answer["cursor"] == at_once["cursor"]
    here.wait_for(0)


def test_the_clock_ends_a_wait(here: Site):
    """Rows that leave, for `any`; rows that enter, for all: at the instant, with nothing appended."""
    here.declare("arriving", time=None)
    leaving = here.register("SELECT px FROM arriving BEGIN (NOW - INTERVAL '1' SECOND) END (NOW)")
    entering = here.register(
        "SELECT px FROM arriving BEGIN (NOW - INTERVAL '60' SECOND) END (NOW - INTERVAL '1' SECOND)"
    )
    before = here.results(entering)
    here.rows({"sym": "A", "px": 8.0}, name="arriving")
    first = here.results(leaving, on="any")
    entered = here.results(entering, wait=LONG_S, cursor=before["cursor"])
    assert [8.0] == [row["px"] for row in entered["rows"]]
    left = here.results(leaving, on="any", wait=LONG_S, cursor=first["cursor"])
    assert 0 == left["count"]
    assert here.room.statistics().alarms.rung >= 1


def test_linger_makes_one_answer_of_what_comes_together(
    here: Site, pool: ThreadPoolExecutor, waiting_clock
):
    """Rows of several batches, after a wait that has lasted longer."""
    query = here.register()
    here.trade(0)
    cursor = here.results(query)["cursor"]
    waits = poll(here, pool, query, cursor=cursor, linger="5s")
    here.wait_for(1)
    waiting_clock.monotonic = lambda: time.monotonic() + 6
    for second in range(1, 6):
        here.trade(second)
    assert 5 == len(waits.result()["rows"])


def test_a_query_that_is_removed_ends_the_wait(here: Site, pool: ThreadPoolExecutor):
    """As not found."""
    query = here.register()
    here.trade(0)
    cursor = here.results(query)["cursor"]
    path = f"/v1/queries/{query}/results?cursor={cursor}&wait={LONG_S}"
    waits = pool.submit(here.send, "GET", path)
    here.wait_for(1)
    here.send("DELETE", f"/v1/queries/{query}")
    status, body = waits.result()
    assert (404, "not-found") == (status, body["code"])


def test_a_client_that_has_gone_is_forgotten(here: Site):
    """Though nothing happens, and nothing could be sent to it."""
    query = here.register()
    cursor = here.results(query)["cursor"]
    with socket.create_connection(here.address, timeout=60) as connection:
        connection.sendall(
            head("GET", f"/v1/queries/{query}/results?cursor={cursor}&wait={LONG_S}")
        )
        here.wait_for(1)
    here.wait_for(0)
    assert 1 == here.room.statistics().left
    wait_until(lambda: here.send("GET", "/v1/limits")[1]["use"]["requests_watching_max"] == 0, "")


def test_the_end_of_the_server_ends_the_wait(here: Site, pool: ThreadPoolExecutor):
    """With an ordinary answer: nothing is new."""
    query = here.register()
    cursor = here.results(query)["cursor"]
    waits = poll(here, pool, query, cursor=cursor)
    here.wait_for(1)
    here.room.close()
    assert ([], cursor) == (waits.result()["rows"], waits.result()["cursor"])


def test_waits_give_way_to_requests_that_are_turned_away(here: Site, pool: ThreadPoolExecutor):
    """They end as if their time were up, and are asked to come back later than usual."""
    query = here.register()
    cursor = here.results(query)["cursor"]
    usual_ms = here.results(query, cursor=cursor)["poll_after_ms"]
    waits = poll(here, pool, query, cursor=cursor)
    here.wait_for(1)
    here.room.relieve()
    shed = waits.result()
    assert (cursor, []) == (shed["cursor"], shed["rows"])
    assert shed["poll_after_ms"] > usual_ms
    refused = here.results(query, cursor=cursor, wait=LONG_S)
    assert refused["poll_after_ms"] > usual_ms
    assert 2 == here.room.statistics().shed


def test_more_waits_than_there_is_room_for_are_answered_at_once(here: Site, monkeypatch):
    """The others wait on."""
    monkeypatch.setattr(limits, "WATCHED_QUERIES_MAX", 0)
    query = here.register()
    cursor = here.results(query)["cursor"]
    answer = here.results(query, cursor=cursor, wait=LONG_S)
    assert (cursor, []) == (answer["cursor"], answer["rows"])


@pytest.mark.parametrize(
    "parameters",
    [
        "wait=-1",
        "wait=soon",
        "wait=1e3",
        "on=leave",
        "linger=1m",
        "wait=5&now=2026-11-21T10:00:00Z",
        "wait=5&history=true",
    ],
)
def test_waits_that_make_no_sense_are_refused(here: Site, parameters: str):
    """With the parameter, and what was expected."""
    query = here.register()
    status, body = here.send("GET", f"/v1/queries/{query}/results?{parameters}")
    assert (422, "invalid-field") == (status, body["code"])
    assert body["errors"][0]["pointer"].strip("?") in parameters


def test_clients_that_come_back_by_waiting_have_what_a_full_answer_shows(
    here: Site, pool: ThreadPoolExecutor
):
    """However changes fall between their look and their wait."""
    query = here.register(SQL.replace("'10' MINUTE", "'30' SECOND"))
    stop = threading.Event()

    def follow(on: str) -> Client:
        client = Client()
        while not (stop.is_set() and _is_level(client)):
            asked = client.cursor
            answer = here.results(query, cursor=asked or "", wait="300ms", on=on, linger=0, limit=9)
            client.take(answer, asked=asked)
            while answer["next"] is not None:
                status, answer = here.send("GET", answer["next"])
                if status != 200:
                    break
                client.take(answer, asked=asked)
        return client

    def _is_level(client: Client) -> bool:
        whole = here.results(query, limit=1_000)
        return {row["_id"] for row in whole["rows"]} == client.rows.keys()

    followers = [pool.submit(follow, on) for on in ("enter", "any", "enter")]
    for second in range(150):
        here.trade(second, 30.0 + second % 20)
    stop.set()
    whole = {row["_id"]: row for row in here.results(query, limit=1_000)["rows"]}
    for one in followers:
        assert whole == one.result().rows
