"""EVERY i ALIGN t: the instants that NOW is rounded down to before a window is applied.

A row that a window without hops would show at `[in, out)` is shown from the first hop at or after `in` until the first
hop at or after `out`.
Source: hopping windows, as in TelegraphCQ 2003, 4.1, and Arasu et al. 2006 (`SLIDE`).
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Instants = TypeVar("Instants", int, NDArray[np.int64])


@dataclass(frozen=True, slots=True)
class Hops:
    """The instants `align_us + k * every_us` for all whole k. Microseconds.

    `align_us` is the first of them at or after 1970, so equal hops are equal values.
    """

    every_us: int
    align_us: int = 0

    def __post_init__(self) -> None:
        """Assert that there is a hop, and that the first one is the first."""
        assert 0 <= self.align_us < self.every_us

    def last(self, instant_us: int) -> int:
        """Return the last hop at or before an instant."""
        return instant_us - (instant_us - self.align_us) % self.every_us

    def next(self, instants_us: Instants) -> Instants:
        """Return the first hop at or after an instant, or after each of an array of them."""
        return instants_us + (self.align_us - instants_us) % self.every_us
