"""A `psoup serve` as a child process: started on a free port, and stopped in any case."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from psoup.app.operate.child_python import psoup_command
from psoup.client.calls import PsoupClient
from psoup.client.errors import ServiceUnreachableError

START_S_MAX: Final = 60.0
STOP_S_MAX: Final = 20.0
_LOG_LINES_SHOWN: Final = 12


@contextmanager
def service_process(folder: Path, *, port: int, log: Path) -> Iterator[str]:
    """Yield the URL of a service over `folder` that is ready; stop it at the end.

    Args:
        folder: of the embedded store.
        port: where it listens; 0 = any free one.
        log: file for what it says.

    Raises:
        ServiceUnreachableError: it ended or was not ready in time; quotes the end of its log.
    """
    port = port or _free_port()
    url = f"http://127.0.0.1:{port}"
    command = psoup_command(
        "serve", "--host", "127.0.0.1", "--port", str(port), "--data", str(folder)
    )
    with log.open("wb") as said:
        # A session of its own: Ctrl-C reaches the demo alone, which then ends the service in order.
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            _await_ready(child, url, log)
            yield url
        finally:
            _stop(child)


def _await_ready(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_S_MAX
    with PsoupClient(url) as service:
        while not service.ready():
            if child.poll() is not None or time.monotonic() > deadline:
                lines = log.read_text(errors="replace").splitlines()[-_LOG_LINES_SHOWN:]
                ended = "did not start" if child.poll() is not None else "is not ready"
                raise ServiceUnreachableError(
                    f"The service {ended}. The end of its log:\n" + "\n".join(lines)
                )
            time.sleep(0.05)


def _stop(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
