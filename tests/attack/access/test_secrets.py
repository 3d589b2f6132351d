"""The store's password, looked for where others of the machine or of the network may look."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from psoup.app.cli.application import application
from psoup.app.operate.lifecycle import EXIT_SETTINGS
from psoup.storage.redis.calls.client import RULES, WORKER_RULES
from tests.app.real_processes import Process
from tests.attack.target import launched
from tests.patience import wait_until
from tests.storage.redis.test_users import words

pytestmark = pytest.mark.service
SECRET = "hunter2-not-to-be-seen"
COMMANDS = ("serve", "engine", "api", "fsck")


@pytest.fixture
def guarded(attacked_server):
    """A store with a user of all rights who has a password. Yields its address without and with it."""
    rules = {*words(RULES), *words(WORKER_RULES)} - {"resetkeys", "resetchannels", "-@all"}
    attacked_server.client.fetch_one(
        "ACL", "SETUSER", "guarded", "reset", "on", f">{SECRET}", *sorted(rules)
    )
    socket = attacked_server.url.removeprefix("unix://")
    yield f"unix://guarded@{socket}", f"unix://guarded:{SECRET}@{socket}"
    attacked_server.client.fetch_one("ACL", "DELUSER", "guarded")


@pytest.fixture
def command_lines(monkeypatch):
    """Let processes be started by their commands: a forked one has no command line of its own."""
    monkeypatch.setattr(Process, "forked", False)


@pytest.mark.parametrize(("kind", "way"), [("serve", "environment"), ("worker", "file")])
@pytest.mark.usefixtures("command_lines")
def test_password_of_the_store_is_seen_nowhere(attacked_server, guarded, tmp_path, kind, way):
    """A service that gives it to the store works; no command line, log line or answer has it."""
    plain, whole = guarded
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\n")
    given = {"store": whole} if way == "environment" else {"store": plain}
    if way == "file":
        given["store_password_file"] = str(file)
    with launched(kind, attacked_server, tmp_path, **given) as target:
        assert 200 == target.ask("GET", "/readyz").status_code
        answers = [target.ask("GET", path).text for path in ("/v1/status", "/metrics", "/readyz")]
        processes = {target.pid, target.front.pid, target.engine.pid, *_below(target.front.pid)}
        lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in processes]
        logs = [path.read_text() for path in tmp_path.rglob("log")]
    assert [] == [text for text in (*answers, *lines, *logs) if SECRET in text]


def test_password_that_is_wrong_is_not_logged(attacked_server, guarded, tmp_path):
    """A store that refuses the password ends the start with an error that does not hold it."""
    attacked_server.client.fetch_one("ACL", "SETUSER", "guarded", "resetpass", ">another")
    settings = {"store": guarded[1]}
    process = Process("serve", "", tmp_path, settings=settings)
    try:
        process.start("--port", "0")
        assert 3 == process.wait()
    finally:
        process.close()
    assert SECRET not in (tmp_path / "log").read_text()


def test_password_that_changes_in_its_file_is_read_again(attacked_server, guarded, tmp_path):
    """Each connection is made with the password of the moment: it is changed without a restart."""
    from psoup.storage.redis.calls.client import RedisClient

    file = tmp_path / "password"
    file.write_text(SECRET)
    client = RedisClient(guarded[0], password_file=file)
    client.info("server")
    attacked_server.client.fetch_one("ACL", "SETUSER", "guarded", "resetpass", ">another")
    file.write_text("another\n")
    attacked_server.client.fetch_one("CLIENT", "KILL", "USER", "guarded")
    wait_until(lambda: _answers(client), "it connects anew")
    assert "run_id" in client.info("server")
    client.close()


def _answers(client) -> bool:
    from psoup.engine.store.errors import StoreUnavailableError

    try:
        return bool(client.info("server"))
    except StoreUnavailableError:
        return False


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (f"redis://u:{SECRET}@127.0.0.1:1/0", "everybody on this machine can read a command line"),
        ("redis://127.0.0.1:99999/0", "a port is 1 to 65535"),
        ("redis://127.0.0.1:0/0", "a port is 1 to 65535"),
        ("redis://127.0.0.1:1/0?db=1", "takes no query string"),
        ("redis://127.0.0.1:1/x", "the number of a database"),
        ("http://127.0.0.1:1", "no kind of store"),
    ],
)
def test_store_that_cannot_be_is_a_sentence_and_exit_code_2(command, url, reason):
    """Every command that takes a store refuses what is misspelt, or shows a password, in the same words."""
    done = CliRunner().invoke(application, [command, "--store", url])
    assert EXIT_SETTINGS == done.exit_code, done.output
    assert reason in " ".join(done.output.split())
    assert SECRET not in done.output


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_password_file_without_a_password_is_a_sentence_and_exit_code_2(tmp_path, content):
    """A file that is not there, or empty, ends the start."""
    file = tmp_path / "password"
    if content is not None:
        file.write_text(content)
    given = ["--store-password-file", str(file), "--port", "0", "--data", str(tmp_path / "d")]
    command = ["serve", "--store", "redis://127.0.0.1:1/0", *given]
    done = CliRunner().invoke(application, command)
    assert EXIT_SETTINGS == done.exit_code, done.output
    assert isinstance(done.exception, SystemExit)
    assert "store_password_file" in done.output


def _below(pid: int) -> list[int]:
    """Return the children of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in tasks for child in path.read_text().split()]
