"""LIKE of one text by its own `find` and by `re`, which read fastest, for patterns that make neither of them slow.

Both compare a piece from its beginning at one place after another. So they are slow where many places that are close to
each other all fit its first characters: whether there can be such places is seen from the piece alone.
"""

import operator
import re
from collections.abc import Callable, Sequence
from typing import Final

Piece = tuple[str | None, ...]
"""What stands between two `%`: per character its text, or None for `_`."""
Search = Callable[[str, int, int], int]
"""From (text, first, past) to the place just behind the leftmost fit of a piece, -1 = there is none."""

_COMPARED_MAX: Final = 16
"""Characters of a piece that may be compared at every place of a text, and again, of longer ones, on average."""


def plain_text(piece: Piece) -> str | None:
    """Return the piece as a text; None where it has a `_`."""
    characters = [character for character in piece if character is not None]
    return "".join(characters) if len(characters) == len(piece) else None


def like_search(pieces: Sequence[Piece]) -> Callable[[str], bool] | None:
    """Return the function that says whether a text matches; None where no bound is known of what it compares.

    Args:
        pieces: of a pattern, two or more.

    Cost: of a text, at most 32 comparisons a character, whatever it holds, and one or two as a rule.
    """
    first, *middle, last = pieces
    sought = [piece for piece in middle if piece]
    if not all(map(_is_bounded, sought)):
        return None
    foremost, rearmost = len(first), len(last)
    begins, ends = _begins(first) if first else None, _ends(last) if last else None
    searches = [_search(piece) for piece in sought]

    def matches(text: str) -> bool:
        at, past = foremost, len(text) - rearmost
        if at > past or (begins and not begins(text)) or (ends and not ends(text)):
            return False
        for search in searches:
            at = search(text, at, past)
            if at < 0:
                return False
        return True

    return matches


def _is_bounded(piece: Piece) -> bool:
    """Return whether looking for the piece compares at most 2 x _COMPARED_MAX characters for each place of a text.

    At every place it compares up to _COMPARED_MAX of them. More are compared only where all of these fit, and such
    places are at least `apart` from each other: one of them fits the piece's beginning moved by as much.
    """
    piece = piece[_skipped(piece) :]
    if len(piece) <= _COMPARED_MAX:
        return True
    head = piece[:_COMPARED_MAX]
    apart = next(
        moved
        for moved in range(1, _COMPARED_MAX + 1)
        if all(a is None or b is None or a == b for a, b in zip(head, head[moved:], strict=False))
    )
    return len(piece) <= _COMPARED_MAX * apart


def _skipped(piece: Piece) -> int:
    """Return how many `_` a piece begins with."""
    return next((i for i, character in enumerate(piece) if character is not None), len(piece))


def _search(piece: Piece) -> Search:
    length, text = len(piece), plain_text(piece)
    if text is not None:

        def find(given: str, first: int, past: int) -> int:
            at = given.find(text, first, past)
            return at if at < 0 else at + length

        return find
    skipped = _skipped(piece)
    found_in = _fixed(piece[skipped:]).search

    def search(given: str, first: int, past: int) -> int:
        begin = first + skipped
        found = (
            found_in(given, begin, past) if begin <= past else None
        )  # re takes a place past the end for the end
        return -1 if found is None else found.end()

    return search


def _begins(piece: Piece) -> Callable[[str], object]:
    text = plain_text(piece)
    return _fixed(piece).match if text is None else operator.methodcaller("startswith", text)


def _ends(piece: Piece) -> Callable[[str], object]:
    text = plain_text(piece)
    if text is not None:
        return operator.methodcaller("endswith", text)
    match, length = _fixed(piece).match, len(piece)
    return lambda given: match(given, len(given) - length)


def _fixed(piece: Piece) -> re.Pattern[str]:
    """Return the piece as a regular expression without repetition: it cannot backtrack."""
    source = "".join("." if character is None else re.escape(character) for character in piece)
    return re.compile(source, re.DOTALL)
