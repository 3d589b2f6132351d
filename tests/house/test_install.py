"""`make install` tells what it is at, and fails where a step of it fails. pip is played by a script."""

import subprocess
from pathlib import Path

import pytest

from tests.house import tree

FAKE = """#!/bin/sh
case "$*" in
    *pip*) printf 'Obtaining file:///x\\nCollecting numpy>=2.4 (from psoup)\\n  Downloading numpy.whl\\n'
           printf 'Collecting redis\\nInstalling collected packages: redis, numpy\\n'; exit {code} ;;
esac
"""


def install(tmp_path: Path, *, code: int) -> subprocess.CompletedProcess[str]:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(FAKE.format(code=code))
    python.chmod(0o755)
    console = tmp_path / "built" / "page.html"
    given = [f"VENV={tmp_path / 'venv'}", f"CONSOLE={console}", "NODE="]
    command = ["make", "--directory", str(tree.ROOT), *given, "install"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_install_tells_its_steps_and_each_package(tmp_path):
    """Three steps, a line for each package while pip works, and what comes next; none of what pip says besides.

    Where there is no node it goes on without the console, and says so.
    """
    done = install(tmp_path, code=0)
    assert 0 == done.returncode, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("make")]
    assert ["1 of 3", "2 of 3", "3 of 3", "no con", "psoup "] == [
        line[:6] for line in lines if line[0] != " "
    ]
    assert ["numpy>=2.4", "redis", "putting them in place"] == [
        line.strip() for line in lines if line[0] == " "
    ]
    assert (tmp_path / "venv" / ".installed-core").exists()


@pytest.mark.parametrize("code", [1, 2])
def test_install_whose_packages_fail_is_no_install(tmp_path, code):
    """The filter of what pip says does not hide that it failed."""
    assert 0 != install(tmp_path, code=code).returncode
    assert not (tmp_path / "venv" / ".installed-core").exists()
