"""What psoup is made of: no dependency older than is safe, one version of each everywhere, and hashes for the image."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.house import tree
from tests.house.deployment import dockerfile

IMAGE = tree.ROOT / ".ci" / "image-requirements.txt"
BUILD = tree.ROOT / ".ci" / "build-requirements.txt"
PROJECT = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SAFE_FROM = {
    "h11": "0.16",  # CVE-2025-43859: malformed chunks, by which requests are smuggled
    "orjson": "3.11.6",  # CVE-2025-67221: nesting without bound
    "pyarrow": "17.0",  # CVE-2024-52338, and CVE-2023-47248 before: files that run code
    "redis": "8.1",  # redis/redis-py#2665: another caller's answer after a cancellation
    "starlette": "1.3.1",  # CVE-2026-54283, CVE-2025-62727, CVE-2024-47874
    "uvicorn": "0.30",
}
"""No version below these may be installed, whatever pip is told."""


def core():
    return [Requirement(one) for one in PROJECT["project"]["dependencies"]]


def everything():
    extras = PROJECT["project"]["optional-dependencies"].values()
    return [
        *core(),
        *(Requirement(one) for some in extras for one in some if not one.startswith("psoup")),
    ]


def build_needs():
    return [Requirement(one) for one in PROJECT["build-system"]["requires"]]


def floor_of(requirement):
    (floor,) = (one.version for one in requirement.specifier if one.operator == ">=")
    return Version(floor)


def pinned(path: Path) -> dict[str, set[str]]:
    """Return the versions that a file of requirements pins, each for some Python or system."""
    found: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        name, _, version = line.partition("==")
        found.setdefault(canonicalize_name(name), set()).add(version.split()[0])
    return found


@pytest.mark.parametrize("name", SAFE_FROM)
def test_floor_is_at_or_above_the_first_safe_version(name):
    """A fresh installation without constraints gets no version with a known hole."""
    (requirement,) = (one for one in core() if canonicalize_name(one.name) == name)
    assert Version(SAFE_FROM[name]) <= floor_of(requirement)


def test_constraints_pin_every_requirement_at_or_above_its_floor():
    """What is tested is what is asked for."""
    versions = pinned(tree.ROOT / "constraints.txt")
    for requirement in [*everything(), *build_needs()]:
        for version in versions[canonicalize_name(requirement.name)]:
            assert version in requirement.specifier, requirement


def test_floors_are_what_is_tested():
    """Nobody tests an older minor version, so none is promised."""
    versions = pinned(tree.ROOT / "constraints.txt")
    for requirement in everything():
        oldest = min(Version(one) for one in versions[canonicalize_name(requirement.name)])
        assert oldest.release[:1] == floor_of(requirement).release[:1], requirement
        assert floor_of(requirement) <= oldest


def test_no_reader_of_multipart_forms_comes_with_a_service():
    """No forms are read, and python-multipart has a history of holes: nothing but the extra for agents brings it in."""
    readers = {"python-multipart", "multipart"}
    assert not readers & set(pinned(IMAGE))
    needed_by = {
        canonicalize_name(one.name)
        for one in importlib.metadata.distributions()
        for text in one.requires or ()
        if canonicalize_name((needed := Requirement(text)).name) in readers
        and (needed.marker is None or needed.marker.evaluate({"extra": ""}))
    }
    assert {"mcp"} == needed_by


@pytest.mark.parametrize(("path", "needs"), [(IMAGE, core()), (BUILD, build_needs())])
def test_image_is_locked_to_the_byte(path, needs):
    """Each requirement and what it requires, at the tested version, with hashes; `make lock` writes the file."""
    versions = pinned(path)
    constraints = pinned(tree.ROOT / "constraints.txt")
    assert set() == {canonicalize_name(one.name) for one in needs} - set(versions)
    assert {name: constraints.get(name) for name in versions} == versions
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    assert "://" not in text, "no address of an index"
    for line in text.splitlines():
        assert re.search(r"--hash=sha256:[0-9a-f]{64}(\s|$)", line), line


def test_image_installs_nothing_that_is_not_locked():
    """Every installation is by hashes, or of psoup itself without an index, and none builds what others wrote."""
    runs = [arguments for name, arguments in dockerfile() if name == "RUN" and "pip" in arguments]
    commands = [part.strip() for run in runs for part in run.split("&&") if "/pip " in part]
    assert commands
    for command in commands:
        locked = "--require-hashes" in command and "--only-binary :all:" in command
        assert locked or {"--no-deps", "--no-index"} <= set(command.split()), command
