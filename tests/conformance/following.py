"""Clients that follow queries through a bad line, end and begin again, and have to hold what the queries show."""

import http.client
import json
import random
from dataclasses import dataclass
from typing import Any

import httpx2

from conformance.client import Mirror
from tests.conformance.proxy import Line
from tests.patience import wait_until

START_US = 1_577_872_800_000_000
QUERIES = {
    "sliding": "SELECT n, k FROM a WHERE k <> 3 BEGIN (NOW - INTERVAL '20' SECOND) END (NOW)",
    "delayed": "SELECT n FROM a BEGIN (NOW - INTERVAL '18' SECOND) END (NOW - INTERVAL '6' SECOND)",
    "landmark": "SELECT n FROM a WHERE k < 2 BEGIN (TIMESTAMP '2020-01-01 10:00:30') END (NOW)",
    "distinct": "SELECT DISTINCT k FROM a BEGIN (NOW - INTERVAL '9' SECOND) END (NOW)",
    "join": "SELECT a.n AS an, b.n AS bn FROM a, b WHERE a.k = b.k"
    " BEGIN (NOW - INTERVAL '15' SECOND) END (NOW)",
    "retained": "SELECT n, k FROM few WHERE k <> 3",
    "clock": "SELECT n FROM arrivals BEGIN (NOW - 1) END (NOW)",
}
COLUMNS = [{"name": "n", "type": "int64"}, {"name": "k", "type": "int64"}]
TS = {"name": "ts", "type": "timestamp"}
STREAMS: dict[str, dict[str, Any]] = {
    "a": {"columns": [TS, *COLUMNS], "time": "ts"},
    "b": {"columns": [TS, *COLUMNS], "time": "ts"},
    "few": {"columns": [TS, *COLUMNS], "time": "ts", "retention": {"rows": 12}},
    "arrivals": {"columns": COLUMNS, "time": None},
}


@dataclass
class Saved:
    """What a client has on its disk: rows at least as new as the cursor."""

    rows: dict[str, dict[str, Any]]
    cursor: str | None


class Follower:
    """One client of one query."""

    def __init__(self, line: Line, query_id: str, rng: random.Random) -> None:
        self._line = line
        self.path = f"/v1/queries/{query_id}/results"
        self._results = line.url + self.path
        self._rng = rng
        self.mirror = Mirror(self._results)
        self._saved = Saved({}, None)
        self.answered = 0

    def look(self) -> None:
        """Ask once; now and then end before the cursor is saved, and begin again."""
        limit = {"limit": str(self._rng.choice((2, 5)))} if self._rng.random() < 0.4 else {}
        try:
            self.mirror.refresh(**limit)
            self.answered += 1
        except (OSError, ValueError, http.client.HTTPException):
            pass  # a bad line: the next look asks again
        self._save()
        if self._rng.random() < 0.2:
            self.mirror = Mirror(self._results)
            self.mirror.rows, self.mirror.cursor = dict(self._saved.rows), self._saved.cursor

    def _save(self) -> None:
        self._saved.rows = dict(self.mirror.rows)
        if self.mirror.cursor is None or self._rng.random() < 0.7:
            self._saved.cursor = self.mirror.cursor

    def holds(self, url: str) -> bool:
        """Return whether the client holds what a full answer shows; it asks until it has been answered."""
        self._line.is_good = True
        try:
            self.mirror.refresh()
            if self.mirror.cursor is None:
                self.mirror.refresh()
        finally:
            self._line.is_good = False
        whole = httpx2.get(url + self.path, verify=False, timeout=90).json()
        assert whole["next"] is None
        now = whole["now"] or ""  # of the clock's queries a moment later
        rows = self.mirror.rows.values()
        held = {row["_id"]: row for row in rows if row["_x"] is None or row["_x"] > now}
        return held == {row["_id"]: row for row in whole["rows"]}


class Following:
    """Streams, queries and clients of one run. `url` is the service's own address."""

    def __init__(self, url: str, line: Line, rng: random.Random) -> None:
        self.url = url
        self._rng = rng
        self._time_us = START_US
        self._number = 0
        for stream, definition in STREAMS.items():
            self._send("PUT", f"/v1/streams/{stream}", definition)
        self.followers = {
            name: Follower(line, self._send("POST", "/v1/queries", {"sql": sql})["id"], rng)
            for name, sql in QUERIES.items()
        }

    def _send(self, method: str, path: str, body: object) -> Any:
        answer = httpx2.request(method, self.url + path, json=body, verify=False, timeout=90)
        assert answer.is_success, answer.text
        return answer.json()

    def append(self) -> None:
        """Append some rows to one stream: dated now, late or ahead."""
        stream = self._rng.choice(list(STREAMS))
        rows = []
        for _ in range(self._rng.randrange(1, 5)):
            self._number += 1
            shift = self._rng.choice((0, 0, 0, 1, 1, 2, -2, -5, -9, 4)) * 1_000_000
            row = {"ts": self._time_us + shift, "n": self._number, "k": self._rng.randrange(5)}
            self._time_us = max(self._time_us, row["ts"])
            rows.append(row if stream != "arrivals" else {"n": row["n"], "k": row["k"]})
        self._send("POST", f"/v1/streams/{stream}/rows", rows)

    def turn(self) -> None:
        """Let rows arrive and clients look."""
        for _ in range(self._rng.randrange(0, 3)):
            self.append()
        for follower in self.followers.values():
            if self._rng.random() < 0.6:
                follower.look()

    def beginning_anew(self) -> list[str]:
        """Return the queries whose client has a cursor that the service does not go on from."""
        asked = {
            name: f"{self.url}{one.path}?cursor={one.mirror.cursor}"
            for name, one in self.followers.items()
            if one.mirror.cursor is not None
        }
        assert asked
        return [
            name
            for name, address in asked.items()
            if httpx2.get(address, verify=False, timeout=90).json()["reset"]
        ]

    def differing(self) -> list[str]:
        """Return the queries whose client does not hold what they show, at a moment when nothing arrives."""
        return [name for name, follower in self.followers.items() if not follower.holds(self.url)]


def described(following: Following, line: Line) -> str:
    """Return what a run has met, for the message of a failure."""
    answered = {name: one.answered for name, one in following.followers.items()}
    return json.dumps({"faults": line.done, "answered": answered})


def wait_answering(url: str) -> None:
    """Return once the service at `url` is ready, which may just be starting."""

    def ready() -> bool:
        try:
            return httpx2.get(f"{url}/readyz", verify=False).is_success
        except httpx2.TransportError:
            return False

    wait_until(ready, "it is ready")
