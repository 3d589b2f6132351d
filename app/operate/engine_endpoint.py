"""What operators and their tools may ask an engine that has no API: is it alive, is it ready, its meters."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from psoup.app.backend.contract import Phase
from psoup.app.backend.store_look import STORE_SLOW, StoreLook
from psoup.app.errors import MethodError
from psoup.app.fold.loop import FoldLoop, FoldStatistics
from psoup.app.http.edge import Application, Check, Edge, Observer, Scope, problem_answer
from psoup.app.http.keys import READ, Keys
from psoup.app.operate.meters import MEDIA_TYPE, Values, condition_gauges, engine_counters
from psoup.engine.errors import EngineError, NotFoundError
from psoup.engine.limits import SECOND_US
from psoup.engine.results.contract import Position
from psoup.engine.store.contract import Store, StoreHealth

_METHODS: Final = ("GET", "HEAD")
"""Of each path."""
_NO_STORE: Final = {"Cache-Control": "no-store"}


def engine_application(
    loop: FoldLoop,
    store: Store,
    keys: Keys,
    counters: Callable[[], Values],
    *,
    admit: Check,
    observe: Observer,
    address_of: Callable[[Scope], str],
) -> Application:
    """Return the ASGI application over an engine that runs: `/healthz`, `/readyz` and `/metrics`.

    A standby is healthy and not ready. The meters need a key with the scope `read`, where keys are asked for;
    `counters` are told with them. `admit` and `observe` are as for `Edge`; `address_of` returns who asks.
    """
    registry = CollectorRegistry()
    registry.register(_EngineCollector(loop, StoreLook(store.position), counters))
    look = StoreLook(store.health)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        reasons = await asyncio.to_thread(_reasons, loop, look)
        warnings = loop.figures().store.warnings
        body = {"ready": not reasons, "reasons": list(reasons), "warnings": list(warnings)}
        return JSONResponse(body, status_code=503 if reasons else 200, headers=_NO_STORE)

    async def meters(request: Request) -> Response:
        given = request.headers.get("authorization")
        keys.caller(given, address=address_of(request.scope)).require(READ)
        body = await asyncio.to_thread(generate_latest, registry)
        return Response(body, headers={"Content-Type": MEDIA_TYPE, **_NO_STORE})

    async def problem(request: Request, error: Exception) -> Response:
        told = error
        if isinstance(error, HTTPException):
            absent = NotFoundError("There is nothing at this path.")
            told = MethodError(_METHODS) if error.status_code == 405 else absent
        return problem_answer(request.scope, told)

    app = Starlette(
        routes=[Route("/healthz", health), Route("/readyz", ready), Route("/metrics", meters)],
        exception_handlers={EngineError: problem, HTTPException: problem},
    )
    app.router.redirect_slashes = False
    return Edge(app, admit=admit, observe=observe)


def _reasons(loop: FoldLoop, look: StoreLook[StoreHealth]) -> tuple[str, ...]:
    """Return why the engine is not ready; () = it folds what is appended. Blocks, STORE_LOOK_S at most."""
    phase = loop.phase
    if phase is not Phase.LIVE:
        return ("no-engine" if phase is Phase.STOPPED else phase.value,)
    seen = look.seen()
    found = () if seen.value is None else tuple(seen.value.reasons)
    found += tuple(loop.figures().store.reasons)
    return (*found, STORE_SLOW) if seen.is_late else found


class _EngineCollector:
    """An engine's counters as metric families, read when somebody asks."""

    def __init__(
        self, loop: FoldLoop, look: StoreLook[Position], counters: Callable[[], Values]
    ) -> None:
        self._loop = loop
        self._look = look
        self._counters = counters

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families; those of the log only where the store has answered, as it did last."""
        statistics = self._loop.statistics()
        figures = statistics.figures
        phases = GaugeMetricFamily(
            "psoup_phase", "1 for where the engine stands.", labels=["phase"]
        )
        for phase in Phase:
            phases.add_metric([phase.value], float(phase is statistics.phase))
        yield phases
        yield SummaryMetricFamily(
            "psoup_publish_seconds",
            "Seconds that publishing took.",
            count_value=figures.publishes,
            sum_value=figures.publish_s,
        )
        gauges = _gauges(statistics)
        if statistics.gen:  # before that it has read nothing of the store
            gauges |= self._queue()
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"psoup_{name}", text, value=float(value))
        counters = engine_counters(figures) | dict(self._counters())
        counters["lease_renewals"] = ("Renewals of the lease.", statistics.lease.renewals)
        counters["lease_failures"] = ("Renewals that failed.", statistics.lease.failures)
        for name, (text, value) in counters.items():
            if name not in {"publishes", "publish_seconds"}:  # which the summary tells
                yield CounterMetricFamily(f"psoup_{name}", text, value=float(value))

    def _queue(self) -> dict[str, tuple[str, float]]:
        """Return what waits to be applied, as it was last seen; nothing where the store does not answer."""
        try:
            position = self._look.seen().value
        except EngineError:
            return {}
        if position is None:
            return {}
        operations = max(0, position.head - position.applied)
        return {
            "log_head": ("Position of the last operation.", position.head),
            "backlog_operations": ("Operations that are committed and not applied.", operations),
            "backlog_bytes": (
                "Bytes of bodies that are committed and not applied.",
                position.waiting_bytes,
            ),
        }


def _gauges(statistics: FoldStatistics) -> dict[str, tuple[str, float]]:
    """Return where the engine stands and what it holds."""
    figures = statistics.figures
    return {
        "ready": ("1 if the engine folds.", statistics.phase is Phase.LIVE),
        "standby": ("1 if another engine has the store.", statistics.phase is Phase.STANDBY),
        "applied": ("Position of the last applied operation.", figures.applied),
        "published": ("Position of the last published operation.", figures.published),
        "applied_lag_seconds": (
            "How long ago the oldest operation arrived that is read and not applied.",
            statistics.lag_us / SECOND_US,
        ),
        "publish_seconds_longest": ("The longest publish.", figures.publish_s_max),
        "hits_memory_bytes": ("Memory of hits in the engine.", figures.footprint.hits),
        "tuples_memory_bytes": ("Memory of tuples in the engine.", figures.footprint.tuples),
        "index_memory_bytes": ("Memory of the queries' index.", figures.footprint.index),
        "join_groups": ("Groups of queries that are joined together.", len(figures.joins.groups)),
        **condition_gauges(figures.store),
    }
