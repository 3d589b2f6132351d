"""Requests sent ahead of their turn, on the real server: each answer is that of its own request."""

import json

import pytest

from psoup.app.admission.shares import Shares
from psoup.app.connection.chunks import CHUNKS_AT_ONCE
from psoup.app.connection.protocol import BoundedProtocol
from psoup.app.connection.unparsed import PIECES_MAX
from psoup.app.settings import Settings
from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import served_application, wait_until_live
from tests.patience import wait_until

SETTINGS = Settings(store="memory://", port=0, requests_in_flight=1, shutdown_s=5)
BODY = b'{"columns":[{"name":"a","type":"string"}]}'
DECLARES = head("PUT", "/v1/streams/s", f"Content-Length: {len(BODY)}") + BODY


@pytest.fixture
def one_at_a_time():
    """Yield a server that works on one request at a time, and its application."""
    with served_application(SETTINGS) as (address, app):
        wait_until_live(app)
        yield address, app


@pytest.mark.parametrize("seen", [1, 2, 3])
def test_an_empty_line_in_two_parts_ends_a_request_as_well(one_at_a_time, seen):
    """What follows it waits for its turn, and is not turned away in front of the answer before it."""
    first, second = head("GET", "/v1/streams"), head("GET", "/v1/queries")
    with connected(one_at_a_time[0]) as client:
        client.sendall(head("GET", "/healthz") + first[: seen - 4])
        assert 200 == read_answer(client)[0]  # the beginning has been parsed, or is next
        client.sendall(first[seen - 4 :] + second)
        for member in ("streams", "queries"):
            status, _, body = read_answer(client)
            assert (200, True) == (status, member in json.loads(body))


def test_a_request_is_answered_though_those_behind_it_find_no_room(one_at_a_time, monkeypatch):
    """What was done is told; the connection ends behind it, as those that were thrown away have no answer."""
    address, app = one_at_a_time
    monkeypatch.setattr(app.state.context.front.traffic, "unparsed", Shares(1))
    with connected(address) as client:
        client.sendall(DECLARES + head("GET", "/v1/streams/s") * 2)
        status, headers, _ = read_answer(client)
        assert (201, "close") == (status, headers.get("connection"))
        assert b"" == client.recv(1)


@pytest.fixture
def resting(monkeypatch) -> list[BoundedProtocol]:
    """Connections in the order in which they have released their parsers."""
    released: list[BoundedProtocol] = []
    release = BoundedProtocol.release_parser

    def releasing(self: BoundedProtocol) -> None:
        release(self)
        released.append(self)

    monkeypatch.setattr(BoundedProtocol, "release_parser", releasing)
    return released


def ask(address, method, path, body=b""):
    """Return what a request on a connection of its own is answered with."""
    with connected(address) as client:
        client.sendall(head(method, path, f"Content-Length: {len(body)}") + body)
        return json.loads(read_answer(client)[2])


@pytest.mark.parametrize("ahead", [0, 9])
def test_a_connection_that_rests_parses_the_request_behind_as_any_other(resting, ahead):
    """It rests without a parser, unless bytes of that request have come; a bad one behind it is refused."""
    following, bad = head("GET", "/v1/streams/s"), b"no request\r\n\r\n"
    with served_application(Settings(store="memory://", port=0)) as (address, app):
        ask(address, "PUT", "/v1/streams/s", BODY)
        query = ask(address, "POST", "/v1/queries", b'{"sql":"SELECT a FROM s"}')["id"]
        results = f"/v1/queries/{query}/results"
        cursor = ask(address, "GET", results)["cursor"]
        with connected(address) as client:
            client.sendall(head("GET", f"{results}?cursor={cursor}&wait=60") + following[:ahead])
            room = app.state.context.room
            wait_until(lambda: room.statistics().waiting == 1, "it waits")
            assert ([] if ahead else [None]) == [one.parser for one in resting]
            client.sendall(following[ahead:] + bad)
            ask(address, "POST", "/v1/streams/s/rows", b'[{"a":"x"}]')
            answers = [read_answer(client) for _ in range(3)]
    assert [200, 200, 400] == [status for status, *_ in answers]
    changed, described = (json.loads(body) for _, _, body in answers[:2])
    assert (["x"], "s") == ([row["a"] for row in changed["rows"]], described["name"])


