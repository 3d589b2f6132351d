"""A job as a process that can be killed: its JVM alone, or everything that it has started."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

END_S = 500.0
"""For a job of a hundred micro-batches, on a busy machine."""


class JobProcess:
    """A job of `tests.spark` with its arguments: started, killed, started again."""

    def __init__(self, log: Path, *arguments: str, job: str = "file_job") -> None:
        self._log = log
        self._command = [sys.executable, "-m", f"tests.spark.{job}", *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> bool:
        """Start it and wait for its end; return whether it has done all its work."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True
            )
        try:
            return self._process.wait(END_S) == 0
        finally:
            self.kill_all()

    def kill_jvm(self) -> None:
        """SIGKILL the JVM; Python workers of it may live for a moment longer."""
        jvm = next(line for line in self.log().splitlines() if line.startswith("jvm "))
        os.kill(int(jvm.split()[1]), signal.SIGKILL)

    def kill_all(self) -> None:
        """SIGKILL the driver, its JVM and all workers at one blow, as a machine that loses power."""
        assert self._process is not None
        for place in Path("/proc").iterdir():
            with contextlib.suppress(ValueError, ProcessLookupError):
                if os.getsid(pid := int(place.name)) == self._process.pid:
                    os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def log(self) -> str:
        """Return what it has written."""
        return self._log.read_text(errors="replace")
