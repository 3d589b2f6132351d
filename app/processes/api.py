"""`psoup api`: a parent that listens and restarts workers, and workers that answer. None of them holds state.

Each worker runs the application of `create_worker_app` in a process of its own; all accept from one socket. The parent
loads neither the engine nor the web side. It makes the folder of the workers' shared meters, marks workers there that
have died, and removes the folder at its end; if the parent is killed, its workers remove it.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from typing import Final, cast

import structlog
from prometheus_client.multiprocess import mark_process_dead
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from psoup.app.connection.listening import listen, url_of
from psoup.app.connection.server import Connections, WorkerServer, configuration, handles_of
from psoup.app.http.access.keys import load_keys
from psoup.app.http.page_tokens import page_key
from psoup.app.operate.lifecycle import (
    EXIT_OK,
    EXIT_STORE,
    Start,
    note_starting,
    pace_collector,
    run_process,
)
from psoup.app.operate.log_lines import configure_logging
from psoup.app.settings import Settings, shared_store

METERS_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus_client reads it when it is imported."""
HANGS_S: Final = 60.0
"""A worker that has not answered its parent for so long is killed and replaced."""
LOOK_S: Final = 0.5
"""The parent waits so long for an answer; meanwhile it sees neither signals nor the death of other workers."""
ENDS_S: Final = 10.0
"""Workers get this long to end, beyond `shutdown_s`; then they are killed."""

_LOG = structlog.get_logger("psoup.api")


def run_api(settings: Settings) -> int:
    """Answer in workers until a signal ends them, and return the exit code (`run_process`).

    3 = a worker could not start at all, which no other attempt would cure.
    """
    return run_process(settings, lambda start: _run(settings, start))


@dataclass(frozen=True, slots=True)
class WorkerApplication:
    """Makes a worker's application in the worker's process, to which it is pickled."""

    settings: Settings
    meters: Path

    def __call__(self) -> ASGIApp:
        """Return the application; called once, in the main thread. Raises SystemExit where none can be made."""
        signal.pthread_sigmask(
            signal.SIG_UNBLOCK, {signal.SIGINT}
        )  # uvicorn's to handle from here on
        configure_logging(level=self.settings.log_level, style=self.settings.log_format)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the parent's to judge
        threading.Thread(target=_end_with_parent, args=(self.meters,), daemon=True).start()
        pace_collector()
        from psoup.app.main import create_worker_app  # noqa: PLC0415 (the parent does without)

        try:
            application = create_worker_app(self.settings, meters=self.meters, on_failed=_end)
        except Exception as error:
            _LOG.exception("worker-not-started", worker=os.getpid())
            raise SystemExit(STARTUP_FAILURE) from error
        _LOG.info("worker-started", worker=os.getpid())
        return application


