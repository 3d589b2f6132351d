"""psoup as its users install it: the wheel of the image, in an environment without the project's tree."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from psoup.engine.kernels import compiled
from tests.commands import Commands
from tests.house import tree
from tests.house.deployment import copied, dockerfile
from tests.stores import SharedServer

OF_A_USER = 'raise SystemExit("a module of the user was run")\n'
THEIR_MODULES = ("app.py", "engine/__init__.py", "storage.py", "pipeline.py")


def _pip(*arguments: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr


def _of_the_image(verb: str) -> list[str]:
    """Return the arguments of `pip wheel` or `pip install` by which the image gets psoup itself."""
    runs = [arguments for name, arguments in dockerfile() if name == "RUN"]
    commands = [shlex.split(part) for run in runs for part in run.split("&&")]
    (found,) = (
        words[1:]
        for words in commands
        if words[0].endswith("/pip") and words[1] == verb and "--no-index" in words
    )
    return found


def build_wheel(folder: Path) -> None:
    """Build the wheel of the sources in `folder` into its `dist`, by the Dockerfile's command."""
    _pip(*_of_the_image("wheel"), folder=folder)


def console_files() -> tuple[Path, ...]:
    """Return the files of the console, which git ignores: none where it is not built."""
    return tuple((tree.ROOT / "app" / "console" / "built").glob("*"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built by the Dockerfile's command from the files that the Dockerfile copies."""
    folder = tmp_path_factory.mktemp("image")
    sources = [tree.ROOT / name for name in copied()]
    for path in (*tree.project_files(), *console_files()):
        if any(path.is_relative_to(source) for source in sources):
            place = folder / path.relative_to(tree.ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    for room in tree.ROOMS:
        (folder / "psoup" / room).symlink_to(f"../{room}")
    build_wheel(folder)
    (made,) = folder.glob("dist/*.whl")
    return made


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with psoup from the wheel, and whatever psoup needs from that of the tests.

    The line of a `.pth` file adds a folder and does not read the `.pth` files in it: the project's tree, which
    the tests' environment adds by one of those, is not on the path.
    """
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    needs = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (packages / "needs.pth").write_text("".join(f"{one}\n" for one in sorted(needs)))
    *options, name = _of_the_image("install")
    assert "dist/*.whl" == name
    _pip("--python", str(folder), *options, str(wheel), folder=folder)
    _copy_compiled(packages / "psoup" / "engine" / "kernels")
    return folder


def _copy_compiled(kernels: Path) -> None:
    """Copy the kernels that the tests have compiled: compiling them takes half a minute.

    Numba compiles anew unless the sources are the same, to the byte.
    """
    (kernels / "__pycache__").mkdir(exist_ok=True)
    for path in Path(compiled.__file__).parent.glob("__pycache__/*.nb[ci]"):
        shutil.copy(path, kernels / "__pycache__")


@pytest.fixture
def psoup(environment: Path, tmp_path: Path) -> Commands:
    """Return the installed commands, in a user's folder, beside modules of the user."""
    for name in THEIR_MODULES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(OF_A_USER)
    programs = environment / "bin"
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PSOUP_")) and name != "VIRTUAL_ENV"
    }
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    return Commands(programs, tmp_path, kept | {"PATH": path})


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """Yield a store of many processes."""
    shared = SharedServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()
