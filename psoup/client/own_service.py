"""A `psoup serve` that belongs to this process: a child on a free port, stopped in any case.

It ends when it is told to, when the interpreter ends, and when this process is killed: its standard input ends then.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson

from psoup.client.calls import PsoupClient
from psoup.client.errors import ServiceUnreachableError

MEMORY: Final = ":memory:"
START_S_MAX: Final = 60.0
STOP_S_MAX: Final = 20.0
_LOOK_S: Final = 0.02
_PREFIX: Final = "PSOUP_"
_LOG_LINES_SHOWN: Final = 12


class OwnService:
    """A service that is ready, over a folder or in memory. `close` ends it."""

    def __init__(self, target: str | Path) -> None:
        """Start the service, and return once it is ready.

        Args:
            target: the folder of its data, which is made where there is none, or `:memory:`.

        Raises:
            ServiceUnreachableError: it ended or was not ready in time; says why.
        """
        is_memory = str(target) == MEMORY
        data = (
            ["--store", "memory://"]
            if is_memory
            else ["--data", str(Path(target).expanduser().absolute())]
        )
        scratch = tempfile.TemporaryDirectory(prefix="psoup-")
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith(_PREFIX)}
        log = Path(scratch.name, "log")
        child = _started([*data, "--port", "0"], log, surroundings)
        self._ending = weakref.finalize(self, _end, child, scratch, os.getpid())
        try:
            self.url = _await_ready(child, log)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the service. Twice does nothing more."""
        self._ending()


@contextmanager
def service_process(folder: Path, *, port: int, log: Path) -> Iterator[str]:
    """Yield the URL of a service over `folder` that is ready; stop it at the end.

    Args:
        folder: of the embedded store.
        port: where it listens; 0 = any free one.
        log: file for what it says.

    Raises:
        ServiceUnreachableError: it ended or was not ready in time; says why.
    """
    child = _started(["--data", str(folder), "--port", str(port)], log, os.environ)
    try:
        yield _await_ready(child, log)
    finally:
        _stop(child)


def _started(
    arguments: Sequence[str], log: Path, surroundings: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "psoup.app.cli.owned", "serve"]
    with log.open("wb") as said:
        # A session of its own: Ctrl-C reaches this process alone, which then ends the service in order.
        return subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--log-format", "json", *arguments],
            env=surroundings,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def _await_ready(child: subprocess.Popen[bytes], log: Path) -> str:
    """Return where the service listens, once it is ready."""
    deadline_s = time.monotonic() + START_S_MAX
    url: str | None = None
    while True:
        lines = log.read_bytes().splitlines()
        url = url or next((found for line in lines if (found := _member(line, "url"))), None)
        if url is not None and child.poll() is None:
            with PsoupClient(url) as service:
                if service.ready():
                    return url
        if child.poll() is not None or time.monotonic() > deadline_s:
            raise ServiceUnreachableError(_reason(log, ended=child.poll() is not None))
        time.sleep(_LOOK_S)


def _reason(log: Path, *, ended: bool) -> str:
    lines = log.read_bytes().splitlines()
    details = [detail for line in lines if (detail := _member(line, "detail"))]
    shown = b"\n".join(lines[-_LOG_LINES_SHOWN:]).decode(errors="replace")
    why = details[-1] if details else f"The end of its log:\n{shown}"
    return f"The service {'did not start' if ended else 'is not ready'}. {why}"


def _member(line: bytes, name: str) -> str | None:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    found = event.get(name) if isinstance(event, dict) else None
    return found if isinstance(found, str) else None


def _end(
    child: subprocess.Popen[bytes], scratch: "tempfile.TemporaryDirectory[str]", process: int
) -> None:
    if os.getpid() == process:  # not in a copy that was made by a fork
        _stop(child)
        scratch.cleanup()


def _stop(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
