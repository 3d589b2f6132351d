"""The engine's meters: those that every process shows, and those of an engine that answers operators itself.

A service shows what it has been told of an engine, which may fold in another process. `psoup engine --port` shows the
same meters of its own engine, and beside them its phase, its lease and its Spark executors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from prometheus_client.core import GaugeMetricFamily, Metric, SummaryMetricFamily

from psoup.app.backend.contract import Phase
from psoup.app.figures.engine import Figures
from psoup.app.fold.lease import LeaseStatistics
from psoup.app.operate.meters.meter import PREFIX, Meter, Value, counter, gauge
from psoup.engine.limits import SECOND_US
from psoup.engine.store.condition import DiskUse, Loss, StoreCondition


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReading:
    """An engine's figures, and the operations that wait for it.

    Attributes:
        applied: position of the last operation that the process shows.
        log_head: position of the last operation in the log; None = the store does not answer.
        backlog_operations, backlog_bytes: committed and not applied; None = not known.
    """

    figures: Figures
    applied: int
    log_head: int | None = None
    backlog_operations: int | None = None
    backlog_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReading(EngineReading):
    """An engine as its own process sees it.

    Attributes:
        lag_us: how long ago the oldest operation arrived that is read and not applied.
    """

    phase: Phase
    lag_us: int


class ExecutorCounts(Protocol):
    """Work that the Spark executors of an engine have done since its start."""

    @property
    def jobs(self) -> int:
        """Jobs that executors were given."""
        ...

    @property
    def failed(self) -> int:
        """Jobs and scans without a result."""
        ...

    @property
    def chunks(self) -> int:
        """Chunks whose hits executors have computed."""
        ...

    @property
    def seconds(self) -> float:
        """Seconds that the engine has waited for jobs."""
        ...


def _condition(
    name: str, text: str, read: Callable[[StoreCondition], Value]
) -> Meter[EngineReading]:
    """Return a gauge of the store's condition, as the engine has last seen it."""
    return gauge(name, text, lambda one: read(one.figures.store))


def _disk(name: str, text: str, read: Callable[[DiskUse], Value]) -> Meter[EngineReading]:
    """Return a gauge of the store's disk; left out where the engine does not see the disk."""
    return _condition(name, text, lambda store: None if store.disk is None else read(store.disk))


def _loss(store: StoreCondition, read: Callable[[Loss], float]) -> Value:
    return None if store.loss is None else read(store.loss)


def _folded(name: str, text: str, read: Callable[[Figures], Value]) -> Meter[EngineReading]:
    """Return a counter of an engine since its start."""
    return counter(name, text, lambda one: read(one.figures))


