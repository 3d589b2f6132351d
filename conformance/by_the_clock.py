"""Worlds whose NOW is the service's clock: what has to come is computed from the instant that an answer names.

A row of such a world says when it is shown: from `in_ms` until `out_ms` (a microsecond later: both ends of a window are
inclusive), counted from the service's clock when the world began.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import NamedTuple

from conformance.client import Mirror
from conformance.comparing import side_by_side
from conformance.playing import OK, Failure, Setting
from conformance.service import Json, Reply, Service

WAIT_S = 60.0
LOOK_S = 0.02
SOON_S = 0.3
"""After so long a request that waits has begun to."""
MICROSECOND = timedelta(microseconds=1)


class Row(NamedTuple):
    """A row: its number, the step it came by, and when it is shown."""

    number: int
    step: int
    enters: datetime
    leaves: datetime | None


class Stand(NamedTuple):
    """Where an answer stands: the step it was asked at, its instant and its cursor."""

    step: int
    now: datetime
    cursor: str


class ClockPlay:
    """The steps of one world."""

    def __init__(self, setting: Setting, world: Json) -> None:
        self._setting = setting
        self._world = world
        self._base = _read(setting.whole()["now"])
        self._rows: list[Row] = []
        self._stands: dict[str, Stand] = {}
        self._mirror = Mirror("")
        self._step = 0
        self.failures: list[Failure] = []

    def run(self) -> None:
        """Take all steps."""
        verbs = {"append": self._append, "ask": self._ask, "wait": self._wait}
        for number, step in enumerate(self._world["steps"], start=1):
            self._step = number
            verbs[step["do"]](step)

    def _instant(self, after_ms: int) -> datetime:
        return self._base + timedelta(milliseconds=after_ms)

    def _append(self, step: Json) -> None:
        self._setting.append(step["stream"], self._dated(step))

    def _dated(self, step: Json) -> list[Json]:
        """Note the rows of a step; return them as they are sent."""
        given = []
        for row in step["rows"]:
            enters, leaves = self._instant(row["in_ms"]), None
            if row["out_ms"] is not None:
                leaves = self._instant(row["out_ms"]) + MICROSECOND
            number = len(self._rows) + 1
            self._rows.append(Row(number, self._step, enters, leaves))
            dated = enters - timedelta(milliseconds=self._world["delay_ms"])
            given.append({"ts": _written(dated), "n": number})
        return given

    def _wait(self, step: Json) -> None:
        """Return when the service's clock has passed an instant."""
        until, latest = self._instant(step["until_ms"]), time.monotonic() + WAIT_S
        while _read(self._setting.whole()["now"]) <= until and time.monotonic() < latest:
            time.sleep(LOOK_S)

    def _ask(self, step: Json) -> None:
        """Ask, and compare with what is shown at the instant that the answer names."""
        since = self._stands.get(step["cursor"] or "")
        reply = self._asked(step, since)
        if reply.status != OK:
            self._fail(f"status {reply.status}: {reply.body}")
            return
        given = reply.body
        now = _read(given["now"])
        shown = [row for row in self._rows if _is_shown(row, now)]
        sent = [r for r in shown if since is None or r.step > since.step or r.enters > since.now]
        changes = [at for r in self._rows for at in (r.enters, r.leaves) if at and at > now]
        expected: Json = {
            "reset": since is None,
            "count": len(shown),
            "rows": [
                {"n": row.number, "_x": row.leaves and _written(row.leaves)}
                for row in sorted(sent, key=lambda row: (row.enters, row.number))
            ],
            "changes_at": _written(min(changes)) if changes else None,
        }
        told = {name: given.get(name) for name in expected}
        told["rows"] = [{"n": row["n"], "_x": row["_x"]} for row in given["rows"]]
        wrong = [f"{name} is {told[name]!r}" for name in expected if told[name] != expected[name]]
        if given.get("removed") or given.get("keep") is not None:
            wrong.append("rows that time has taken are told of")
        if not self._mirror.apply(given, since.cursor if since else None):
            wrong.append("count is another than the client's")
        if sorted(row["n"] for row in self._mirror.rows.values()) != [r.number for r in shown]:
            wrong.append("the client holds other rows than the query shows")
        if wrong:
            self._fail("; ".join(wrong), side_by_side(expected, told))
        if "wait_s" in step and since is not None and given["cursor"] == since.cursor:
            self._fail("the wait has ended, and nothing has changed")
        self._stands[step["answer"]] = Stand(self._step, now, given["cursor"])

    def _asked(self, step: Json, since: Stand | None) -> Reply:
        """Return the answer to a step's request, which may wait for rows that are sent meanwhile."""
        given: Json = {"cursor": since.cursor} if since else {}
        given |= {"wait": step["wait_s"]} if "wait_s" in step else {}
        given |= {"on": step["on"]} if "on" in step else {}
        path, service = self._setting.path(**given), self._setting.service
        begun = time.monotonic()
        if "meanwhile" in step:
            rows = self._dated(step["meanwhile"])
            with service.another() as other, ThreadPoolExecutor(1) as waits:
                answer = waits.submit(other.send, "GET", path)
                time.sleep(SOON_S)
                self._setting.append(step["meanwhile"]["stream"], rows)
                reply = answer.result()
        else:
            reply = service.send("GET", path)
        if time.monotonic() - begun > step.get("wait_s", WAIT_S):
            self._fail(f"the answer came after {time.monotonic() - begun:.1f} s")
        return reply

    def _fail(self, sentence: str, diff: str = "") -> None:
        self.failures.append(Failure(self._world["world"], self._step, sentence, diff))


def _is_shown(row: Row, now: datetime) -> bool:
    return row.enters <= now and (row.leaves is None or now < row.leaves)


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _written(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def play_by_the_clock(service: Service, world: Json) -> list[Failure]:
    """Play a world over the service's clock; return what differed."""
    with Setting(service, world) as setting:
        one = ClockPlay(setting, world)
        one.run()
    return one.failures
