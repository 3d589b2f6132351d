"""A service as a process, and the ways in which a host reaches an agents' server for it."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from mcp import StdioServerParameters

from psoup.client.calls import PsoupClient
from tests.app.real_processes import Process
from tests.patience import wait_until
from tests.stores import SharedServer

COLUMNS = [
    {"name": "ts", "type": "timestamp"},
    {"name": "sym", "type": "string"},
    {"name": "px", "type": "float64"},
]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Running:
    """A service that runs.

    Attributes:
        token: what its owner may do everything with; None: it asks nobody.
    """

    url: str
    token: str | None = None

    def client(self) -> PsoupClient:
        return PsoupClient(self.url, token=self.token)

    def declare(self, stream: str) -> None:
        with self.client() as client:
            client.declare(stream, {"columns": COLUMNS, "time": "ts"})

    def append(self, stream: str, body: str) -> None:
        """Append rows as CSV: `2026-01-05T10:00:00Z,ACME,41.5`."""
        with self.client() as client:
            client.append(stream, f"ts,sym,px\n{body}".encode(), content_type="text/csv")

    def host(self, **environment: str) -> StdioServerParameters:
        """Return how a host starts the server on standard input and output."""
        programs = Path(sys.executable).parent
        return StdioServerParameters(
            command=str(programs / "psoup"),
            args=["mcp", "--url", self.url],
            env={"PATH": os.environ["PATH"], **environment},
        )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Yield `psoup serve`, on memory://, which asks nobody for a key."""
    process = Process("serve", None, tmp_path_factory.mktemp("service"), settings=SETTINGS)
    try:
        process.start()
        yield Running(str(process.wait_for("listening")["url"]))
    finally:
        process.close()


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Yield a worker beside an engine, over one store."""
    with ExitStack() as closing:
        server = SharedServer(tmp_path_factory.mktemp("server"))
        closing.callback(server.stop)
        folder = tmp_path_factory.mktemp("processes")
        engine, api = [
            Process(command, server.url, folder / command) for command in ("engine", "api")
        ]
        closing.callback(engine.close)
        closing.callback(api.close)
        engine.start()
        api.start("--port", "0", "--workers", "1")
        url = str(api.wait_for("listening")["url"])
        wait_until(lambda: httpx2.get(f"{url}/readyz").is_success, "the worker answers")
        yield Running(url)


SETTINGS = {"store": "memory://", "port": 0}
