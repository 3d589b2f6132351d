"""Answers as they were sent, kept while what they are made of stands still: a crowd of equal polls is one encoding."""

import threading
from collections.abc import Hashable
from typing import Final, NamedTuple

from starlette.responses import Response

from psoup.engine import limits
from psoup.engine.recent import ENTRY_BYTES, Recent, RecentStatistics
from psoup.engine.results.contract import Gen, Snapshot
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind

KEY_BYTES_MAX: Final = 1_024
"""Of a request, as far as its answer depends on it: what is asked with more is not kept."""
_ANSWER_BYTES_MAX: Final = 64 * limits.KIB
"""Of a body: a larger one takes longer to send than to make."""
_OF_ONE_ANSWER: Final = frozenset(("content-length", "server-timing"))
"""Headers that are made anew: of a length, and of what it took."""


def still(snapshot: Snapshot) -> tuple[Gen, Seq] | None:
    """Return the position of a query, where it alone decides what the query answers at NOW.

    None where that also depends on the server's clock, by which NOW moves while nothing is applied.
    """
    if snapshot.streams[0].schema.clock is not ClockKind.HIGH_WATER:
        return None
    return snapshot.cut.gen, snapshot.cut.seq


class Same(NamedTuple):
    """What an answer is known by: it is that of another request with this `key` as long as the `state` is the same."""

    key: Hashable
    state: Hashable


class KeptAnswers:
    """Answers by what they depend on, the latest used. Any thread may use them.

    Invariant: one state for each key, the last that was asked about, and a bound on the bytes of all.
    """

    def __init__(self, *, bytes_max: int = limits.KEPT_ANSWERS_BYTES_MAX) -> None:
        """Keep nothing yet, and `bytes_max` bytes at most."""
        self._kept: Recent[Hashable, tuple[Hashable, Response]] = Recent(
            bytes_max, threading.Lock()
        )

    def find(self, same: Same) -> Response | None:
        """Return the answer that was given before; None where there is none, or of another state. Cost: O(1)."""
        kept = self._kept.get(same.key)
        return kept[1] if kept is not None and kept[0] == same.state else None

    def at(self, key: Hashable, snapshot: Snapshot) -> Response | None:
        """Return the answer that was given to this key at a query's position; None where there is none."""
        position = still(snapshot)
        return None if position is None else self.find(Same(key, position))

    def keep(self, same: Same, answer: Response) -> None:
        """Keep an answer whose body is in memory, unless that is large. Its `Server-Timing` will say `kept`."""
        size = len(answer.body)
        if size > _ANSWER_BYTES_MAX:
            return
        headers = {
            name: value for name, value in answer.headers.items() if name not in _OF_ONE_ANSWER
        }
        headers["server-timing"] = "kept"
        again = Response(answer.body, answer.status_code, headers)
        self._kept.put(same.key, (same.state, again), size=ENTRY_BYTES + size)

    def statistics(self) -> RecentStatistics:
        """Return how many are kept, and their bytes."""
        return self._kept.statistics()

    def check(self) -> None:
        """Raise AssertionError if the bound is not kept. For tests."""
        self._kept.check()
