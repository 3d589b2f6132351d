"""The real server on a socket, in a thread: for tests of what lies before and around the application.

The application is of the kind that `running` runs.
"""

import contextlib
import threading
from collections.abc import Iterator

from fastapi import FastAPI

from psoup.app.backend.contract import Phase
from psoup.app.connection.listening import listen
from psoup.app.connection.server import handles_of, make_server
from psoup.app.settings import Settings
from tests.app.support import application
from tests.patience import WAIT_S, wait_until

Address = tuple[str, int]


@contextlib.contextmanager
def served(settings: Settings, *, count_loopback: bool = False) -> Iterator[Address]:
    """Yield the address of a server that runs in a thread."""
    with served_application(settings, count_loopback=count_loopback) as (address, _):
        yield address


@contextlib.contextmanager
def served_application(
    settings: Settings, *, count_loopback: bool = False
) -> Iterator[tuple[Address, FastAPI]]:
    """Yield the same, and the application behind it."""
    with (
        application(settings) as app,
        listen(settings) as listener,
        handles_of(listener) as handles,
    ):
        server = make_server(app, settings, count_loopback=count_loopback)
        thread = threading.Thread(target=server.run, kwargs={"sockets": handles})
        thread.start()
        try:
            yield listener.getsockname()[:2], app
        finally:
            server.should_exit = True
            thread.join(WAIT_S)
            assert not thread.is_alive(), "the server ended"


def wait_until_live(app: FastAPI) -> None:
    """Wait until an application answers from its store: before, it says so by 503."""
    context = app.state.context
    wait_until(lambda: context.service is not None, "the service begins")
    wait_until(lambda: context.service.backend.phase is Phase.LIVE, "it is recovered")
