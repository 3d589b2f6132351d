"""The cache that keeps the partials of streams between invocations."""

from collections.abc import Callable, Container
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from psoup.engine.aggregates.grouping import Grouping
from psoup.engine.aggregates.partials.stream_partials import StreamPartials
from psoup.engine.limits import PARTIALS_AHEAD_BYTES_MAX, PARTIALS_CACHE_BYTES_MAX
from psoup.engine.recent import ENTRY_BYTES, Recent, RecentStatistics
from psoup.engine.tuples.value_type import value_type

Texts = tuple[tuple[str, ...], tuple[str, ...]]
"""Of a grouping: what tells it from others."""
Key = tuple[int, int, Texts]
"""Whose partials these are: a generation, a clause and a grouping."""


@value_type
class TooManyGroups:
    """Stands for partials that are not kept: reading the rows again is as fast, or they do not fit the cache."""


TOO_MANY_GROUPS: Final = TooManyGroups()


@dataclass(frozen=True, slots=True)
class PartialStatistics:
    """What is held in bytes, and of how many chunks partials were made since the start.

    Attributes:
        asked: partials that were made when they were asked for.
        ahead: those that were made before.
        chunks_asked, chunks_ahead: chunks whose partials were made, for each condition and grouping.
    """

    asked: RecentStatistics
    ahead: RecentStatistics
    chunks_asked: int
    chunks_ahead: int


class PartialCache:
    """Partials by condition and grouping. Shared by threads. Everything in it can be made again of the rows.

    Those that were asked for and those that are made ahead have a bound each, so that neither take the others' room. Of
    the first the least recently used are forgotten, of the second none before its time.
    """

    def __init__(
        self,
        bytes_max: int = PARTIALS_CACHE_BYTES_MAX,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
        *,
        ahead_bytes_max: int = PARTIALS_AHEAD_BYTES_MAX,
    ) -> None:
        """Begin empty.

        Args:
            bytes_max: bound of all partials together that were asked for.
            make_lock: where threads share it, makes its locks.
            ahead_bytes_max: bound of those that are made ahead.
        """
        self._asked: Recent[Key, StreamPartials | TooManyGroups] = Recent(bytes_max, make_lock())
        self._ahead: Recent[Key, StreamPartials | TooManyGroups] = Recent(
            ahead_bytes_max, make_lock()
        )
        self._chunks_asked = self._chunks_ahead = 0

    def partials(
        self, gen: int, clause_id: int, grouping: Grouping
    ) -> StreamPartials | TooManyGroups | None:
        """Return what is kept of a condition's hits, grouped so; None = nothing."""
        key = gen, clause_id, grouping.texts
        return self._ahead.get(key) or self._asked.get(key)

    def keep(
        self, gen: int, clause_id: int, grouping: Grouping, made: StreamPartials | TooManyGroups
    ) -> None:
        """Keep partials that were asked for in place of what was kept, if they fit."""
        key = gen, clause_id, grouping.texts
        self._chunks_asked += _chunks_made(made, self.partials(gen, clause_id, grouping))
        if key in self._ahead and self._ahead.has_room(key, _size(made)):
            self._ahead.put(key, made, size=_size(made))
            return
        self._ahead.forget(key)
        self._asked.put(key, made, size=_size(made))

    def keep_ahead(
        self, gen: int, clause_id: int, grouping: Grouping, made: StreamPartials | TooManyGroups
    ) -> bool:
        """Keep partials that nobody has asked for; return whether there is room among those that are made ahead."""
        key = gen, clause_id, grouping.texts
        if not self._ahead.has_room(key, _size(made)):
            return False
        self._chunks_ahead += _chunks_made(made, self.partials(gen, clause_id, grouping))
        self._ahead.put(key, made, size=_size(made))
        self._asked.forget(key)
        return True

    def has_room_ahead(self, key: Key, nbytes: int) -> bool:
        """Return whether partials of this size would be kept ahead."""
        return self._ahead.has_room(key, nbytes)

    def keep_ahead_only(self, wanted: Container[Key]) -> None:
        """Forget what was made ahead for others than these."""
        for key, _ in self._ahead.pairs():
            if key not in wanted:
                self._ahead.forget(key)

    def statistics(self) -> PartialStatistics:
        """Return what is held, and what was made."""
        return PartialStatistics(
            self._asked.statistics(),
            self._ahead.statistics(),
            self._chunks_asked,
            self._chunks_ahead,
        )

    def check(self) -> None:
        """Assert that the bounds are kept, and that partials are sound."""
        self._asked.check()
        self._ahead.check()
        for _, one in self._asked.pairs() + self._ahead.pairs():
            if isinstance(one, StreamPartials):
                one.check()


def _size(made: StreamPartials | TooManyGroups) -> int:
    return ENTRY_BYTES if isinstance(made, TooManyGroups) else made.nbytes


def _chunks_made(
    made: StreamPartials | TooManyGroups, known: StreamPartials | TooManyGroups | None
) -> int:
    """Return how many chunks have partials that had none before."""
    if isinstance(made, TooManyGroups):
        return 0
    chunks = range(made.first, made.past)
    if not isinstance(known, StreamPartials):
        return len(chunks)
    both = range(max(made.first, known.first), min(made.past, known.past))
    return len(chunks) - len(both)
