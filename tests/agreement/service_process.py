"""The real service as a process: started, killed, started again over the same folder."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

START_S = 30.0
"""A start on a busy machine takes a second or two; past this it has failed."""


def free_port() -> int:
    """Return a port that the system has just called free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServiceProcess:
    """`psoup serve` over a data folder. Not running until `start`."""

    def __init__(self, folder: Path) -> None:
        """Keep data and log below `folder`."""
        self.data = folder / "data"
        self.log = folder / "service.log"
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the service on a free port and wait until it is ready."""
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "app.cli", "serve"]
        command += ["--data", str(self.data), "--port", str(port)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
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
        latest = time.monotonic() + START_S
        pause = threading.Event()
        while time.monotonic() < latest:
            assert self._process.poll() is None, self.log.read_text()[-4_000:]
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            pause.wait(0.05)
        raise AssertionError(f"not ready in {START_S} s: {self.log.read_text()[-4_000:]}")
