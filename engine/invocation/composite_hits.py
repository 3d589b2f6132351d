"""The composite tuples of one clause, picked out of the pages of its group, in the order of answers.

Pages are shared by all clauses of a group and there is one or more for every chunk that found anything: to pick
one clause's share out of thousands of them takes longer than to cut a window out of the share. So a worker keeps
the share, and adds to it what pages that came meanwhile hold.
"""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.gather import ascends
from psoup.engine.recent import ENTRY_BYTES
from psoup.engine.results.composites import CompositePage, PageBounds
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.value_type import value_type

Rows = NDArray[np.int64]

KEY_BITS: Final = 63
"""What a number of 64 bits and a sign holds."""
BOUNDS_BYTES: Final = 200
"""Memory of what is remembered of a page that was looked at."""


@value_type
class CompositeHits:
    """m composite tuples of a clause over n streams, in order of their earliest part, then of their rows.

    Attributes:
        rows: (n, m) int64, the row of each source.
        earliest, latest: (m,) int64, the smallest and the largest tuple time among a composite's parts.
        seen: of the pages that they are all of.
    """

    rows: Rows
    earliest: Rows
    latest: Rows
    seen: frozenset[PageBounds]

    def __len__(self) -> int:
        """Return the number of composites."""
        return len(self.earliest)

    @property
    def nbytes(self) -> int:
        """Return the size of the arrays and of an entry for them."""
        arrays = self.rows.nbytes + self.earliest.nbytes + self.latest.nbytes
        return ENTRY_BYTES + arrays + BOUNDS_BYTES * len(self.seen)


def no_hits(sources: int) -> CompositeHits:
    """Return no composites, of no page, over so many streams."""
    none = np.empty(0, dtype=np.int64)
    return CompositeHits(np.empty((sources, 0), dtype=np.int64), none, none, frozenset())


def grown(
    known: CompositeHits,
    pages: Collection[CompositePage],
    clause_id: ClauseId,
    *,
    dropped_rows: Sequence[int],
) -> CompositeHits:
    """Return what is known of a clause's composites with those in more pages.

    Args:
        known: of other pages.
        pages: those to look at.
        clause_id: the clause.
        dropped_rows: for each source the row below which nothing is held: composites with such a part are let go.

    Cost: O(pages) look-ups of the clause, O(m) for what there is in the end, and a sort where pages cross.
    """
    shares = [(page, page.places(clause_id)) for page in pages]
    shares = [(page, places) for page, places in shares if len(places)]
    rows = np.concatenate(
        [known.rows, *(page.rows.take(places, axis=1) for page, places in shares)], axis=1
    )
    earliest = np.concatenate([known.earliest, *(page.earliest[some] for page, some in shares)])
    latest = np.concatenate([known.latest, *(page.latest[some] for page, some in shares)])
    held = np.ones(len(earliest), dtype=np.bool_)
    for part, dropped_row in zip(rows, dropped_rows, strict=True):
        if dropped_row:
            held &= part >= dropped_row
    if not held.all():
        rows, earliest, latest = rows[:, held], earliest[held], latest[held]
    places = in_order(earliest, rows)
    if places is not None:
        rows, earliest, latest = rows.take(places, axis=1), earliest[places], latest[places]
    seen = known.seen.union(page.bounds for page in pages)
    return CompositeHits(np.ascontiguousarray(rows), earliest, latest, seen)


def in_order(earliest: Rows, rows: Rows) -> Rows | None:
    """Return the places of composites in the order of answers; None where they stand in it.

    The order is by the earliest tuple time, then by the parts' tuple ids in FROM order: within a stream these
    ascend with the rows.

    Args:
        earliest: (m,).
        rows: (n, m).

    Cost: O(n m) where they stand in it, or are a few ordered parts, but for equal times; these are sorted by all
        their rows.
    """
    places: Rows | None = None
    if not ascends(earliest):
        places = np.argsort(earliest, kind="stable")
        earliest, rows = earliest[places], rows.take(places, axis=1)
    undecided = earliest[1:] == earliest[:-1]
    if not undecided.any():
        return places
    equal, descends = undecided.copy(), np.zeros(len(undecided), dtype=np.bool_)
    for part in rows:
        descends |= undecided & (part[1:] < part[:-1])
        undecided &= part[1:] == part[:-1]
    if not descends.any():
        return places
    numbers = np.concatenate(([0], np.cumsum(~equal)))  # of the times that there are
    wrong = np.zeros(numbers[-1] + 1, dtype=np.bool_)
    wrong[numbers[1:][descends]] = True
    some = np.flatnonzero(wrong[numbers])
    among = some[sorted_places([numbers[some], *rows.take(some, axis=1)])]
    ordered = np.arange(len(earliest)) if places is None else places
    found = ordered.copy()
    found[some] = ordered[among]
    return found


def sorted_places(columns: Sequence[Rows]) -> Rows:
    """Return the places in order of the first column, where equal of the second, and so on.

    Args:
        columns: (m,) each, m > 0; no two places are equal in all of them.

    Cost: one sort where the columns' spans take 63 bits together, as they nearly always do; else one for each column.
    """
    least = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low for column, low in zip(columns, least, strict=True)]
    if sum(span.bit_length() for span in spans) > KEY_BITS:
        return np.lexsort(columns[::-1])
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    for column, low, span in zip(columns, least, spans, strict=True):
        keys <<= span.bit_length()
        keys |= column - low
    return np.argsort(keys)
