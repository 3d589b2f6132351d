"""Errors are told apart by their class: a code that is misspelt in a comparison is a branch that is never taken."""

import ast

import pytest

from tests.house import tree

TABLE = "app/http/problems.py"
"""Turns every error into a problem body, by its code."""
QUERY_WARNINGS = ("engine/query/bind/author_warnings.py", "engine/query/bind/template.py")
"""Compare codes of warnings, which are no errors and have one class."""


def compared_codes(module: ast.Module) -> list[int]:
    """Return the line of each comparison of something's `code`."""
    return [
        node.lineno
        for node in ast.walk(module)
        if isinstance(node, ast.Compare | ast.Match)
        and any(
            isinstance(one, ast.Attribute) and one.attr == "code"
            for one in (
                [node.subject] if isinstance(node, ast.Match) else [node.left, *node.comparators]
            )
        )
    ]


def test_no_module_compares_the_code_of_an_error():
    """`except` and `isinstance` take a class; the table of problems alone goes by codes."""
    found = [
        f"{tree.place(path, line)}: compare the class of the error"
        for path in tree.python_files(*tree.SOURCES)
        if tree.place(path) not in {TABLE, *QUERY_WARNINGS}
        if ".code" in path.read_text(encoding="utf-8")  # else there is nothing to parse for
        for line in compared_codes(tree.syntax_tree(path))
    ]
    assert [] == found


@pytest.mark.parametrize("place", [TABLE, *QUERY_WARNINGS])
def test_modules_that_may_compare_codes_do(place):
    """An exception that nobody needs any more is taken off the list."""
    assert [] != compared_codes(tree.syntax_tree(tree.ROOT / place))


@pytest.mark.parametrize(
    "source",
    [
        "error.code == 'fenced'",
        "FENCED != refusal.code",
        "error.code not in TRANSIENT",
        "match error.code:\n    case 'fenced': pass",
    ],
)
def test_comparison_of_a_code_is_found(source):
    """The check can fail."""
    assert [1] == compared_codes(ast.parse(source))
