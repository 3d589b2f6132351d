"""Requests sent ahead of their turn, on the real server: each answer is that of its own request."""

import json

import pytest

from app.connection.unparsed import PIECES_MAX
from app.protocol import BoundedProtocol
from app.settings import Settings
from app.shares import Shares
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import served_application

SETTINGS = Settings(store="memory://", port=0, requests_in_flight=1, shutdown_s=5)
BODY = b'{"columns":[{"name":"a","type":"string"}]}'
DECLARES = head("PUT", "/v1/streams/s", f"Content-Length: {len(BODY)}") + BODY


@pytest.fixture(scope="module")
def server():
    """Yield a server that works on one request at a time, and its application."""
    with served_application(SETTINGS) as one:
        yield one


@pytest.mark.parametrize("seen", [1, 2, 3])
def test_an_empty_line_in_two_parts_ends_a_request_as_well(server, seen):
    """What follows it waits for its turn, and is not turned away in front of the answer before it."""
    first, second = head("GET", "/v1/streams"), head("GET", "/v1/queries")
    with connected(server[0]) as client:
        client.sendall(head("GET", "/healthz") + first[: seen - 4])
        assert 200 == read_answer(client)[0]  # the beginning has been parsed, or is next
        client.sendall(first[seen - 4 :] + second)
        for member in ("streams", "queries"):
            status, _, body = read_answer(client)
            assert (200, True) == (status, member in json.loads(body))


def test_a_request_is_answered_though_those_behind_it_find_no_room(server, monkeypatch):
    """What was done is told; the connection ends behind it, as those that were thrown away have no answer."""
    address, app = server
    monkeypatch.setattr(app.state.context.front.traffic, "unparsed", Shares(1))
    with connected(address) as client:
        client.sendall(DECLARES + head("GET", "/v1/streams/s") * 2)
        status, headers, _ = read_answer(client)
        assert (201, "close") == (status, headers.get("connection"))
        assert b"" == client.recv(1)


EMPTY_LINES = b"a\r\n\r\n" * (4 * PIECES_MAX)
LINES = head("POST", "/v1/streams/lines/rows", "Transfer-Encoding: chunked")
LINES += b"%x\r\n%b\r\n0\r\n\r\n" % (len(EMPTY_LINES), EMPTY_LINES)


def test_a_body_of_empty_lines_leaves_others_their_turns(server, monkeypatch):
    """It is parsed in as many turns of the loop as it takes, to its end."""
    turns: list[int] = []
    parse, feed = BoundedProtocol._parse, BoundedProtocol._feed

    def parsing(self: BoundedProtocol) -> None:
        turns.append(0)
        parse(self)

    def feeding(self: BoundedProtocol, piece: bytes) -> None:
        turns[-1] += 1
        feed(self, piece)

    with connected(server[0]) as client:
        client.sendall(DECLARES.replace(b"/s ", b"/lines "))
        assert read_answer(client)[0] in {200, 201}
        monkeypatch.setattr(BoundedProtocol, "_parse", parsing)
        monkeypatch.setattr(BoundedProtocol, "_feed", feeding)
        client.sendall(LINES)
        assert 400 == read_answer(client)[0]
    assert max(turns) <= PIECES_MAX
    assert sum(turns) > 4 * PIECES_MAX


def test_a_body_that_finds_no_room_on_its_way_is_refused(server, monkeypatch):
    """It is not whole: nothing was done."""
    monkeypatch.setattr(server[1].state.context.front.traffic, "unparsed", Shares(1))
    with connected(server[0]) as client:
        client.sendall(LINES)
        status, _, body = read_answer(client)
        assert (503, "memory") == (status, json.loads(body)["reason"])
