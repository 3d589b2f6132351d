"""A reader of event streams over a socket, and a client of the control plane beside it, against a real server."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from psoup.app.waiting.room import WaitingRoom
from tests.app.serving import Address, served_application
from tests.app.support import COLUMNS, SETTINGS, START_US
from tests.patience import WAIT_S, wait_until

SECOND_US = 1_000_000
SQL = "SELECT sym, px FROM trades WHERE px > 40 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"


@dataclass(frozen=True)
class Event:
    """One event; `name` is "ping" for a comment, "retry" for the time to connect again."""

    name: str
    data: Any = None
    cursor: str | None = None


class Events:
    """One stream of events, read from a connection of its own."""

    def __init__(
        self,
        address: Address,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        receive_buffer: int | None = None,
    ) -> None:
        self._connection = http.client.HTTPConnection(*address, timeout=WAIT_S)
        self._connection.connect()
        if receive_buffer is not None:
            self._connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        given = {"Accept": "text/event-stream", **(headers or {})}
        if body is None:
            self._connection.request("GET", path, headers=given)
        else:
            given["Content-Type"] = "application/json"
            self._connection.request("POST", path, json.dumps(body), headers=given)
        self.answer = self._connection.getresponse()

    def raw(self) -> Event | None:
        """Return the next event of any kind; None at the end of the stream."""
        lines: list[bytes] = []
        while line := self.answer.readline():
            if line == b"\n":
                return _event(lines)
            lines.append(line.rstrip(b"\n"))
        assert not lines, "no event is cut short"
        return None

    def next(self) -> Event | None:
        """Return the next event that tells something; None at the end of the stream."""
        while (event := self.raw()) is not None and event.name in ("ping", "retry"):
            pass
        return event

    def close(self) -> None:
        """Disconnect."""
        self.answer.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _event(lines: list[bytes]) -> Event:
    fields = dict(line.decode().split(":", 1) for line in lines)
    fields = {name: value.removeprefix(" ") for name, value in fields.items()}
    if "event" not in fields:
        return Event("retry", int(fields["retry"])) if "retry" in fields else Event("ping")
    return Event(fields["event"], json.loads(fields["data"]), fields.get("id"))


@dataclass
class Site:
    """A server, its waiting room, and a client."""

    address: Address
    room: WaitingRoom

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return the status and the body of an answer."""
        connection = http.client.HTTPConnection(*self.address, timeout=WAIT_S)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            read = answer.read()
            return answer.status, json.loads(read) if read else None
        finally:
            connection.close()

    def declare(self, name: str = "trades", *, time: str | None = "ts", **members: Any) -> None:
        columns = COLUMNS if time else COLUMNS[1:]
        answer = self.send(
            "PUT", f"/v1/streams/{name}", {"columns": columns, "time": time, **members}
        )
        assert answer[0] == 201, answer

    def register(self, sql: str = SQL) -> str:
        status, body = self.send("POST", "/v1/queries", {"sql": sql})
        assert status == 201, body
        return str(body["id"])

    def rows(self, *rows: Mapping[str, Any], name: str = "trades") -> int:
        status, body = self.send("POST", f"/v1/streams/{name}/rows", list(rows))
        assert status == 200, body
        return int(body["seq"])

    def trade(self, second: int, px: float = 41.0, sym: str = "A") -> int:
        """Store a trade so many seconds after START_US."""
        return self.rows({"ts": START_US + second * SECOND_US, "sym": sym, "px": px})

    def results(self, query: str, **parameters: Any) -> Any:
        given = "&".join(f"{name}={value}" for name, value in parameters.items())
        status, body = self.send("GET", f"/v1/queries/{query}/results?{given}")
        assert status == 200, body
        return body

    def events(self, query: str, parameters: str = "", **more: Any) -> Events:
        return Events(self.address, f"/v1/queries/{query}/events?{parameters}", **more)

    def wait_for(self, waiting: int) -> None:
        """Return once so many wait in the room."""
        wait_until(lambda: self.room.statistics().waiting == waiting, f"{waiting} wait")


@contextlib.contextmanager
def site() -> Iterator[Site]:
    """Yield a server with one stream, and see that it forgets everybody at its end."""
    with served_application(SETTINGS) as (address, app):
        wait_until(lambda: _is_ready(address), "it is ready")
        one = Site(address, app.state.context.room)
        one.declare()
        yield one


def _is_ready(address: Address) -> bool:
    connection = http.client.HTTPConnection(*address, timeout=WAIT_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    finally:
        connection.close()
