"""The engine is a deterministic fold: time and chance reach it as arguments, never by themselves."""

import ast

import pytest

from tests.house import tree

MODULES_FORBIDDEN = frozenset(
    {"asyncio", "multiprocessing", "random", "secrets", "socket", "threading", "time", "uuid"}
)
ENDINGS_FORBIDDEN = (
    "date.today",
    "datetime.now",
    "datetime.today",
    "datetime.utcnow",
    "numpy.random",
    "np.random",
    "os.environ",
    "os.getenv",
    "os.urandom",
)
CLOCK = tree.ROOT / "engine" / "clock.py"


def impurities(module: ast.Module) -> list[tuple[int, str]]:
    """Return (line, what) of each place where `module` reads a clock, chance or its surroundings."""
    found = [
        (line, name)
        for name, line in tree.imported_modules(module)
        if name.partition(".")[0] in MODULES_FORBIDDEN or name == "numpy.random"
    ]
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            name = tree.dotted_name(node)
            if any(name == end or name.endswith("." + end) for end in ENDINGS_FORBIDDEN):
                found.append((node.lineno, name))
        elif isinstance(node, ast.Call) and tree.dotted_name(node.func) in {"hash", "id"}:
            # Both differ from process to process: strings hash with a random seed.
            found.append((node.lineno, f"{tree.dotted_name(node.func)}()"))
    return sorted(found)


def test_engine_reads_no_clock_and_no_chance():
    """Nothing under engine/ but the clock itself depends on when or where it runs."""
    found = [
        f"{tree.place(path, line)}: {what}: make it an argument"
        for path in tree.python_files("engine")
        if path != CLOCK
        for line, what in impurities(tree.syntax_tree(path))
    ]
    assert [] == found


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from random import Random",
        "import numpy.random",
        "import numpy as np\nx = np.random.default_rng(1)",
        "import datetime\nx = datetime.datetime.now()",
        "x = hash('a')",
    ],
)
def test_impurities_of_an_impure_module_are_found(source):
    """The check can fail: each way to read a clock or chance is seen."""
    assert [] != impurities(ast.parse(source))


def test_impurities_of_a_pure_module_are_none():
    """Arguments that are named like a clock are not one."""
    source = "def f(time, now_us):\n    '''Mention time.time().'''\n    return time.span(now_us)\n"
    assert [] == impurities(ast.parse(source))
