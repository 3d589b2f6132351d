"""The only wiring: settings to a store, a service and an application. Nothing happens at import."""

import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from types import FrameType

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from app.errors import MethodError
from app.keys import load_keys
from app.log_lines import configure_logging
from app.meters import Meters
from app.middleware.edge import REQUEST_ID, Edge
from app.openapi import describe
from app.page_tokens import PageTokens, page_key
from app.problems import problem_response
from app.rates import Rates
from app.routes import health, invocations, queries, streams, tuples
from app.routes.endpoint import Context, add
from app.server import listen, make_server, pace_collector
from app.service import Service
from app.settings import Settings, check_settings
from app.store import Store
from app.wire.queries import Bits
from engine.clock import Clock, SystemClock
from engine.errors import EngineError, InvalidFieldError, NotFoundError
from storage import open_store

ENDPOINTS = (
    *streams.ENDPOINTS,
    *tuples.ENDPOINTS,
    *queries.ENDPOINTS,
    *invocations.ENDPOINTS,
    *health.ENDPOINTS,
)
EXPOSED_HEADERS = [
    "ETag",
    "Retry-After",
    "Location",
    "Link",
    "Request-Id",
    "RateLimit",
    "RateLimit-Policy",
    "Psoup-Gen",
    "Psoup-Seq",
    "Psoup-Now",
    "Psoup-Count",
    "Psoup-Durability",
]

EXIT_OK = 0
EXIT_SETTINGS = 2
EXIT_STORE = 3
EXIT_ADDRESS = 4

_LOG = structlog.get_logger("psoup.main")


def create_app(
    settings: Settings,
    *,
    clock: Clock | None = None,
    store: Store | None = None,
    handle_bits: Bits = secrets.randbits,
) -> FastAPI:
    """Return the ASGI application.

    Args:
        settings: as `load_settings` gave them.
        clock: the server's clock; the machine's where none is given.
        store: an open store, which the caller closes; else the one `settings` names is opened when the
            application starts and closed when it ends.
        handle_bits: random bits for handles.

    Raises:
        SettingError: values that cannot be, or a keys file that cannot be read.
    """
    check_settings(settings)
    used_clock = clock or SystemClock()
    context = Context(
        keys=load_keys(settings.keys_file),
        tokens=PageTokens(b""),
        rates=Rates(),
        meters=Meters(),
        handle_bits=handle_bits,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opened = store or open_store(settings.store, data=settings.data, clock=used_clock)
        try:
            context.tokens = PageTokens(_page_key(settings))
            service = Service(store=opened, settings=settings, clock=used_clock)
            context.meters.attach(service)
            context.service = service
            await service.start()
            yield
            await service.stop()
        finally:
            if store is None:
                opened.close()

    app = FastAPI(
        title="psoup",
        version=version("psoup"),
        lifespan=lifespan,
        docs_url="/docs" if settings.docs else None,
        redoc_url=None,
        openapi_url="/openapi.json" if settings.docs else None,
        redirect_slashes=False,
    )
    app.state.context = context
    for endpoint in ENDPOINTS:
        add(app.router, context, endpoint)
    describe(app)
    _answer_errors(app)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Psoup-Txn-App", "Psoup-Txn-Version"],
            expose_headers=EXPOSED_HEADERS,
        )
    app.add_middleware(Edge, observe=context.meters.observe)
    return app


def serve(settings: Settings) -> int:
    """Serve until a signal ends it, and return the exit code.

    0 = ended as asked; 2 = settings that cannot be; 3 = the store cannot be opened (its folder is used by
    another service or cannot be used, no answer, unsuitable), or does not end; 4 = the address cannot be
    listened on.
    """
    configure_logging(level=settings.log_level, style=settings.log_format)
    try:
        check_settings(settings)
        with _interruptible(), listen(settings) as listener:
            return _serve_on(listener, settings, SystemClock())
    except KeyboardInterrupt:
        _LOG.info("ended")
        return EXIT_OK
    except EngineError as error:
        _LOG.error("not-started", code=error.code, detail=error.detail)
        return EXIT_SETTINGS if error.code in ("setting", "store-url") else EXIT_STORE
    except OSError as error:
        place = f"{settings.host}:{settings.port}"
        _LOG.error("not-started", address=place, detail=error.strerror or str(error))
        return EXIT_ADDRESS


def _serve_on(listener: socket.socket, settings: Settings, clock: Clock) -> int:
    store = open_store(settings.store, data=settings.data, clock=clock)
    code = EXIT_STORE
    try:
        code = _run_on(listener, settings, clock, store)
    finally:
        if not _close(store):
            code = EXIT_STORE
    if code == EXIT_OK:
        _LOG.info("ended")
    return code


def _run_on(listener: socket.socket, settings: Settings, clock: Clock, store: Store) -> int:
    pace_collector()
    server = make_server(create_app(settings, clock=clock, store=store), settings)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # a signal, which uvicorn raises once more after its graceful end
        return EXIT_OK
    except SystemExit:  # uvicorn's word for a lifespan that did not start; it has logged why
        return EXIT_STORE
    return EXIT_OK


def _close(store: Store) -> bool:
    """Return whether the store was closed in good order; else say so."""
    try:
        store.close()
    except EngineError as error:
        _LOG.error("not-stopped", code=error.code, detail=error.detail)
        return False
    return True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make SIGTERM an interrupt, and SIGHUP (the terminal has gone) the same as SIGTERM.

    By default they would end the process before the store is closed. uvicorn takes SIGTERM over while it runs,
    so a SIGHUP that is passed on as one lets it end gracefully too.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def terminate(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, interrupt)}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup it stays ignored
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _page_key(settings: Settings) -> bytes:
    if settings.page_key_file is not None:
        return page_key(settings.page_key_file)
    # The embedded store has made its folder by now; another store keeps nothing there.
    return page_key(settings.data / "page.key" if settings.store is None else None)


def _answer_errors(app: FastAPI) -> None:
    """Give every error the one shape, the framework's own as well."""

    async def ours(request: Request, error: Exception) -> Response:
        return problem_response(error, instance=request.scope.get(REQUEST_ID, ""))

    async def framework(request: Request, error: Exception) -> Response:
        return await ours(request, _translated(app, request, error))

    app.add_exception_handler(EngineError, ours)
    app.add_exception_handler(HTTPException, framework)
    app.add_exception_handler(RequestValidationError, framework)


def _translated(app: FastAPI, request: Request, error: Exception) -> Exception:
    if isinstance(error, HTTPException) and error.status_code == 404:
        return NotFoundError("There is nothing at this path.")
    if isinstance(error, HTTPException) and error.status_code == 405:
        return MethodError(_methods(app, request))
    if isinstance(error, RequestValidationError):
        wrong = [("/".join(map(str, one["loc"])), str(one["msg"])) for one in error.errors()]
        return InvalidFieldError("The request has members of a wrong type.", errors=wrong)
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
