"""AdmissionSlots for requests, on the real server: who finds none is turned away at once, and nothing else suffers."""

import contextlib
import dataclasses
import json
import socket
import time
from collections.abc import Iterator

import pytest

from psoup.app.admission.slots import AdmissionSlots, waiting
from psoup.app.connection.lingering import LINGER_S
from psoup.app.http.front import Front
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import OverloadedError
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import Address, served, served_application
from tests.patience import wait_until

ORIGIN = "https://a.example"
SETTINGS = Settings(
    store="memory://", port=0, requests_in_flight=1, cors_origins=(ORIGIN,), shutdown_s=5
)
BODY = b'{"columns":[{"name":"a","type":"string"}]}'
BEGUN = head("PUT", "/v1/streams/s", f"Content-Length: {len(BODY)}")


@contextlib.contextmanager
def full_server(settings: Settings) -> Iterator[Address]:
    """Yield the address of a server whose only slot for work is taken."""
    with served_application(settings) as (where, app):
        front: Front = app.state.context.front
        with front.slots.enter("/taken", "elsewhere", reads=False):
            yield where


@pytest.fixture(scope="module")
def full():
    """The same, for all tests."""
    with full_server(SETTINGS) as where:
        yield where


@pytest.fixture
def asking(full):
    """A connection to it."""
    with connected(full) as connection:
        yield connection


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_requests_past_their_number_are_turned_away_and_their_connection_stays(asking, method):
    """503 with a time to come back; as often as one likes."""
    for _ in range(3):
        asking.sendall(head(method, "/v1/queries"))
        status, headers, problem = read_answer(asking, has_body=method == "GET")
        assert 503 == status
        assert int(headers["retry-after"]) >= 1
        assert headers["request-id"]
        assert "connection" not in headers
        if method == "GET":
            assert "requests-in-flight" == json.loads(problem)["reason"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_who_watches_over_the_service_is_answered(asking, path):
    """Also when there is no slot for anybody else."""
    asking.sendall(head("GET", path))
    assert 200 == read_answer(asking)[0]


def test_pages_of_other_origins_may_read_the_refusal(asking):
    """The preflight passes, and the refusal shows its headers to the page; to no other page."""
    asks = ("Access-Control-Request-Method: GET",)
    asking.sendall(head("OPTIONS", "/v1/queries", f"Origin: {ORIGIN}", *asks))
    assert 200 == read_answer(asking)[0]
    for origin in (ORIGIN, "https://b.example"):
        asking.sendall(head("GET", "/v1/queries", f"Origin: {origin}"))
        status, headers, _ = read_answer(asking)
        assert 503 == status
        shown = headers.get("access-control-expose-headers", "")
        assert (origin == ORIGIN) == ("Retry-After" in shown)
        assert (origin == ORIGIN) == (origin == headers.get("access-control-allow-origin"))


def test_small_bodies_are_dropped_and_others_end_the_connection(full, asking):
    """A body that follows is thrown away, however it is cut; one that is long, or of unknown length, is not awaited."""
    asking.sendall(BEGUN + BODY[:7])
    assert 503 == read_answer(asking)[0]
    asking.sendall(BODY[7:] + head("GET", "/healthz"))
    assert 200 == read_answer(asking)[0]
    for lines in [("Transfer-Encoding: chunked",), (f"Content-Length: {limits.MIB}",)]:
        with connected(full) as another:
            another.sendall(head("PUT", "/v1/streams/s", *lines))
            status, headers, _ = read_answer(another)
            assert (503, "close") == (status, headers["connection"])
            assert b"" == another.recv(1)
    with connected(full) as another:
        another.sendall(BEGUN)
        assert 503 == read_answer(another)[0]
        assert b"" == another.recv(1), "for a body that stays away nobody waits"


def test_what_stands_behind_a_refusal_that_closes_is_not_looked_at(full, caplog):
    """One answer, then the end; and nothing goes wrong inside."""
    with connected(full) as another:
        chunked = head("POST", "/v1/streams/s/rows", "Transfer-Encoding: chunked")
        another.sendall(chunked + b"1\r\na\r\n0\r\n\r\n" + head("GET", "/healthz") * 2)
        assert 503 == read_answer(another)[0]
        assert b"" == another.recv(1)
    assert [] == [one for one in caplog.records if one.levelname == "ERROR"]


def test_old_clients_are_closed(full):
    """HTTP/1.0 that asks to be kept alive is not told that it is."""
    with connected(full) as another:
        another.sendall(b"GET /v1/queries HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        status, headers, _ = read_answer(another)
        assert (503, "close") == (status, headers["connection"])
        assert b"" == another.recv(1)


def test_idle_connections_end_whether_they_were_turned_away_or_not():
    """A body that came in a packet of its own leaves the connection as idle as any other."""
    settings = dataclasses.replace(SETTINGS, keep_alive_s=1)
    with full_server(settings) as where, connected(where) as asking:
        asking.sendall(BEGUN)
        assert 503 == read_answer(asking)[0]
        asking.sendall(BODY)
        assert b"" == asking.recv(1)


def test_as_many_bodies_are_read_as_there_are_places_for_one_address():
    """Heads that arrive together, alone or behind another request, do not pass each other's slot."""
    settings = Settings(store="memory://", port=0, requests_reading=4, shutdown_s=5)
    with served(settings) as where, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(where)) for _ in range(60)]
        for number, client in enumerate(clients):
            client.sendall(BEGUN if number % 2 else head("GET", "/healthz") + BEGUN)
        for client in clients[::2]:
            assert 200 == read_answer(client)[0]
        wait_until(lambda: sum(map(answered, clients)) >= 57, "all but three are turned away")
        assert 57 == sum(map(answered, clients))


