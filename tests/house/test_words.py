"""Names and phrases that were replaced, because one name stood for two things or a reader had to decode them.

They do not come back. A name is added here when the last of its uses has gone.
"""

import ast
import re

import pytest

from tests.house import tree

CLASSES = {
    "Settled": "PrecomputedHits",
    "Joins": "JoinEntrants",
}
"""Names that no class, function or variable has any more, and what stands in their place."""
CLASSES_OF_A_ROOM = {
    "app/backend": {"Shown": "AppendedAt"},
    "app/cli/demo": {"Shown": "ShownQuery"},
    "app/cli/terminal": {"Mark": "RowMark"},
    "app/http": {"Heard": "RequestHead"},
    "app/routes/queries": {"Told": "RegistrationOutcome"},
    "app/routes/results": {
        "Page": "AnswerPage",
        "Source": "NewsSource",
        "Told": "News",
    },
    "engine/data": {
        "Asked": "KeyLookup",
        "Run": "RowSpan",
        "Span": "DatedRows",
        "Tally": "KeyCounts",
    },
    "engine/eddy": {"Counts": "OperatorCounts"},
    "engine/errors.py": {"Position": "TextPosition"},
    "engine/verify": {"Tally": "ComparedCounts"},
    "storage/memory": {"Catalogue": "MemoryCatalogue"},
    "storage/redis": {
        "Held": "StoreHolder",
        "Listener": "ChannelListener",
        "Told": "AcknowledgedPosition",
    },
}
"""Names that stand for something else in another place, and what took their place here."""
PHRASES = {
    r"found by who asks": "say who computes it",
    r"[Rr]eturn what (?:is kept|is held|is known|may be asked)": "name what is returned",
    r"rarely sent to": "a quiet stream",
    r"[Ww]hoever (?:holds|hands|keeps|knows|asks|has) (?:segments|tuples|more)": "name the caller",
    r"nobody asks for any more": "say what happened to it",
}
"""In docstrings and comments of engine/: what a reader has to decode, and what to write instead."""
ROOMS = (
    "engine/checkpoint.py",
    "engine/clauses",
    "engine/data",
    "engine/eddy",
    "engine/joins",
    "engine/kernels",
    "engine/log",
    "engine/sources",
    "engine/state",
    "engine/tuples",
    "engine/verify",
)
"""Where the phrases have gone."""


@pytest.mark.parametrize("name", CLASSES)
def test_a_name_that_was_replaced_stays_away(name):
    """No class, function or variable of the packages has it."""
    found = [
        place for path in tree.python_files(*tree.SOURCES) for place in _definitions(path, name)
    ]
    assert [] == found, f"the name is {CLASSES[name]}"


@pytest.mark.parametrize("room", CLASSES_OF_A_ROOM)
def test_a_name_with_another_meaning_stays_out_of_a_room(room):
    """One name, one thing: there it means the other one."""
    names = CLASSES_OF_A_ROOM[room]
    found = {
        name: places
        for name in names
        if (places := [at for path in tree.python_files(room) for at in _definitions(path, name)])
    }
    assert {} == found, f"the names are {names}"


def test_phrases_that_were_replaced_stay_away():
    """Docstrings and comments say who does what."""
    found = [
        f"{tree.place(path, number)}: {match[0]} ({instead})"
        for path in tree.python_files(*ROOMS)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for phrase, instead in PHRASES.items()
        for match in re.finditer(phrase, line)
    ]
    assert [] == found


def test_rooms_of_the_list_exist():
    """A room that was moved would be looked at no more."""
    assert [] == [room for room in (*ROOMS, *CLASSES_OF_A_ROOM) if not tree.python_files(room)]


def _definitions(path, name: str) -> list[str]:
    """Return where a file defines `name`: as a class, a function or a variable of its module."""
    found = []
    for node in tree.syntax_tree(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [tree.dotted_name(target) for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            names = [tree.dotted_name(node.target)]
        else:
            continue
        found += [tree.place(path, node.lineno)] * (name in names)
    return found
