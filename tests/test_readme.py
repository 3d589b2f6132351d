"""The README's commands work when they are pasted: every block is run as it stands, in a shell."""

import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.demo_service import service_process

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PORT = 8000

pytestmark = pytest.mark.service


def shell_blocks() -> list[str]:
    """Return the README's fenced shell blocks, in order."""
    return re.findall(r"^```sh\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def port_to_use() -> int:
    """Return the README's own port where it is free, else 0: any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Return the URL of a service with the embedded store, as `psoup serve` starts it."""
    folder = tmp_path_factory.mktemp("readme")
    with service_process(folder / "psoup-data", port=port_to_use(), log=folder / "log") as url:
        yield url


def run_block(block: str, url: str, folder: Path) -> str:
    """Run a block as pasted: only the port and the place of the installation differ."""
    port = url.rpartition(":")[2]
    text = block.replace(f"localhost:{PORT}", f"localhost:{port}")
    text = text.replace(".venv/bin/psoup", shlex.quote(str(Path(sys.executable).parent / "psoup")))
    # A curl that gets a problem body ends with 0: --fail-with-body makes a refusal fail the block.
    shell = f'set -eu\ncurl() {{ command curl -sS --fail-with-body "$@"; }}\n{text}'
    run = subprocess.run(
        ["bash", "-c", shell],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "PSOUP_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == run.returncode, run.stdout + run.stderr
    return run.stdout


def test_readme_curl_session_works_line_by_line(service, tmp_path):
    """Declare, send, register, invoke, send more, invoke again, remove: each line succeeds."""
    answer = run_block(shell_blocks()[0], service, tmp_path)
    assert '"count":1' in answer
    assert '"px":41.5' in answer
    assert '"px":39.9' not in answer
    csv_answer = answer[answer.index("_id,_x,sym,px") :].split()
    assert ["ACME,41.5", "ACME,43.0"] == [line.split(",", 2)[2] for line in csv_answer[1:3]]


def test_readme_load_and_query_work(service, tmp_path):
    """The file is written, loaded, and the standing query answers with its rows."""
    answer = run_block(shell_blocks()[1], service, tmp_path)
    assert "loaded 3 rows into prices" in answer
    assert 2 == answer.count('"Name":"MSFT"')
    assert '"Name":"IBM"' not in answer


def test_readme_names_only_make_targets_and_commands_that_exist():
    """What the README tells one to type is there."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile
    helped = subprocess.run(
        [sys.executable, "-m", "app.cli", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in ("serve", "load", "query", "streams", "queries", "status", "invoke", "remove"):
        assert command in README
        assert command in helped
