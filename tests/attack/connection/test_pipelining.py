"""A client that asks on and on without reading its answers: the service stops taking its requests in."""

import socket
import threading
from collections.abc import Mapping
from typing import Final

import pytest

from tests.app.raw_http import connected, head, read_answer
from tests.attack.crowd import asked, crowd, unreading
from tests.attack.target import Target
from tests.patience import WAIT_S

REQUEST: Final = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
REQUESTS: Final = 300_000
"""Of one connection: 12 MB."""
LARGE: Final = 40
"""Answers of which the system takes a few, for a client that does not read."""
STANDS_S: Final = 2.0
"""A socket that takes nothing for so long belongs to a service that has stopped reading."""
GROWTH_BYTES_MAX: Final = 64 * 1024 * 1024
ATTACKERS: Final = 8


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """The default ones, in a service of its own: what others have freed would hide what this one takes."""
    return {}


def sent_until_it_stands(connection: socket.socket, data: bytes) -> int:
    """Return how many bytes of `data` the other side took in, until it took no more."""
    connection.settimeout(STANDS_S)
    sent = 0
    try:
        while sent < len(data):
            sent += connection.send(data[sent : sent + 65_536])
    except TimeoutError:
        pass
    finally:
        connection.settimeout(WAIT_S)
    return sent


def test_requests_whose_answers_nobody_reads_are_not_taken_in(target: Target):
    """Memory stays, and a client beside them is answered."""
    before = target.memory_bytes()
    data = REQUEST * REQUESTS
    with crowd(ATTACKERS, lambda: unreading(target.address)) as attackers:
        sending = [
            threading.Thread(target=sent_until_it_stands, args=(one, data)) for one in attackers
        ]
        for one in sending:
            one.start()
        for _ in range(20):
            assert 200 == asked(target.address, REQUEST)[0]
        for one in sending:
            one.join(WAIT_S)
            assert not one.is_alive()
        assert target.memory_bytes() - before < GROWTH_BYTES_MAX


def test_requests_that_were_sent_ahead_are_all_answered_in_their_order(target: Target):
    """Bodies of both framings, refusals and answers without a body, however the bytes are cut."""
    refused = head("POST", "/v1/streams/nope/rows", "Content-Length: 8") + b"\r\n\r\n[1]\n"
    chunks = head("PUT", "/v1/streams/x", "Transfer-Encoding: chunked")
    chunks += b"4\r\n\r\n\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    cycle = REQUEST + refused + head("HEAD", "/healthz") + chunks + head("GET", "/v1/streams/x")
    expected = [200, 404, 200, 422, 404]
    for cut in (len(cycle) * 40, 1, 7, 100):
        rounds = 40 if cut > 1 else 2
        data = cycle * rounds
        with connected(target.address) as connection:
            sender = threading.Thread(
                target=lambda cut=cut, data=data, connection=connection: [
                    connection.sendall(data[at : at + cut]) for at in range(0, len(data), cut)
                ]
            )
            sender.start()
            found = [
                read_answer(connection, has_body=number % 5 != 2)[0]
                for number in range(len(expected) * rounds)
            ]
            sender.join(WAIT_S)
        assert expected * rounds == found


def test_a_client_that_ends_behind_its_last_request_gets_all_answers(target: Target):
    """Ending the writing side ends the connection when everything is answered."""
    with connected(target.address) as connection:
        connection.sendall(REQUEST * 50)
        connection.shutdown(socket.SHUT_WR)
        answers = connection.makefile("rb").read()
    assert 50 == answers.count(b"HTTP/1.1 200")


def test_what_is_no_request_is_refused_when_its_turn_comes(target: Target):
    """The request before it is answered as if it came alone."""
    with connected(target.address) as connection:
        connection.sendall(REQUEST + b"HELO psoup\r\n\r\n" + REQUEST)
        assert [200, 400] == [read_answer(connection)[0] for _ in range(2)]
        assert b"" == connection.recv(1)


def test_clients_that_read_late_are_answered_all_the_same(target: Target):
    """What stood still goes on where it was."""
    with unreading(target.address) as connection:
        connection.sendall(head("GET", "/openapi.json") * LARGE)
        assert 200 == asked(target.address, REQUEST)[0]
        for _ in range(LARGE):
            status, headers, body = read_answer(connection)
            assert (200, int(headers["content-length"])) == (status, len(body))
