"""Connections that begin TLS and never end its handshake: counted as all others are, and given up soon."""

import contextlib
import gc
import shutil
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

import pytest

from psoup.app.connection.protocol import BoundedProtocol
from psoup.app.settings import Settings
from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import Address, served
from tests.attack.certificates import made, tls_settings
from tests.attack.crowd import crowd
from tests.attack.target import KINDS, Kind, Target, launched
from tests.patience import WAIT_S, wait_until
from tests.stores import SharedServer

pytestmark = pytest.mark.service
Files = tuple[Path, Path]
CONNECTIONS: Final = 8
TOLD: Final = limits.FILES_RESERVED // 4
"""Past the most that there may be, connections are taken in to be told so."""
HEALTH: Final = head("GET", "/healthz")


@pytest.fixture(scope="module")
def target_settings(certificate: Files) -> Iterator[Mapping[str, object]]:
    """Answers come by TLS, on a few connections."""
    with tls_settings(certificate) as settings:
        yield {**settings, "connections": CONNECTIONS}


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


def asked(address: Address, certificate: Path) -> int:
    """Return the status of an answer by TLS; 0 where the connection is cut off."""
    try:
        with trusting(certificate).wrap_socket(
            connected(address), server_hostname="localhost"
        ) as client:
            client.sendall(HEALTH)
            return read_answer(client)[0]
    except (ssl.SSLError, ConnectionError):
        return 0


def is_open(connection: socket.socket) -> bool:
    """Return whether the other side has not ended a connection on which it has written nothing."""
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_handshakes_that_do_not_end_fill_the_places_there_are(target: Target, certificate: Files):
    """Who comes then is told so by TLS; when they have gone there is room."""

    def is_full() -> bool:
        with crowd(CONNECTIONS, lambda: connected(target.address)):
            return asked(target.address, certificate[0]) == 503

    wait_until(is_full, "they are counted")
    wait_until(lambda: asked(target.address, certificate[0]) == 200, "they are counted no more")
    assert 200 == asked(target.address, certificate[0]), "room that came stays"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No handshake is given up."""
    monkeypatch.setattr(limits, "TLS_HANDSHAKE_S", 10 * WAIT_S)


def by_tls(certificate: Files, **more: Any) -> Settings:
    files: dict[str, Any] = {"tls_cert_file": certificate[0], "tls_key_file": certificate[1]}
    return Settings(store="memory://", port=0, **files, **more)


@pytest.mark.usefixtures("patient")
def test_handshakes_past_a_crowd_of_those_that_are_told_are_cut_off(certificate: Files):
    """As many as are to be told that there is no place go on, and no more."""
    with (
        served(by_tls(certificate, connections=CONNECTIONS)) as address,
        crowd(CONNECTIONS, lambda: connected(address)),
        crowd(2 * TOLD, lambda: connected(address)) as more,
    ):
        wait_until(lambda: sum(map(is_open, more)) == TOLD, "those past a bound are cut off")
        assert 0 == asked(address, certificate[0])


def test_a_handshake_that_does_not_end_is_given_up(
    certificate: Files, monkeypatch: pytest.MonkeyPatch
):
    """After TLS_HANDSHAKE_S, whether nothing of it came, or its begin; another client is served meanwhile."""
    monkeypatch.setattr(limits, "TLS_HANDSHAKE_S", 1.0)
    hello = b"\x16\x03\x01\x02\x00\x01\x00"
    with (
        served(by_tls(certificate)) as address,
        connected(address) as silent,
        connected(address) as begun,
    ):
        begun.sendall(hello)
        wait_until(lambda: asked(address, certificate[0]) == 200, "another one is served")
        assert [b"", b""] == [one.recv(1) for one in (silent, begun)]


def test_what_is_no_tls_ends_the_connection(target: Target, certificate: Files):
    """Not one of them is counted for longer than it lasts."""
    for _ in range(CONNECTIONS + TOLD + 1):
        with connected(target.address) as plain:
            plain.sendall(HEALTH)
            assert b"HTTP" not in received(plain)
    assert 200 == asked(target.address, certificate[0])


def close(client: ssl.SSLSocket) -> None:
    """End the connection after a request that was answered."""
    client.sendall(HEALTH)
    assert 200 == read_answer(client)[0]
    client.close()


def reset(client: ssl.SSLSocket) -> None:
    """Cut an idle connection."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.fixture
def protocols(monkeypatch: pytest.MonkeyPatch) -> WeakSet[BoundedProtocol]:
    """Return the connections that are kept in memory, of those that are made from now on."""
    kept: WeakSet[BoundedProtocol] = WeakSet()
    make = BoundedProtocol.__init__

    def noted(one: BoundedProtocol, *given: Any, **named: Any) -> None:
        make(one, *given, **named)
        kept.add(one)

    monkeypatch.setattr(BoundedProtocol, "__init__", noted)
    return kept


