"""Whether the parts of a history make an answer: all there, as many rows as were said, in order."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Final

from psoup.engine.store.archive_answers import Place
from psoup.storage import refusals

NAMED: Final = 100
"""Missing parts that a refusal names, the first ones."""


def check_parts(known: Mapping[int, tuple[int, Place, Place]], parts: int, rows: int) -> None:
    """Raise HistoryPartsMissingError unless parts 0 to `parts` - 1 make an answer of `rows` rows in order.

    `known` are rows, first and last place by number.
    """
    missing = [number for number in range(parts) if number not in known]
    if missing:
        raise refusals.history_parts_missing(missing[:NAMED])
    counted = sum(known[number][0] for number in range(parts))
    if counted != rows:
        raise refusals.history_rows_differ(counted)
    disordered = _disordered((number, *known[number][1:]) for number in range(parts))
    if disordered is not None:
        raise refusals.history_parts_disordered(disordered)


def _disordered(places: Iterable[tuple[int, Place, Place]]) -> int | None:
    """Return the first part that does not begin behind the one before it; parts without rows are passed over."""
    full = [one for one in places if one[1]]
    for (_, _, last), (number, first, _) in itertools.pairwise(full):
        if first <= last:
            return number
    return None
