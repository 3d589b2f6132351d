"""What the tests of pages stand on: a page's blocks, what is left on a screen, when output is what a page says."""

import pytest

from tests.docs import blocks as pages
from tests.docs.session import difference, left_on_screen, on_a_terminal

HANDLE = "q_7HcT0u9XbK2mPq4sVw1zRd"


def test_blocks_have_their_output_and_their_words(tmp_path, monkeypatch):
    """A text block directly below is the output; one behind a sentence is a block by itself."""
    text = (
        "```sh exit=2\nfalse\n```\n\n```text\nno\n```\nSo:\n```text\nx\n```\n```csv a.csv\n1\n```\n"
    )
    (tmp_path / "page.md").write_text(text)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    first, second, third = pages.blocks("page.md")
    assert ("sh", "false\n", "no\n", 2) == (
        first.language,
        first.text,
        first.output,
        first.exit_code,
    )
    assert ("text", None) == (second.language, second.output)
    assert (("a.csv",), "page.md:12") == (third.words, third.place)


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10%\r\x1b[2K100%\r\ndone", "100%\ndone"),
        ("\x1b[?25lbar\r\n\x1b[1A\x1b[2K\r\x1b[1mdone\x1b[0m it", "done it\n"),
    ],
)
def test_left_on_screen_is_what_a_person_reads(written, left):
    """Lines that were rewritten count as they stand at the end."""
    assert left == left_on_screen(written)


@pytest.mark.parametrize(
    ("expected", "shown", "same"),
    [
        ("a 1\n\nb\n", "a 1  \nb\n", True),
        ("a 1", "a 2", False),
        ("seq ... of 7", "seq 12 of 7", True),
        ("seq ... of 7", "seq 12 of 8", False),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nb\nc", False),
        ("a", "a\nb", False),
        (f"at {HANDLE}", "at q_0000000000000000000000", True),
        (f"at {HANDLE}", "at q_0000", False),
        ("f(x) [3]", "f(x) [3]", True),
    ],
)
def test_difference_knows_what_stands_for_anything(expected, shown, same):
    """Dots and handles stand for others; nothing else does."""
    assert same == (difference(expected, shown) is None)


def test_on_a_terminal_runs_on_one(tmp_path):
    """The command sees a terminal; its output and errors come in order, with its exit code."""
    shown, code = on_a_terminal(
        ["bash", "-c", "test -t 1 && echo out; echo err >&2; exit 3"],
        folder=tmp_path,
        environment={},
    )
    assert ("out\nerr\n", 3) == (shown, code)
