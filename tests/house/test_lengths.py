"""Small modules, small functions: the two hard limits, for tests as well."""

import ast
from collections.abc import Iterator

from tests.house import tree

FILE_LINES_MAX = 400
KINDS = {".py", ".lua", ".ts", ".tsx", ".mjs"}
FUNCTION_LINES_MAX = 70


def test_files_of_code_stay_within_their_length():
    """No file of Python, Lua or TypeScript is longer than 400 lines: split it along its ideas."""
    code = [path for path in tree.project_files() if path.suffix in KINDS]
    lengths = {path: len(path.read_bytes().splitlines()) for path in code}
    too_long = [
        f"{tree.place(path)}: {length} lines, {FILE_LINES_MAX} at most"
        for path, length in lengths.items()
        if length > FILE_LINES_MAX
    ]
    assert [] == too_long


def test_functions_stay_within_their_length():
    """No function is longer than 70 lines, docstring included: split it."""
    too_long = [
        f"{tree.place(path, node.lineno)}: {node.name} has {length} lines,"
        f" {FUNCTION_LINES_MAX} at most"
        for path in tree.python_files()
        for node, length in function_lengths(tree.syntax_tree(path))
        if length > FUNCTION_LINES_MAX
    ]
    assert [] == too_long


def test_function_lengths_of_a_nested_function_counts_both():
    """The measure sees methods, nested and asynchronous functions, decorators left out."""
    source = "@d\nclass A:\n    @d\n    def f(self):\n        async def g():\n            pass\n"
    measured = [(node.name, length) for node, length in function_lengths(ast.parse(source))]
    assert [("f", 3), ("g", 2)] == measured


def function_lengths(
    module: ast.Module,
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    """Yield each function of `module` with its number of lines, from `def` to its end."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None, "parsed code has line numbers"
            yield node, node.end_lineno - node.lineno + 1
