"""Health, readiness, figures, limits: what operators and their tools ask."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Final

from pydantic import BaseModel
from starlette.responses import Response

from psoup.app.backend.service import StoreState
from psoup.app.figures.engine import Figures
from psoup.app.http.access.keys import READ
from psoup.app.operate.meters.meter import MEDIA_TYPE
from psoup.app.operate.probes import (
    HEALTH,
    METRICS,
    READY,
    answer_health,
    answer_metrics,
    answer_readiness,
)
from psoup.app.routes.endpoint import Call, Endpoint, Handler, Shown, json_answer
from psoup.app.wire.models.join_figures import JoinFigures, describe_joins
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.results.delta import StreamRecord
from psoup.engine.store.condition import StoreCondition

_UNITS: Final = frozenset({"KIB", "MIB", "GIB", "SECOND_US", "DAY_US"})
LIMITS: Final[Mapping[str, int | float]] = {
    name.lower(): value
    for name, value in vars(limits).items()
    if name.isupper() and isinstance(value, int | float) and name not in _UNITS
}
"""Every limit by its name in `engine/limits.py`."""


class HealthAnswer(BaseModel):
    """The process runs."""

    status: str


class ReadyAnswer(BaseModel):
    """Whether requests are answered rightly now, and if not, why; and what else an operator has to know."""

    ready: bool
    reasons: list[str]
    warnings: list[str]


class LimitsAnswer(BaseModel):
    """Every limit by name, and how much of some is used."""

    limits: dict[str, float]
    use: dict[str, int]


class StreamFigures(BaseModel):
    """What one stream holds."""

    name: str
    rows: int
    bytes: int
    queries: int


class WrittenFigures(BaseModel):
    """What was written since the start, and what of it falls to a tuple; null before the first one.

    The log's bytes are those of batches as they are kept there, the results' those of hits published.
    """

    tuples: int
    log_bytes: int
    result_bytes: int
    log_bytes_per_tuple: float | None
    result_bytes_per_tuple: float | None


class MemoryFigures(BaseModel):
    """Bytes in memory; null where it is not known, or bounded, or there are no clauses.

    The store's are its own, in its process; those of streams are the values retained, as they count for
    retention. The others are the engine's: tuples as columns, with room for those to come; hits that are
    kept between invocations; the index of the queries; their texts. They are at most a second old.
    """

    store_bytes: int
    store_bytes_max: int | None
    streams_bytes: int
    tuple_bytes: int
    hit_bytes: int
    hit_bytes_max: int
    index_bytes: int
    query_text_bytes: int
    clauses: int
    hit_bytes_per_clause: float | None
    index_bytes_per_clause: float | None


class RateFigures(BaseModel):
    """What was done a second, over the last `seconds` seconds: the span named, or since the start.

    Invocations are those of the process that answers.
    """

    seconds: float
    tuples_per_s: float
    operations_per_s: float
    invocations_per_s: float


class DiskFigures(BaseModel):
    """The disk that the store's files are on."""

    used_percent: float
    free_bytes: int
    full: bool
    high: bool


class LossFigures(BaseModel):
    """Operations that the store has lost: first and last seq of the latest, when it was found, `total` of all."""

    first_seq: int
    last_seq: int
    at: str
    total: int


class StoreFigures(BaseModel):
    """The store as its engine has seen it, some seconds ago at most. Null: not visible, or no loss in the last hour.

    The clock is so many seconds behind the last arrival; NOW stands still as long.
    """

    disk: DiskFigures | None
    clock_behind_s: float
    loss: LossFigures | None


class StatusAnswer(BaseModel):
    """Figures of the running service."""

    version: str
    ready: bool
    reasons: list[str]
    warnings: list[str]
    gen: int
    head: int
    applied: int
    published: int
    backlog: int
    now: str | None
    durability: str
    store: StoreFigures
    streams: list[StreamFigures]
    queries: int
    memory: MemoryFigures
    rates: dict[str, RateFigures]
    written: WrittenFigures
    joins: JoinFigures
    counters: dict[str, int]


async def get_health(_: Call) -> Response:
    """Say that the process runs: depends on nothing."""
    return answer_health()


async def get_ready(call: Call) -> Response:
    """Say whether the service is ready, or why not."""
    return await answer_readiness(call.service.reasons, call.service.warnings)


async def get_metrics(call: Call) -> Response:
    """Return the meters as Prometheus reads them."""
    return await answer_metrics(call.context.meters.text)


async def get_limits(call: Call) -> Response:
    """Return every limit, with the present use of those that fill up."""
    service = call.service

    def read() -> dict[str, int]:
        front = call.context.front
        slots, traffic = front.slots.statistics(), front.traffic.statistics()
        inventory = service.inventoried()
        counts, histories = inventory.counts, inventory.histories
        return {
            "streams_count_max": counts.streams,
            "queries_count_max": counts.queries,
            "backlog_operations_max": service.backlog(),
            "staged_bytes_max": inventory.log.staged_bytes,
            "histories_max": histories.count,
            "histories_bytes_max": histories.nbytes,
            "appends_in_flight_max": service.submission.statistics().in_flight,
            "hits_memory_bytes_max": service.backend.figures().footprint.hits,
            "requests_in_flight_max": slots.working,
            "requests_reading_max": slots.reading,
            "requests_waiting_max": slots.waiting,
            "requests_watching_max": slots.watching,
            "watched_queries_max": call.room.statistics().watched,
            "requests_unparsed_bytes_max": traffic.unparsed_bytes,
            "answers_unsent_bytes_max": traffic.unsent_bytes,
        }

    use = await asyncio.to_thread(read)
    settings = service.settings
    in_force = {
        "ingest_deadline_s": settings.ingest_deadline_s,
        "register_deadline_s": settings.register_deadline_s,
        "invoke_deadline_s": settings.invoke_deadline_s,
        "request_seconds_max": settings.request_s,
        "request_bytes_per_second_min": settings.request_bytes_per_s_min,
        "connections_max": settings.connections,
        "connections_per_address_max": settings.connections_per_address,
        "requests_in_flight_max": settings.requests_in_flight,
        "requests_reading_max": settings.requests_reading,
        "requests_waiting_max": settings.requests_waiting,
        "requests_watching_max": settings.requests_watching,
        "answer_stall_s": settings.answer_stall_s,
        "appends_in_flight_max": settings.appends_in_flight,
        "streams_count_max": settings.streams,
    }
    return json_answer({"limits": {**LIMITS, **in_force}, "use": use})


