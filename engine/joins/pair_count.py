"""How many pairs two sources have, from how often each key occurs: no pair is made, and no row twice looked at.

Where one key ties two sources, an equality or a band, the number of pairs is a sum over the distinct keys of one side.
What full segments hold of each key does not change, so it is counted once.
Source: Chandrasekaran & Franklin 2002, 3.2 (shared factors), taken to the end: rows of one key are one struct.
"""

import numpy as np

from psoup.engine.data.join_keys import WHOLE, band_ends, band_side, is_settled, is_whole, key_of
from psoup.engine.joins.side import ClauseSide
from psoup.engine.query.join_shape import Tie
from psoup.engine.tuples.batch import Column


def countable(tie: Tie) -> bool:
    """Return whether one key alone ties the two sources, of whole numbers: keys are the values."""
    if tie.rest or (tie.band is not None and tie.equal):
        return False
    if tie.band is not None:
        return is_whole(tie.band)
    return len(tie.equal) == 1 and all(side.type in WHOLE for side in tie.equal[0])


def pairs_counted(tie: Tie, of: ClauseSide, to: ClauseSide) -> int | None:
    """Return the number of pairs of two sides, None where only the pairs themselves tell.

    Cost: O(rows) where a side is cut or filtered, else O(distinct keys of each segment).
    """
    if not countable(tie):
        return None
    one, other = of.key_counts(key_of(tie, tie.of)), to.key_counts(key_of(tie, tie.to))
    if not len(one.keys) or not len(other.keys):
        return 0
    if tie.band is None:
        at = np.searchsorted(other.keys, one.keys)
        at[at == len(other.keys)] = 0
        met = other.keys[at] == one.keys
        return int((one.counts[met] * other.counts[at[met]]).sum())
    known = band_side(tie, tie.of)
    assert known is not None, "a band has two sides"
    if not is_settled(tie.band, one.keys, other.keys):
        return None
    least, most = band_ends(tie.band, known=known, column=Column(known.type, one.keys))
    before = np.zeros(len(other.keys) + 1, dtype=np.int64)
    np.cumsum(other.counts, out=before[1:])
    low = other.keys.searchsorted(least)
    high = np.maximum(low, other.keys.searchsorted(most, side="right"))
    return int(one.counts @ (before[high] - before[low]))
