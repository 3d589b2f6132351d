"""LIKE patterns: `%` any run of characters, `_` any one character, everything else itself.

Each piece of a pattern between `%` has a fixed length, so the leftmost place it fits is always the right one and no
text is read twice. Ordinary pieces are searched for in one long text after the other, which is fastest. Where texts
are short, or searching has no bound, a kernel looks for all pieces in all texts at once: its steps do not depend on
what the texts hold.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psoup.engine import limits
from psoup.engine.kernels.bits import words_of
from psoup.engine.kernels.like import ASCII, NO_LEAD, Needles, match_like
from psoup.engine.query.values.like_search import Piece, like_search, plain_text

ANY_RUN = "%"
ANY_ONE = "_"
_SEARCHED_LENGTH_MIN = 256
"""Characters of a text, for each piece, from which searching it takes less time than the kernel."""
_TEXTS_MIN = 16
"""Texts that it takes longer to search than to hand to the kernel."""
_JOINED_LENGTH_MAX = 256 * limits.KIB
"""Characters of texts that are handed to the kernel at once."""


@dataclass(frozen=True, slots=True)
class LikePattern:
    """A pattern taken apart.

    Attributes:
        pieces: what stands between the `%` signs, at least one; per character its text, or None for `_`.
    """

    pieces: tuple[Piece, ...]

    @property
    def literal(self) -> str | None:
        """The only text that matches, where the pattern has no wildcard."""
        return plain_text(self.pieces[0]) if len(self.pieces) == 1 else None

    @property
    def prefix(self) -> str | None:
        """The text p of a pattern that means "begins with p", else None."""
        return plain_text(self.pieces[0]) if len(self.pieces) == 2 and not self.pieces[1] else None


def parse_like(pattern: str, escape: str | None) -> LikePattern | None:
    """Return the pattern taken apart; None where it ends with its escape character."""
    pieces: list[Piece] = []
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

    Cost: of a text, O(text x (1 + piece / 64)) whatever it holds; of the function, 2 ms for the longest pattern.
    """
    first, *others = pattern.pieces
    if not others:
        whole = plain_text(first)
        if whole is not None:
            return _each(whole.__eq__)
        return functools.partial(_stand_alone, len(first), _needles((first, ())))
    matches = like_search(pattern.pieces)
    if matches is None:
        return functools.partial(_all_at_once, _needles(pattern.pieces))
    length_min = _SEARCHED_LENGTH_MIN * sum(map(bool, pattern.pieces))
    return functools.partial(_search_or_match, _each(matches), _needles(pattern.pieces), length_min)


def prefix_past(prefix: str) -> str | None:
    """Return the least text above every text that begins with `prefix`; None where there is none."""
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1]) + 1
        if code == 0xD800:  # surrogates are no characters: no text holds them
            code = 0xE000
        if code <= 0x10FFFF:  # the last code point
            return prefix[: length - 1] + chr(code)
    return None


def _each(matches: Callable[[str], bool]) -> Matcher:
    return lambda texts: np.fromiter(map(matches, texts), np.bool_, len(texts))


def _search_or_match(
    search: Matcher, needles: Needles, length_min: int, texts: Sequence[str]
) -> NDArray[np.bool_]:
    """Return which texts match: those of `length_min` characters and more are searched, and very few as well."""
    lengths = _lengths(texts)
    long = lengths >= length_min
    if long.all() or len(texts) < _TEXTS_MIN:
        return search(texts)
    if not long.any():
        return _match(needles, texts, lengths)
    found = np.zeros(len(texts), np.bool_)
    found[long] = search(list(itertools.compress(texts, long)))
    found[~long] = _match(needles, list(itertools.compress(texts, ~long)), lengths[~long])
    return found


def _all_at_once(needles: Needles, texts: Sequence[str]) -> NDArray[np.bool_]:
    return _match(needles, texts, _lengths(texts))


def _stand_alone(length: int, needles: Needles, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts are the one piece of a pattern: those of its length that begin with it."""
    found = np.zeros(len(texts), np.bool_)
    candidates = [i for i, text in enumerate(texts) if len(text) == length]
    if candidates:
        lengths = np.full(len(candidates), length)
        found[candidates] = _match(needles, [texts[i] for i in candidates], lengths)
    return found


def _needles(pieces: tuple[Piece, ...]) -> Needles:
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
    leads = [NO_LEAD if not piece or piece[0] is None else ord(piece[0]) for piece in pieces]
    return Needles(ends, plain, codes[few:], masks, np.array(leads, np.int64))


def _lengths(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _match(needles: Needles, texts: Sequence[str], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which texts match: they are joined some at a time, since a call takes longer than a short text."""
    edges = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(lengths, out=edges[1:])
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
