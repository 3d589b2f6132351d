"""A standalone cluster of Spark's: a master and two workers as processes, each worker on an address of its own.

On addresses of their own because Spark starts the second copy of a slow task on another host alone.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from psoup.pipeline.spark.java import java_environment
from tests.patience import wait_until

HOSTS: Final = ("127.0.0.1", "127.0.0.2")
"""Of the workers; both are this machine, where it has them."""
DEPLOY: Final = "org.apache.spark.deploy"
_ADDRESS: Final = re.compile(r"Starting Spark master at (spark://\S+)")


class Cluster:
    """What runs, and how its executors are killed."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        """Keep logs and the files of applications below `folder`; nothing runs yet."""
        self._folder = folder
        self._environment = environment
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""
        """Its address, once it runs."""

    def start(self) -> None:
        """Start all three, and return once both workers have registered."""
        log = self._start("master", "master.Master", "--host", HOSTS[0], "--port", "0")
        wait_until(
            lambda: _ADDRESS.search(log.read_text()) is not None, "the master has an address"
        )
        found = _ADDRESS.search(log.read_text())
        assert found is not None
        self.master = found[1]
        for number, host in enumerate(HOSTS):
            where = ("--host", host, "--work-dir", str(self._folder / f"work{number}"))
            limits = ("--cores", "1", "--memory", "1g")
            self._start(f"worker{number}", "worker.Worker", *where, *limits, self.master)
        wait_until(
            lambda: log.read_text().count("Registering worker") >= len(HOSTS), "workers register"
        )

    def executors(self) -> list[int]:
        """Return the process ids of the executors that live."""
        return [pid for pid, told in self._members().items() if b"ExecutorBackend" in told]

    def stop(self) -> None:
        """Kill everything that was started, and what that has started."""
        while (
            members := self._members()
        ):  # a worker may start an executor between a look and its end
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in self._processes:
                process.wait()

    def _members(self) -> dict[int, bytes]:
        """Return what lives of the sessions that were started, by pid, with its command line."""
        sessions = {process.pid for process in self._processes}
        found = {}
        for place in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                told = (place / "cmdline").read_bytes()  # of one that has ended there is none
                if told and os.getsid(int(place.name)) in sessions:
                    found[int(place.name)] = told
        return found

    def _start(self, name: str, program: str, *arguments: str) -> Path:
        """Start a part of the cluster in a session of its own; return where its log is."""
        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        command = [str(spark_class), f"{DEPLOY}.{program}", "--webui-port", "0", *arguments]
        log = self._folder / f"{name}.log"
        with log.open("wb") as out:
            self._processes.append(
                subprocess.Popen(
                    command, stdout=out, stderr=out, env=self._environment, start_new_session=True
                )
            )
        return log


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Yield a cluster that runs; it ends with the block."""
    with java_environment(dict(os.environ)) as environment:
        cluster = Cluster(folder, {**environment, "SPARK_DAEMON_MEMORY": "256m"})
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
