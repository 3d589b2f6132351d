"""The processes of docker-compose.yml, started with their own arguments on this machine: ready, killed, ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from psoup.client.calls import PsoupClient
from psoup.storage.embedded.server import find_executable
from tests.house.deployment import compose, psoup_services
from tests.patience import LEASE_S, WAIT_S, wait_until
from tests.ports import free_port

pytestmark = [pytest.mark.service, pytest.mark.redis]

PASSWORD = "0123456789abcdef"
SQL = "SELECT * FROM readings BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"


class Deployment:
    """Processes as compose starts them; addresses and folders are private ones of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = {name: free_port() for name in psoup_services()}
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self._store = folder / "redis.sock"
        self._places = {
            "/run/secrets/store-password": str(folder / "store-password"),
            "/tmp/password.conf": str(folder / "password.conf"),
        }
        (folder / "store-password").write_text(f"{PASSWORD}\n")
        (folder / "store-password").chmod(0o600)

    def start_store(self) -> None:
        """Start the store with compose's settings, on a socket."""
        *shell, script = (self._here(word) for word in compose()["redis"]["entrypoint"])
        given = compose()["redis"]["command"][1:]
        own = ["--port 0", f"--unixsocket {self._store}", f"--dir {self.folder}"]
        self._start("redis", [*shell, script, str(find_executable()), *given, *own], {})
        self._until(self._store.exists)

    def start(self, name: str) -> None:
        """Start one process of psoup with compose's arguments and environment."""
        service = psoup_services()[name]
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        elsewhere = {
            "--host=0.0.0.0": "--host=127.0.0.1",
            "--port=8000": f"--port={self.ports[name]}",
            "--data=/data": f"--data={folder}",
            "--url=http://api:8000": f"--url={self.url('api')}",
        }
        arguments = [elsewhere.get(word, word) for word in service["command"][1:]]
        environment = service["environment"] | {"PSOUP_LEASE_S": str(LEASE_S)}
        if "PSOUP_STORE" in environment:
            environment["PSOUP_STORE"] = f"unix://{self._store}?db=0"
            secret = environment["PSOUP_STORE_PASSWORD_FILE"]
            environment["PSOUP_STORE_PASSWORD_FILE"] = self._here(secret)
        self._start(name, [sys.executable, "-m", "psoup", *arguments], environment)

    def _here(self, text: str) -> str:
        """Return a word of compose with the places of this machine, as the container gets it."""
        for there, here in self._places.items():
            text = text.replace(there, here)
        return text.replace("$$", "$")

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def readiness(self, name: str) -> object:
        """Return the reasons for which a process is not ready; [] = it is, None = it does not answer."""
        try:
            answer = httpx2.get(f"{self.url(name)}/readyz")
        except httpx2.HTTPError:
            return None
        return answer.json()["reasons"]

    def wait_for(self, name: str, reasons: list[str]) -> None:
        self._until(lambda: self.readiness(name) == reasons, name)

    def command_lines(self) -> str:
        """Return what anybody on the machine sees of the processes: arguments, and environments."""
        shown = [
            Path(f"/proc/{child.pid}/{what}").read_text(errors="replace")
            for child in self.children.values()
            for what in ("cmdline", "environ")
        ]
        return "".join(shown)

    def kill(self, name: str) -> None:
        self.children[name].kill()
        self.children.pop(name).wait()

    def end(self) -> dict[str, int]:
        """Ask all to end, who asks others before them; return their exit codes. Nothing is left of them."""
        codes = {}
        for name in sorted(
            self.children, key=("feeder", "api", "engine", "standby", "redis").index
        ):
            child = self.children[name]
            child.terminate()
            try:
                codes[name] = child.wait(WAIT_S)
            finally:
                _end_session(child)
        return codes

    def _start(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PSOUP_")}
        with (self.folder / f"{name}.log").open("wb") as log:
            self.children[name] = subprocess.Popen(
                command,
                env=kept | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _until(self, holds: object, name: str = "redis") -> None:
        deadline = time.monotonic() + WAIT_S
        while not holds():  # type: ignore[operator]
            log = (self.folder / f"{name}.log").read_text(errors="replace")
            assert self.children[name].poll() is None, log
            assert time.monotonic() < deadline, f"{self.readiness(name)} {log}"
            time.sleep(0.05)


@pytest.fixture
def deployment(tmp_path):
    deployed = Deployment(tmp_path)
    try:
        yield deployed
    finally:
        for child in deployed.children.values():
            _end_session(child)


def test_compose_processes_work_together_and_outlive_their_engine(deployment):
    """All become ready and are fed; the engine is killed, the standby takes over; all end as asked.

    A client goes on from the cursor that it has of the engine before.
    """
    deployment.start_store()
    deployment.start("engine")
    deployment.start("api")
    deployment.wait_for("engine", [])
    deployment.start("standby")
    deployment.wait_for("api", [])
    deployment.start("feeder")
    deployment.wait_for("standby", ["standby"])
    assert PASSWORD not in deployment.command_lines()
    with PsoupClient(deployment.url("api")) as service:
        _fed_since(service, 0)
        query = service.register(SQL)["id"]
        first = service.invoke(query, count="only")
        before, cursor = first["count"], first["cursor"]
        assert before > 0
        deployment.kill("engine")
        assert service.invoke(query)["count"] >= before, "answers go on without an engine"
        deployment.wait_for("standby", [])
        _fed_since(service, before)
        later = service.invoke(query, cursor=cursor, count="only")
        assert (False, first["gen"]) == (later["reset"], later["gen"])
        assert later["count"] > before
    assert dict.fromkeys(deployment.children, 0) == deployment.end()


def _fed_since(service: PsoupClient, rows: int) -> None:
    """Wait until the stream has more than so many tuples."""
    wait_until(lambda: (service.stream("readings") or {"rows": 0})["rows"] > rows, "it is fed")


def _end_session(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a process and of those it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    child.wait()
