"""A service to talk to, and the command line to talk with."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from typer.testing import CliRunner

from psoup.app.cli.application import application
from psoup.app.connection.listening import listen
from psoup.app.connection.server import make_server
from psoup.app.main import create_app
from psoup.app.operate.log_lines import configure_logging
from psoup.app.settings import Settings
from psoup.client.calls import PsoupClient
from tests.patience import PATIENT


@dataclass(frozen=True)
class Psoup:
    """The command line against one service."""

    url: str

    def __call__(self, *arguments: object, code: int = 0, typed: str = "") -> Any:
        """Run a command, given what is typed, and check its exit code; return typer's result."""
        words = [str(one) for one in arguments]
        result = CliRunner().invoke(application, words, input=typed, env={"PSOUP_URL": self.url})
        assert code == result.exit_code, result.output + repr(result.exception)
        return result

    def service(self) -> PsoupClient:
        return PsoupClient(self.url)

    def rows(self, stream: str) -> int:
        with self.service() as service:
            found = service.stream(stream)
        return 0 if found is None else int(found["rows"])


@pytest.fixture
def psoup() -> Iterator[Psoup]:
    """Yield the command line against a fresh service on memory://, in a thread, which logs apart from it."""
    configure_logging(level="info", style="console")
    settings = Settings(store="memory://", port=0, **PATIENT)
    with listen(settings) as listener:
        server = make_server(create_app(settings), settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        one = Psoup(f"http://127.0.0.1:{listener.getsockname()[1]}")
        try:
            with one.service() as service:
                service.status()  # answered once the service has started
            yield one
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Yield the URL of a port at which nothing listens: it is held, so that nobody else begins to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"
