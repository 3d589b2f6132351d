"""What is said of HTTP is proven over every kind of service: a test gets its application from one place."""

import ast

from tests.house import tree

WEB = tree.ROOT / "tests" / "app"
GIVER = "support.py"
"""Gives applications of the kind asked for, and the reasons why a test runs over memory:// alone."""
OWN_APPLICATIONS = {
    "test_openapi.py": "reads the description of an application that never runs",
    "test_worker.py": "is about a worker: whose engine goes away, and is another one's",
}
MAKERS = {"create_app", "create_worker_app"}


def test_services_are_made_in_one_place():
    """A test that makes an application by itself would run over one kind of service only: it says why."""
    making = {
        path.name
        for path in tree.python_files("tests/app")
        for node in ast.walk(tree.syntax_tree(path))
        if isinstance(node, ast.ImportFrom) and MAKERS & {name.name for name in node.names}
    }
    assert {GIVER, *OWN_APPLICATIONS} == making, (
        "take `running`, `served` or `api`: tests/README.md"
    )


def test_services_memory_alone_is_a_reason_of_a_few():
    """Why a test is left out over a Redis stands in one place, and each reason is used."""
    marks = {
        path.name: path.read_text(encoding="utf-8").count("mark.memory(")
        for path in tree.python_files("tests/app")
    }
    assert {GIVER} == {name for name, times in marks.items() if times}
    support = tree.syntax_tree(WEB / GIVER)
    reasons = {
        target.id
        for node in support.body
        if isinstance(node, ast.Assign) and "mark.memory(" in ast.unparse(node)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in tree.python_files("tests/app")
        if path.name != GIVER
    )
    assert marks[GIVER] == len(reasons) == len({name for name in reasons if name in text})
