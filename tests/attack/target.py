"""What is attacked: `psoup serve`, or a worker beside an engine, as processes over one Redis."""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.app.real_processes import Process
from tests.app.serving import Address
from tests.patience import WAIT_S, wait_until
from tests.stores import SharedServer

Kind = Literal["serve", "worker"]
EACH_KIND: Final[tuple[Kind, ...]] = ("serve", "worker")
"""For attacks on what the two do differently: on the store."""
KINDS: Final = ("serve", pytest.param("worker", marks=pytest.mark.slow))
"""For attacks on the front, which is the same code in both: a worker is attacked by `make torture`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A service that answers.

    Attributes:
        kind: `serve` or `worker`.
        url: where it answers.
        pid: of the process that answers requests.
        front: the process that was started for it; of workers their parent.
        engine: the process that folds; the same as `front` for `serve`.
    """

    kind: Kind
    url: str
    pid: int
    front: Process
    engine: Process

    @property
    def address(self) -> Address:
        """Return (host, port)."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Return the answer to a request on a connection of its own."""
        given = {"timeout": WAIT_S, "verify": self.url.startswith("https:"), **more}
        return httpx2.request(method, f"{self.url}{path}", **given)

    def memory_bytes(self) -> int:
        """Return the resident memory of the process that answers."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the process has no resident memory")


def keys_file(folder: Path, key: str, *scopes: str) -> Path:
    """Make a file in `folder` of one `key` with `scopes`, and return its path."""
    path = folder / "keys"
    digest = hashlib.sha256(key.encode()).hexdigest()
    path.write_text(json.dumps({"id": "k", "sha256": digest, "scopes": scopes}))
    path.chmod(0o600)
    return path


@contextlib.contextmanager
def launched(
    kind: Kind, server: SharedServer, folder: Path, **settings: object
) -> Iterator[Target]:
    """Yield a service over `server`, which is emptied; `settings` are those of the process that answers."""
    server.client.fetch_one("FLUSHALL")
    command = "serve" if kind == "serve" else "api"
    front = Process(command, server.url, folder / command, settings=settings)
    engine = front
    with contextlib.ExitStack() as ends:
        if kind == "worker":
            engine = Process("engine", server.url, folder / "engine")
            ends.callback(engine.close)
            engine.start()
        ends.callback(front.close)
        front.start("--port", "0")
        url = front.wait_for("listening")["url"]
        pid = front.pid if kind == "serve" else front.wait_for("worker-started")["worker"]
        target = Target(kind, url, pid, front, engine)
        wait_until(lambda: target.ask("GET", "/readyz").status_code == 200, "it is ready")
        yield target
