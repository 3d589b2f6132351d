"""Processes of psoup that are forked from one which has imported it: a start takes two seconds of a core less.

For tests of what a process does once it runs. A test of starting itself, of options of Python or of an installation
starts processes with `subprocess`. Forked processes share their hash seed.
"""

import atexit
import functools
import itertools
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import orjson

from tests.patience import WAIT_S
from tests.zygote import ASKED_BYTES

READ_AT_IMPORT: Final = ("ARROW_", "LD_", "MALLOC_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON")
"""Beginnings of the variables that say something to what has been imported already."""
SET_AT_START: Final = "PYTHONSAFEPATH"
"""Every command of psoup sets it for its children, also one that a test calls in this process."""


class Zygote:
    """The process that others are forked from."""

    def __init__(self) -> None:
        """Start it: it imports what it needs while the first process is asked for."""
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self.environment: Mapping[str, str] = dict(os.environ)
        """What it has been started with."""
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.zygote", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
            )

    def ask(self, asked: Mapping[str, Any], handles: Sequence[int] = ()) -> Any:
        """Return its answer. Threads may ask; who stops waiting for an answer may ask the same again."""
        with self._lock:
            number = next(self._numbers)
            said = orjson.dumps({**asked, "number": number})
            socket.send_fds(self._channel, [said], handles)
            while True:
                answer = self._channel.recv(ASKED_BYTES)
                assert answer, "the process that others are forked from has ended"
                answered, value = orjson.loads(answer)
                if answered == number:  # not one that a test has stopped waiting for
                    return value

    def end(self) -> None:
        """Let it end; the processes forked from it are left alone."""
        self._channel.close()
        self._process.wait()


@functools.cache
def zygote() -> Zygote:
    """Return the one of this process."""
    one = Zygote()
    atexit.register(one.end)
    return one


class ForkedProcess:
    """`python -m module arguments`, as `subprocess.Popen` would start it, as far as its methods go.

    `output` takes what it says, `errors` what it says on its standard error, else `output` as well. `given` is its
    input, which is empty without.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        output: IO[bytes],
        errors: IO[bytes] | None = None,
        given: IO[bytes] | None = None,
        env: Mapping[str, str],
        start_new_session: bool = False,
    ) -> None:
        """Start it."""
        known = zygote().environment
        for name in {**env, **known}.keys() - {SET_AT_START}:
            changed = name.startswith(READ_AT_IMPORT) and env.get(name) != known.get(name)
            assert not changed, f"{name} comes too late for a process that is forked"
        asked = {
            "module": module,
            "arguments": arguments,
            "environment": dict(env),
            "folder": str(Path.cwd()),
            "session": start_new_session,
        }
        with Path(os.devnull).open("rb") as empty:
            handles = [one.fileno() for one in (given or empty, output, errors or output)]
            self.pid: int = zygote().ask(asked, handles)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, or minus the signal that ended it; None = it runs."""
        if self.returncode is None:
            self.returncode = zygote().ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the same once it has ended.

        Raises:
            subprocess.TimeoutExpired: it has not, in `timeout` seconds.
        """
        if self.returncode is None:
            handle = os.pidfd_open(self.pid)
            try:
                select.select([handle], [], [], timeout)
            finally:
                os.close(handle)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


Started = ForkedProcess | subprocess.Popen[bytes]


def started(
    module: str,
    arguments: Sequence[str],
    *,
    output: IO[bytes],
    errors: IO[bytes] | None = None,
    given: IO[bytes] | None = None,
    env: Mapping[str, str],
    start_new_session: bool = False,
    forked: bool = True,
) -> Started:
    """Return `python -m module arguments`, started. It is forked where that is wanted and the system is Linux."""
    if forked and sys.platform == "linux":
        return ForkedProcess(
            module,
            arguments,
            output=output,
            errors=errors,
            given=given,
            env=env,
            start_new_session=start_new_session,
        )
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=given or subprocess.DEVNULL,
        stdout=output,
        stderr=errors or output,
        env=env,
        start_new_session=start_new_session,
    )


def ended(
    module: str,
    arguments: Sequence[str],
    *,
    given: IO[bytes] | None = None,
    env: Mapping[str, str] = os.environ,
) -> subprocess.CompletedProcess[str]:
    """Return how `python -m module arguments` has ended, as `subprocess.run` does; it is forked where that can be."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = started(module, arguments, output=output, errors=errors, given=given, env=env)
        try:
            code = process.wait(WAIT_S)
        finally:
            process.kill()
        said = []
        for file in (output, errors):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess([module, *arguments], code, *said)
