"""ORDER BY: where values stand in an order that is total, the first of them found without sorting the rest."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.aggregates.ordinals import ordinals
from psoup.engine.checkpoint import checkpoint
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Places = NDArray[np.int64]

FEW: Final = 4
"""Where fewer than one value in so many is wanted, the others are not sorted."""


@value_type
class SortKey:
    """Values to sort by, and how: an entry of ORDER BY, computed."""

    column: Column
    descending: bool = False
    nulls_first: bool = False


def sorted_places(keys: Sequence[SortKey], count: int, *, first: int | None = None) -> Places:
    """Return the places of `count` values in order of the first key, where equal of the second, and so on.

    Where all keys are equal, in the order of their places. Texts are in the order of their code points, FALSE comes
    before TRUE.

    Args:
        keys: of `count` values each.
        count: how many there are.
        first: only so many are wanted, or all where there are fewer; None = all.

    Cost: one sort of `count` numbers a key; where few are wanted, one pass over the first key and a sort of these.
    """
    wanted = count if first is None else min(first, count)
    if not keys or not wanted:
        return np.arange(wanted, dtype=np.int64)
    places: Places | None = None
    if wanted * FEW < count:
        places = _candidates(keys[0], wanted)
        keys = [SortKey(one.column.take(places), one.descending, one.nulls_first) for one in keys]
    order = np.lexsort([part for key in reversed(keys) for part in reversed(_ranks(key))])
    order = order[:wanted]
    return order if places is None else places[order]


def _candidates(key: SortKey, wanted: int) -> Places:
    """Return, ascending, places among which the first `wanted` by a key are, with all that are equal to the last."""
    checkpoint()
    *nulls, ranks = _ranks(key)
    kept = np.ones(len(ranks), dtype=np.bool_)
    if nulls:
        ahead = ~nulls[0]  # those that are not in the second part of the order
        count = int(np.count_nonzero(ahead))
        if count <= wanted:
            # The whole first part, and of the second, all of whose ranks may matter, everything.
            return np.arange(len(ranks), dtype=np.int64)
        kept = ahead
    among = ranks[kept] if nulls else ranks
    last = np.partition(among, wanted - 1)[wanted - 1]
    kept &= ranks <= last
    return np.flatnonzero(kept)


def _ranks(key: SortKey) -> list[NDArray[Any]]:
    """Return arrays that sort as the key does, the first one before the others: ascending, and without NULL."""
    checkpoint()
    column = key.column
    values = column.values
    if column.type is ColumnType.STRING:
        values = text_ranks(column)
    elif column.type is ColumnType.BOOL:
        values = values.astype(np.int8)
    if key.descending:
        values = -values if column.type is ColumnType.FLOAT64 else ~values
    if column.valid is None or column.valid.all():
        return [values]
    is_null = ~column.valid
    values = np.where(is_null, values.dtype.type(0), values)
    return [~is_null if key.nulls_first else is_null, values]


def text_ranks(column: Column) -> NDArray[np.int64]:
    """Return integers that are in the order of a column's texts; anything under NULL.

    Cost: a sort of the distinct texts that occur.
    """
    codes = column.values
    if column.valid is not None:
        some = codes[column.valid]
        if not len(some):
            return np.zeros(len(codes), dtype=np.int64)
        codes = np.where(column.valid, codes, some[0])
    return ordinals(Column(column.type, codes, None, column.dictionary)).keys
