"""Modules stand in rooms: folders of few modules, whose docstrings name them all, with tests that mirror them."""

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.house import tree

MODULES_MAX = 17
"""Modules in one folder, its `__init__` left out: what a reader takes in at one look."""
LARGE_ROOMS = {"engine/kernels": "compiled kernels are found by the folder of their sources"}
ROOMS_OF_TESTS = {
    **{room: room for room in tree.ROOMS},
    "agents": "psoup/agents",
    "client": "psoup/client",
}
"""What folders of tests are of, by their names. Any other is of the service as a whole, or of another language."""
TESTS_OF_NO_ROOM = {"tests/storage/contract": "every store of `storage` keeps it"}


def test_rooms_hold_few_modules():
    """A folder with more modules than MODULES_MAX is two rooms: split it along its nouns."""
    large = _large(_rooms())
    assert set(LARGE_ROOMS) == set(large), large


def test_docstring_of_a_room_names_its_modules():
    """The order of reading, in the docstring of a package, has every module and every room inside."""
    rooms = _rooms()
    unnamed = {}
    for room, modules in rooms.items():
        if room != "psoup":  # what users import: its docstring is theirs
            inside = [other for other in rooms if Path(other).parent == Path(room)]
            text = ast.get_docstring(tree.syntax_tree(tree.ROOT / room / "__init__.py")) or ""
            unnamed[room] = _unnamed(text, [*modules, *(Path(other).name for other in inside)])
    assert {} == {room: names for room, names in unnamed.items() if names}


def test_tests_mirror_the_rooms():
    """The tests of a room or of a module stand in a folder of its name, or in one above: `tests/engine/query/bind`."""
    rooms = _rooms()
    tested = {
        tree.place(path.parent) for path in tree.python_files("tests") if path.match("test_*.py")
    }
    astray = [
        folder
        for folder in sorted(tested - set(TESTS_OF_NO_ROOM))
        if (room := _room_of_tests(folder)) is not None
        if room not in rooms and Path(room).name not in rooms.get(str(Path(room).parent), [])
    ]
    assert [] == astray
    assert set() == set(TESTS_OF_NO_ROOM) - tested


def test_large_of_rooms_finds_one_module_too_many():
    """The bound itself is accepted."""
    names = [f"module_{number}" for number in range(MODULES_MAX + 1)]
    assert {"a": MODULES_MAX + 1} == _large({"a": names, "b": names[1:]})


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Reading order: `scope`, `binder`.", []),
        ("scope: names.\nbinder: the query.", []),
        ("Reading order: `scope`, `binders`.", ["binder"]),
        ("", ["scope", "binder"]),
    ],
)
def test_unnamed_of_a_docstring(text, missing):
    """A name counts where it stands as a word."""
    assert missing == _unnamed(text, ["scope", "binder"])


def test_rooms_of_some_files_counts_modules_of_each_folder():
    """Neither a room inside nor `__init__` counts."""
    names = ["a/__init__.py", "a/x.py", "a/y.py", "a/b/__init__.py", "a/b/z.py"]
    assert {"a": ["x", "y"], "a/b": ["z"]} == _modules_by_room(map(Path, names))


def test_room_of_tests_is_none_where_tests_are_of_the_whole():
    """`tests/client` is of `psoup/client`; `tests/torture` is of nothing in particular."""
    folders = ["tests/engine/query", "tests/client/appends", "tests/torture"]
    assert ["engine/query", "psoup/client/appends", None] == list(map(_room_of_tests, folders))


def _rooms() -> Mapping[str, list[str]]:
    return _modules_by_room(
        path.relative_to(tree.ROOT) for path in tree.python_files(*tree.SOURCES)
    )


def _modules_by_room(files: Iterable[Path]) -> dict[str, list[str]]:
    """Return the names of the modules of each folder, by the folder's place."""
    rooms: dict[str, list[str]] = {}
    for path in files:
        modules = rooms.setdefault(path.parent.as_posix(), [])
        if not path.stem.startswith("__"):
            modules.append(path.stem)
    return rooms


def _large(rooms: Mapping[str, list[str]]) -> dict[str, int]:
    """Return the rooms with more than MODULES_MAX modules, and how many each has."""
    return {room: len(names) for room, names in rooms.items() if len(names) > MODULES_MAX}


def _unnamed(text: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if not re.search(rf"\b{name}\b", text)]


def _room_of_tests(folder: str) -> str | None:
    """Return the place that the tests in `folder` are of; None where they are of the service as a whole."""
    top, *rest = Path(folder).parts[1:] or [""]
    return "/".join([ROOMS_OF_TESTS[top], *rest]) if top in ROOMS_OF_TESTS else None
