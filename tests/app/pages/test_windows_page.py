"""docs/windows.md runs: its rows are sent in their order, and every answer is what stands there, as in the pictures."""

import pytest

from tests.app.pages.sql_pages import send_table, shown_answer
from tests.app.support import MOVES_THE_CLOCK, Api
from tests.docs import window_pictures
from tests.docs.blocks import blocks

pytestmark = [pytest.mark.anyio, MOVES_THE_CLOCK]

PAGE = "docs/windows.md"


async def test_windows_page_answers_what_it_shows(api: Api):
    """`csv stream` are rows, `sql name` is registered once, `csv answer name` is what that query answers by then."""
    handles: dict[str, str] = {}
    last, compared = "", 0
    for block in blocks(PAGE):
        if block.language == "sql":
            last = await api.register(block.text)
            handles.update(dict.fromkeys(block.words, last))
            continue
        if block.words and block.words[0] != "answer":
            await send_table(api, block.words[0], block.text)
            continue
        name, *parameters = block.words[1:] or ("",)
        given = dict(word.split("=", 1) for word in parameters)
        assert block.text == await shown_answer(api, handles.get(name, last), **given), block.place
        compared += 1
    assert compared >= 10


def test_windows_page_pictures_show_its_answers():
    """The full dots of each scene are the rows of the page's answers, in the order of both."""
    answers = [
        block.text.splitlines()[1:]
        for block in blocks(PAGE)
        if block.language == "csv" and block.words in {(), ("answer", "recent")}
    ]
    before, *moves = [scene.inside() for scene in window_pictures.MOVES]
    shown = [scene.inside() for scene in window_pictures.KINDS]
    assert before in shown
    assert [*shown, *moves] == answers[: len(shown) + len(moves)]


@pytest.mark.parametrize("name", window_pictures.PICTURES)
def test_windows_page_pictures_are_drawn_by_their_script(name):
    """A picture that is not what the script draws: `make docs`."""
    scenes, last = window_pictures.PICTURES[name]
    assert window_pictures.drawn(scenes, last) == (window_pictures.FOLDER / name).read_text()
