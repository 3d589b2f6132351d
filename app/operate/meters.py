"""Prometheus meters, in a registry of their own: requests as they end, the service's counters when asked.

API workers share a port, and a scrape reaches any of them. There each one keeps its own meters in files of one
folder, and whoever is asked answers for all; what is the store's or the engine's is told once, by the one asked.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from psoup.app.backend.service import Service
from psoup.app.figures.engine import Figures
from psoup.app.http.edge import Scope
from psoup.app.http.front import Front
from psoup.app.http.guesses import Guesses
from psoup.engine.errors import EngineError
from psoup.engine.limits import SECOND_US
from psoup.engine.store.condition import StoreCondition

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROUTE = "psoup.route"
"""Where an endpoint leaves its operation id in the scope: a bounded label, unlike a path."""
Values = Mapping[str, tuple[str, float]]
"""By name without `psoup_`: what it is, and how much."""
NOTE_EVERY_S: Final = 1.0
APART: Final = "livesum"
"""How gauges of several workers become one: added up, of those that live."""


@dataclass(frozen=True, slots=True)
class _OwnValues:
    """What one process counts by itself, read when somebody asks; nothing, unless it says how."""

    gauges: Callable[[], Values] = dict
    counters: Callable[[], Values] = dict


class Meters:
    """The meters of one application."""

    def __init__(self, folder: Path | None = None) -> None:
        """Make the registry; `attach` adds a service's counters to it.

        Args:
            folder: where several processes keep theirs, named by PROMETHEUS_MULTIPROC_DIR too, before
                prometheus_client was loaded; None = this process answers for itself alone.
        """
        self._own = CollectorRegistry()
        self._told = self._own if folder is None else CollectorRegistry()
        if folder is not None:
            MultiProcessCollector(self._told, path=str(folder))  # type: ignore[no-untyped-call]
        self._is_shared = folder is not None
        self._service: Service | None = None
        self._counted_here = _OwnValues()
        self._gauges: dict[str, Gauge] = {}
        self._counters: dict[str, tuple[Counter, float]] = {}
        """With how much of them has been counted."""
        self._noting = threading.Lock()
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
        self._rows = Counter("psoup_rows_accepted", "Rows stored.", registry=self._own)

    def attach(self, service: Service, front: Front, guesses: Guesses) -> None:
        """Collect the counters of `service`, `front` and `guesses` at every scrape."""
        self._service = service
        self._counted_here = _OwnValues(
            gauges=lambda: process_gauges(service, front),
            counters=lambda: process_counters(service, front, guesses),
        )
        counted = _OwnValues() if self._is_shared else self._counted_here
        self._told.register(_ServiceCollector(service, counted))

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one answer."""
        operation = scope.get("state", {}).get(ROUTE, "other")
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def accepted(self, rows: int) -> None:
        """Count rows that were stored."""
        self._rows.inc(rows)

    def note(self) -> None:
        """Let other processes read what this one counts by itself. Where none shares the folder, does nothing."""
        if not self._is_shared or self._service is None:
            return
        with self._noting:
            for name, (text, value) in self._counted_here.gauges().items():
                if name not in self._gauges:
                    self._gauges[name] = Gauge(
                        f"psoup_{name}", text, registry=self._own, multiprocess_mode=APART
                    )
                self._gauges[name].set(value)
            for name, (text, value) in self._counted_here.counters().items():
                if name not in self._counters:
                    self._counters[name] = (
                        Counter(f"psoup_{name}", text, registry=self._own),
                        0.0,
                    )
                counter, before = self._counters[name]
                counter.inc(value - before)
                self._counters[name] = (counter, value)

    async def note_often(self) -> None:
        """Note each second, until it is cancelled."""
        while True:
            self.note()
            await asyncio.sleep(NOTE_EVERY_S)

    def text(self) -> bytes:
        """Return all meters as Prometheus reads them. Blocks, some seconds at most."""
        self.note()
        return generate_latest(self._told)


