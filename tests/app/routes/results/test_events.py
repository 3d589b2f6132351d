"""A stream of events tells what a query answers, then what changes, and ends in good order."""

import socket
import threading

import pytest

from psoup.app.waiting.pace import LATER_FACTOR, POLL_AFTER_MS
from psoup.engine import limits
from tests.app.routes.results.client import Client
from tests.app.routes.results.following import SQL, Event, Events, Site, site
from tests.app.support import START_US
from tests.patience import wait_until

pytestmark = pytest.mark.services


@pytest.fixture
def here():
    """A server with one stream."""
    with site() as one:
        yield one


def told(events: Events) -> Event:
    """Return the next event, which is one."""
    event = events.next()
    assert event is not None, "the stream goes on"
    return event


def test_it_tells_everything_and_then_what_changes(here: Site):
    """Each event is the envelope of an answer, and its id the cursor."""
    query = here.register()
    here.trade(0)
    with here.events(query) as events:
        assert "text/event-stream" in str(events.answer.headers["content-type"])
        assert "no-store, no-transform" == events.answer.headers["cache-control"]
        assert Event("retry", limits.EVENTS_RETRY_MS) == events.raw()
        first = told(events)
        assert ("result", True, [41.0]) == (
            first.name,
            first.data["reset"],
            [row["px"] for row in first.data["rows"]],
        )
        assert first.cursor == first.data["cursor"]
        here.trade(1, 50.0)
        second = told(events)
        assert (False, [50.0], 2) == (
            second.data["reset"],
            [row["px"] for row in second.data["rows"]],
            second.data["count"],
        )
        assert here.results(query, cursor=second.cursor)["rows"] == []


def test_what_does_not_match_is_not_told(here: Site):
    """A row of another stream, and one that the query does not want: the next event is of one that it does."""
    query = here.register()
    here.declare("others")
    with here.events(query) as events:
        told(events)
        here.wait_for(1)
        here.trade(0, 1.0)
        here.rows({"ts": START_US, "sym": "A", "px": 99.0}, name="others")
        here.trade(0, 42.0)
        assert [42.0] == [row["px"] for row in told(events).data["rows"]]


@pytest.mark.parametrize("how", ["header", "parameter"])
def test_a_client_goes_on_from_its_cursor(here: Site, how: str):
    """By the header that browsers send, or by the parameter: nothing is told twice and nothing left out."""
    query = here.register()
    here.trade(0)
    with here.events(query) as events:
        cursor = told(events).cursor
    assert cursor is not None
    here.trade(1, 43.0)
    resumed = (
        here.events(query, headers={"Last-Event-ID": cursor})
        if how == "header"
        else here.events(query, f"cursor={cursor}")
    )
    with resumed as events:
        event = told(events)
        assert (False, [43.0]) == (
            event.data["reset"],
            [row["px"] for row in event.data["rows"]],
        )


def test_connections_that_are_cut_lose_nothing(here: Site):
    """A client that is cut off again and again has in the end what a full answer shows."""
    query = here.register()
    client = Client()
    stop = threading.Event()

    def trade_on() -> None:
        for second in range(300):
            if stop.is_set():
                return
            here.trade(second, 30.0 + second % 20, f"S{second % 5}")

    trading = threading.Thread(target=trade_on)
    trading.start()
    for taken in range(1, 13):
        asked = client.cursor
        headers = {} if asked is None else {"Last-Event-ID": asked}
        with here.events(query, "on=any&linger=0", headers=headers) as events:
            for _ in range(taken % 4):  # now and then none is taken that was sent
                event = told(events)
                client.take(event.data, asked=asked)
                asked = client.cursor
    stop.set()
    trading.join()
    headers = {} if client.cursor is None else {"Last-Event-ID": client.cursor}
    whole = here.results(query)
    wanted = {row["_id"]: row for row in whole["rows"]}
    with here.events(query, headers=headers) as events:
        while client.rows != wanted:
            client.take(told(events).data, asked=client.cursor)
    assert client.rows == wanted
    assert whole["count"] == len(client.rows)