@pytest.mark.parametrize("leave", [close, reset])
def test_a_connection_that_has_ended_leaves_nothing_in_memory(
    certificate: Files,
    protocols: WeakSet[BoundedProtocol],
    leave: Callable[[ssl.SSLSocket], None],
):
    """Its buffers of TLS, some 50 KiB, wait neither for a timer nor for Python's look for circles, which is rare."""
    with served(by_tls(certificate)) as address:
        gc.disable()
        try:
            client = trusting(certificate[0]).wrap_socket(
                connected(address), server_hostname="localhost"
            )
            wait_until(lambda: len(protocols) == 1, "it is there")
            leave(client)
            wait_until(lambda: not protocols, "nothing keeps it")
        finally:
            gc.enable()
        assert 200 == asked(address, certificate[0])


def test_a_process_that_ends_waits_for_no_idle_client(
    certificate: Files, caplog: pytest.LogCaptureFixture
):
    """A client that looks at nothing does not answer the end of TLS; nothing is cancelled for it."""
    with contextlib.ExitStack() as clients:
        with served(by_tls(certificate, shutdown_s=10)) as address:
            client = clients.enter_context(
                trusting(certificate[0]).wrap_socket(
                    connected(address), server_hostname="localhost"
                )
            )
            client.sendall(HEALTH)
            assert 200 == read_answer(client)[0]
        assert [] == [one.getMessage() for one in caplog.records if one.name == "uvicorn.error"]


def is_kept(target: Target) -> bool:
    """Have the files of a certificate looked at, and return whether it was logged that they cannot be read."""
    connected(target.address).close()
    return any(line["event"] == "certificate-kept" for line in target.front.events())


def received(connection: socket.socket) -> bytes:
    """Return all that comes until the other side ends."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(4_096):
            data += piece
    return data


@pytest.mark.usefixtures("patient")
def test_handshakes_count_by_address(certificate: Files):
    """A client that holds as many as an address may is told so, by TLS."""
    settings = by_tls(certificate, connections_per_address=2)
    with served(settings, count_loopback=True) as address:
        with crowd(2, lambda: connected(address)):
            wait_until(lambda: asked(address, certificate[0]) == 429, "they are counted")
            assert 429 == asked(address, certificate[0]), "as long as they are there"
        wait_until(lambda: asked(address, certificate[0]) == 200, "they are counted no more")


def test_requests_that_follow_the_handshake_at_once_are_answered(
    target: Target, certificate: Files
):
    """They may arrive in one packet with its end, cut anywhere."""
    for cut in (1, 7, 100_000):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        secured = trusting(certificate[0]).wrap_bio(incoming, outgoing, server_hostname="localhost")
        with connected(target.address) as connection:
            connection.settimeout(WAIT_S)
            while True:
                try:
                    secured.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    connection.sendall(outgoing.read())
                    incoming.write(connection.recv(65_536))
            secured.write(HEALTH)
            data = outgoing.read()
            for at in range(0, len(data), cut):
                connection.sendall(data[at : at + cut])
            assert b"HTTP/1.1 200" in answered(secured, incoming, connection)


def answered(secured: ssl.SSLObject, incoming: ssl.MemoryBIO, connection: socket.socket) -> bytes:
    """Return the first bytes that come by TLS."""
    while True:
        try:
            return secured.read(65_536)
        except ssl.SSLWantReadError:
            incoming.write(connection.recv(65_536))


@pytest.mark.parametrize("kind", KINDS)
def test_a_renewed_certificate_is_served_to_new_connections(
    attacked_server: SharedServer, tmp_path: Path, kind: Kind
):
    """Connections that are open go on; files that cannot be read change nothing."""
    files, others = made(tmp_path, "now"), made(tmp_path, "next")
    with (
        tls_settings(files) as settings,
        launched(kind, attacked_server, tmp_path, **settings) as target,
    ):
        old = trusting(files[0])
        with old.wrap_socket(connected(target.address), server_hostname="localhost") as kept:
            files[0].write_text("nothing")
            wait_until(lambda: is_kept(target), "they are looked at")
            for file, other in zip(files, others, strict=True):
                shutil.copy(other, file)
            wait_until(lambda: asked(target.address, others[0]) == 200, "the next one is served")
            kept.sendall(HEALTH)
            assert 200 == read_answer(kept)[0]


@pytest.mark.parametrize(
    "sent", [b"GET /healthz HTT", head("POST", "/v1/queries", "Content-Length: 9")]
)
def test_a_client_that_ends_tls_in_a_request_ends_the_connection(
    certificate: Files, sent: bytes, caplog: pytest.LogCaptureFixture
):
    """TLS has no half of a connection that could go on: nothing is wrong with that, and nothing is logged."""
    with (
        served(by_tls(certificate)) as address,
        trusting(certificate[0]).wrap_socket(
            connected(address), server_hostname="localhost"
        ) as client,
    ):
        client.sendall(sent)
        with contextlib.suppress(ssl.SSLError, ConnectionError):  # what it is told may come first
            client.unwrap()
        assert 200 == asked(address, certificate[0])
    assert [] == [one.getMessage() for one in caplog.records if one.name == "asyncio"]
