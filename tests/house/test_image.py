"""The Dockerfile as its linter sees it, and what stages run, run here: a console, a user of no rights, its folder."""

import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients import nodes
from tests.house import tree
from tests.house.deployment import DOCKERFILE, dockerfile

PROGRAMS = ("groupadd", "useradd", "install")


def stages() -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage, its FROM first."""
    found: list[list[tuple[str, str]]] = []
    for name, arguments in dockerfile():
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, arguments))
    return found


def commands(stage: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the commands of a stage, each as its words."""
    runs = [arguments for name, arguments in stage if name == "RUN"]
    return [shlex.split(command) for run in runs for command in run.split("&&")]


def test_first_stage_builds_the_console(tmp_path: Path):
    """Of what it copies and of nothing else, by node and npm of a wheel, into what the next stage takes over."""
    first, *others = stages()
    assert "AS console" in first[0][1]
    work = tmp_path / dict(first)["WORKDIR"].removeprefix("/")
    for source, target in [words.split() for name, words in first if name == "COPY"]:
        shutil.copytree(
            tree.ROOT / source,
            work / target,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("node_modules"),
        )
    for command in commands(first):
        nodes.npm(command, work)
    (taken,) = [
        words.split() for name, words in others[0] if name == "COPY" and "--from=console" in words
    ]
    built = {path.name for path in (tmp_path / taken[1].removeprefix("/")).iterdir()}
    assert {"page.html", "main.js", "main.css", "licences.txt", "page.html.gz"} <= built
    assert "app/console/built" == taken[2]


def test_last_stage_runs_what_is_tried_here():
    """Three commands, each once: one more would not be tried."""
    assert list(PROGRAMS) == [command[0] for command in commands(stages()[-1])]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root: users and owners are made")
def test_last_stage_makes_a_user_and_its_folder(tmp_path: Path):
    """In files of the test's own: the ids of USER, no shell, no home but /data, which nobody else enters."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"needs {missing}, as Debian has them")
    (tmp_path / "etc").mkdir()
    for name in ("passwd", "group", "shadow", "gshadow"):
        (tmp_path / "etc" / name).touch()
    for program, *arguments in commands(stages()[-1]):
        words = [word.replace("/data", f"{tmp_path}/data") for word in arguments]
        if program != "install":
            words = ["--prefix", str(tmp_path), *arguments]
        subprocess.run([program, *words], check=True, capture_output=True)
    ids = next(arguments for name, arguments in reversed(dockerfile()) if name == "USER")
    (user,) = (tmp_path / "etc" / "passwd").read_text().splitlines()
    name, _, user_id, group_id, _, home, shell = user.split(":")
    assert ("psoup", ids, "/data") == (name, f"{user_id}:{group_id}", home)
    assert shell.endswith("/nologin")
    folder = (tmp_path / "data").stat()
    assert (ids, 0o700) == (f"{folder.st_uid}:{folder.st_gid}", stat.S_IMODE(folder.st_mode))


def test_dockerfile_is_what_its_linter_wants():
    """Hadolint finds nothing, where it is installed, beside this Python or elsewhere."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    hadolint = shutil.which("hadolint", path=folders)
    if hadolint is None:
        pytest.skip("hadolint is not installed here: the Dockerfile was not linted")
    done = subprocess.run([hadolint, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stdout)
