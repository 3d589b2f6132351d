"""The real server on a socket, in a thread: for tests of what lies before and around the application."""

import contextlib
import threading
from collections.abc import Iterator

from app.main import create_app
from app.server import listen, make_server
from app.settings import Settings

WAIT_S = 20.0
"""A test that waits longer for an answer has failed."""
Address = tuple[str, int]


@contextlib.contextmanager
def served(settings: Settings, *, count_loopback: bool = False) -> Iterator[Address]:
    """Yield the address of a server that runs in a thread."""
    with listen(settings) as listener:
        server = make_server(create_app(settings), settings, count_loopback=count_loopback)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join(WAIT_S)
            assert not thread.is_alive(), "the server ended"
