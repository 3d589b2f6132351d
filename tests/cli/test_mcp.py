"""`psoup mcp`: what it refuses before it serves, and how it ends."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from psoup.agents import over_stdio
from psoup.app.cli import mcp
from psoup.app.cli.actions.mcp import address
from psoup.client.errors import DefinitionError
from tests.children import child
from tests.patience import WAIT_S

HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"a host","version":"1"}}}\n'
)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("8765", ("127.0.0.1", 8765)),
        ("0", ("127.0.0.1", 0)),
        ("localhost:8765", ("localhost", 8765)),
        ("[::1]:8765", ("::1", 8765)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
    ],
)
def test_address_of_an_option(text, where):
    """A port alone is loopback's."""
    assert where == address(text)


@pytest.mark.parametrize("text", ["", "localhost", ":80", "localhost:", "1:65536", "1:-1", "1:٣"])
def test_what_is_no_address_is_told(text):
    """With one that is."""
    with pytest.raises(DefinitionError, match=r"expected a port, or a host and a port"):
        address(text)


def test_beyond_loopback_it_takes_a_name(psoup):
    """Keys would travel readable."""
    assert "--allow-host" in psoup("mcp", "--http", "0.0.0.0:0", code=2).output


@pytest.mark.parametrize("name", ["https://agents.example.com", "agents.example.com:443", "*", ""])
def test_a_name_is_a_name_alone(psoup, name):
    """A scheme or a port would never be that of a request."""
    said = psoup("mcp", "--http", "0", "--allow-host", name, code=2).output
    assert "without scheme and port" in said


def test_a_name_takes_http(psoup):
    """Standard input has no host."""
    assert "--http" in psoup("mcp", "--allow-host", "agents.example.com", code=2).output


@pytest.mark.parametrize(
    "wrong", [("--url", "nowhere"), ("--token", "two words"), ("--http", "0", "--url", "nowhere")]
)
def test_an_address_or_a_key_that_cannot_be_is_told(psoup, wrong):
    """Before anything is served."""
    said = psoup("mcp", *wrong, code=2).output
    assert "expected" in said


def test_a_service_without_keys_is_not_shared(psoup):
    """Whoever reached the server could do everything."""
    shared = ("mcp", "--http", "0", "--allow-host", "agents.example.com")
    assert "asks nobody for a key" in psoup(*shared, code=2).output


def test_a_service_that_is_away_is_not_shared(psoup, nowhere):
    """Whether it asks for keys is not known."""
    shared = ("mcp", "--http", "0", "--allow-host", "agents.example.com", "--url", nowhere)
    assert "does not answer" in psoup(*shared, code=3).output


def test_a_port_that_is_taken_is_told(psoup):
    """With what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = psoup("mcp", "--http", taken.getsockname()[1], code=2).output
    assert "in use" in said


def test_without_its_package_it_says_how_to_install_it(psoup, monkeypatch):
    """The extra is not part of psoup itself."""
    monkeypatch.setattr(mcp, "find_spec", lambda _: None)
    assert "pip install 'psoup[mcp]'" in psoup("mcp", code=2).output


@pytest.mark.parametrize(
    ("number", "code"),
    [(None, 0), (signal.SIGINT, 130), pytest.param(signal.SIGTERM, 0, marks=pytest.mark.slow)],
)
def test_it_ends_as_its_host_asks(number, code):
    """When standard input ends; or by a signal, though standard input is open still. A service is not needed."""
    program = str(Path(sys.executable).with_name("psoup"))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with child([program, "mcp", "--url", "http://127.0.0.1:9"], **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert b'"name":"psoup"' in process.stdout.readline()
        if number is None:
            process.stdin.close()
        else:
            process.send_signal(number)
        assert code == process.wait(WAIT_S)
        assert b"Traceback" not in process.stderr.read()


def test_a_host_that_asks_twice_while_a_task_runs_sees_no_traceback(tmp_path, monkeypatch, capfd):
    """The task that runs is not struck; what is cancelled ends once, whatever comes meanwhile."""
    ended = []

    class Server:
        def create_initialization_options(self):
            return None

        async def run(self, *_):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.Event().wait()
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(0)
                ended.append(True)

    @asynccontextmanager
    async def pipes(**_):
        yield None, None

    (tmp_path / "input").touch()
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(over_stdio, "make_server", lambda *_, **__: Server())
    monkeypatch.setattr(over_stdio, "stdio_server", pipes)
    try:
        with (tmp_path / "input").open() as empty:
            monkeypatch.setattr(sys, "stdin", empty)
            over_stdio.serve_stdio("http://127.0.0.1:9", None)
        assert signal.SIG_IGN == signal.getsignal(signal.SIGTERM), "until the process has ended"
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [True] == ended
    assert "Traceback" not in capfd.readouterr().err
