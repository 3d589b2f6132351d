"""The ids of one process's requests, as answers and log lines show them."""

import itertools
import secrets
from collections.abc import Callable
from typing import Final

PREFIX_BITS: Final = 32
_NUMBERS: Final = 1 << 32


class RequestIds:
    """Numbers requests behind a random prefix: a draw for each one would cost more than the rest of its head.

    Ids tell requests apart and are no secret. After 2**32 of them the same ones come again.
    """

    def __init__(self, random_bits: Callable[[int], int] = secrets.randbits) -> None:
        """Draw the prefix, which tells this process from the others that answer for one service."""
        self._prefix = f"{random_bits(PREFIX_BITS):08x}"
        self._numbers = itertools.count()

    def next(self) -> str:
        """Return the id of a new request: 16 hexadecimal digits."""
        return f"{self._prefix}{next(self._numbers) % _NUMBERS:08x}"