Shared = Meter[EngineReading]
"""Shown by a service and by an engine alike."""
APPLIED: Final[Shared] = gauge(
    "applied", "Position of the last applied operation.", lambda one: one.applied
)
HITS_MEMORY: Final[Shared] = gauge(
    "hits_memory_bytes", "Memory of hits in the engine.", lambda one: one.figures.footprint.hits
)
MATCH_MEMORY: Final[Shared] = gauge(
    "match_memory_bytes",
    "Memory that threads which match write into.",
    lambda one: one.figures.footprint.scratch,
)
JOIN_GROUPS: Final[Shared] = gauge(
    "join_groups",
    "Groups of queries that are joined together.",
    lambda one: len(one.figures.joins.groups),
)
LONGEST_PUBLISH: Final[Shared] = gauge(
    "publish_seconds_longest", "The longest publish.", lambda one: one.figures.publish_s_max
)
LOG_HEAD: Final[Shared] = gauge(
    "log_head", "Position of the last operation.", lambda one: one.log_head
)
BACKLOG_OPERATIONS: Final[Shared] = gauge(
    "backlog_operations",
    "Operations that are committed and not applied.",
    lambda one: one.backlog_operations,
)
BACKLOG_BYTES: Final[Shared] = gauge(
    "backlog_bytes",
    "Bytes of bodies that are committed and not applied.",
    lambda one: one.backlog_bytes,
)
CONDITION: Final[Sequence[Shared]] = (
    _condition(
        "store_clock_behind_seconds",
        "How long NOW stands still, because the clock was set back.",
        lambda store: store.clock_behind_us / SECOND_US,
    ),
    _condition(
        "store_settings_drifted",
        "1 if the store is set to keep less.",
        lambda store: store.drifted,
    ),
    _disk("store_disk_used_percent", "Of the store's disk.", lambda disk: disk.used_percent),
    _disk("store_disk_free_bytes", "Left on the store's disk.", lambda disk: disk.free_bytes),
    _disk("store_disk_full", "1 if nothing is added for want of disk.", lambda disk: disk.full),
    _condition(
        "loss_last_time_seconds",
        "When the latest loss of operations was found, since 1970.",
        lambda store: _loss(store, lambda loss: loss.at_us / SECOND_US),
    ),
)
OPERATIONS: Final[Sequence[Shared]] = (
    _folded("operations_folded", "Operations folded.", lambda one: one.operations),
    _folded("operations_void", "Operations that could not be applied.", lambda one: one.voided),
)
PUBLISHES: Final[Sequence[Shared]] = (
    _folded("publishes", "Deltas published.", lambda one: one.publishes),
    _folded("publish_seconds", "Seconds that publishing took.", lambda one: one.publish_s),
)
FOLDED: Final[Sequence[Shared]] = (
    _folded("pages_written", "Result pages written.", lambda one: one.pages_written),
    _folded("store_retries", "Attempts after the store was away.", lambda one: one.retries),
    _folded("tuples_folded", "Tuples folded.", lambda one: one.tuples),
    _folded("ticks", "Ticks appended.", lambda one: one.ticks),
    _folded(
        "match_chunks_shared",
        "Chunks that several threads matched together.",
        lambda one: one.chunks_shared,
    ),
    _folded(
        "operations_lost",
        "Operations that the store has lost, ever.",
        lambda one: _loss(one.store, lambda loss: loss.total) or 0,
    ),
    _folded("join_entrants", "Chunks and queries joined.", lambda one: one.joins.totals.entrants),
    _folded("join_steps", "Candidates and pairs looked at.", lambda one: one.joins.totals.steps),
    _folded(
        "join_semijoined",
        "Tuples left out before joining.",
        lambda one: one.joins.totals.semijoined,
    ),
    _folded(
        "join_intermediates",
        "Composites built on the way.",
        lambda one: one.joins.totals.intermediates,
    ),
    _folded("join_results", "Composites that queries want.", lambda one: one.joins.totals.results),
)

FOLD: Final[Sequence[Meter[FoldReading]]] = (
    gauge("ready", "1 if the engine folds.", lambda one: one.phase is Phase.LIVE),
    gauge("standby", "1 if another engine has the store.", lambda one: one.phase is Phase.STANDBY),
    APPLIED,
    gauge(
        "published",
        "Position of the last published operation.",
        lambda one: one.figures.published,
    ),
    gauge(
        "applied_lag_seconds",
        "How long ago the oldest operation arrived that is read and not applied.",
        lambda one: one.lag_us / SECOND_US,
    ),
    LONGEST_PUBLISH,
    HITS_MEMORY,
    gauge(
        "tuples_memory_bytes",
        "Memory of tuples in the engine.",
        lambda one: one.figures.footprint.tuples,
    ),
    gauge(
        "index_memory_bytes",
        "Memory of the queries' index.",
        lambda one: one.figures.footprint.index,
    ),
    MATCH_MEMORY,
    JOIN_GROUPS,
    *CONDITION,
    LOG_HEAD,
    BACKLOG_OPERATIONS,
    BACKLOG_BYTES,
    *OPERATIONS,
    *FOLDED,  # PUBLISHES are the values of `publish_summary`
)
LEASE: Final[Sequence[Meter[LeaseStatistics]]] = (
    counter("lease_renewals", "Renewals of the lease.", lambda lease: lease.renewals),
    counter("lease_failures", "Renewals that failed.", lambda lease: lease.failures),
)
EXECUTORS: Final[Sequence[Meter[ExecutorCounts]]] = (
    counter("executor_jobs", "Jobs that executors were given.", lambda done: done.jobs),
    counter(
        "executor_failures", "Jobs and scans of executors that failed.", lambda done: done.failed
    ),
    counter("executor_chunks", "Chunks whose hits executors computed.", lambda done: done.chunks),
    counter(
        "executor_seconds", "Seconds that the engine waited for jobs.", lambda done: done.seconds
    ),
)


def phase_gauge(phase: Phase) -> Metric:
    """Return a gauge that is 1 for the present phase and 0 for every other."""
    family = GaugeMetricFamily(f"{PREFIX}phase", "1 for where the engine stands.", labels=["phase"])
    for one in Phase:
        family.add_metric([one.value], float(one is phase))
    return family


def publish_summary(figures: Figures) -> Metric:
    """Return the number of publishes and the seconds that they took, as one summary."""
    return SummaryMetricFamily(
        f"{PREFIX}publish_seconds",
        "Seconds that publishing took.",
        count_value=figures.publishes,
        sum_value=figures.publish_s,
    )
