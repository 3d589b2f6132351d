"""Ways to the aggregates of a window that moves on: psoup's partials of chunks, and structures made for one window."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import numpy as np
from numpy.typing import NDArray

from benchmarks.sliding import Floats, Kind, Windows
from benchmarks.ways import Way
from benchmarks.ways_aggregates import COUNT, MAX, MIN, SUM, Found, Partials, Trades, found_answer
from psoup.engine.aggregates.grouping import AggregatedGroups
from psoup.engine.aggregates.partials.partial_cache import TooManyGroups
from psoup.engine.aggregates.partials.stream_partials import StreamPartials
from psoup.engine.limits import CHUNK_ROWS

Kept = StreamPartials | TooManyGroups | None


class Merged(Partials):
    """psoup's: the window moves on over the last rows, and each answer merges partials that those before have left."""

    def __init__(self, some: Trades, window: int, *, moved: int, every: int) -> None:
        """Take the rows; a run moves the window over the last `moved` of them, and asks after each `every`-th."""
        super().__init__(some, calls=[COUNT, SUM, MIN, MAX])
        self._window, self._every = window, every
        self._first_row = len(some.prices) - moved

    def setup(self) -> Kept:
        """Return what an answer before the window moves has left."""
        return self._at(self._first_row, None)[1]

    def run(self, state: Kept) -> AggregatedGroups:
        """Ask, each time over rows that are later."""
        found: AggregatedGroups | None = None
        first = self._first_row + self._every
        for past_row in range(first, len(self._some.prices) + 1, self._every):
            found, state = self._at(past_row, state)
        assert found is not None, "a window that moves is asked"
        return found

    def _at(self, past_row: int, known: Kept) -> tuple[AggregatedGroups, Kept]:
        self._spans = [(past_row - self._window, past_row, True)]
        self._whole_row = past_row // CHUNK_ROWS * CHUNK_ROWS
        asked = self._asked(known)
        return asked.groups, asked.partials


class Slid(Way):
    """A structure for this one window, which takes each row as it comes."""

    def __init__(self, kind: Kind, some: Trades, window: int, *, moved: int, every: int) -> None:
        """Take the rows; a run moves the window over the last `moved` of them."""
        self._kind, self._window, self._every = kind, window, every
        self._before, self._moved = some.prices[-moved - window : -moved], some.prices[-moved:]
        self._conditions = np.zeros(max(window, moved), np.int64)
        self._found = np.zeros((moved // every, 4))

    def setup(self) -> Windows:
        """Return the structure with the window before."""
        windows = Windows(self._kind, 1, self._window)
        windows.slide(self._conditions, self._before, np.empty((0, 4)))
        return windows

    def run(self, state: Windows) -> Found:
        """Take the rows, and ask."""
        state.slide(self._conditions, self._moved, self._found)
        count, *others = self._found[-1].tolist()
        return [(int(count), *others)]

    def answer(self, outcome: Found) -> bytes:
        """Return the last answer."""
        return found_answer(outcome)


class SlidConditions(Way):
    """A structure for each of many conditions; each holds as many values as satisfy it in a chunk."""

    def __init__(
        self, kind: Kind, some: Trades, hits: NDArray[np.int64], edges: NDArray[np.int64]
    ) -> None:
        """Take the hits of each condition, of which all have as many; they come in the order of the rows."""
        (length,) = set(np.diff(edges).tolist())
        conditions = np.repeat(np.arange(len(edges) - 1), length)
        order = np.argsort(hits, kind="stable")
        self._conditions, self._values = conditions[order], some.prices[hits[order]]
        self._windows = Windows(kind, len(edges) - 1, length)

    def setup(self) -> Windows:
        """Return the structures, full of an earlier chunk."""
        self._take(self._windows)
        return self._windows

    def run(self, state: Windows) -> Floats:
        """Take a chunk, and ask each structure."""
        self._take(state)
        return state.answers()

    def answer(self, outcome: Floats) -> bytes:
        """Return the results of all conditions, aggregate by aggregate."""
        counts = outcome[:, 0].astype(np.int64).tobytes()
        return b"".join([counts, *(column.tobytes() for column in outcome.T[1:])])

    def _take(self, windows: Windows) -> None:
        windows.slide(self._conditions, self._values, np.empty((0, 4)))
