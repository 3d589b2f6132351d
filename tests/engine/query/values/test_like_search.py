"""What is searched for in a text by itself: ordinary pieces, and none that could be compared again and again."""

import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.values.like import parse_like
from psoup.engine.query.values.like_search import Piece, like_search

COMPARED_MAX = 32
"""Characters of a piece that are compared for each character of a text, at most."""


def pieces_of(pattern: str) -> tuple[Piece, ...]:
    parts = parse_like(pattern, None)
    assert parts is not None
    return parts.pieces


def compared(piece: Piece, text: str) -> int:
    """Return how many characters are compared where the piece is tried at each place of a text, from its beginning."""
    count = 0
    for at in range(len(text) - len(piece) + 1):
        for character, there in zip(piece, text[at:], strict=False):
            count += 1
            if character is not None and character != there:
                break
    return count


@pytest.mark.parametrize(
    "pattern",
    [
        "%connection to server refused%",
        "%err_r%timeout_after_retry%",
        "%____-__-__T__:__:__Z%",
        "user\\_%@%.example.c_m",
        "%" + "the quick brown fox jumps over the lazy dog, " * 5 + "%",
    ],
)
def test_ordinary_pieces_are_searched(pattern):
    """By `find` and `re`, several times faster than the kernel in a long text."""
    assert like_search(pieces_of(pattern)) is not None


@pytest.mark.parametrize(
    "pattern", ["%" + "_a" * 510 + "b%", f"%{'a' * 100}%", "%" + "ab_" * 100 + "%"]
)
def test_pieces_that_repeat_themselves_are_left_to_the_kernel(pattern):
    """A text of their repetitions would be compared with nearly all of them at every place."""
    assert like_search(pieces_of(pattern)) is None


@given(
    unit=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=40),
    length=st.integers(1, 300),
    end=st.sampled_from([(), ("c",), (None, "d")]),
    joint=st.text("abc", max_size=3),
)
def test_law_what_is_searched_compares_a_bounded_number_of_characters(unit, length, end, joint):
    """In texts made of the piece's own beginning, which fit it as far as anything can."""
    first = next((i for i, character in enumerate(unit) if character is not None), None)
    if first is None:
        return
    unit = unit[first:] + unit[:first]  # what a piece begins with: `_` is stepped over
    piece = ((*unit,) * (length // len(unit) + 1))[:length] + end
    if like_search(((), piece, ())) is None:
        return
    filled = "".join(character or "a" for character in piece[:-1])
    text = (filled + joint) * (900 // (len(filled) + len(joint) + 1) + 1)
    assert compared(piece, text) <= COMPARED_MAX * len(text)
