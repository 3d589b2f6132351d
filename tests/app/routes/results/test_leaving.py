"""Clients that go while their answer is made: the work for it ends, long before its deadline."""

import dataclasses
import socket
import struct
import threading
from collections.abc import Callable

import httpx2
import pytest

from psoup.app.routes.results import invocations
from psoup.engine.checkpoint import checkpoint
from tests.app.serving import served
from tests.app.support import SETTINGS
from tests.patience import WAIT_S, wait_until


def reset(client: socket.socket) -> None:
    """Cut the connection."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def end_own_side(client: socket.socket) -> None:
    """Send nothing more, and go on reading, until there is nothing more to read."""
    client.shutdown(socket.SHUT_WR)
    assert client.recv(1) == b"", "it is taken as gone"
    client.close()


@pytest.mark.parametrize("leave", [socket.socket.close, reset, end_own_side])
def test_work_for_a_client_that_goes_is_ended(
    monkeypatch: pytest.MonkeyPatch, leave: Callable[[socket.socket], None]
):
    """However it goes, the thread that makes its answer is free for others soon."""
    begun, ended = threading.Event(), threading.Event()
    counted = []

    def endless(call, *_, **__):
        counted.append(call.service.answering.statistics)
        begun.set()
        try:
            while not ended.wait(0.001):
                checkpoint()
        finally:
            ended.set()

    monkeypatch.setattr(invocations, "answer_response", endless)
    with served(dataclasses.replace(SETTINGS, invoke_deadline_s=30.0)) as address:
        url = f"http://{address[0]}:{address[1]}"
        columns = [{"name": "x", "type": "int64"}]
        httpx2.put(f"{url}/v1/streams/s", json={"columns": columns})
        query = httpx2.post(f"{url}/v1/queries", json={"sql": "SELECT x FROM s"}).json()["id"]
        client = socket.create_connection(address)
        request = f"GET /v1/queries/{query}/results HTTP/1.1\r\nHost: {address[0]}\r\n\r\n"
        client.sendall(request.encode())
        assert begun.wait(WAIT_S)
        leave(client)
        assert ended.wait(WAIT_S)
        (statistics,) = counted
        wait_until(lambda: statistics().running == 0, "the thread is free")
        assert (1, 0) == (statistics().abandoned, statistics().refused)
