"""psoup's processes and their Redis, as a supervisor of the machine would run them.

Everything is a process group of its own and is ended by its number, whatever happens. What dies unasked is
started again. Redis keeps its files in the deployment's folder and may be killed and started over them.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO, Final, Literal, Self

from psoup.storage.embedded.server import CONFIGURATION, find_executable
from psoup.storage.redis.calls.client import RedisClient
from tests.forked import Started, started
from tests.ports import free_port
from tests.torture.exchange import BrokenError, Connection, SilentError
from tests.torture.far import FarStore

ServerKind = Literal["valkey", "redis"]

START_S: Final = 60.0
"""Everything is ready by then, on a machine that is busy with everything else."""
END_S: Final = 30.0
LOOK_S: Final = 0.1
TCP_HELD: Final = frozenset({"01", "08"})
"""States ESTABLISHED and CLOSE_WAIT of /proc/net/tcp."""
FENCED: Final = 5
STORE_GONE: Final = 3
"""What an engine that finds no store when it starts ends with: it is started again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a deployment consists of.

    Attributes:
        engines: processes of `psoup engine`; 0 = `psoup serve`, which is engine and API in one.
        workers: of `psoup api`.
        server: whose server keeps the data; None = the embedded one of `psoup serve`.
        store_delay_s: by which what the server says reaches psoup later.
        lease_s: of an engine.
        settings: further ones, by the names of their environment variables.
    """

    engines: int = 2
    workers: int = 2
    server: ServerKind | None = "valkey"
    store_delay_s: float = 0.0
    lease_s: float = 1.0
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended unasked, or by a signal of ours: name, exit code (-9 = SIGKILL), when."""

    name: str
    pid: int
    code: int
    at_s: float


class Child:
    """One process of a deployment and its descendants."""

    def __init__(self, name: str, log: Path, start: Callable[[IO[bytes]], Started]) -> None:
        """Do not start it yet. `start` starts it, at the head of a group of its own; it is given the end of `log`."""
        self.name = name
        self.log = log
        self._start = start
        self._process: Started | None = None
        self._said_before = 0
        self.wanted = False
        """Whether it is to be started again when it ends."""

    @property
    def pid(self) -> int:
        """Return the number of its present or last life."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it."""
        with self.log.open("ab") as log:
            self._said_before = log.tell()
            self._process = self._start(log)
        self.wanted = True

    def code(self) -> int | None:
        """Return how it ended, None = it runs (or never ran)."""
        return None if self._process is None else self._process.poll()

    def alive(self) -> bool:
        """Return whether it runs, or is stopped."""
        return self._process is not None and self._process.poll() is None

    def said(self) -> bytes:
        """Return what it has written since it was last started."""
        return self.log.read_bytes()[self._said_before :]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process itself, if there is one."""
        if self._process is not None:
            self._process.send_signal(number)

    def clear_group(self) -> None:
        """SIGKILL whatever is left of its group, and take note of the end of the process."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(END_S)

    def end(self) -> int:
        """Ask it to end, wait for it, and return its exit code. It is not started again."""
        self.wanted = False
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            return self._process.wait(END_S)
        finally:
            self.clear_group()

    def children(self) -> list[int]:
        """Return the processes it has started itself, but for Python's own."""
        return [pid for pid in _children(self.pid) if b"resource_tracker" not in _command(pid)]


class Redis(Child):
    """A server with the settings that psoup asks for, on a Unix socket."""

    def __init__(self, kind: ServerKind, folder: Path) -> None:
        """Keep its files below `folder`."""
        folder.mkdir()
        self.data = folder
        self.socket = folder / "r.sock"
        settings = CONFIGURATION | {
            "dir": str(folder),
            "unixsocket": str(self.socket),
            "appendfsync": "always",
        }
        executable = find_executable() if kind == "valkey" else shutil.which("redis-server")
        assert executable is not None, "there is no redis-server on PATH"
        arguments = [text for name, value in settings.items() for text in (f"--{name}", value)]
        command = [str(executable), *arguments]
        super().__init__(
            "redis",
            folder / "redis.log",
            lambda log: subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ),
        )

    @property
    def url(self) -> str:
        """Return its address, as psoup takes it."""
        return f"unix://{self.socket}?db=0"

    def client(self) -> RedisClient:
        """Return connections to it. Close them."""
        return RedisClient(self.url, answer_s=5.0)


