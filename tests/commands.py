"""An installed `psoup`, as a user runs it in a folder: commands to their end, and processes with what they log."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson

from tests.children import child
from tests.patience import WAIT_S, wait_until

Events = Callable[[str], list[dict[str, Any]]]


@dataclass(frozen=True)
class Commands:
    """The programs of one environment, started in one folder.

    Attributes:
        programs: where `psoup` and `python` are.
        folder: the current folder of each.
        environment: that of each; None = that of the tests.
    """

    programs: Path
    folder: Path
    environment: Mapping[str, str] | None = None

    def run(self, *arguments: str, program: str = "psoup", wait_s: float = WAIT_S) -> str:
        """Run a command to its end, which is as it should be and comes in time; return what it has printed."""
        done = self.ended(*arguments, program=program, wait_s=wait_s)
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout

    def ended(
        self, *arguments: str, program: str = "psoup", wait_s: float = WAIT_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, whatever it is; return how it ended."""
        return subprocess.run(
            [str(self.programs / program), *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=wait_s,
        )

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Events]:
        """Yield what a process of psoup logs, by the event's name; end it as asked."""
        path = self.folder / f"{arguments[0]}.log"
        command = [str(self.programs / "psoup"), *arguments, "--log-format", "json"]
        with (
            path.open("wb") as log,
            child(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log
            ) as process,
        ):

            def events(name: str) -> list[dict[str, Any]]:
                assert process.poll() is None, path.read_text()
                lines = (line for line in path.read_bytes().split(b"\n")[:-1] if line[:1] == b"{")
                return [one for one in map(orjson.loads, lines) if one["event"] == name]

            yield events
            process.terminate()
            assert 0 == process.wait(WAIT_S), path.read_text()


def address_of(events: Events) -> str:
    """Return where a process listens, once it is ready."""
    wait_until(lambda: bool(events("listening")), "it listens")
    url = str(events("listening")[0]["url"])
    wait_until(
        lambda: httpx2.get(f"{url}/readyz", timeout=WAIT_S, verify=False).status_code == 200,
        "it is ready",
    )
    return url