def answered(client: socket.socket) -> bool:
    """Return whether there is something to read, and leave it there."""
    client.setblocking(False)
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def test_connections_past_their_number_keep_nobody_out_for_long():
    """Crowds that are silent take a few files for a moment, and not the room of those who leave."""
    settings = dataclasses.replace(SETTINGS, connections=4)
    with served(settings) as where, contextlib.ExitStack() as stack:
        kept = [stack.enter_context(connected(where)) for _ in range(4)]
        for one in kept:
            one.sendall(head("GET", "/healthz"))
            assert 200 == read_answer(one)[0]
        begun_s = time.monotonic()
        crowd = [stack.enter_context(connected(where)) for _ in range(300)]
        told = 0
        for one in crowd:
            with contextlib.suppress(ConnectionResetError):
                told += read_answer(one)[0] == 503
        assert 1 <= told < 300 or time.monotonic() - begun_s > LINGER_S
        kept[0].sendall(head("GET", "/healthz", "Connection: close"))
        assert 200 == read_answer(kept[0])[0]
        assert b"" == kept[0].recv(1)
        with connected(where) as another:
            another.sendall(head("GET", "/healthz"))
            assert 200 == read_answer(another)[0]


HERE, THERE = "10.0.0.1", "10.0.0.2"


def test_places_are_kept_for_those_expected_until_the_turn_ends():
    """Expected ones count, begun ones too, free ones never; what is expected and never begins is forgotten."""
    slots = AdmissionSlots(working=2, reading=1, waiting=1, watching=1, free=["/healthz"])
    found = [slots.expect(path, HERE, reads=False) for path in ("/a", "/b", "/c", "/healthz")]
    assert [True, True, False, True] == found
    slots.end_turn()
    slots.check()
    assert slots.expect("/d", HERE, reads=False)
    slots.end_turn()
    with slots.enter("/d", HERE, reads=False):
        slots.enter("/e", HERE, reads=False)
        slots.enter("/healthz", HERE, reads=False)
        with pytest.raises(OverloadedError):
            slots.enter("/f", HERE, reads=False)
    slots.check()
    assert (1, 2) == (slots.statistics().working, slots.statistics().turned_away)


def test_those_expected_to_read_and_to_work_keep_each_its_own_kind():
    """Bodies of one turn take no slots for work, nor of another client's share, and nothing else takes theirs."""
    slots = AdmissionSlots(working=2, reading=8, waiting=1, watching=1)
    found = [slots.expect("/a", f"10.0.0.{number % 2}", reads=True) for number in range(8)]
    assert [True] * 8 == found, "four each, and none of those for work"
    assert not slots.expect("/a", HERE, reads=True)
    slots.end_turn()
    slots.check()
    assert (0, 0, 0) == counts(slots)
    assert [True, True, False] == [slots.expect("/a", HERE, reads=False) for _ in range(3)]
    slots.end_turn()
    assert slots.expect("/a", HERE, reads=False)
    assert slots.expect("/a", HERE, reads=True)
    slots.end_turn()
    slots.check()
    assert (0, 0, 0) == counts(slots)