class Deployment:
    """Redis, engines and API workers, or `psoup serve`. `async with` ends all of it."""

    def __init__(self, folder: Path, shape: Shape, rng: Random) -> None:
        """Keep all files below `folder`; nothing is started yet."""
        self.folder = folder
        self.shape = shape
        self._rng = rng
        self.host, self.port = "127.0.0.1", free_port()
        self.redis = None if shape.server is None else Redis(shape.server, folder / "redis")
        self._far: FarStore | None = None
        if self.redis is not None and shape.store_delay_s:
            self._far = FarStore(folder / "far.sock", self.redis.socket, shape.store_delay_s)
        self.engines = [self._engine(number) for number in range(shape.engines)]
        self.api = self._api()
        self.ended: list[Ended] = []
        self._due: dict[Child, float] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def children(self) -> list[Child]:
        """Return all of it, in the order of starting."""
        first: list[Child] = [] if self.redis is None else [self.redis]
        return [*first, *self.engines, self.api]

    @property
    def split(self) -> bool:
        """Return whether engine and API are processes apart."""
        return bool(self.engines)

    def connection(self) -> Connection:
        """Return a connection to the API. Close it."""
        return Connection(self.host, self.port)

    async def __aenter__(self) -> Self:
        """Start everything and wait until it is ready."""
        try:
            if self._far is not None:
                await self._far.open()
            for child in self.children:
                child.start()
            self._task = asyncio.create_task(self._supervise())
            await self.ready()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Kill whatever is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for child in reversed(self.children):
            child.wanted = False
            child.clear_group()
        if self._far is not None:
            await self._far.close()
        self._end_embedded()

    async def ready(self, within_s: float = START_S) -> float:
        """Return the seconds until /readyz says so.

        Raises:
            AssertionError: it does not in time; shows the ends of all logs.
        """
        begun_s = time.monotonic()
        said = "nothing"
        while time.monotonic() < begun_s + within_s:
            connection = self.connection()
            try:
                answer = await connection.ask("GET", "/readyz")
                said = answer.body.decode()
                if answer.status == 200:
                    return time.monotonic() - begun_s
            except (BrokenError, SilentError) as error:
                said = str(error)
            finally:
                connection.close()
            await asyncio.sleep(LOOK_S / 2)
        raise AssertionError(f"not ready in {within_s} s: {said}\n{self.logs()}")

    def logs(self, bytes_max: int = 3_000) -> str:
        """Return the ends of all logs."""
        parts = []
        for child in self.children:
            if child.log.exists():
                text = child.log.read_bytes()[-bytes_max:].decode(errors="replace")
                parts.append(f"--- {child.log}\n{text}")
        return "\n".join(parts)

    def owner(self) -> Child | None:
        """Return the engine that META names as the writer, None where nobody can say."""
        if self.redis is None:
            return None
        client = self.redis.client()
        try:
            owner = client.fetch_one("HGET", "{ps}:m", "owner")
        except Exception:  # noqa: BLE001 - the store is away or restarting: then nobody can say
            return None
        finally:
            client.close()
        for number, engine in enumerate(self.engines):
            file = self.folder / f"engine-{number}" / "engine.id"
            if owner and file.exists() and file.read_bytes().strip() == owner:
                return engine
        return None

    def workers(self) -> list[int]:
        """Return the processes that answer requests: those of the API's supervisor, or the service."""
        if not self.api.alive():
            return []
        return self.api.children() if self.split else [self.api.pid]

    async def all_workers(self) -> list[int]:
        """Return the workers once there are as many as there should be.

        Raises:
            AssertionError: there are not, in START_S.
        """
        latest = time.monotonic() + START_S
        while len(found := self.workers()) != self.shape.workers:
            assert time.monotonic() < latest, f"{len(found)} workers\n{self.logs()}"
            await asyncio.sleep(LOOK_S)
        return found

    def connected(self) -> int:
        """Return the connections to the API that it has not let go of."""
        held = 0
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            held += int(local.split(":")[1], 16) == self.port and state in TCP_HELD
        return held

    def embedded_pid(self) -> int | None:
        """Return the number of the embedded server, None where there is none."""
        try:
            return int((self.folder / "serve" / "server.pid").read_text())
        except (OSError, ValueError):
            return None

    def _end_embedded(self) -> None:
        pid = self.embedded_pid() if self.redis is None else None
        if pid is not None and b"server" in _command(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _engine(self, number: int) -> Child:
        name = f"engine-{number}"
        command = ["engine", *self._store(), "--data", str(self.folder / name)]
        return self._psoup(name, command)

    def _api(self) -> Child:
        listen = ["--host", self.host, "--port", str(self.port)]
        if self.shape.engines:
            command = ["api", *self._store(), "--workers", str(self.shape.workers)]
            return self._psoup("api", [*command, *listen])
        data = ["--data", str(self.folder / "serve")]
        return self._psoup("serve", ["serve", *data, *self._store(), *listen])

    def _store(self) -> list[str]:
        """Return what a command needs to be told of the store: nothing of one that is embedded."""
        if self.redis is None:
            assert not self.shape.engines, "engines apart need a Redis of their own"
            return []
        return ["--store", self.redis.url if self._far is None else self._far.url]

    def _psoup(self, name: str, command: Sequence[str]) -> Child:
        settings = dict(self.shape.settings)
        if self.shape.engines:
            settings["PSOUP_LEASE_S"] = str(self.shape.lease_s)
        module, env = "tests.torture.changeable", {**os.environ, **settings}
        return Child(
            name,
            self.folder / f"{name}.log",
            lambda log: started(module, command, output=log, env=env, start_new_session=True),
        )

    async def _supervise(self) -> None:
        """Start again what has ended, a little later, as long as it is wanted."""
        while True:
            for child in self.children:
                if child.wanted and (code := child.code()) is not None:
                    self._restart(child, code)
            await asyncio.sleep(LOOK_S)

    def _restart(self, child: Child, code: int) -> None:
        if child not in self._due:
            self.ended.append(Ended(child.name, child.pid, code, time.monotonic()))
            self._due[child] = time.monotonic() + self._rng.choice([0.0, 0.1, 0.5])
        if time.monotonic() >= self._due[child]:
            del self._due[child]
            child.clear_group()
            child.start()


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                yield from map(int, (task / "children").read_text().split())


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
