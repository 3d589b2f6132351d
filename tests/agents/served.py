"""`psoup mcp --http` as a process that is started, killed and started anew."""

import os
import re
import signal
from pathlib import Path

import httpx2

from tests.forked import Started, started
from tests.patience import wait_until

_SAID = re.compile(r"psoup mcp listens at (\S+)")


class Served:
    """A server for agents over HTTP. Not running until `start`."""

    def __init__(self, url: str, folder: Path, **environment: str) -> None:
        """Prepare it for the service at `url`; `environment` has further variables."""
        self._arguments = ["mcp", "--url", url]
        self._log = folder / "log"
        self._environment = {**os.environ, **environment}
        self._process: Started | None = None
        self.url = ""

    def start(self, *options: str) -> None:
        """Start it at any free port, and wait until it answers."""
        with self._log.open("wb") as log:
            self._process = started(
                "psoup",
                [*self._arguments, "--http", "0", *options],
                output=log,
                env=self._environment,
            )
        wait_until(lambda: self._ended() or bool(_SAID.search(self.said())), "it listens")
        found = _SAID.search(self.said())
        assert found, self.said()
        self.url = found[1]
        wait_until(self._answers, "it answers")

    def said(self) -> str:
        """Return what it has printed."""
        return self._log.read_text()

    def kill(self) -> None:
        """Kill it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """Ask it to end; return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait()

    def close(self) -> None:
        """Leave nothing running."""
        if self._process is not None:
            self.kill()

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _answers(self) -> bool:
        try:
            return httpx2.get(self.url, trust_env=False).status_code > 0
        except httpx2.TransportError:
            return False
