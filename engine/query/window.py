"""The BEGIN-END part of a query: kept in the WindowsTable, applied only at invocation.

Both ends are inclusive, as in TelegraphCQ. A row dated `t` is in the window at the instants
`[in, out)` of the query's clock, `interval(t)`; everything else follows from that one line.
Source: Chandrasekaran & Franklin 2002, 2.1; TelegraphCQ 2003, 4.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class WindowKind(StrEnum):
    """Names of the five kinds of window."""

    NONE = "none"
    SNAPSHOT = "snapshot"
    LANDMARK = "landmark"
    SLIDING = "sliding"
    DELAYED = "delayed"


@dataclass(frozen=True, slots=True)
class Bound:
    """One end: a constant instant, or NOW minus an offset. Microseconds.

    `moving` False: the instant `us`. True: NOW - `us`, `us` >= 0.
    """

    us: int
    moving: bool

    def at(self, now_us: int) -> int:
        """Return the instant this end has when NOW is `now_us`."""
        return now_us - self.us if self.moving else self.us


@dataclass(frozen=True, slots=True)
class Window:
    """BEGIN and END, or neither. Made by the binder, which refuses what can never hold an instant."""

    begin: Bound | None = None
    end: Bound | None = None

    def __post_init__(self) -> None:
        """Assert that both ends are given, or neither, and that they are one of the five kinds."""
        assert (self.begin is None) == (self.end is None)
        if self.begin is not None and self.end is not None:
            assert not self.begin.moving or self.end.moving, "a moving BEGIN with a constant END"
            if self.begin.moving == self.end.moving:
                reversed_us = self.end.us - self.begin.us
                assert (reversed_us <= 0) if self.begin.moving else (reversed_us >= 0)

    @property
    def kind(self) -> WindowKind:
        """Return which of the five kinds this is."""
        if self.begin is None or self.end is None:
            return WindowKind.NONE
        if not self.end.moving:
            return WindowKind.SNAPSHOT
        if not self.begin.moving:
            return WindowKind.LANDMARK
        return WindowKind.SLIDING if self.end.us == 0 else WindowKind.DELAYED

    def bind(self, now_us: int) -> tuple[int | None, int | None]:
        """Return (BEGIN, END) as instants, both inclusive, when NOW is `now_us`; None = open."""
        if self.begin is None or self.end is None:
            return None, None
        return self.begin.at(now_us), self.end.at(now_us)

    def visible(self, times_us: NDArray[np.int64], now_us: int) -> NDArray[np.bool_]:
        """Return which tuples dated `times_us` the window shows at `now_us`.

        Nothing dated later than NOW is ever shown, whatever the window. Same as
        `in <= now < out` of `interval` for each.
        """
        begin, end = self.bind(now_us)
        shown = times_us <= (now_us if end is None else min(end, now_us))
        if begin is not None:
            shown &= times_us >= begin
        return shown

    def interval(self, time_us: int) -> tuple[int, int | None] | None:
        """Return `[in, out)`, the instants of NOW at which a tuple dated `time_us` is shown.

        `out` None = it never leaves. None = no instant shows it.
        """
        if self.begin is None or self.end is None:
            return time_us, None
        if not self.begin.moving and time_us < self.begin.us:
            return None
        if not self.end.moving and time_us > self.end.us:
            return None
        enters = time_us + self.end.us if self.end.moving else time_us
        return enters, time_us + self.begin.us + 1 if self.begin.moving else None

    @property
    def is_fixed(self) -> bool:
        """Return whether both ends are constant."""
        return self.end is not None and not self.end.moving

    @property
    def slides(self) -> bool:
        """Return whether tuples leave."""
        return self.begin is not None and self.begin.moving

    def enters(self, times_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the instants at which tuples dated `times_us` enter, those that the window shows at all."""
        return times_us + self.end.us if self.end is not None and self.end.moving else times_us

    def leaves(self, times_us: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the instants at which tuples dated `times_us` leave; None = they never do."""
        if self.begin is None or not self.begin.moving:  # it does not slide
            return None
        return times_us + (self.begin.us + 1)


def windows_of(window: Window, ranges: Sequence[int | None], sources: int) -> tuple[Window, ...]:
    """Return the window of each of so many sources: its own `[RANGE ...]`, else the query's.

    `[RANGE r]` is `BEGIN (NOW - r) END (NOW)` for one source.
    """
    if not ranges:
        return (window,) * sources
    return tuple(
        window if us is None else Window(Bound(us, moving=True), Bound(0, moving=True))
        for us in ranges
    )
