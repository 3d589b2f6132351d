"""A process on a terminal of its own, and what it draws there, as far as rich's escape sequences go."""

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.patience import LOOK_S, WAIT_S

_PIECE = re.compile(
    r"\x1b\[(?P<private>\?)?(?P<numbers>[0-9;]*)(?P<command>[A-Za-z])|\x1b\][^\x07]*\x07|(?P<control>[\r\n])"
    r"|(?P<text>[^\x1b\r\n]+)"
)
ALTERNATE = "1049"
"""The screen that programs draw whole, beside the one whose lines stay."""


class Screen:
    """The lines of a terminal, as far as moves, erasures and the alternate screen go."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.lines: list[str] = [""]
        """Of the usual screen and of what has left it at the top, or of the alternate screen alone."""
        self._usual: list[str] = []
        self._row = self._column = 0
        self.is_alternate = False

    @property
    def shown(self) -> list[str]:
        """Return the lines that are to be seen now, without what is empty at their ends."""
        return [line.rstrip() for line in self.lines[-self.height :]]

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)

    def feed(self, said: str) -> None:
        for piece in _PIECE.finditer(said):
            if piece["text"]:
                self._write(piece["text"])
            elif piece["control"] == "\r":
                self._column = 0
            elif piece["control"] == "\n":
                self._go_to(self._row + 1, self._column)
            elif piece["command"]:
                self._obey(piece["command"], piece["numbers"], private=bool(piece["private"]))

    def _write(self, text: str) -> None:
        line = self.lines[self._row].ljust(self._column)
        self.lines[self._row] = line[: self._column] + text + line[self._column + len(text) :]
        self._column += len(text)

    def _obey(self, command: str, numbers: str, *, private: bool) -> None:
        number = int(numbers.split(";", maxsplit=1)[0] or 0)
        if private and numbers == ALTERNATE:
            self._switch(alternate=command == "h")
        elif command == "H":
            self._go_to(len(self.lines) - self.height if not self.is_alternate else 0, 0)
        elif command == "A":
            self._go_to(self._row - max(number, 1), self._column)
        elif command == "K":
            self.lines[self._row] = self.lines[self._row][: self._column] if number == 0 else ""
        elif command == "J" and number == 2:
            self.lines, self._row = [""], 0

    def _switch(self, *, alternate: bool) -> None:
        if alternate:
            self._usual, self.lines = self.lines, [""]
        else:
            self.lines = self._usual
        self.is_alternate = alternate
        self._row, self._column = len(self.lines) - 1, 0

    def _go_to(self, row: int, column: int) -> None:
        self._row, self._column = max(row, 0), column
        self.lines += [""] * (self._row + 1 - len(self.lines))


class Terminal:
    """A process whose standard files are a terminal of `width` by `height`."""

    def __init__(
        self, master: int, process: subprocess.Popen[bytes], width: int, height: int
    ) -> None:
        self.process = process
        self.screen = Screen(width, height)
        self._master = master
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.said = b""

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, as dragging its window does."""
        _set_size(self._master, width, height)
        self.screen.width, self.screen.height = width, height

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait_for(self, condition: Callable[[Screen], bool], what: str) -> None:
        """Read until `condition` holds of the screen; `what` is said where it never does."""
        latest_s = time.monotonic() + WAIT_S
        while not condition(self.screen):
            more = self._read()
            assert more or self.process.poll() is None, f"ended before: {what}\n{self.screen.text}"
            assert time.monotonic() < latest_s, f"not in {WAIT_S:g} s: {what}\n{self.screen.text}"

    def end(self) -> int:
        """Read to the end, and return the exit code."""
        latest_s = time.monotonic() + WAIT_S
        while self._read() or self.process.poll() is None:
            assert time.monotonic() < latest_s, f"does not end\n{self.screen.text}"
        return self.process.wait()

    def _read(self) -> bool:
        """Read what there is, waiting a moment for it; return whether there was something."""
        readable, _, _ = select.select([self._master], [], [], LOOK_S)
        try:
            said = os.read(self._master, 65_536) if readable else b""
        except OSError:  # the other end is closed
            said = b""
        self.said += said
        self.screen.feed(self._decoder.decode(said))
        return bool(said)


@contextlib.contextmanager
def terminal(
    command: Sequence[str],
    *,
    width: int = 80,
    height: int = 24,
    env: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """Yield a process on a terminal; it is killed if it has not ended with the block."""
    master, slave = pty.openpty()
    _set_size(master, width, height)
    kept = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES", "NO_COLOR"}}
    environment = {**kept, "TERM": "xterm-256color", **(env or {})}
    # A session's first terminal that it opens becomes its own: Ctrl-C then reaches the process.
    adopt = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
    adopted = [sys.executable, "-c", adopt, *command]
    with subprocess.Popen(
        adopted, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            yield Terminal(master, process, width, height)
        finally:
            process.kill()
            os.close(master)


def _set_size(master: int, width: int, height: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