CHUNKED = head("POST", "/v1/streams/lines/rows", "Transfer-Encoding: chunked")
CHUNKS = CHUNKED + b"1\r\na\r\n" * (4 * CHUNKS_AT_ONCE * PIECES_MAX) + b"0\r\n\r\n"
EMPTY_LINES = b"\r\n\r\n" * 10_000


@pytest.fixture
def pieces(one_at_a_time, monkeypatch) -> list[list[int]]:
    """Of each turn in which the parser works, the sizes of what it is given; the stream `lines` is declared."""
    turns: list[list[int]] = []
    parse, feed = BoundedProtocol._parse, BoundedProtocol._feed

    def parsing(self: BoundedProtocol) -> None:
        turns.append([])
        parse(self)

    def feeding(self: BoundedProtocol, piece: bytes) -> None:
        turns[-1].append(len(piece))
        feed(self, piece)

    with connected(one_at_a_time[0]) as client:
        client.sendall(DECLARES.replace(b"/s ", b"/lines "))
        assert read_answer(client)[0] in {200, 201}
    monkeypatch.setattr(BoundedProtocol, "_parse", parsing)
    monkeypatch.setattr(BoundedProtocol, "_feed", feeding)
    return turns


def test_a_body_of_countless_chunks_leaves_others_their_turns(one_at_a_time, pieces):
    """It is parsed in as many turns of the loop as it takes, to its end."""
    with connected(one_at_a_time[0]) as client:
        client.sendall(CHUNKS)
        assert 400 == read_answer(client)[0]
    assert len(pieces) >= 4
    assert max(map(len, pieces)) <= PIECES_MAX
    assert max(map(max, filter(None, pieces))) <= max(len(CHUNKED), 6 * CHUNKS_AT_ONCE)


def test_empty_lines_in_a_chunk_cost_what_other_data_cost(one_at_a_time, pieces):
    """The parser is given all of what has arrived of a chunk."""
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(EMPTY_LINES), EMPTY_LINES)
    with connected(one_at_a_time[0]) as client:
        client.sendall(CHUNKED + body + head("GET", "/healthz"))
        assert [400, 200] == [read_answer(client)[0] for _ in range(2)]
    data = [size for turn in pieces for size in turn]
    assert len(CHUNKED + body + head("GET", "/healthz")) == sum(data)
    assert len(data) < 100


def test_a_few_empty_lines_may_come_in_front_of_a_request(one_at_a_time, pieces):
    """The parser sees none of them; past a bound the connection ends."""
    asks, few = head("GET", "/healthz"), b"\r\n" * (limits.BLANK_BYTES_MAX // 2)
    with connected(one_at_a_time[0]) as client:
        for _ in range(3):
            client.sendall(few + asks)
            assert 200 == read_answer(client)[0]
        client.sendall(few)
        client.sendall(b"\n" + asks)
        status, headers, body = read_answer(client)
    assert (400, "framing", "close") == (status, json.loads(body)["code"], headers["connection"])
    assert 3 * len(asks) == sum(map(sum, pieces))


def test_empty_lines_keep_no_connection_open():
    """A client that begins no request is idle, whatever line ends it sends."""
    settings = Settings(store="memory://", port=0, keep_alive_s=1)
    with served_application(settings) as (address, _), connected(address) as client:
        client.sendall(b"\r\n")
        assert b"" == client.recv(1)
        with connected(address) as another:
            another.sendall(head("GET", "/healthz"))
            assert 200 == read_answer(another)[0]
            another.sendall(b"\r\n")
            assert b"" == another.recv(1)


def test_a_body_that_finds_no_room_on_its_way_is_refused(one_at_a_time, monkeypatch):
    """It is not whole: nothing was done."""
    monkeypatch.setattr(one_at_a_time[1].state.context.front.traffic, "unparsed", Shares(1))
    with connected(one_at_a_time[0]) as client:
        client.sendall(CHUNKS)
        status, _, body = read_answer(client)
        assert (503, "memory") == (status, json.loads(body)["reason"])
