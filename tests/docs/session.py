"""One reader with one page: pastes its blocks one after the other and sees what comes."""

import contextlib
import itertools
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx2

from tests.children import child
from tests.clients import nodes
from tests.docs.blocks import Block
from tests.forked import Started, started
from tests.patience import PATIENT_ENVIRONMENT, WAIT_S, wait_until
from tests.ports import free_port

HOST = "localhost:8000"
"""Where the pages expect the service."""
PATH = "/usr/bin:/bin:/usr/local/bin"
COLUMNS = "150"
INSTALLED = "/srv/psoup"
"""Where lines for cron expect the clone."""
_CRON = re.compile(r"(?:[\d*/,-]+ ){5}(?P<command>.+)\n")
_WRITTEN = re.compile(r"\x1b\[(?P<count>[0-9;?]*)(?P<control>[A-Za-z])|\r|\n|[^\x1b\r\n]+")
_HANDLE = re.compile(r"q_[0-9A-Za-z]{22}")


class Session(contextlib.ExitStack):
    """A folder with a `.venv`, a terminal, and the service that the page starts. Ends the service when it closes.

    A block `sh service` starts the service, or starts it anew, `sh service killed` after a kill -9; other `sh` blocks
    run in a shell that knows the variables of those before. There a refusal of the service fails curl, unless the
    block is `sh refused`. `python` and `js` run, or are saved where a file name stands behind the language. Any other
    block with a file name is saved. A line for cron runs once.
    """

    def __init__(self, folder: Path, *, forked: bool) -> None:
        """Prepare the folder. `forked`: the service is forked from a process that has imported it (`tests.forked`)."""
        super().__init__()
        self._forked = forked
        self._folder = folder
        self._variables = folder.parent / f"{folder.name}.variables"
        self._log = folder.parent / f"{folder.name}.log"
        self._service: Started | None = None
        self._address = HOST
        self._scheme = "http"
        (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
        self.callback(self._stop)

    def run(self, block: Block) -> str | None:
        """Do with a block what a reader does; return what the terminal shows, None where nothing was run."""
        if block.words[:1] == ("service",):
            self._start(block)
            return None
        if block.language == "sh":
            shown, code = self._shell(block.text, refused="refused" in block.words)
        elif block.language == "cron":
            line = _CRON.fullmatch(block.text)
            assert line, f"{block.place}: not five fields of time and a command"
            shown, code = self._shell(line["command"].replace(INSTALLED, str(self._folder)))
        elif names := [word for word in block.words if "." in word]:
            (self._folder / names[0]).write_text(self._here(block.text), encoding="utf-8")
            return None
        elif block.language in ("python", "js"):
            is_python = block.language == "python"
            script = self._folder / f"block.{'py' if is_python else 'mjs'}"
            script.write_text(self._here(block.text), encoding="utf-8")
            runs_it = ".venv/bin/python" if is_python else nodes.node()
            shown, code = self._shell(shlex.join([runs_it, script.name]))
        else:
            return None
        assert block.exit_code == code, f"{block.place} ended with {code}:\n{shown}"
        return shown

    def _shell(self, text: str, *, refused: bool = False) -> tuple[str, int]:
        curl = "curl -sS" if refused else "curl -sS --fail-with-body"
        shell = (
            f'set -eua\ncurl() {{ command {curl} -w "\\n" "$@"; }}\n'
            f". {self._variables} 2>/dev/null || true\ntrap 'export -p > {self._variables}' EXIT\n"
            f"PSOUP_URL={self._scheme}://{self._address}\n"
        )
        shown, code = on_a_terminal(
            ["bash", "-c", shell + self._here(text)],
            folder=self._folder,
            environment={
                "PATH": PATH,
                "HOME": str(self._folder),
                "TERM": "xterm",
                "NO_COLOR": "1",
                "COLUMNS": COLUMNS,
                "LC_ALL": "C.UTF-8",
            },
        )
        return shown.replace(self._address, HOST), code

    def _here(self, text: str) -> str:
        return text.replace(HOST, self._address)

    def _start(self, block: Block) -> None:
        """Start the service as the block says, at a port of its own, over the folder's data."""
        self._stop(signal.SIGKILL if "killed" in block.words else signal.SIGTERM)
        port = free_port()
        command = shlex.split(block.text)
        settings = list(itertools.takewhile(lambda word: "=" in word, command))
        assert [".venv/bin/psoup", "serve"] == command[len(settings) : len(settings) + 2], (
            block.place
        )
        with self._log.open("wb") as log, contextlib.chdir(self._folder):
            self._service = started(
                "psoup",
                [*command[len(settings) + 1 :], "--port", str(port)],
                output=log,
                env={
                    **os.environ,
                    **PATIENT_ENVIRONMENT,
                    **dict(setting.split("=", 1) for setting in settings),
                },
                start_new_session=True,
                forked=self._forked,
            )
        self._address = f"localhost:{port}"
        self._scheme = "https" if "--tls-cert-file" in command else "http"
        wait_until(self._ready, f"{block.place}: the service is ready")

    def _ready(self) -> bool:
        assert self._service is not None
        assert self._service.poll() is None, self._log.read_text(errors="replace")
        url = f"{self._scheme}://127.0.0.1:{self._address.rpartition(':')[2]}/readyz"
        try:
            return httpx2.get(url, verify=False).is_success
        except httpx2.TransportError:
            return False

    def _stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self._service is not None:
            self._service.send_signal(number)
            self._service.wait(WAIT_S)
            self._service = None


def on_a_terminal(
    command: list[str], *, folder: Path, environment: dict[str, str]
) -> tuple[str, int]:
    """Return the lines that a command leaves on a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    shown = b""
    with child(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # the last writer has closed it
            while read := os.read(ours, 65_536):
                shown += read
        os.close(ours)
        code = process.wait()
    return left_on_screen(shown.decode(errors="replace")), code


def left_on_screen(written: str) -> str:
    """Return the lines that are left after progress bars have rewritten theirs: cursor up, erase, carriage return."""
    lines, at, fresh = [""], 0, False
    for found in _WRITTEN.finditer(written):
        if found["control"] == "A":
            at = max(at - int(found["count"] or 1), 0)
        elif found["control"] == "K":
            lines[at] = ""
        elif found[0] == "\n":
            at, fresh = at + 1, False
            lines += [""] * (at + 1 - len(lines))
        elif found[0] == "\r":
            fresh = True
        elif not found["control"]:
            lines[at], fresh = found[0] if fresh else lines[at] + found[0], False
    return "\n".join(lines)


def difference(expected: str, shown: str) -> str | None:
    """Return how `shown` differs from what a page says; None where it does not.

    In `expected` `...` stands for any text of a line, alone on a line for any number of lines; a handle stands for
    any handle. Blank lines and blanks at the ends of lines do not count.
    """
    parts = []
    for line in _lines(expected):
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
            continue
        pieces = [re.escape(piece) for piece in _HANDLE.sub("<handle>", line).split("...")]
        parts.append(".*?".join(pieces).replace("<handle>", _HANDLE.pattern) + r"\n")
    text = "".join(f"{line}\n" for line in _lines(shown))
    if re.fullmatch("".join(parts), text):
        return None
    return f"the page says\n{expected}\nand what comes is\n{text}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]
