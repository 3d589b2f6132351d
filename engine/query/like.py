"""LIKE patterns: `%` any run of characters, `_` any one character, everything else itself.

Each piece of a pattern between `%` has a fixed length, so the leftmost place it fits is always the right one and no
text is read twice. Pieces are found by the text's own `find` where they are short and plain, which bounds what it
compares. All others are found by a kernel, in all texts at once: its steps do not depend on what the texts hold.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import limits
from engine.kernels.bits import words_of
from engine.kernels.like import ASCII, Needles, match_like

ANY_RUN = "%"
ANY_ONE = "_"
_FOUND_LENGTH_MAX = 16
"""Characters of a piece that `str.find` may look for: at each place of a text it may compare nearly all of them."""
_JOINED_LENGTH_MAX = 256 * limits.KIB
"""Characters of texts that are handed to the kernel at once."""


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


Matcher = Callable[[Sequence[str]], NDArray[np.bool_]]
"""From texts to which of them match: (n,) bool."""


@functools.lru_cache(maxsize=limits.LIKE_PATTERNS_KEPT_MAX)
def like_matcher(pattern: LikePattern) -> Matcher:
    """Return the function that says which of many texts match.

    Cost: of a text, O(text x (1 + piece / 64)) whatever it holds; of the function, 1 ms for the longest pattern.
    """
    first, *others = pattern.pieces
    if not others:
        whole = _text(first)
        return functools.partial(_stand_alone, first) if whole is None else _each(whole.__eq__)
    *middle, last = others
    beginning, end = _text(first), _text(last)
    plain = [text for piece in middle if (text := _text(piece)) is not None]
    if beginning is None or end is None or len(plain) < len(middle):
        return functools.partial(_match, _needles(pattern.pieces))
    if max(map(len, plain), default=0) > _FOUND_LENGTH_MAX:
        return functools.partial(_match, _needles(pattern.pieces))
    return _each(_finder(beginning, [text for text in plain if text], end))


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


def _each(matches: Callable[[str], bool]) -> Matcher:
    return lambda texts: np.fromiter(map(matches, texts), np.bool_, len(texts))


def _finder(first: str, middle: Sequence[str], last: str) -> Callable[[str], bool]:
    """Return whether a text begins with `first`, ends with `last`, and holds the others between, as a function."""

    def matches(text: str) -> bool:
        at, past = len(first), len(text) - len(last)
        if at > past or not text.startswith(first) or not text.endswith(last):
            return False
        for piece in middle:
            at = text.find(piece, at, past)
            if at < 0:
                return False
            at += len(piece)
        return True

    return matches


def _stand_alone(piece: tuple[str | None, ...], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts are the piece: those of its length that begin with it."""
    candidates = [i for i, text in enumerate(texts) if len(text) == len(piece)]
    found = np.zeros(len(texts), np.bool_)
    found[candidates] = _match(_needles((piece, ())), [texts[i] for i in candidates])
    return found


def _needles(pieces: tuple[tuple[str | None, ...], ...]) -> Needles:
    """Return the pieces of a pattern as the kernel takes them."""
    line = tuple(itertools.chain.from_iterable(pieces))
    characters = sorted({character for character in line if character is not None})
    classes = {character: i for i, character in enumerate(characters, 1)}
    masks = np.zeros((len(classes) + 1, max(1, words_of(len(line)))), np.uint64)
    for place, character in enumerate(line):
        rows = slice(None) if character is None else classes[character]
        masks[rows, place >> 6] |= np.uint64(1 << (place & 63))
    plain = np.zeros(ASCII, np.int64)
    codes = np.array(list(map(ord, characters)), np.int32)
    few = int(np.searchsorted(codes, ASCII))
    plain[codes[:few]] = np.arange(1, few + 1)
    ends = np.cumsum(list(map(len, pieces)), dtype=np.int64)
    return Needles(ends, plain, codes[few:], masks)


def _match(needles: Needles, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts match: they are joined some at a time, since a call takes longer than a short text."""
    edges = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=edges[1:])
    found = np.zeros(len(texts), np.bool_)
    state = np.zeros(needles.masks.shape[1], np.uint64)
    first = 0
    while first < len(texts):
        past = int(np.searchsorted(edges, edges[first] + _JOINED_LENGTH_MAX, side="right")) - 1
        past = max(past, first + 1)
        joined = "".join(texts[first:past])
        begins = edges[first : past + 1] - edges[first]
        match_like(_units(joined), begins, needles, state, found[first:past])
        first = past
    return found


def _units(text: str) -> NDArray[np.uint8] | NDArray[np.int32]:
    """Return a text's characters: a byte each where all are ASCII."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
