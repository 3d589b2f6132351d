"""docs/troubleshooting.md names what psoup says: messages, codes, warnings and reasons that exist."""

import pytest

from tests.docs.blocks import first_cells
from tests.house import tree
from tests.house.test_documented import error_codes

PAGE = "docs/troubleshooting.md"
OF_THE_SYSTEM = frozenset({"already in use"})
"""What the operating system says."""


def sources() -> str:
    """Return the code of the service."""
    return "\n".join(
        path.read_text(encoding="utf-8")
        for path in tree.python_files("app", "engine", "storage", "pipeline")
    )


def test_messages_of_the_start_are_said_by_the_code():
    """A quoted piece stands as it is in a message."""
    quoted = first_cells(PAGE, "The service does not start")
    assert len(quoted) > 15
    code = sources()
    assert [] == [text for text in quoted if text not in code and text not in OF_THE_SYSTEM]


@pytest.mark.parametrize(
    "heading",
    ["Rows are refused", "A query is refused", "Requests are refused", "The service answers 503"],
)
def test_codes_warnings_and_reasons_exist(heading):
    """Whatever is explained is a code of the contract, or a word that the code has in quotes."""
    named = first_cells(PAGE, heading)
    assert len(named) > 4
    codes, code = error_codes(), sources()
    assert [] == [name for name in named if name not in codes and f'"{name}"' not in code]


def test_codes_that_leave_a_client_waiting_are_all_explained():
    """Every code of status 503 has its row: a client has done nothing wrong, and wants to know what to do."""
    from psoup.app.http.problems import PROBLEM_TYPES

    waiting = {code for code, kind in PROBLEM_TYPES.items() if kind.status == 503}
    assert waiting
    assert set() == waiting - set(first_cells(PAGE, "The service answers 503"))
