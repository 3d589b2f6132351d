"""What lies in the project's tree, as the house rules see it: files, packages, syntax trees."""

import ast
import functools
import gc
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "engine", "pipeline", "storage")
"""Folders at the top, linked into `psoup`: imported as `psoup.engine`, never as `engine`."""
PACKAGES = ("psoup", "pyspark_psoup")
"""What a wheel puts beside other people's packages."""
SOURCES = (*ROOMS, *PACKAGES)
"""Where the files of the packages lie: links are not followed."""


@functools.cache
def project_files() -> tuple[Path, ...]:
    """Return every file of the project: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


def python_files(*folders: str) -> tuple[Path, ...]:
    """Return the Python files below `folders`, or all of the project where none is named."""
    tops = [ROOT / folder for folder in folders] or [ROOT]
    return tuple(
        path
        for path in project_files()
        if path.suffix == ".py" and any(path.is_relative_to(top) for top in tops)
    )


def text_files() -> tuple[Path, ...]:
    """Return the files of the project that hold UTF-8 text."""
    return tuple(path for path in project_files() if _is_text(path))


@functools.cache
def syntax_tree(path: Path) -> ast.Module:
    """Return the parsed file. Nobody looks for garbage in it: in those of all files that takes five seconds."""
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        gc.freeze()
        gc.enable()


def place(path: Path, line: int | None = None) -> str:
    """Return `path`, from the project's root, as editors and people write it."""
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"


def dotted_name(node: ast.expr) -> str:
    """Return `a.b.c` for such an expression, the empty string for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def imported_modules(tree: ast.AST) -> list[tuple[str, int]]:
    """Return (module, line) of each import in `tree`, wherever it stands."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.append((node.module, node.lineno))
    return found


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return True
