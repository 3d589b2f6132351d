"""The only wiring: settings to a store, a service and an application. Nothing happens at import."""

import asyncio
import contextlib
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from psoup.app.admission.rates import Rates
from psoup.app.admission.slots import AdmissionSlots
from psoup.app.admission.traffic import Traffic
from psoup.app.backend.contract import Backend, Phase
from psoup.app.backend.follower import Follower
from psoup.app.backend.service import Service
from psoup.app.connection.server import handles_of, make_server
from psoup.app.errors import MethodError
from psoup.app.fold.loop import FoldLoop
from psoup.app.fold.match_threads import match_threads
from psoup.app.http.access.guesses import client_address
from psoup.app.http.access.keys import load_keys
from psoup.app.http.access.origins import shared, shown_to
from psoup.app.http.access.sites import Sites
from psoup.app.http.edge import (
    PAST_BYTES,
    WAITED_S,
    Application,
    Edge,
    Receive,
    Scope,
    Send,
    problem_answer,
)
from psoup.app.http.front import FRONT, Front
from psoup.app.http.page_tokens import PageTokens, page_key
from psoup.app.http.request_log import RequestLog
from psoup.app.openapi.serving import describe
from psoup.app.operate.lifecycle import EXIT_FENCED, EXIT_OK, EXIT_STORE, Start
from psoup.app.operate.meters.registry import Meters
from psoup.app.operate.probes import PROBES
from psoup.app.pages import add_pages, paths_of
from psoup.app.routes.endpoint import Context
from psoup.app.routes.endpoints import ENDPOINTS
from psoup.app.routes.table import RouteTable
from psoup.app.settings import Settings, check_settings, shared_store
from psoup.app.waiting.opening import open_room
from psoup.app.wire.control import refused_members
from psoup.app.wire.handles import Bits
from psoup.app.wire.reasons import reason_of
from psoup.engine import limits
from psoup.engine.clock import Clock, SystemClock
from psoup.engine.engine import CachedTuples
from psoup.engine.errors import EngineError, NotFoundError
from psoup.engine.store.contract import Store, WorkerStore
from psoup.storage.opening import open_store, open_worker_store


def create_app(
    settings: Settings,
    *,
    clock: Clock | None = None,
    store: Store | None = None,
    handle_bits: Bits = secrets.randbits,
    on_lost: Callable[[Phase], None] = lambda _: None,
) -> FastAPI:
    """Return the ASGI application.

    Args:
        settings: as `load_settings` gave them.
        clock: the server's clock; the machine's where none is given.
        store: an open store, which the caller closes; else the one `settings` names is opened when the
            application starts and closed when it ends.
        handle_bits: random bits for handles.
        on_lost: as in `FoldLoop`.

    Raises:
        SettingError: values that cannot be, or a keys file that cannot be read.
    """
    used_clock = clock or SystemClock()

    @asynccontextmanager
    async def serving(context: Context) -> AsyncIterator[Service]:
        opened = store or _open(settings, used_clock)
        try:
            context.tokens = PageTokens(_key_of(settings, opened))
            with match_threads(settings.match_threads) as threads:

                def fold(service: Service) -> Backend:
                    return FoldLoop(
                        store=opened,
                        on_applied=service.applied.advance,
                        on_lost=on_lost,
                        bind=service.bound.bind,
                        lease_s=settings.lease_s,
                        match_threads=threads,
                    )

                yield Service(store=opened, make_backend=fold, settings=settings, clock=used_clock)
        finally:
            if store is None:
                opened.close()

    return _application(settings, serving, handle_bits=handle_bits)


def create_worker_app(
    settings: Settings,
    *,
    clock: Clock | None = None,
    handle_bits: Bits = secrets.randbits,
    meters: Path | None = None,
    on_failed: Callable[[], None] = lambda: None,
) -> FastAPI:
    """Return the ASGI application of one API worker, over a store that an engine in another process folds.

    Args:
        settings: as `load_settings` gave them. The store they name need not be there yet; rates are shared by
            `workers` of them.
        clock: the machine's where none is given.
        handle_bits: random bits for handles.
        meters: folder that the workers of one port share (`Meters`); None = this one answers for itself alone.
        on_failed: as in `Follower`.

    Raises:
        SettingError: values that cannot be, a keys file that cannot be read, or a store that several processes
            cannot share.
    """
    url = shared_store(settings)
    used_clock = clock or SystemClock()

    @asynccontextmanager
    async def serving(context: Context) -> AsyncIterator[Service]:
        kept: list[Callable[[], None]] = []

        def forget() -> None:
            for part in kept:
                part()

        store = open_worker_store(
            url,
            forget=forget,
            password_file=settings.store_password_file,
            streams_max=settings.streams,
        )
        rows = CachedTuples(
            store.results,
            store.log,
            make_lock=threading.Lock,
            bytes_max=limits.TUPLES_CACHE_BYTES_MAX,
        )
        context.tokens = PageTokens(_key_of(settings, store))

        def follow(service: Service) -> Backend:
            return Follower(
                store=store,
                tuples=rows,
                applied=service.applied,
                on_history=context.tokens.learn,
                on_failed=on_failed,
            )

        with contextlib.closing(store):
            service = Service(store=store, make_backend=follow, settings=settings, clock=used_clock)
            kept += [rows.forget, service.forget]
            yield service

    return _application(
        settings, serving, handle_bits=handle_bits, processes=settings.workers, meters=meters
    )


Serving = Callable[[Context], AbstractAsyncContextManager[Service]]
"""Makes the service of an application that starts, and lets go of its store when it has ended."""


