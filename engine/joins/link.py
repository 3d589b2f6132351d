"""What rows of one source ask of the next, and which partners they have there."""

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.join_keys import (
    SideKey,
    band_ends,
    band_side,
    band_values,
    index_keys,
    is_settled,
    is_whole,
    key_of,
    matched_codes,
)
from psoup.engine.data.key_index import NO_KEYS, KeyLookup, distinct, key_columns, ordered, spans
from psoup.engine.joins.side import Taken
from psoup.engine.kernels.join import Places
from psoup.engine.kernels.order import sorted_places
from psoup.engine.query.join_shape import Tie
from psoup.engine.query.values.expression import Expression
from psoup.engine.tuples.batch import Column


class Link:
    """The partners that the rows taken of one source have among those taken of another, as spans of an order.

    Attributes:
        low, high: by row of the one: its partners are `to_places[low:high]`.
        to_places: (m,) places among the rows taken of the other.
        words: (m, w) their lineage; None = one clause asks.
        doubts: conditions of the band that each pair has to be tested for.
    """

    __slots__ = ("doubts", "high", "low", "to_places", "words")

    def __init__(self, tie: Tie, of: Taken, to: Taken) -> None:
        """Look the rows of the one up among those of the other. Cost: a sort of these."""
        self.low = np.zeros(len(of), dtype=np.int64)
        self.high = np.zeros(len(of), dtype=np.int64)
        self.to_places: Places = np.arange(len(to))
        self.doubts: tuple[Expression, ...] = ()
        of_key, to_key = key_of(tie, tie.of), key_of(tie, tie.to)
        if not of_key.asks:
            self.high[:] = len(to)
        else:
            self._look_up(tie, (of_key, of), (to_key, to))
        self.words = None if to.words is None else to.words[self.to_places]

    def _look_up(self, tie: Tie, of: tuple[SideKey, Taken], to: tuple[SideKey, Taken]) -> None:
        of_values, of_places, of_band = key_columns(of[0], of[1].column, len(of[1]))
        to_values, to_places, to_band = key_columns(to[0], to[1].column, len(to[1]))
        of_codes = to_codes = NO_KEYS
        if of_values:
            of_codes, to_codes = matched_codes(of_values, to_values, of[0].doubles)
        band = NO_KEYS
        if tie.band is not None and to_band is not None and of_band is not None:
            band = band_values(to_band, double=to[0].band_double)
            whole = is_whole(tie.band) and is_settled(tie.band, of_band.values, to_band.values)
            if not whole and not tie.band.exact:
                self.doubts = tie.band.conditions
        order, to_codes, band = ordered(to_codes, band)
        self.to_places = to_places[order]
        lookup = KeyLookup(of_codes, *_ends(tie, of_band))
        low, high, _ = spans(to_codes, band, lookup)
        self.low[of_places], self.high[of_places] = low, high


def _ends(tie: Tie, band: Column | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the span of the other side's band that each row matches; empty arrays where there is no band."""
    known = band_side(tie, tie.of)
    if tie.band is None or band is None or known is None:
        return NO_KEYS, NO_KEYS
    return band_ends(tie.band, known=known, column=band)


def lookup_of(tie: Tie, of: Taken) -> KeyLookup:
    """Return the distinct keys that the rows of a source look up in the next source's index, ascending."""
    key = key_of(tie, tie.of)
    values, _, band = key_columns(key, of.column, len(of))
    least, most = _ends(tie, band)
    if not values:
        return KeyLookup(NO_KEYS, least, most)
    keys = index_keys(values, key.doubles)
    if len(least):
        order = sorted_places(keys)
        return KeyLookup(keys[order], least[order], most[order])
    return KeyLookup(distinct(keys), NO_KEYS, NO_KEYS)
