"""The HTTP endpoint of an engine without an API: `/healthz`, `/readyz` and `/metrics`, for operators."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from psoup.app.backend.contract import Phase
from psoup.app.backend.store_look import STORE_SLOW, StoreLook
from psoup.app.errors import MethodError
from psoup.app.fold.figures import FoldStatistics
from psoup.app.fold.loop import FoldLoop
from psoup.app.http.access.keys import READ, Keys
from psoup.app.http.edge import Application, Check, Edge, Scope, problem_answer
from psoup.app.http.front import FRONT, Front
from psoup.app.operate.meters.engine import (
    EXECUTORS,
    FOLD,
    LEASE,
    ExecutorCounts,
    FoldReading,
    phase_gauge,
    publish_summary,
)
from psoup.app.operate.meters.meter import families, in_order
from psoup.app.operate.probes import (
    HEALTH,
    METRICS,
    READY,
    answer_health,
    answer_metrics,
    answer_readiness,
)
from psoup.engine.errors import EngineError, NotFoundError
from psoup.engine.results.contract import Position
from psoup.engine.store.contract import Store, StoreHealth

_METHODS: Final = ("GET", "HEAD")
"""Of each path."""


def engine_application(
    loop: FoldLoop,
    store: Store,
    keys: Keys,
    front: Front,
    *,
    executors: Callable[[], ExecutorCounts] | None = None,
    admit: Check,
    address_of: Callable[[Scope], str],
) -> Application:
    """Return the ASGI application over an engine that runs. A standby is healthy and not ready.

    Args:
        loop: the engine's fold.
        store: of the engine.
        keys: who may read the meters: a key with the scope `read`, where keys are asked for.
        front: what the application and its connections share; its request log is closed with the application.
        executors: returns what the engine's Spark executors have done; None = it has none.
        admit: as for `Edge`.
        address_of: returns the address that a request comes from.
    """
    registry = CollectorRegistry()
    registry.register(_EngineCollector(loop, StoreLook(store.position), executors))
    look = StoreLook(store.health)

    async def health(_: Request) -> Response:
        return answer_health()

    async def ready(_: Request) -> Response:
        return await answer_readiness(
            lambda: _reasons(loop, look), lambda: loop.figures().store.warnings
        )

    async def metrics(request: Request) -> Response:
        given = request.headers.get("authorization")
        keys.caller(given, address=address_of(request.scope)).require(READ)
        return await answer_metrics(lambda: generate_latest(registry))

    async def problem(request: Request, error: Exception) -> Response:
        shown = error
        if isinstance(error, HTTPException):
            absent = NotFoundError("There is nothing at this path.")
            shown = MethodError(_METHODS) if error.status_code == 405 else absent
        return problem_answer(request.scope, shown)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[Mapping[str, object]]:
        yield {FRONT: front}
        front.requests.close()

    app = Starlette(
        routes=[Route(HEALTH, health), Route(READY, ready), Route(METRICS, metrics)],
        exception_handlers={EngineError: problem, HTTPException: problem},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return Edge(app, ids=front.ids, admit=admit, observe=front.requests.ended)


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
    """An engine's meters as metric families, read when somebody scrapes."""

    def __init__(
        self,
        loop: FoldLoop,
        look: StoreLook[Position],
        executors: Callable[[], ExecutorCounts] | None,
    ) -> None:
        self._loop = loop
        self._look = look
        self._executors = executors

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families; of the log only where the store answers, or has answered before."""
        statistics = self._loop.statistics()
        yield phase_gauge(statistics.phase)
        yield publish_summary(statistics.figures)
        found = list(families(FOLD, self._reading(statistics)))
        if self._executors is not None:
            found += families(EXECUTORS, self._executors())
        found += families(LEASE, statistics.lease)
        yield from in_order(found)

    def _reading(self, statistics: FoldStatistics) -> FoldReading:
        """Return what the engine and, as it was last seen, the log say."""
        figures = statistics.figures
        # Before an engine has read its generation it has read nothing of the store.
        position = self._position() if statistics.gen else None
        return FoldReading(
            figures=figures,
            applied=figures.applied,
            phase=statistics.phase,
            lag_us=statistics.lag_us,
            log_head=None if position is None else position.head,
            backlog_operations=None
            if position is None
            else max(0, position.head - position.applied),
            backlog_bytes=None if position is None else position.waiting_bytes,
        )

    def _position(self) -> Position | None:
        """Return where the store stood when it was last seen; None where it does not answer."""
        try:
            return self._look.seen().value
        except EngineError:
            return None
