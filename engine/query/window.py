"""The BEGIN-END part of a query: kept in the WindowsTable, applied only at invocation.

Both ends are inclusive, as in TelegraphCQ. A row dated `t` is in the window at the instants
`[in, out)` of the query's clock, `interval(t)`; everything else follows from that one line. Where the window
hops (EVERY), NOW stands still from hop to hop, and so both of these instants are hops (`hops.py`).
Source: Chandrasekaran & Franklin 2002, 2.1; TelegraphCQ 2003, 4.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from psoup.engine.query.hops import Hops, Instants


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

    def at_each(self, instants_us: Sequence[int]) -> list[int]:
        """Return the instants this end has when NOW is each of some instants."""
        if self.moving:
            return [now_us - self.us for now_us in instants_us]
        return [self.us] * len(instants_us)


@dataclass(frozen=True, slots=True)
class Window:
    """BEGIN and END, or neither, and the hops of EVERY. Made by the binder, which refuses what never holds an instant.

    `hops` None: NOW is not rounded.
    """

    begin: Bound | None = None
    end: Bound | None = None
    hops: Hops | None = None

    def __post_init__(self) -> None:
        """Assert that both ends are given, or neither and no hops, and that they are one of the five kinds."""
        assert (self.begin is None) == (self.end is None)
        assert self.hops is None or self.begin is not None
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

    def rounded(self, now_us: int) -> int:
        """Return NOW as the window has it when the clock says `now_us`: the last hop; `now_us` without hops."""
        return now_us if self.hops is None else self.hops.last(now_us)

    def bind(self, now_us: int) -> tuple[int | None, int | None]:
        """Return (BEGIN, END) as instants, both inclusive, when the clock says `now_us`; None = open."""
        if self.begin is None or self.end is None:
            return None, None
        now_us = self.rounded(now_us)
        return self.begin.at(now_us), self.end.at(now_us)

    def bind_each(self, instants_us: Sequence[int]) -> list[tuple[int | None, int | None]]:
        """Return what `bind` does for each of some instants, in a fifth of the time."""
        if self.begin is None or self.end is None:
            return [(None, None)] * len(instants_us)
        if self.hops is not None:
            instants_us = list(map(self.hops.last, instants_us))
        begins, ends = self.begin.at_each(instants_us), self.end.at_each(instants_us)
        return list(zip(begins, ends, strict=True))

    def visible(self, times_us: NDArray[np.int64], now_us: int) -> NDArray[np.bool_]:
        """Return which tuples dated `times_us` the window shows when the clock says `now_us`.

        Nothing dated later than NOW is ever shown, whatever the window. Same as
        `in <= now < out` of `interval` for each.
        """
        now_us = self.rounded(now_us)
        begin, end = self.bind(now_us)
        shown = times_us <= (now_us if end is None else min(end, now_us))
        if begin is not None:
            shown &= times_us >= begin
        return shown

    def interval(self, time_us: int) -> tuple[int, int | None] | None:
        """Return `[in, out)`, the instants of the clock at which a tuple dated `time_us` is shown.

        `out` None = it never leaves. None = no instant shows it.
        """
        if self.begin is not None and not self.begin.moving and time_us < self.begin.us:
            return None
        enters = self.first_shown(time_us)
        if enters is None:
            return None
        if self.begin is None or not self.begin.moving:
            return enters, None
        leaves = self.at_hop(time_us + self.begin.us + 1)
        return None if enters == leaves else (enters, leaves)

    def first_shown(self, time_us: int) -> int | None:
        """Return the first instant at which a tuple dated `time_us` or later may be shown; None = none ever is."""
        if self.begin is not None and not self.begin.moving:
            time_us = max(time_us, self.begin.us)
        if self.end is not None and not self.end.moving and time_us > self.end.us:
            return None
        offset_us = self.end.us if self.end is not None and self.end.moving else 0
        return self.at_hop(time_us + offset_us)

    @property
    def is_fixed(self) -> bool:
        """Return whether both ends are constant."""
        return self.end is not None and not self.end.moving

    @property
    def slides(self) -> bool:
        """Return whether tuples leave."""
        return self.begin is not None and self.begin.moving

    @property
    def skips(self) -> bool:
        """Return whether it is shorter than its hops, so that some tuples are shown at none of them."""
        if self.hops is None or self.begin is None or self.end is None or not self.begin.moving:
            return False
        return self.begin.us - self.end.us + 1 < self.hops.every_us

    def enters(self, times_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the instants at which tuples dated `times_us` enter, those that the window shows at all.

        Those that it skips enter and leave at one instant.
        """
        if self.end is not None and self.end.moving:
            times_us = times_us + self.end.us
        return self.at_hop(times_us)

    def leaves(self, times_us: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the instants at which tuples dated `times_us` leave; None = they never do."""
        if self.begin is None or not self.begin.moving:  # it does not slide
            return None
        return self.at_hop(times_us + (self.begin.us + 1))

    def at_hop(self, instants_us: Instants) -> Instants:
        """Return the first hop at or after an instant, or after each of some; without hops, the same instants."""
        return instants_us if self.hops is None else self.hops.next(instants_us)


def windows_of(window: Window, ranges: Sequence[int | None], sources: int) -> tuple[Window, ...]:
    """Return the window of each of so many sources: its own `[RANGE ...]`, else the query's.

    `[RANGE r]` is `BEGIN (NOW - r) END (NOW)` for one source. NOW is one instant for all of them, so all hop as the
    query's window does.
    """
    if not ranges:
        return (window,) * sources
    return tuple(
        window if us is None else Window(Bound(us, moving=True), Bound(0, moving=True), window.hops)
        for us in ranges
    )
