"""Producers' names that a client invents take no place from those that send rows, nor from other streams."""

import json

import httpx2

from tests.app.raw_http import connected, head, read_answer
from tests.attack.target import Target

NAMES = 1_050
"""More than a stream has places."""
NOTHING: list[dict[str, int]] = []
ROW = [{"x": 1}]
AHEAD = 50
"""Requests that are sent before the first of their answers is read."""


def declare(target: Target, stream: str) -> None:
    columns = {"columns": [{"name": "x", "type": "int64"}]}
    assert target.ask("PUT", f"/v1/streams/{stream}", json=columns).status_code in {200, 201}


def send(
    client: httpx2.Client, stream: str, app: str, rows: list[dict[str, int]]
) -> httpx2.Response:
    headers = {"Psoup-Txn-App": app, "Psoup-Txn-Version": "1"}
    return client.post(f"/v1/streams/{stream}/rows", json=rows, headers=headers)


def invent(target: Target, stream: str, rows: list[dict[str, int]]) -> set[int]:
    """Send `rows` under each of so many names, in their order; return the statuses of the answers."""
    body = json.dumps(rows).encode()

    def request(number: int) -> bytes:
        named = (f"Psoup-Txn-App: invented-{number}", "Psoup-Txn-Version: 1")
        return (
            head("POST", f"/v1/streams/{stream}/rows", f"Content-Length: {len(body)}", *named)
            + body
        )

    statuses = set[int]()
    with connected(target.address) as connection:
        for first in range(0, NAMES, AHEAD):
            numbers = range(first, min(first + AHEAD, NAMES))
            connection.sendall(b"".join(map(request, numbers)))
            statuses |= {read_answer(connection)[0] for _ in numbers}
    return statuses


def test_invented_names_leave_room_for_producers(target: Target):
    """Empty batches under so many names: producers with rows stay and come, and what is sent again is known.

    But for the names that have been idle for longest: they have given way.
    """
    declare(target, "attacked")
    with httpx2.Client(base_url=target.url, timeout=60) as client:

        def is_known(app: str, rows: list[dict[str, int]]) -> bool:
            answer = send(client, "attacked", app, rows)
            assert answer.status_code in {200, 202}
            return bool(answer.json()["duplicate"])

        assert not is_known("before", ROW)
        assert invent(target, "attacked", NOTHING) <= {200, 202}
        assert not is_known("real", ROW)
        latest = f"invented-{NAMES - 1}"
        assert is_known("before", ROW)
        assert is_known("real", ROW)
        assert is_known(latest, NOTHING)
        assert not is_known("invented-0", NOTHING)


def test_streams_places_are_its_own(target: Target):
    """A stream whose places are all taken by names with a row each takes none from another stream."""
    declare(target, "filled")
    declare(target, "another")
    with httpx2.Client(base_url=target.url, timeout=60) as client:
        assert 429 in invent(target, "filled", ROW)
        assert send(client, "another", "real", ROW).status_code in {200, 202}
        assert send(client, "filled", "real", ROW).json()["code"] == "quota-exceeded"
