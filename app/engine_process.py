"""`psoup engine`: the fold alone, in a process of its own, over a Redis that API workers share with it."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Final

import structlog

from app.backend import Phase
from app.engine_endpoint import engine_application
from app.errors import SettingError
from app.fold_loop import FoldLoop
from app.guesses import client_address
from app.keys import load_keys
from app.meters import Values
from app.middleware.sites import Sites
from app.process import EXIT_FENCED, EXIT_OK, EXIT_STORE, close_after, run_process
from app.request_log import RequestLog
from app.scaling import Executors, settled_ahead
from app.server import listen, make_server, pace_collector
from app.settings import Settings
from app.store import Store
from engine.clock import SystemClock
from storage import open_store

_CODES: Final = {Phase.FENCED: EXIT_FENCED, Phase.FAILED: EXIT_STORE}
_MEMORY: Final = "memory://"

_LOG = structlog.get_logger("psoup.engine")


def run_engine(settings: Settings, *, listens: bool) -> int:
    """Fold until a signal ends it, or another engine takes over, and return the exit code (`run_process`).

    Where another engine has the store it waits, and takes over once that one's lease has ended.

    Args:
        settings: of this start. The store has to be one that other processes reach; the data folder keeps what
            is remembered of it, and tells this engine from others: each engine has its own.
        listens: whether to answer `/healthz`, `/readyz` and `/metrics` at the settings' address.
    """
    return run_process(settings, lambda: _run(settings, listens=listens))


def _run(settings: Settings, *, listens: bool) -> int:
    url = settings.store
    if url is None or url.startswith(_MEMORY):
        given = "the embedded one" if url is None else url
        raise SettingError(
            f"store is {given}: an engine apart from its API workers needs one that they reach too. Give"
            " --store redis://host:port/db; or run both in one process, with psoup serve."
        )
    pace_collector()
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(settings)) if listens else None
        store = open_store(
            url,
            data=settings.data,
            clock=SystemClock(),
            standby=True,
            lease_s=settings.lease_s,
            password_file=settings.store_password_file,
            disk_full_percent=settings.disk_full_percent,
        )
        return close_after(store, lambda: _fold(settings, store, listener))


def _fold(settings: Settings, store: Store, listener: socket.socket | None) -> int:
    """Fold until asked to end or unable to go on. Return the exit code."""
    with settled_ahead(settings, store) as executors:
        return _fold_with(executors, settings, store, listener)


def _fold_with(
    executors: Executors | None, settings: Settings, store: Store, listener: socket.socket | None
) -> int:
    lost = threading.Event()
    loop = FoldLoop(
        store=store,
        answers=False,
        on_lost=lambda _: lost.set(),
        lease_s=settings.lease_s,
        settled=None if executors is None else executors.settled,
    )
    counters: Callable[[], Values] = dict if executors is None else executors.counters
    with _answering(settings, loop, store, listener, counters):
        loop.start()
        try:
            lost.wait()
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
    counters: Callable[[], Values],
) -> Iterator[None]:
    """Answer operators on `listener` meanwhile, in a thread of its own; None = nobody is answered."""
    if listener is None:
        yield
        return
    app = engine_application(
        loop,
        store,
        load_keys(settings.keys_file),
        counters,
        admit=Sites(settings).admit,
        observe=RequestLog(settings).ended,
        address_of=client_address(settings),
    )
    server = make_server(app, settings)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="psoup-endpoint", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