def test_a_large_answer_comes_in_events_of_bounded_size(here: Site):
    """The first says reset, the last has the cursor, and together they are the answer."""
    query = here.register()
    symbol = "x" * 1_000
    rows = [{"ts": START_US, "sym": symbol, "px": 41.0 + number} for number in range(200)]
    here.rows(*rows)
    client = Client()
    with here.events(query) as events:
        pages = [told(events)]
        while pages[-1].cursor is None:
            pages.append(told(events))
    assert len(pages) > 2
    assert [True] + [False] * (len(pages) - 1) == [page.data["reset"] for page in pages]
    assert all(len(str(page.data)) < 2 * limits.EVENT_BYTES_MAX for page in pages)
    for page in pages:
        client.take(page.data, asked=None)
    assert {row["_id"] for row in here.results(query, limit=500)["rows"]} == client.rows.keys()


def test_a_reader_that_is_slow_gets_the_sum_of_what_it_has_missed(here: Site):
    """While it reads nothing, nothing is kept for it; the events that it then reads are fewer than the changes."""
    query = here.register()
    client = Client()
    symbol = "y" * 4_000
    with here.events(query, "linger=0", receive_buffer=32_768) as events:
        client.take(told(events).data, asked=None)
        changes = 400
        for number in range(changes):
            here.trade(number, 41.0, symbol)
        missed = here.results(query, limit=1_000)
        taken = 0
        while len(client.rows) < missed["count"]:
            client.take(told(events).data, asked=client.cursor)
            taken += 1
    assert {row["_id"] for row in missed["rows"]} == client.rows.keys()
    assert taken < changes


def test_the_stream_of_a_removed_query_ends_with_a_problem(here: Site):
    """At once; and who comes again is told by the status."""
    query = here.register()
    with here.events(query) as events:
        told(events)
        here.wait_for(1)
        here.send("DELETE", f"/v1/queries/{query}")
        end = told(events)
        assert ("end", "not-found", 404) == (end.name, end.data["code"], end.data["status"])
        assert events.next() is None
    status, body = here.send("GET", f"/v1/queries/{query}/events")
    assert (404, "not-found") == (status, body["code"])


def test_the_stream_of_a_window_that_is_over_ends(here: Site):
    """With its last answer; a browser that comes again is told not to."""
    here.declare("arriving", time=None)  # nothing arrives in the past: the window is over
    query = here.register("SELECT px FROM arriving BEGIN ('2020-01-01') END ('2020-01-02')")
    with here.events(query) as events:
        event = told(events)
        assert (True, []) == (event.data["complete"], event.data["rows"])
        end = told(events)
        assert ("end", "query-complete") == (end.name, end.data["code"])
    assert (204, None) == here.send("GET", f"/v1/queries/{query}/events?cursor={event.cursor}")


def test_nothing_to_tell_is_said_now_and_then(here: Site, monkeypatch):
    """A comment, so that proxies and the network see that both sides are there."""
    monkeypatch.setattr(limits, "EVENTS_PING_S", 0.05)
    query = here.register()
    with here.events(query) as events:
        kinds = [event.name for event in (events.raw() for _ in range(5)) if event is not None]
    assert ["retry", "result", "ping", "ping", "ping"] == kinds


def test_a_stream_ends_in_good_order_after_a_while(here: Site, monkeypatch):
    """Its last chunk is there, so its reader knows that nothing is missing, and goes on with another."""
    monkeypatch.setattr(limits, "EVENTS_S", 0.2)
    query = here.register()
    with here.events(query) as events:
        cursor = told(events).cursor
        assert events.next() is None
    here.trade(0)
    with here.events(query, f"cursor={cursor}") as events:
        assert [41.0] == [row["px"] for row in told(events).data["rows"]]


def test_a_client_that_is_gone_is_forgotten(here: Site):
    """Its place, its watch and its slot."""
    query = here.register()
    with here.events(query) as events:
        told(events)
        here.wait_for(1)
    here.wait_for(0)
    status = here.send("GET", "/v1/limits")[1]
    assert (0, 0) == (
        status["use"]["requests_watching_max"],
        status["use"]["watched_queries_max"],
    )


def test_the_end_of_the_server_ends_the_stream(here: Site):
    """In good order: it is not waited for, and nothing is cut short."""
    query = here.register()
    with here.events(query) as events:
        told(events)
        here.wait_for(1)
        here.room.close()
        assert events.next() is None


