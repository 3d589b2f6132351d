"""How many rows of one source or several there are, and between which of each source: what states and pages need."""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.tuples.value_type import value_type


@value_type
class Extent:
    """Some rows of a query.

    Attributes:
        count: how many there are.
        oldest_rows, newest_rows: for each source the smallest and the largest of their numbers; () = there are none.
    """

    count: int
    oldest_rows: tuple[int, ...] = ()
    newest_rows: tuple[int, ...] = ()


def extent_of(rows: NDArray[np.int64]) -> Extent:
    """Return the extent of (m,) rows of one source, or (p, m) of p sources."""
    if not rows.shape[-1]:
        return Extent(0)
    by_source = np.atleast_2d(rows)
    oldest_rows, newest_rows = by_source.min(axis=1).tolist(), by_source.max(axis=1).tolist()
    return Extent(rows.shape[-1], tuple(oldest_rows), tuple(newest_rows))
