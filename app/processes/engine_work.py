"""The work of `psoup engine` once its store is open: the fold, and the endpoint for operators."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final

import structlog

from psoup.app.admission.slots import unlimited_slots
from psoup.app.admission.traffic import Traffic
from psoup.app.backend.contract import Phase
from psoup.app.connection.server import make_server
from psoup.app.fold.loop import FoldLoop
from psoup.app.fold.match_threads import match_threads
from psoup.app.http.access.guesses import client_address
from psoup.app.http.access.keys import load_keys
from psoup.app.http.access.sites import Sites
from psoup.app.http.front import Front
from psoup.app.http.request_log import RequestLog
from psoup.app.operate.engine_endpoint import engine_application
from psoup.app.operate.interrupts import wait_for
from psoup.app.operate.lifecycle import EXIT_FENCED, EXIT_OK, EXIT_STORE, Start
from psoup.app.processes.executors import StartedExecutors, started_executors
from psoup.app.settings import Settings
from psoup.engine.engine import MatchThreads
from psoup.engine.query.bind.skeletons import Skeletons
from psoup.engine.store.contract import Store

_CODES: Final = {Phase.FENCED: EXIT_FENCED, Phase.FAILED: EXIT_STORE}

_LOG = structlog.get_logger("psoup.engine")


def fold_until_ended(
    settings: Settings, store: Store, listener: socket.socket | None, start: Start
) -> int:
    """Fold until a signal ends the process or the fold cannot go on; return the exit code."""
    with (
        started_executors(settings, store) as executors,
        match_threads(settings.match_threads) as threads,
    ):
        return _fold_with(executors, settings, store, listener, start, threads=threads)


def _fold_with(
    executors: StartedExecutors | None,
    settings: Settings,
    store: Store,
    listener: socket.socket | None,
    start: Start,
    *,
    threads: MatchThreads | None,
) -> int:
    lost = threading.Event()
    loop = FoldLoop(
        store=store,
        answers=False,
        on_lost=lambda _: lost.set(),
        bind=Skeletons().bind,
        lease_s=settings.lease_s,
        precomputed=None if executors is None else executors.hits,
        match_threads=threads,
    )
    with _answering(settings, loop, store, listener, executors):
        try:
            loop.start()
            start.end()
            try:
                wait_for(lost)
            except KeyboardInterrupt:
                _LOG.info("ending", applied=loop.figures().applied)
        finally:
            loop.stop()
    return _CODES.get(loop.phase, EXIT_OK)


@contextlib.contextmanager
def _answering(
    settings: Settings,
    loop: FoldLoop,
    store: Store,
    listener: socket.socket | None,
    executors: StartedExecutors | None,
) -> Iterator[None]:
    """Serve the endpoint for operators on `listener` within the context, in a thread; None = there is no endpoint."""
    if listener is None:
        yield
        return
    app = engine_application(
        loop,
        store,
        load_keys(settings.keys_file),
        Front(unlimited_slots(), Traffic(), RequestLog(settings)),
        executors=None if executors is None else executors.counts,
        admit=Sites(settings).admit,
        address_of=client_address(settings),
    )
    server = make_server(app, settings, note=lambda: {"ready": loop.phase is Phase.LIVE})
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="psoup-endpoint", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