def test_places_for_reading_and_waiting_are_not_those_for_work():
    """A request moves from one to the other; what was begun works on, and keeps new ones out until it has ended."""
    slots = AdmissionSlots(working=1, reading=4, waiting=4, watching=1)
    slow = [slots.enter("/a", HERE, reads=True) for _ in range(3)]
    assert not slots.expect("/a", HERE, reads=True), "its share is three of four"
    assert slots.expect("/a", THERE, reads=True)
    slots.end_turn()
    working = slots.enter("/a", HERE, reads=False)
    assert not slots.expect("/a", THERE, reads=True), "what reads will want to work"
    with working, waiting() as may_wait:
        assert may_wait
        assert (0, 3, 1) == counts(slots)
        for one in slow:
            one.work()
        slots.check()
        assert (3, 0, 1) == counts(slots)
    for one in slow:
        with one:
            pass
    assert (0, 0, 0) == counts(slots)
    slots.check()


def test_who_has_its_share_of_those_that_wait_does_without():
    """It goes on with what it has; others may wait, and what is no request."""
    slots = AdmissionSlots(working=9, reading=1, waiting=4, watching=1)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(slots.enter("/a", HERE, reads=False))
            assert stack.enter_context(waiting())
        with slots.enter("/a", HERE, reads=False):
            with waiting() as may_wait:
                assert not may_wait
            assert (1, 0, 3) == counts(slots)
        with slots.enter("/a", THERE, reads=False), waiting() as may_wait:
            assert may_wait
    with waiting() as may_wait:
        assert may_wait
    assert (0, 0, 0) == counts(slots)
    slots.check()


def test_a_key_has_one_share_wherever_it_comes_from():
    """What counted as its address's counts as the key's once that is known."""
    slots = AdmissionSlots(working=9, reading=4, waiting=1, watching=1)
    for number in range(3):
        slots.enter("/a", f"10.0.0.{number}", reads=True).charge_to("key")
    with slots.enter("/a", HERE, reads=True) as other, pytest.raises(OverloadedError):
        other.charge_to("key")
    slots.check()
    assert (0, 3, 0) == counts(slots)
    assert 1 == slots.statistics().turned_away


def test_the_last_place_may_become_that_of_a_key():
    """It is there already: no other is asked for."""
    slots = AdmissionSlots(working=9, reading=2, waiting=1, watching=1)
    with slots.enter("/a", HERE, reads=True), slots.enter("/a", THERE, reads=True) as last:
        last.charge_to("key")
        assert (0, 2, 0) == counts(slots)
        slots.check()
    assert (0, 0, 0) == counts(slots)
    slots.check()


def test_watching_has_slots_of_its_own_to_the_end_of_a_request():
    """No client has more than its share, those that work are as many as before, and all is released."""
    slots = AdmissionSlots(working=1, reading=1, waiting=1, watching=4)
    refused: list[str] = []
    slots.when_full(lambda: refused.append("full"))
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            slot = stack.enter_context(slots.enter("/a", HERE, reads=False))
            assert slot.watch()
        fourth = stack.enter_context(slots.enter("/a", HERE, reads=False))
        assert not fourth.watch(), "its share is three of four"
        assert (1, 0, 0) == counts(slots)
        assert 3 == slots.statistics().watching
        assert [] == refused
        with pytest.raises(OverloadedError):
            slots.enter("/a", THERE, reads=False)
        assert ["full"] == refused
        slots.check()
    assert (0, 0, 0) == counts(slots)
    assert 0 == slots.statistics().watching
    slots.check()


def counts(slots: AdmissionSlots) -> tuple[int, int, int]:
    """Return how many work, read and wait."""
    statistics = slots.statistics()
    return statistics.working, statistics.reading, statistics.waiting


def test_a_client_past_its_share_makes_nobody_give_way():
    """It is turned away, and others find slots; who finds none because all are taken makes others give way."""
    slots = AdmissionSlots(working=9, reading=4, waiting=1, watching=1)
    refused: list[str] = []
    slots.when_full(lambda: refused.append("full"))
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(slots.enter("/a", HERE, reads=True))
        assert not slots.expect("/a", HERE, reads=True), "its share is three of four"
        with pytest.raises(OverloadedError):
            slots.enter("/a", HERE, reads=True)
        other = stack.enter_context(slots.enter("/a", THERE, reads=True))
        with pytest.raises(OverloadedError):
            other.charge_to(HERE)
        assert (3, []) == (slots.statistics().turned_away, refused)
        assert not slots.expect("/a", THERE, reads=True), "all are taken"
        assert ["full"] == refused