def test_streams_give_way_to_requests_that_are_turned_away(here: Site):
    """They are told to come back later than usual, and end."""
    query = here.register()
    with here.events(query) as events:
        told(events)
        here.wait_for(1)
        here.room.relieve()
        later = events.raw()
        assert later is not None
        assert ("retry", True) == (later.name, later.data >= LATER_FACTOR * POLL_AFTER_MS)
        assert events.raw() is None


def test_rows_that_leave_are_told_to_who_asks_for_them(here: Site):
    """`on=any`: the client drops them by its own rule, and the count says so."""
    query = here.register(SQL.replace("'10' MINUTE", "'10' SECOND"))
    here.trade(0)
    with here.events(query, "on=any") as events:
        assert 1 == told(events).data["count"]
        here.wait_for(1)
        here.trade(60, 1.0)
        event = told(events)
        assert (0, [], False) == (
            event.data["count"],
            event.data["rows"],
            event.data["reset"],
        )


def test_what_leaves_by_the_clock_is_told_when_it_does(here: Site):
    """Nothing is appended, and nobody asks."""
    here.declare("arriving", time=None)
    query = here.register("SELECT px FROM arriving BEGIN (NOW - INTERVAL '1' SECOND) END (NOW)")
    with here.events(query, "on=any&linger=0") as events:
        told(events)
        here.rows({"sym": "A", "px": 1.0}, name="arriving")
        assert 1 == told(events).data["count"]
        assert 0 == told(events).data["count"]


def test_what_enters_by_the_clock_is_told_when_it_does(here: Site):
    """Also to who waits for rows that enter alone."""
    here.declare("arriving", time=None)
    query = here.register(
        "SELECT px FROM arriving BEGIN (NOW - INTERVAL '60' SECOND) END (NOW - INTERVAL '1' SECOND)"
    )
    with here.events(query, "linger=0") as events:
        told(events)
        here.rows({"sym": "A", "px": 7.0}, name="arriving")
        assert [7.0] == [row["px"] for row in told(events).data["rows"]]


def test_what_is_asked_for_wrongly_is_refused_before_it_begins(here: Site):
    """As any other request is."""
    query = here.register()
    for path, status, code in (
        (f"{query}/events?on=now", 422, "invalid-field"),
        (f"{query}/events?linger=soon", 422, "invalid-field"),
        (f"{query}/events?wait=5", 400, "unknown-field"),
        ("q_AAAAAAAAAAAAAAAAAAAAAA/events", 404, "not-found"),
    ):
        found, body = here.send("GET", f"/v1/queries/{path}")
        assert (status, code) == (found, body["code"]), path
    found, body = here.send("GET", f"/v1/queries/{query}/events", Accept="application/json")
    assert (406, "not-acceptable") == (found, body["code"])


def test_head_asks_for_the_head_alone(here: Site):
    """It is answered at once, and holds no place."""
    query = here.register()
    assert (200, None) == here.send("HEAD", f"/v1/queries/{query}/events")
    assert 0 == here.room.statistics().waiting


def test_many_are_told_the_same_by_one_answer(here: Site):
    """Those who stand at the same place."""
    query = here.register()
    with_events = [here.events(query, "linger=0") for _ in range(20)]
    try:
        for events in with_events:
            told(events)
        here.wait_for(20)
        computed = here.room.flights.statistics().computed
        here.trade(0)
        cursors = {told(events).cursor for events in with_events}
        assert 1 == len(cursors)
        wait_until(lambda: here.room.statistics().waiting == 20, "they wait again")
        assert here.room.flights.statistics().computed - computed < 10
    finally:
        for events in with_events:
            events.close()


def test_a_connection_is_used_on_after_a_stream(here: Site, monkeypatch):
    """A stream that has ended in good order leaves it as any answer does."""
    monkeypatch.setattr(limits, "EVENTS_S", 0.1)
    query = here.register()
    with socket.create_connection(here.address, timeout=30) as connection:
        file = connection.makefile("rb")
        head = f"GET /v1/queries/{query}/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.sendall(head.encode())
        while file.readline() != b"0\r\n":
            pass
        file.readline()
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert file.readline().startswith(b"HTTP/1.1 200")
