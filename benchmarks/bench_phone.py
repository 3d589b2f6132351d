"""A phone that polls a sliding window every minute for a day: what travels when it asks for all rows, and for changes.

One service in a process of its own, over `memory://`. Rows are dated by the benchmark, so that a day passes in a
minute: an hour of them is the window, and for eight hours of the night there are none. Every phone sees the same
minutes; that each holds the rows of a full answer is looked at once an hour.
"""

import functools
import gzip
import http.client
import json
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import Service, running
from benchmarks.workloads import SECOND_US
from psoup.client.changes.rule import Held, Row
from psoup.engine.limits import MIB, PAGE_ROWS_MAX

COLUMNS = [
    {"name": "ts", "type": "timestamp"},
    {"name": "sym", "type": "string"},
    {"name": "px", "type": "float64"},
]
SQL = "SELECT sym, px FROM trades WHERE px > 40 BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
HOUR, DAY = 60, 1_440
"""Minutes."""
NIGHT_BEGINS, NIGHT_ENDS = 22 * HOUR, 6 * HOUR
WINDOW_ROWS = 10_000
MINUTE_US = 60 * SECOND_US
BEGIN_US = 1_700_000_000 * SECOND_US


@dataclass(frozen=True, slots=True)
class Kind:
    """How a phone asks: for all rows or for changes, naming the tag of what it has or not, compressed or not."""

    name: str
    title: str
    by_cursor: bool
    by_tag: bool
    compressed: bool


KINDS = (
    Kind("full", "all rows", by_cursor=False, by_tag=False, compressed=False),
    Kind("full-gzip", "all rows, compressed", by_cursor=False, by_tag=False, compressed=True),
    Kind(
        "tag-gzip",
        "all rows unless they are the same",
        by_cursor=False,
        by_tag=True,
        compressed=True,
    ),
    Kind("delta", "changes", by_cursor=True, by_tag=True, compressed=False),
    Kind("delta-gzip", "changes, compressed", by_cursor=True, by_tag=True, compressed=True),
)


def contests(size: Size) -> Iterator[Survey]:
    """Yield the day; of a small one every hour has three minutes."""
    rows = size.pick(smoke=60, full=WINDOW_ROWS)
    step = size.pick(smoke=HOUR // 3, full=1)
    title = f"a day of a phone that polls {rows:,} rows of an hour every minute"
    yield Survey("phone", title, functools.partial(day, rows, step))


class Phone:
    """One that holds the rows of a query, over one connection, and counts what travels."""

    def __init__(self, port: int, query: str, kind: Kind) -> None:
        """Connect."""
        self.kind = kind
        self.sent = self.received = self.unchanged = 0
        self.rows: list[Row] = []
        self._held = Held()
        self._path = f"/v1/queries/{query}/results"
        self._tag: str | None = None
        self._socket = socket.create_connection(("127.0.0.1", port))

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def poll(self) -> None:
        """Ask once, and hold what has come."""
        asked = self._held.cursor
        cursor = f"&cursor={asked or ''}" if self.kind.by_cursor else ""
        answer = self._exchange(f"{self._path}?limit={PAGE_ROWS_MAX}{cursor}")
        if answer is None:
            self.unchanged += 1
        elif self.kind.by_cursor:
            self._held.apply(answer, asked, local_us=0)
            self.rows = list(self._held.rows.values())
        else:
            self.rows = answer["rows"]

    def _exchange(self, path: str) -> Mapping[str, Any] | None:
        """Return an answer; None where it is the one before."""
        headers = ["Host: localhost", "Accept: application/json"]
        if self.kind.compressed:
            headers.append("Accept-Encoding: gzip")
        if self.kind.by_tag and self._tag is not None:
            headers.append(f"If-None-Match: {self._tag}")
        request = "\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode()
        self._socket.sendall(request)
        answer = http.client.HTTPResponse(self._socket, method="GET")
        answer.begin()
        body = answer.read()
        self.sent += len(request)
        self.received += len(f"HTTP/1.1 {answer.status} {answer.reason}\r\n\r\n") + len(body)
        self.received += sum(len(f"{name}: {value}\r\n") for name, value in answer.getheaders())
        self._tag = answer.getheader("ETag")
        if answer.status == http.HTTPStatus.NOT_MODIFIED:
            return None
        if answer.status != http.HTTPStatus.OK:
            message = f"{path}: {answer.status} {body[:200]!r}"
            raise RuntimeError(message)
        plain = gzip.decompress(body) if answer.getheader("Content-Encoding") == "gzip" else body
        return dict(json.loads(plain))


def day(window_rows: int, step: int) -> Sequence[Figure]:
    """Return what travels in a day of a phone of each kind, and how often there was nothing new.

    Args:
        window_rows: in an hour.
        step: minutes between two polls.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), store="memory://") as service,
    ):
        service.client.json("PUT", "/v1/streams/trades", {"columns": COLUMNS, "time": "ts"})
        (query,) = service.register([SQL], "auto")
        for minute in range(-HOUR, 0, step):
            _append(service, minute, window_rows * step // HOUR, step)
        phones = [Phone(service.port, query, kind) for kind in KINDS]
        try:
            for minute in range(0, DAY, step):
                if NIGHT_ENDS <= minute < NIGHT_BEGINS:
                    _append(service, minute, window_rows * step // HOUR, step)
                for phone in phones:
                    phone.poll()
                if minute % HOUR == 0:
                    _compare(phones)
        finally:
            for phone in phones:
                phone.close()
        polls = len(range(0, DAY, step))
        return [figure for phone in phones for figure in _figures(phone, polls)]


def _append(service: Service, minute: int, count: int, step: int) -> None:
    """Send the rows of a minute; every other one matches, so twice as many as the window is to show."""
    first_us = BEGIN_US + minute * MINUTE_US
    apart_us = step * MINUTE_US // (2 * count)
    rows = [
        {"ts": first_us + n * apart_us, "sym": f"S{n % 97}", "px": 30.5 + 10 * (n % 2) + n % 9}
        for n in range(2 * count)
    ]
    service.client.json("POST", "/v1/streams/trades/rows", rows)
    service.await_applied()


def _compare(phones: Sequence[Phone]) -> None:
    """RuntimeError where two phones hold other rows."""
    first, *others = [sorted((row["sym"], row["px"]) for row in phone.rows) for phone in phones]
    for phone, rows in zip(phones[1:], others, strict=True):
        if rows != first:
            message = f"{phone.kind.title}: {len(rows)} rows beside {len(first)}"
            raise RuntimeError(message)


def _figures(phone: Phone, polls: int) -> list[Figure]:
    key, title = f"phone-{phone.kind.name}", phone.kind.title
    total = phone.sent + phone.received
    return [
        Figure(f"{key}-bytes", f"{title}: in a day", total / MIB, "MiB"),
        Figure(f"{key}-poll", f"{title}: a poll, both ways", total / polls, "bytes"),
        Figure(
            f"{key}-unchanged", f"{title}: polls without news", 100 * phone.unchanged / polls, "%"
        ),
    ]
