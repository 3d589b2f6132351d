"""psoup as its users install it: the wheel of the image, in an environment without the project's tree."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
    """Return an environment with psoup from the wheel, with what the wheel says that it requires, and nothing else."""
    return _environment(wheel, tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="session")
def spark_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same with the extras `spark` and `mcp`, which modules of psoup's import."""
    return _environment(wheel, tmp_path_factory.mktemp("spark"), "spark", "mcp")


def _environment(wheel: Path, folder: Path, *extras: str) -> Path:
    """Make an environment in `folder`: the wheel is installed, and what it requires is linked to that of the tests."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    *options, name = _of_the_image("install")
    assert "dist/*.whl" == name
    _pip("--python", str(folder), *options, str(wheel), folder=folder)
    (metadata,) = packages.glob("psoup-*.dist-info")
    for needed in _required(PathDistribution(metadata).requires or [], extras):
        for top in {Path(*path.parts[:1]) for path in distribution(needed).files or []}:
            source = Path(str(distribution(needed).locate_file(top)))
            if ".." not in top.parts and not (packages / top).exists():
                (packages / top).symlink_to(source)
    _copy_compiled(packages / "psoup" / "engine" / "kernels")
    return folder


def _required(requirements: Iterable[str], extras: Sequence[str]) -> set[str]:
    """Return the names of what is installed for requirements, and for theirs in turn."""
    found: set[str] = set()
    wanted = [(Requirement(one), extra) for one in requirements for extra in ("", *extras)]
    while wanted:
        requirement, its_extra = wanted.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": its_extra}):
            continue
        if name not in found:
            found.add(name)
            theirs = [Requirement(one) for one in distribution(name).requires or []]
            wanted += [(one, each) for one in theirs for each in ("", *requirement.extras)]
    return found


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
    return _commands(environment, tmp_path)


@pytest.fixture
def psoup_with_spark(spark_environment: Path, tmp_path: Path) -> Commands:
    """Return the same where Spark is installed as well."""
    return _commands(spark_environment, tmp_path)


def _commands(environment: Path, folder: Path) -> Commands:
    for name in THEIR_MODULES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(OF_A_USER)
    programs = environment / "bin"
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PSOUP_")) and name != "VIRTUAL_ENV"
    }
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    return Commands(programs, folder, kept | {"PATH": path})


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """Yield a store of many processes."""
    shared = SharedServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()
