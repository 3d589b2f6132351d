"""Places for requests, on the real server: who finds none is turned away at once, and nothing else suffers."""

import contextlib
import dataclasses
import json
import socket
import time

import pytest

from app.places import Places
from app.protocol import LINGER_S
from app.settings import Settings
from engine import limits
from engine.errors import OverloadedError
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import served
from tests.patience import WAIT_S

ORIGIN = "https://a.example"
SETTINGS = Settings(
    store="memory://", port=0, requests_in_flight=1, cors_origins=(ORIGIN,), shutdown_s=5
)
BODY = b'{"columns":[{"name":"a","type":"string"}]}'
BEGUN = head("PUT", "/v1/streams/s", f"Content-Length: {len(BODY)}")


@pytest.fixture(scope="module")
def full():
    """Yield the address of a server whose only place is taken."""
    with served(SETTINGS) as where, connected(where) as working, connected(where) as asking:
        working.sendall(BEGUN + BODY[:5])
        await_taken(asking)
        yield where


@pytest.fixture
def asking(full):
    """A connection to it."""
    with connected(full) as connection:
        yield connection


def await_taken(asking: socket.socket) -> None:
    """Wait until another connection's request has taken the only place: until one is turned away."""
    latest_s = time.monotonic() + WAIT_S
    status = 200
    while status == 200 and time.monotonic() < latest_s:
        asking.sendall(head("GET", "/v1/queries"))
        status, _, _ = read_answer(asking)
    assert 503 == status


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
    """Also when there is no place for anybody else."""
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
    with served(settings) as where, connected(where) as working, connected(where) as asking:
        working.sendall(BEGUN + BODY[:5])
        await_taken(asking)
        asking.sendall(BEGUN)
        assert 503 == read_answer(asking)[0]
        asking.sendall(BODY)
        assert b"" == asking.recv(1)


def test_as_many_as_there_are_places_are_worked_on():
    """Heads that arrive together, alone or behind another request, do not pass each other's place."""
    settings = dataclasses.replace(SETTINGS, requests_in_flight=2)
    with served(settings) as where, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(where)) for _ in range(60)]
        for number, client in enumerate(clients):
            client.sendall(BEGUN if number % 2 else head("GET", "/healthz") + BEGUN)
        turned_away = 0
        for number, client in enumerate(clients):
            if number % 2 == 0:
                assert 200 == read_answer(client)[0]
        with connected(where) as asking:
            await_taken(asking)
        latest_s = time.monotonic() + WAIT_S
        while turned_away < 58 and time.monotonic() < latest_s:
            turned_away = sum(answered(client) for client in clients)
        assert 58 == turned_away


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


def test_places_are_kept_for_those_expected_until_the_turn_ends():
    """Expected ones count, begun ones too, free ones never; what is expected and never begins is forgotten."""
    places = Places(2, free=["/healthz"])
    assert [True, True, False, True] == [places.expect(p) for p in ("/a", "/b", "/c", "/healthz")]
    places.end_turn()
    places.check()
    assert places.expect("/d")
    places.end_turn()
    places.enter("/d")
    places.enter("/e")
    with pytest.raises(OverloadedError):
        places.enter("/f")
    places.enter("/healthz")
    places.leave("/healthz")
    places.leave("/d")
    places.check()
    assert (1, 2) == (places.statistics().taken, places.statistics().turned_away)
