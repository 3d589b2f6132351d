"""Handles as they travel: a prefix that says what they name, and 128 random bits in base 62."""

import secrets
from collections.abc import Callable
from typing import Final

from psoup.engine.errors import NO_QUERY, NotFoundError
from psoup.engine.log.operation import QueryId

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS: Final = [low + high for high in _BASE62 for low in _BASE62]
_DIGITS: Final = 22
HANDLE_BITS: Final = 128
QUERY_PREFIX: Final = "q_"

Bits = Callable[[int], int]
"""Random bits: `secrets.randbits`, or a test's own."""


def draw_handle(prefix: str, bits: Bits = secrets.randbits) -> str:
    """Return a fresh handle, the lowest digit of its number first."""
    number, digits = bits(HANDLE_BITS), []
    for _ in range(_DIGITS // 2):
        number, pair = divmod(number, len(_PAIRS))
        digits.append(_PAIRS[pair])
    return prefix + "".join(digits)


def is_handle(prefix: str, text: str) -> bool:
    """Return whether `text` has the shape of a handle with this prefix."""
    begins = len(prefix)
    fits = len(text) == begins + _DIGITS and text.startswith(prefix)
    return fits and text[begins:].isalnum() and text.isascii()


def read_handle(text: str) -> QueryId:
    """Return the handle of a query that `text` is. A text of another shape was never one: NotFoundError."""
    if not is_handle(QUERY_PREFIX, text):
        raise NotFoundError(NO_QUERY)
    return QueryId(text)


def handle_pattern(prefix: str) -> str:
    """Return the pattern, for a JSON schema, of handles with this prefix."""
    return f"^{prefix}[0-9A-Za-z]{{{_DIGITS}}}$"
