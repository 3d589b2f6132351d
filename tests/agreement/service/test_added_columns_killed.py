"""SIGKILL amid additions of columns under load: what was acknowledged is there, each column once, each row exact."""

import threading
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from psoup.app.cli.application import application
from tests.agreement.service.process import ServiceProcess
from tests.patience import WAIT_S, wait_until

STREAM = "/v1/streams/events"
DECLARED = {"columns": [{"name": "n", "type": "int64"}]}
COLUMNS = [f"c{number}" for number in range(6)]


class Sender(threading.Thread):
    """Sends one request after the other until each is acknowledged, whatever becomes of the service meanwhile."""

    def __init__(self, service: ServiceProcess, requests: list[dict[str, Any]]) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._requests = requests
        self.done = 0
        self.refused: list[str] = []

    def run(self) -> None:
        """Send all of them."""
        pause = threading.Event()
        for request in self._requests:
            while not self._is_taken(**request):
                pause.wait(0.02)
            self.done += 1

    def _is_taken(self, method: str, path: str, **more: Any) -> bool:
        try:
            answer = httpx2.request(method, self._service.url + path, timeout=WAIT_S, **more)
        except httpx2.TransportError:
            return False
        if answer.is_success:
            return True
        if not answer.json()["retryable"]:
            self.refused.append(answer.text)
            return True
        return False


def row_of(app: str, version: int, **cells: int) -> dict[str, Any]:
    """Return the request that appends one row under a version of its own."""
    headers = {"Psoup-Txn-App": app, "Psoup-Txn-Version": str(version)}
    return {"method": "POST", "path": f"{STREAM}/rows", "json": [cells], "headers": headers}


@pytest.mark.service
def test_columns_added_while_the_service_is_killed_are_there_once(tmp_path):
    """Rows that do not name them come all the while; those that do follow each column. `psoup fsck` finds no fault."""
    service = ServiceProcess(tmp_path)
    adding = []
    for number, name in enumerate(COLUMNS):
        body = {"add_columns": [{"name": name, "type": "int64"}]}
        adding.append({"method": "PATCH", "path": STREAM, "json": body})
        adding.append(row_of("adder", number + 1, n=-number, **{name: number}))
    narrow = [row_of("feed", version, n=version) for version in range(1, 121)]
    senders = [Sender(service, adding), Sender(service, narrow)]
    try:
        service.start()
        assert 201 == httpx2.put(service.url + STREAM, json=DECLARED).status_code
        for sender in senders:
            sender.start()
        for enough in (1, 4, 8):
            wait_until(lambda: senders[0].done >= enough, f"{enough} requests are taken")  # noqa: B023 (at once)
            if enough == 4:
                service.kill_server()
            service.kill()
            service.start()
        for sender in senders:
            sender.join(WAIT_S)
            assert ([], False) == (sender.refused, sender.is_alive())
        with httpx2.Client(base_url=service.url, timeout=WAIT_S) as http:
            columns = http.get(STREAM).json()["columns"]
            assert ["n", *COLUMNS] == [column["name"] for column in columns]
            query = http.post("/v1/queries", json={"sql": "SELECT * FROM events"}).json()["id"]
            rows = http.get(f"/v1/queries/{query}/results", params={"limit": 1_000}).json()["rows"]
    finally:
        service.close()
    found = {row["n"]: [row[name] for name in COLUMNS] for row in rows}
    expected: dict[int, list[int | None]] = {n: [None] * len(COLUMNS) for n in range(1, 121)}
    for number in range(len(COLUMNS)):
        expected[-number] = [number if number == i else None for i in range(len(COLUMNS))]
    assert (len(expected), expected) == (len(rows), found)
    fsck = CliRunner().invoke(application, ["fsck", "--data", str(service.data)])
    assert 0 == fsck.exit_code, fsck.output