class _ServiceCollector:
    """The service's counters as metric families, read when somebody asks."""

    def __init__(self, service: Service, own: _OwnValues) -> None:
        """Read `service`, and what is one process's own."""
        self._service = service
        self._own = own

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families. Without a store, those that need none."""
        figures = self._service.backend.figures()
        gauges = engine_gauges(self._service, figures)
        try:
            gauges |= store_gauges(self._service)
        except EngineError:
            gauges |= {"ready": ("1 if the service is ready.", 0.0)}
        counters = engine_counters(figures)
        gauges |= self._own.gauges()
        counters |= self._own.counters()
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"psoup_{name}", text, value=float(value))
        for name, (text, value) in counters.items():
            yield CounterMetricFamily(f"psoup_{name}", text, value=float(value))


def process_gauges(service: Service, front: Front) -> Values:
    """Return how much there is now of what each process has by itself."""
    places, traffic = front.places.statistics(), front.traffic.statistics()
    found: dict[str, tuple[str, float]] = {
        "appends_in_flight": ("Appends on their way.", service.submission.statistics().in_flight),
        "requests_working": ("Requests that are worked on.", places.working),
        "requests_reading": ("Requests whose bodies are on their way.", places.reading),
        "requests_waiting": ("Requests that wait for an operation.", places.waiting),
        "requests_unparsed_bytes": (
            "Bytes of requests that clients have sent ahead.",
            traffic.unparsed_bytes,
        ),
        "answers_unsent_bytes": (
            "Bytes of large answers that clients have not taken.",
            traffic.unsent_bytes,
        ),
    }
    cache = service.backend.tuples_cache()
    if cache is not None:
        found["workers"] = ("API workers that live.", 1)
        found["tuples_cache_bytes"] = ("Tuples that API workers keep.", cache.nbytes)
    return found


def process_counters(service: Service, front: Front, guesses: Guesses) -> Values:
    """Return what each process counts by itself."""
    traffic = front.traffic.statistics()
    refused = service.submission.statistics().refused
    found: dict[str, tuple[str, float]] = {
        "invocations": ("Queries answered.", service.invoked.count),
        "appends_refused": ("Appends refused for want of a place.", refused),
        "requests_turned_away": (
            "Requests refused for want of a place.",
            front.places.statistics().turned_away,
        ),
        "traffic_refused": (
            "Answers and requests refused for want of memory in connections.",
            traffic.refused,
        ),
        "connections_stalled": (
            "Connections given up because their clients took no answer.",
            traffic.stalled,
        ),
        "request_lines_left_out": (
            "Log lines of requests that were not written, because there were too many.",
            front.requests.statistics().left_out,
        ),
        "authentications_failed": ("Requests with a wrong key.", guesses.statistics().failed),
        "authentications_refused": (
            "Requests from addresses with too many wrong keys.",
            guesses.statistics().refused,
        ),
    }
    cache = service.backend.tuples_cache()
    if cache is not None:
        found["tuples_cache_hits"] = ("Reads of tuples that were all kept.", cache.hits)
        found["tuples_cache_misses"] = (
            "Reads of tuples that had to be made in part.",
            cache.misses,
        )
    return found


def store_gauges(service: Service) -> dict[str, tuple[str, float]]:
    """Return where the store stands, as it was last seen. Blocks, some seconds at most. Raises what the store does."""
    inventory, state = service.inventoried(), service.state.seen().value
    log, histories = inventory.log, inventory.histories
    memory_bytes = 0 if state is None else state.health.memory_bytes
    found: dict[str, tuple[str, float]] = {
        "ready": ("1 if the service is ready.", not service.reasons()),
        "log_head": ("Position of the last operation.", log.head),
        "log_entries": ("Entries in the log.", log.entries),
        "log_bytes": ("Bytes of bodies in the log.", log.bytes),
        "staged_bytes": ("Bytes staged for commits to come.", log.staged_bytes),
        "histories": ("Answers computed from an archive, in work or kept.", histories.count),
        "history_bytes": ("Bytes of their parts.", histories.nbytes),
        "backlog_operations": (
            "Operations that are committed and not applied.",
            max(0, log.head - service.applied.seq),
        ),
        "store_memory_bytes": ("Memory of the store.", memory_bytes),
    }
    if inventory.waiting_bytes is not None:
        found["backlog_bytes"] = (
            "Bytes of bodies that are committed and not applied.",
            inventory.waiting_bytes,
        )
    return found


def condition_gauges(store: StoreCondition) -> dict[str, tuple[str, float]]:
    """Return how the store was when its engine last looked at it."""
    found: dict[str, tuple[str, float]] = {
        "store_clock_behind_seconds": (
            "How long NOW stands still, because the clock was set back.",
            store.clock_behind_us / SECOND_US,
        ),
        "store_settings_drifted": ("1 if the store is set to keep less.", store.drifted),
    }
    if store.disk is not None:
        found["store_disk_used_percent"] = ("Of the store's disk.", store.disk.used_percent)
        found["store_disk_free_bytes"] = ("Left on the store's disk.", store.disk.free_bytes)
        found["store_disk_full"] = ("1 if nothing is added for want of disk.", store.disk.full)
    if store.loss is not None:
        found["loss_last_time_seconds"] = (
            "When the latest loss of operations was found, since 1970.",
            store.loss.at_us / SECOND_US,
        )
    return found


def engine_gauges(service: Service, figures: Figures) -> dict[str, tuple[str, float]]:
    """Return where the engine stands and what it holds."""
    return {
        "applied": ("Position of the last applied operation.", service.applied.seq),
        "unpublished_operations": (
            "Operations that are applied and not published.",
            max(0, figures.applied - figures.published),
        ),
        "hits_memory_bytes": ("Memory of hits in the engine.", figures.footprint.hits),
        "join_groups": ("Groups of queries that are joined together.", len(figures.joins.groups)),
        "publish_seconds_longest": ("The longest publish.", figures.publish_s_max),
        **condition_gauges(figures.store),
    }


def engine_counters(figures: Figures) -> dict[str, tuple[str, float]]:
    """Return what the engine has counted since its start."""
    joins = figures.joins.totals
    return {
        "operations_folded": ("Operations folded.", figures.operations),
        "operations_void": ("Operations that could not be applied.", figures.voided),
        "publishes": ("Deltas published.", figures.publishes),
        "publish_seconds": ("Seconds that publishing took.", figures.publish_s),
        "pages_written": ("Result pages written.", figures.pages_written),
        "store_retries": ("Attempts after the store was away.", figures.retries),
        "tuples_folded": ("Tuples folded.", figures.tuples),
        "ticks": ("Ticks appended.", figures.ticks),
        "operations_lost": (
            "Operations that the store has lost, ever.",
            0 if figures.store.loss is None else figures.store.loss.total,
        ),
        "join_entrants": ("Chunks and queries joined.", joins.entrants),
        "join_steps": ("Candidates and pairs looked at.", joins.steps),
        "join_semijoined": ("Tuples left out before joining.", joins.semijoined),
        "join_intermediates": ("Composites built on the way.", joins.intermediates),
        "join_results": ("Composites that queries want.", joins.results),
    }
