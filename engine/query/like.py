"""LIKE patterns: `%` any run of characters, `_` any one character, everything else itself.

Matching is linear in the pattern's pieces between `%`: each piece has a fixed length, so the leftmost
place it fits is always the right one and nothing is ever tried twice.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

ANY_RUN = "%"
ANY_ONE = "_"


@dataclass(frozen=True, slots=True)
class LikePattern:
    """A pattern taken apart.

    Attributes:
        pieces: what stands between the `%` signs, at least one; per character its text, or None for `_`.
    """

    pieces: tuple[tuple[str | None, ...], ...]

    @property
    def literal(self) -> str | None:
        """The only text that matches, where the pattern has no wildcard."""
        return _text(self.pieces[0]) if len(self.pieces) == 1 else None

    @property
    def prefix(self) -> str | None:
        """The text p of a pattern that means "begins with p", else None."""
        return _text(self.pieces[0]) if len(self.pieces) == 2 and not self.pieces[1] else None


def parse_like(pattern: str, escape: str | None) -> LikePattern | None:
    """Return the pattern taken apart; None where it ends with its escape character."""
    pieces: list[tuple[str | None, ...]] = []
    piece: list[str | None] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None:
                return None
            piece.append(following)
        elif character == ANY_RUN:
            pieces.append(tuple(piece))
            piece = []
        else:
            piece.append(None if character == ANY_ONE else character)
    return LikePattern((*pieces, tuple(piece)))


def like_matcher(pattern: LikePattern) -> Callable[[str], bool]:
    """Return the function that says whether a text matches.

    Cost: O(text) a piece without `_`; O(text x piece) with.
    """
    first, *others = pattern.pieces
    if not others:
        return _whole(first)
    *middle, last = others
    starts, ends = _whole(first), _whole(last)
    finders = [_finder(piece) for piece in middle if piece]

    def matches(text: str) -> bool:
        at, end = len(first), len(text) - len(last)
        if at > end or not starts(text[:at]) or not ends(text[end:]):
            return False
        for find in finders:
            found = find(text, at, end)
            if found is None:
                return False
            at = found
        return True

    return matches


def prefix_past(prefix: str) -> str | None:
    """Return the least text above every text that begins with `prefix`; None where there is none."""
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1]) + 1
        if code == 0xD800:  # surrogates are no characters: no text holds them
            code = 0xE000
        if code <= 0x10FFFF:  # the last code point
            return prefix[: length - 1] + chr(code)
    return None


def _text(piece: tuple[str | None, ...]) -> str | None:
    characters = [character for character in piece if character is not None]
    return "".join(characters) if len(characters) == len(piece) else None


def _fixed_length(piece: tuple[str | None, ...]) -> re.Pattern[str]:
    """Return the piece as a regular expression without repetition: it cannot backtrack."""
    source = "".join("." if character is None else re.escape(character) for character in piece)
    return re.compile(source, re.DOTALL)


def _whole(piece: tuple[str | None, ...]) -> Callable[[str], bool]:
    text = _text(piece)
    if text is not None:
        return lambda given: given == text
    compiled = _fixed_length(piece)
    return lambda given: compiled.fullmatch(given) is not None


def _finder(piece: tuple[str | None, ...]) -> Callable[[str, int, int], int | None]:
    """Return a function from (text, first, past) to the place just behind the leftmost fit, or None."""
    text = _text(piece)
    if text is None:
        compiled = _fixed_length(piece)

        def search(given: str, first: int, past: int) -> int | None:
            found = compiled.search(given, first, past)
            return None if found is None else found.end()

        return search

    def find(given: str, first: int, past: int) -> int | None:
        at = given.find(text, first, past)
        return None if at < 0 else at + len(text)

    return find
