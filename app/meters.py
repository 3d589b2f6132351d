"""Prometheus meters, in a registry of their own: requests as they end, the service's counters when asked."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from app.middleware.edge import Scope
from app.service import Service

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROUTE = "psoup.route"
"""Where an endpoint leaves its operation id in the scope: a bounded label, unlike a path."""


class Meters:
    """The meters of one application."""

    def __init__(self) -> None:
        """Make the registry; `attach` adds a service's counters to it."""
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "psoup_http_requests", "Answers.", ["operation", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "psoup_http_request_seconds",
            "Seconds from a request's head to its answer.",
            ["operation"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._rows = Counter("psoup_rows_accepted", "Rows stored.", registry=self._registry)

    def attach(self, service: Service) -> None:
        """Collect the counters of `service` at every scrape."""
        self._registry.register(_ServiceCollector(service))

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one answer."""
        operation = scope.get("state", {}).get(ROUTE, "other")
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def accepted(self, rows: int) -> None:
        """Count rows that were stored."""
        self._rows.inc(rows)

    def text(self) -> bytes:
        """Return all meters as Prometheus reads them. May block on the store."""
        return generate_latest(self._registry)


class _ServiceCollector:
    """The service's counters as metric families, read when somebody asks."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        statistics = self._service.statistics()
        log = self._service.store.log.statistics()
        results = self._service.store.results.statistics()
        joins = self._service.joins.reading
        gauges = {
            "ready": ("1 if the service is ready.", not self._service.reasons()),
            "log_head": ("Position of the last operation.", log.head),
            "applied": ("Position of the last applied operation.", self._service.applied.seq),
            "log_entries": ("Entries in the log.", log.entries),
            "log_bytes": ("Bytes of bodies in the log.", log.bytes),
            "appends_in_flight": ("Appends on their way.", statistics.submission.in_flight),
            "hits_memory_bytes": ("Memory of hits in this process.", statistics.fold.held.hits),
            "join_groups": ("Groups of queries that are joined together.", len(joins.groups)),
            "store_memory_bytes": (
                "Memory of the store.",
                self._service.store.health().memory_bytes,
            ),
        }
        counters = {
            "operations_folded": ("Operations folded.", statistics.fold.operations),
            "operations_void": ("Operations that could not be applied.", statistics.fold.voided),
            "publishes": ("Deltas published.", results.publishes),
            "pages_written": ("Result pages written.", results.pages_written),
            "store_retries": ("Attempts after the store was away.", statistics.fold.retries),
            "tuples_folded": ("Tuples folded.", statistics.fold.tuples),
            "invocations": ("Queries answered.", self._service.invoked.count),
            "ticks": ("Ticks appended.", statistics.fold.ticks),
            "join_entrants": ("Chunks and queries joined.", joins.totals.entrants),
            "join_steps": ("Candidates and pairs looked at.", joins.totals.steps),
            "join_semijoined": ("Tuples left out before joining.", joins.totals.semijoined),
            "join_intermediates": ("Composites built on the way.", joins.totals.intermediates),
            "join_results": ("Composites that queries want.", joins.totals.results),
            "appends_refused": (
                "Appends refused for want of a place.",
                statistics.submission.refused,
            ),
        }
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"psoup_{name}", text, value=float(value))
        for name, (text, value) in counters.items():
            yield CounterMetricFamily(f"psoup_{name}", text, value=float(value))