class Worker(Process):
    """uvicorn's process of one worker, with psoup's server in it."""

    def __init__(
        self, config: Config, handles: list[socket.socket], connections: Connections
    ) -> None:
        """Start nothing yet."""
        super().__init__(config, handles)
        self._connections = connections

    @property
    def server(self) -> WorkerServer:
        """Return the server; asked in the worker alone."""
        if self._server is None:
            self._server = WorkerServer(self.config, self._connections)
        return cast("WorkerServer", self._server)

    def target(self, sockets: list[socket.socket] | None = None) -> None:
        """Run the server. But for it the process ignores Ctrl-C, which would strike what ends after the server."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        super().target(sockets)


class Workers(Multiprocess):
    """uvicorn's supervisor: it replaces dead workers within seconds. A lost terminal ends all of them."""

    def __init__(
        self,
        config: Config,
        handles: list[socket.socket],
        meters: Path,
        connections: Connections,
    ) -> None:
        """Take the signals; nothing is started before `run`."""
        self._connections = connections
        self._outlives_terminal = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        super().__init__(config, handles)
        self._meters = meters
        self._alive: set[int] = set()
        self._heard_s: dict[int, float] = {}
        """When each worker has last answered the parent."""

    @property
    def could_start(self) -> bool:
        """Return whether no worker has failed at its start."""
        return all(one.exitcode != STARTUP_FAILURE for one in self.processes)

    def init_processes(self) -> None:
        """Start as many workers as there are to be."""
        self.processes += [self._started() for _ in range(self.processes_num)]

    def handle_ttin(self) -> None:
        """Start one more worker."""
        self.processes_num += 1
        self.processes.append(self._started())

    def keep_subprocess_alive(self) -> None:
        """Replace dead workers, and remove their gauges from the meters; their counters stay."""
        for index, one in enumerate(self.processes):
            one.child_conn.close()  # with its own copy of it, it would not hear that one died
            if self._lives(one):
                continue
            one.kill()
            one.join()
            if one.exitcode == STARTUP_FAILURE:
                self.should_exit.set()
                return
            self.processes[index] = self._started()
        alive = {one.pid for one in self.processes if one.pid is not None}
        for pid in self._alive - alive:
            self._heard_s.pop(pid, None)
            mark_process_dead(pid, str(self._meters))  # type: ignore[no-untyped-call]
            _LOG.warning("worker-ended", worker=pid)
        self._alive = alive

    def join_all(self) -> None:
        """Wait until all workers have ended; kill those that hang."""
        latest_s = time.monotonic() + (self.config.timeout_graceful_shutdown or 0) + ENDS_S
        for one in self.processes:
            one.process.join(max(0.0, latest_s - time.monotonic()))
            if one.process.is_alive():
                _LOG.warning("worker-hangs", worker=one.pid)
                one.process.kill()
                one.process.join()

    def handle_hup(self) -> None:
        """End, since the terminal has gone; under nohup go on."""
        if not self._outlives_terminal:
            self.should_exit.set()

    def _started(self) -> Worker:
        """Return a worker whose process has been started, with SIGINT blocked until its server handles it.

        Ctrl-C reaches the whole process group: while Python starts it would end in a traceback for each worker.
        """
        worker = Worker(self.config, self.sockets, self._connections)
        ensure_running()  # it unblocks SIGINT when it starts its process
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            worker.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return worker

    def _lives(self, one: Process) -> bool:
        """Return whether a worker runs and has answered in the last HANGS_S."""
        if one.pid is None or not one.process.is_alive():
            return False
        now_s = time.monotonic()
        if one.ping(LOOK_S):
            self._heard_s[one.pid] = now_s
        return now_s - self._heard_s.setdefault(one.pid, now_s) < HANGS_S


def _run(settings: Settings, start: Start) -> int:
    shared_store(settings)
    load_keys(settings.keys_file)  # what is wrong in it would be wrong in every worker
    if settings.page_key_file is not None:
        page_key(settings.page_key_file)
    with listen(settings) as listener, tempfile.TemporaryDirectory(prefix="psoup-api-") as folder:
        url = url_of(listener, tls=settings.tls_cert_file is not None)
        note_starting(settings, "api", url=url)
        meters = Path(folder)
        os.environ[METERS_FOLDER] = folder
        connections = Connections(settings)
        config = configuration(
            WorkerApplication(settings, meters),
            settings,
            connections,
            factory=True,
            workers=settings.workers,
        )
        with handles_of(listener) as handles:
            workers = Workers(config, handles, meters, connections)
            start.end()
            console = "/console" if settings.console else None
            docs = "/docs" if settings.docs else None
            _LOG.info("listening", url=url, console=console, docs=docs, workers=settings.workers)
            workers.run()
        return EXIT_OK if workers.could_start else EXIT_STORE


def _end_with_parent(meters: Path) -> None:
    """When the parent has died, remove its folder of meters, and end this worker gracefully."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        shutil.rmtree(meters, ignore_errors=True)
        _end()


def _end() -> None:
    """End this worker gracefully; a living parent starts another one."""
    os.kill(os.getpid(), signal.SIGTERM)