async def get_status(call: Call) -> Response:
    """Return the figures of the service."""
    return json_answer(await asyncio.to_thread(_status, call))


def _status(call: Call) -> dict[str, object]:
    service = call.service
    statistics, reasons = service.statistics(), service.reasons()
    figures, inventory = statistics.figures, service.inventoried()
    cut, streams, head = inventory.cut, inventory.streams, service.head()
    renewals = service.renewals.statistics()
    return {
        "version": version("psoup"),
        "ready": not reasons,
        "reasons": list(reasons),
        "warnings": list(figures.store.warnings),
        "gen": cut.gen,
        "head": head,
        "applied": cut.seq,
        "published": figures.published,
        "backlog": max(0, head - service.applied.seq),
        "now": format_instant(cut.server_now_us),
        "durability": str(service.store.durability),
        "store": _store(figures.store),
        "streams": [
            {
                "name": one.schema.name,
                "rows": one.rows - one.floor_row,
                "bytes": one.bytes,
                "queries": one.queries,
            }
            for one in streams
        ],
        "queries": inventory.counts.queries,
        "memory": _memory(figures, service.state.seen().value, streams),
        "rates": {f"{span_s}s": asdict(rate) for span_s, rate in service.rates().items()},
        "written": _written(figures),
        "joins": describe_joins(figures.joins, {one.stream_id: one.schema.name for one in streams}),
        "counters": {
            "operations_folded": figures.operations,
            "operations_void": figures.voided,
            "ticks": figures.ticks,
            "appends": statistics.submission.submitted,
            "duplicates": statistics.submission.duplicates,
            "appends_refused": statistics.submission.refused,
            "commits_unknown": statistics.submission.unknown,
            "store_retries": figures.retries,
            "renewals": renewals.renewed,
            "renewals_refused": renewals.refused,
        },
    }


def _store(condition: StoreCondition) -> dict[str, object]:
    loss = condition.recent_loss
    return {
        "disk": None if condition.disk is None else asdict(condition.disk),
        "clock_behind_s": condition.clock_behind_us / limits.SECOND_US,
        "loss": None
        if loss is None
        else {
            "first_seq": loss.first,
            "last_seq": loss.last,
            "at": format_instant(loss.at_us),
            "total": loss.total,
        },
    }


def _memory(
    figures: Figures, store: StoreState | None, streams: Sequence[StreamRecord]
) -> dict[str, float | None]:
    held = figures.footprint
    return {
        "store_bytes": 0 if store is None else store.health.memory_bytes,
        "store_bytes_max": None if store is None else store.health.memory_max_bytes,
        "streams_bytes": sum(one.bytes for one in streams),
        "tuple_bytes": held.tuples,
        "hit_bytes": held.hits,
        "hit_bytes_max": limits.HITS_MEMORY_BYTES_MAX,
        "index_bytes": held.index,
        "query_text_bytes": held.texts,
        "clauses": held.clauses,
        "hit_bytes_per_clause": held.hits_per_clause,
        "index_bytes_per_clause": held.index_per_clause,
    }


def _written(figures: Figures) -> dict[str, float | None]:
    tuples, log, hits = figures.tuples, figures.body_bytes, figures.result_bytes
    return {
        "tuples": tuples,
        "log_bytes": log,
        "result_bytes": hits,
        "log_bytes_per_tuple": log / tuples if tuples else None,
        "result_bytes_per_tuple": hits / tuples if tuples else None,
    }


def _get(
    path: str,
    name: str,
    text: str,
    handle: Handler,
    shown: Mapping[int, Shown],
    *,
    scope: str | None = None,
) -> Endpoint:
    """Return an endpoint that answers whatever state the service is in."""
    return Endpoint("GET", path, name, text, handle, shown, scope, live=False)


_METRICS_TEXT: Final = {MEDIA_TYPE: {"schema": {"type": "string"}}}
ENDPOINTS: Final[Sequence[Endpoint]] = (
    _get(
        HEALTH,
        "health",
        "Is the process alive?",
        get_health,
        {200: Shown("Yes.", HealthAnswer)},
    ),
    _get(
        READY,
        "ready",
        "Is the service ready?",
        get_ready,
        {
            200: Shown("It is.", ReadyAnswer),
            503: Shown(
                "It is not: store-down, recovering, no-engine, backlog, memory-high, disk-full,"
                " config-drift or integrity.",
                ReadyAnswer,
            ),
        },
    ),
    _get(
        METRICS,
        "metrics",
        "Meters for Prometheus",
        get_metrics,
        {200: Shown("The meters.", content=_METRICS_TEXT)},
        scope=READ,
    ),
    _get(
        "/v1/status",
        "status",
        "Figures of the service",
        get_status,
        {200: Shown("The figures.", StatusAnswer)},
        scope=READ,
    ),
    _get(
        "/v1/limits",
        "limits",
        "Every limit, and its use",
        get_limits,
        {200: Shown("The limits.", LimitsAnswer)},
        scope=READ,
    ),
)
