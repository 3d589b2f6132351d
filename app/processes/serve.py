"""`psoup serve`: everything in one process. Its port is taken first; then its store starts while it is loaded."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from psoup.app.connection.listening import listen, url_of
from psoup.app.operate.lifecycle import Start, close_after, note_starting, run_process
from psoup.app.processes.loading import Loading
from psoup.app.settings import Settings
from psoup.engine.clock import SystemClock

if TYPE_CHECKING:
    import socket

    from psoup.engine.clock import Clock
    from psoup.engine.store.contract import Store

    ServeOn = Callable[[socket.socket, Settings, Clock, Store, Start], int]

_LOG = structlog.get_logger("psoup.serve")


def serve(settings: Settings) -> int:
    """Serve until a signal ends it, or another engine takes over, and return the exit code (`run_process`)."""
    return run_process(settings, lambda start: _serve(settings, start))


def _serve(settings: Settings, start: Start) -> int:
    clock = SystemClock()
    with listen(settings) as listener:
        is_tls = settings.tls_cert_file is not None
        note_starting(settings, "serve", url=url_of(listener, tls=is_tls))
        from psoup.storage.opening import open_store  # noqa: PLC0415 (after the first word)

        with Loading(_load) as loading:
            store = open_store(
                settings.store,
                data=settings.data,
                clock=clock,
                lease_s=settings.lease_s,
                password_file=settings.store_password_file,
                disk_full_percent=settings.disk_full_percent,
                streams_max=settings.streams,
            )
            return close_after(
                store, lambda: loading.wait()(listener, settings, clock, store, start)
            )


def _load() -> "ServeOn":
    from psoup.app.main import serve_on  # noqa: PLC0415 (most of what is loaded)

    return serve_on
