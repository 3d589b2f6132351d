"""The real service as a process: started, killed, started again over the same folder."""

import contextlib
import os
import signal
from pathlib import Path

import httpx2

from tests.forked import Started, started
from tests.patience import PATIENT_ENVIRONMENT, wait_until
from tests.ports import free_port


class ServiceProcess:
    """`psoup serve` over a data folder. Not running until `start`."""

    def __init__(self, folder: Path) -> None:
        """Keep data and log below `folder`."""
        self.data = folder / "data"
        self.log = folder / "service.log"
        self.url = ""
        self._process: Started | None = None

    def start(self) -> None:
        """Start the service on a free port and wait until it is ready."""
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        arguments = ["serve", "--data", str(self.data), "--port", str(port)]
        environment = {**os.environ, **PATIENT_ENVIRONMENT}
        with self.log.open("ab") as log:
            self._process = started("psoup", arguments, output=log, env=environment)
        self._wait_ready()

    def kill(self) -> None:
        """SIGKILL: no handler runs, no buffer is written."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def kill_server(self) -> None:
        """SIGKILL the embedded server, which outlives the service."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
            os.kill(int((self.data / "server.pid").read_text()), signal.SIGKILL)

    def close(self) -> None:
        """Leave nothing running."""
        if self._process is not None:
            self.kill()
        self.kill_server()

    def _wait_ready(self) -> None:
        assert self._process is not None
        process = self._process

        def is_ready() -> bool:
            assert process.poll() is None, self.log.read_text()[-4_000:]
            with contextlib.suppress(httpx2.TransportError):
                return httpx2.get(f"{self.url}/readyz").status_code == 200
            return False

        wait_until(is_ready, "it is ready")
