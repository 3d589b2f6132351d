"""Producers' names that a client invents take no place from those that send rows, nor from other streams."""

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.attack.target import Target

NAMES = 1_050
"""More than a stream has places."""
NOTHING: list[dict[str, int]] = []
ROW = [{"x": 1}]
AT_ONCE = 8


def declare(target: Target, stream: str) -> None:
    columns = {"columns": [{"name": "x", "type": "int64"}]}
    assert target.ask("PUT", f"/v1/streams/{stream}", json=columns).status_code in {200, 201}


def send(client: httpx.Client, stream: str, app: str, rows: list[dict[str, int]]) -> httpx.Response:
    headers = {"Psoup-Txn-App": app, "Psoup-Txn-Version": "1"}
    return client.post(f"/v1/streams/{stream}/rows", json=rows, headers=headers)


def invent(client: httpx.Client, stream: str, rows: list[dict[str, int]]) -> set[int]:
    """Send `rows` under each of so many names; return the statuses of the answers."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        names = (f"invented-{number}" for number in range(NAMES))
        answers = pool.map(lambda name: send(client, stream, name, rows), names)
        return {answer.status_code for answer in answers}


def test_invented_names_leave_room_for_producers(target: Target):
    """Empty batches under so many names; then a new producer sends a row, once however often it is sent."""
    declare(target, "attacked")
    with httpx.Client(base_url=target.url, timeout=60) as client:
        assert invent(client, "attacked", NOTHING) <= {200, 202}
        first = send(client, "attacked", "real", ROW)
        again = send(client, "attacked", "real", ROW)
    assert (False, True) == (first.json()["duplicate"], again.json()["duplicate"])


def test_streams_places_are_its_own(target: Target):
    """A stream whose places are all taken by names with a row each takes none from another stream."""
    declare(target, "filled")
    declare(target, "another")
    with httpx.Client(base_url=target.url, timeout=60) as client:
        assert 429 in invent(client, "filled", ROW)
        assert send(client, "another", "real", ROW).status_code in {200, 202}
        assert send(client, "filled", "real", ROW).json()["code"] == "quota-exceeded"