def _application(
    settings: Settings,
    serving: Serving,
    *,
    handle_bits: Bits,
    processes: int = 1,
    meters: Path | None = None,
) -> FastAPI:
    """Return the application around a service; `processes` answer for the same one. Raises SettingError."""
    check_settings(settings)
    context = Context(
        keys=load_keys(settings.keys_file, processes=processes),
        address_of=client_address(settings),
        tokens=PageTokens(bytes),
        rates=Rates(processes=processes),
        meters=Meters(meters),
        handle_bits=handle_bits,
        front=Front(slots_of(settings), Traffic(), RequestLog(settings)),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[Mapping[str, object]]:
        async with serving(context) as service:
            context.room = room = open_room(service)
            context.front.slots.when_full(room.relieve)
            context.front.before_end.append(room.close)
            context.meters.attach(service, room, context.front, context.keys.guesses)
            context.service = service
            await service.start()
            room.start()
            sharing = asyncio.create_task(context.meters.share_often())
            try:
                yield {FRONT: context.front}
            finally:
                sharing.cancel()
                await room.stop()
                await service.stop()
                context.front.requests.close()

    def observe(scope: Scope, status: int, nbytes: int, seconds: float) -> None:
        state = scope["state"]
        seconds -= state.get(WAITED_S, 0.0)
        nbytes += state.get(PAST_BYTES, 0)
        context.meters.observe(scope, status, seconds)
        context.front.requests.ended(scope, status, nbytes, seconds)

    app = _Application(
        title="psoup",
        version=version("psoup"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.context = context
    describe(app, ENDPOINTS)
    add_pages(app, settings, context.front)
    _answer_errors(app)
    answering = shared(_routed(app, context), settings)
    app.edge = Edge(
        answering,
        ids=context.front.ids,
        admit=Sites(settings).admit,
        observe=observe,
        share=lambda headers: shown_to(headers, settings.cors_origins),
    )
    return app


class _Application(FastAPI):
    """FastAPI whose requests pass psoup's own layers alone: its own take longer than an answer."""

    edge: Edge

    # typing has override from Python 3.12 on
    async def __call__(  # type: ignore[explicit-override]
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve one request, or the lifespan."""
        scope["app"] = self  # by it the router knows that somebody answers what it does not find
        await self.edge(scope, receive, send)


def _routed(app: FastAPI, context: Context) -> Application:
    """Return what answers the endpoints, and has the router of `app` answer everything else."""
    router = ExceptionMiddleware(app.router, handlers=app.exception_handlers)
    return RouteTable(ENDPOINTS, context, otherwise=router)


def slots_of(settings: Settings) -> AdmissionSlots:
    """Return the slots for requests, as many as `settings` allow."""
    return AdmissionSlots(
        working=settings.requests_in_flight,
        reading=settings.requests_reading,
        waiting=settings.requests_waiting,
        watching=settings.requests_watching,
        free=PROBES,
    )


def _open(settings: Settings, clock: Clock) -> Store:
    """Return the store that the settings name, taken over. Raises what `open_store` does."""
    return open_store(
        settings.store,
        data=settings.data,
        clock=clock,
        lease_s=settings.lease_s,
        password_file=settings.store_password_file,
        disk_full_percent=settings.disk_full_percent,
        streams_max=settings.streams,
    )


def serve_on(
    listener: socket.socket, settings: Settings, clock: Clock, store: Store, start: Start
) -> int:
    """Serve on `listener`, over a store, until a signal ends it or another engine takes over; return the exit code."""
    lost: list[Phase] = []

    def end(phase: Phase) -> None:
        """End where another engine has taken over; after damage go on saying so."""
        lost.append(phase)
        if phase is Phase.FENCED:
            server.should_exit = True

    def note() -> Mapping[str, object]:
        return {
            **paths_of(settings),
            "ready": not app.state.context.service.reasons(),
            "seconds": round(start.end(), 3),
        }

    app = create_app(settings, clock=clock, store=store, on_lost=end)
    server = make_server(app, settings, note=note)
    try:
        with handles_of(listener) as handles:
            server.run(sockets=handles)
    except KeyboardInterrupt as interrupt:  # raised once more by uvicorn after its graceful end
        return start.code_of(interrupt)
    except SystemExit:  # uvicorn's word for a lifespan that did not start; it has logged why
        return EXIT_STORE
    return EXIT_FENCED if Phase.FENCED in lost else EXIT_OK


def _key_of(settings: Settings, store: Store | WorkerStore) -> Callable[[], bytes]:
    """Return what finds the key of page tokens: that of the file named, else the store's."""
    if settings.page_key_file is not None:
        key = page_key(settings.page_key_file)
        return lambda: key
    return lambda: store.page_key


def _answer_errors(app: FastAPI) -> None:
    """Give every error the one shape, the framework's own as well."""

    async def ours(request: Request, error: Exception) -> Response:
        return problem_answer(request.scope, error)

    async def framework(request: Request, error: Exception) -> Response:
        return await ours(request, _translated(app, request, error))

    app.add_exception_handler(EngineError, ours)
    app.add_exception_handler(HTTPException, framework)
    app.add_exception_handler(RequestValidationError, framework)


def _translated(app: FastAPI, request: Request, error: Exception) -> Exception:
    if isinstance(error, HTTPException) and error.status_code == 404:
        return NotFoundError(
            "There is nothing at this path. /docs and /openapi.json of a service describe all paths."
        )
    if isinstance(error, HTTPException) and error.status_code == 405:
        return MethodError(_methods(app, request))
    if isinstance(error, RequestValidationError):
        return refused_members(
            [("/" + "/".join(map(str, one["loc"])), reason_of(one)) for one in error.errors()]
        )
    return error


def _methods(app: FastAPI, request: Request) -> list[str]:
    """Return the methods of all routes at this path: each route knows only its own."""
    found: set[str] = set()
    for route in app.routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    if "GET" in found:
        found.add("HEAD")
    return sorted(found)
