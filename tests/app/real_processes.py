"""Processes of psoup over one server, for tests: started, stopped, paused, killed, and what they log."""

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.forked import Started, started
from tests.patience import LEASE_S, PATIENT_ENVIRONMENT, wait_until


class Process:
    """`psoup engine`, `serve` or `api` over a server, with a folder of its own. Not running until `start`."""

    forked = True
    """Whether it is forked (`tests.forked`): a test of what the system tells of a process starts it by its command."""

    def __init__(
        self,
        command: str,
        url: str | None,
        folder: Path,
        *,
        lease_s: float = LEASE_S,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Prepare the process; `settings` are further ones of its environment, by name, `store` among them.

        No url, and no such setting: the embedded server.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "log"
        self._log.touch()
        self._arguments = [command, "--log-format", "json"]
        if url and "store" not in (settings or {}):
            self._arguments += ["--store", url]
        if command != "api":  # workers keep no data
            self._arguments += ["--data", str(folder / "data")]
        self._environment = {**os.environ, **PATIENT_ENVIRONMENT, "PSOUP_LEASE_S": str(lease_s)}
        for name, value in (settings or {}).items():
            self._environment[f"PSOUP_{name.upper()}"] = str(value)
        self._process: Started | None = None
        self._read_from = 0

    def start(self, *options: str) -> None:
        """Start it; `options` are further ones of its command line."""
        self._read_from = self._log.stat().st_size
        with self._log.open("ab") as log:
            self._process = started(
                "psoup",
                [*self._arguments, *options],
                output=log,
                env=self._environment,
                forked=self.forked,
            )

    @property
    def pid(self) -> int:
        """Return the id of the process, which was started."""
        assert self._process is not None
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Return its exit code."""
        assert self._process is not None
        process = self._process
        wait_until(lambda: process.poll() is not None, "it ends")
        return process.wait()

    def events(self) -> list[dict[str, Any]]:
        """Return what it has logged since its start, as far as it is whole."""
        text = self._log.read_bytes()[self._read_from :]
        lines = [line for line in text.split(b"\n")[:-1] if line.startswith(b"{")]
        return [json.loads(line) for line in lines]

    def wait_for(self, event: str) -> dict[str, Any]:
        """Return the first `event` it has logged since its start, once there is one."""
        found: list[dict[str, Any]] = []

        def logged() -> bool:
            ended = self._process is not None and self._process.poll() is not None
            found.extend(one for one in self.events() if one["event"] == event)
            assert found or not ended, f"no {event}: {self._log.read_text()[-4_000:]}"
            return bool(found)

        wait_until(logged, f"it logs {event}")
        return found[0]

    def close(self) -> None:
        """Leave nothing running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
