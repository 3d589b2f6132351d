"""`psoup engine`: the fold alone, in a process of its own, over a Redis that API workers share with it.

Its port, where it has one, is taken first; then the store is opened while the rest is loaded.
"""

import contextlib
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from psoup.app.connection.listening import listen, url_of
from psoup.app.errors import SettingError
from psoup.app.operate.lifecycle import Start, close_after, note_starting, run_process
from psoup.app.processes.loading import Loading
from psoup.app.settings import Settings
from psoup.engine.clock import SystemClock

if TYPE_CHECKING:
    from psoup.engine.store.contract import Store

    FoldUntilEnded = Callable[[Settings, Store, socket.socket | None, Start], int]

_MEMORY: Final = "memory://"


def run_engine(settings: Settings, *, listens: bool) -> int:
    """Fold until a signal ends it, or another engine takes over, and return the exit code (`run_process`).

    Where another engine has the store it waits, and takes over once that one's lease has ended.

    Args:
        settings: of this start. The store has to be one that other processes reach; the data folder keeps what
            is remembered of it, and tells this engine from others: each engine has its own.
        listens: whether to answer `/healthz`, `/readyz` and `/metrics` at the settings' address.
    """
    return run_process(settings, lambda start: _run(settings, start, listens=listens))


def _run(settings: Settings, start: Start, *, listens: bool) -> int:
    url = settings.store
    if url is None or url.startswith(_MEMORY):
        given = "the embedded one" if url is None else url
        raise SettingError(
            f"store is {given}: an engine apart from its API workers needs one that they reach too. Give"
            " --store redis://host:port/db; or run both in one process, with psoup serve."
        )
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(settings)) if listens else None
        is_tls = settings.tls_cert_file is not None
        note_starting(
            settings,
            "engine",
            data=str(settings.data.absolute()),
            url=None if listener is None else url_of(listener, tls=is_tls),
        )
        from psoup.storage.opening import open_store  # noqa: PLC0415 (after the first word)

        loading = stack.enter_context(Loading(_load))
        store = open_store(
            url,
            data=settings.data,
            clock=SystemClock(),
            standby=True,
            lease_s=settings.lease_s,
            password_file=settings.store_password_file,
            disk_full_percent=settings.disk_full_percent,
        )
        return close_after(store, lambda: loading.wait()(settings, store, listener, start))


def _load() -> "FoldUntilEnded":
    from psoup.app.processes.engine_work import fold_until_ended  # noqa: PLC0415 (most of what is loaded)

    return fold_until_ended
