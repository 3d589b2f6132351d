"""Prometheus meters of one application, in a registry of their own: requests as they end, all else when scraped.

API workers share a port, and a scrape reaches any of them. Each keeps its own meters in files of one folder, and the
worker that is scraped answers for all of them; meters of the store and of the engine it reads once, by itself.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from psoup.app.backend.service import Service
from psoup.app.http.access.guesses import Guesses
from psoup.app.http.edge import Scope
from psoup.app.http.front import Front
from psoup.app.operate.meters.meter import PREFIX, Kind, families, in_order, values
from psoup.app.operate.meters.service import (
    PROCESS,
    SERVICE,
    ProcessReading,
    read_process,
    read_service,
)
from psoup.app.waiting.room import WaitingRoom

_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROUTE = "psoup.route"
"""Where an endpoint leaves its operation id in the scope: a bounded label, unlike a path."""
SHARE_EVERY_S: Final = 1.0
SUM_OF_LIVING: Final = "livesum"
"""How the gauges of several workers become one: added up, of those that live."""


class Meters:
    """The meters of one application."""

    def __init__(self, folder: Path | None = None) -> None:
        """Make the registry; `attach` adds a service's meters to it.

        Args:
            folder: where several processes keep theirs, named by PROMETHEUS_MULTIPROC_DIR too, before
                prometheus_client was loaded; None = this process answers for itself alone.
        """
        self._own = CollectorRegistry()
        self._scraped = self._own if folder is None else CollectorRegistry()
        if folder is not None:
            MultiProcessCollector(self._scraped, path=str(folder))  # type: ignore[no-untyped-call]
        self._is_shared = folder is not None
        self._read_process: Callable[[], ProcessReading] | None = None
        self._gauges: dict[str, Gauge] = {}
        self._counters: dict[str, tuple[Counter, float]] = {}
        """With the value that each was last raised to."""
        self._sharing = threading.Lock()
        self._requests = Counter(
            "psoup_http_requests", "Answers.", ["operation", "status"], registry=self._own
        )
        self._seconds = Histogram(
            "psoup_http_request_seconds",
            "Seconds from a request's head to its answer.",
            ["operation"],
            buckets=_BUCKETS_S,
            registry=self._own,
        )
        self._by_answer: dict[tuple[str, int], Callable[[float], None]] = {}
        """What counts an answer, by operation and status: labels are looked up once, and there are few of both."""
        self._rows = Counter("psoup_rows_accepted", "Rows stored.", registry=self._own)

    def attach(self, service: Service, room: WaitingRoom, front: Front, guesses: Guesses) -> None:
        """Read the meters of `service`, `room`, `front` and `guesses` at every scrape."""

        def read() -> ProcessReading:
            return read_process(service, room, front, guesses)

        self._read_process = read
        self._scraped.register(_ServiceCollector(service, None if self._is_shared else read))

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one answer."""
        key = (scope["state"].get(ROUTE, "other"), status)
        count = self._by_answer.get(key)
        if count is None:
            count = self._by_answer[key] = self._counting(*key)
        count(seconds)

    def _counting(self, operation: str, status: int) -> Callable[[float], None]:
        """Return what counts answers of an operation with a status."""
        requests = self._requests.labels(operation, str(status))
        spent = self._seconds.labels(operation)

        def count(seconds: float) -> None:
            requests.inc()
            spent.observe(seconds)

        return count

    def accepted(self, rows: int) -> None:
        """Count rows that were stored."""
        self._rows.inc(rows)

    def share(self) -> None:
        """Write this process's own meters to the shared folder. Without a folder, does nothing."""
        if not self._is_shared or self._read_process is None:
            return
        with self._sharing:
            for meter, value in values(PROCESS, self._read_process()):
                if meter.kind is Kind.GAUGE:
                    self._set_gauge(meter.name, meter.text, value)
                else:
                    self._raise_counter(meter.name, meter.text, value)

    async def share_often(self) -> None:
        """Share each second, until cancelled."""
        while True:
            self.share()
            await asyncio.sleep(SHARE_EVERY_S)

    def text(self) -> bytes:
        """Return all meters as Prometheus reads them. Blocks, some seconds at most."""
        self.share()
        return generate_latest(self._scraped)

    def _set_gauge(self, name: str, text: str, value: float) -> None:
        if name not in self._gauges:
            self._gauges[name] = Gauge(
                PREFIX + name, text, registry=self._own, multiprocess_mode=SUM_OF_LIVING
            )
        self._gauges[name].set(value)

    def _raise_counter(self, name: str, text: str, value: float) -> None:
        if name not in self._counters:
            self._counters[name] = (Counter(PREFIX + name, text, registry=self._own), 0.0)
        shared, before = self._counters[name]
        shared.inc(value - before)
        self._counters[name] = (shared, value)


class _ServiceCollector:
    """A service's meters as metric families, read when somebody scrapes."""

    def __init__(self, service: Service, read_own: Callable[[], ProcessReading] | None) -> None:
        """Read `service`, and by `read_own` the process's own meters; None = those are in the shared folder."""
        self._service = service
        self._read_own = read_own

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families. Without a store, those that need none."""
        found = list(families(SERVICE, read_service(self._service)))
        if self._read_own is not None:
            found += families(PROCESS, self._read_own())
        yield from in_order(found)
