"""A data folder in which other users of the machine may put, replace and remove files."""

import signal

import pytest

from psoup.app.operate.lifecycle import EXIT_OK, EXIT_STORE
from tests.app.real_processes import Process

pytestmark = pytest.mark.service


@pytest.mark.parametrize("command", ["serve", "engine"])
def test_shared_folder_is_not_started_on(command, attacked_server, tmp_path):
    """A folder that everybody can write ends the start, with what to do; closed to others it is taken."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "somebody's").touch()
    data.chmod(0o777)
    attacked_server.client.fetch_one("FLUSHALL")
    process = Process(command, attacked_server.url, tmp_path)
    try:
        process.start("--port", "0")
        assert EXIT_STORE == process.wait()
        *_, refused = process.events()
        assert ("not-started", "store-unsuitable") == (refused["event"], refused["code"])
        assert f"chmod go-w {data}" in refused["detail"]
        data.chmod(0o755)
        process.start("--port", "0")
        process.wait_for("listening")
        process.send(signal.SIGTERM)
        assert EXIT_OK == process.wait()
    finally:
        process.close()
