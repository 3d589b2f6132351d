"""What rows of one source ask of the next, and which partners they have there."""

from collections.abc import Mapping

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
from psoup.engine.kernels.join import Integers, Places, find_within
from psoup.engine.kernels.order import sorted_places
from psoup.engine.query.join_shape import Tie
from psoup.engine.query.values.expression import Expression
from psoup.engine.tuples.batch import Column


class Closing:
    """A second tie of a link's other source, to one that is known as well: it narrows the partners of a composite.

    Attributes:
        source: the known source.
    """

    __slots__ = ("_codes", "_least", "_most", "source")

    def __init__(self, source: int, least: Integers, most: Integers, codes: Integers) -> None:
        """Take what each row of the source asks for, and the codes of the other's rows in the order of the link."""
        self.source = source
        self._least, self._most = least, most
        self._codes = codes

    def narrow(self, places: Places, low: Places, high: Places) -> None:
        """Narrow the spans of composites whose parts of the source are these, in place."""
        find_within(self._codes, self._least[places], self._most[places], low, high)

    def keep(self, places: Places) -> None:
        """Look at the rows of the source that are at these places, in this order."""
        self._least, self._most = self._least[places], self._most[places]


class Link:
    """The partners that the rows taken of one source have among those taken of another, as spans of an order.

    Attributes:
        low, high: by row of the one: its partners are `to_places[low:high]`.
        to_places: (m,) places among the rows taken of the other; those of rows that match nothing may be missing.
        doubts: conditions of the band that each pair has to be tested for.
        closing: a second tie, which partners are narrowed by; None = there is none.
    """

    __slots__ = ("_of", "closing", "doubts", "high", "low", "to_places")

    def __init__(
        self, tie: Tie, of: Taken, to: Taken, closing: tuple[Tie, Taken] | None = None
    ) -> None:
        """Look the rows of the one up among those of the other. Cost: a sort of these.

        Args:
            tie: what ties them; by equality alone where there is a `closing`.
            of: rows of the one.
            to: rows of the other.
            closing: another tie to the other, by equality too, and the rows taken of the source that it is from.
        """
        self._of = tie.of
        self.closing: Closing | None = None
        self.low = np.zeros(len(of), dtype=np.int64)
        self.high = np.zeros(len(of), dtype=np.int64)
        self.to_places: Places = np.arange(len(to))
        self.doubts: tuple[Expression, ...] = ()
        of_key, to_key = key_of(tie, tie.of), key_of(tie, tie.to)
        if not of_key.asks:
            self.high[:] = len(to)
        else:
            self._look_up(tie, (of_key, of), (to_key, to), closing)

    def keep(self, source: int, places: Places) -> None:
        """Look at the rows of a source that are at these places, in this order; of one that is not the other."""
        if source == self._of:
            self.low, self.high = self.low[places], self.high[places]
        if self.closing is not None and source == self.closing.source:
            self.closing.keep(places)

    def partners(self, places: Mapping[int, Places]) -> tuple[Places, Places]:
        """Return where the partners of composites begin and end; `places` are those of their parts, by source."""
        of = places[self._of]
        low, high = self.low[of], self.high[of]
        if self.closing is not None:
            self.closing.narrow(places[self.closing.source], low, high)
        return low, high

    def _look_up(
        self,
        tie: Tie,
        of: tuple[SideKey, Taken],
        to: tuple[SideKey, Taken],
        closing: tuple[Tie, Taken] | None,
    ) -> None:
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
        second = None if closing is None else _Second(*closing, to[1])
        if second is not None:
            held, band = second.codes_at(to_places)
            to_places, to_codes = to_places[held], to_codes[held]
        order, to_codes, band = ordered(to_codes, band)
        self.to_places = to_places[order]
        lookup = KeyLookup(of_codes, *_ends(tie, of_band))
        low, high, _ = spans(to_codes, band, lookup)
        self.low[of_places], self.high[of_places] = low, high
        if second is not None:
            self.closing = Closing(second.source, second.least, second.most, band)


class _Second:
    """The codes of both sides of a second tie; rows with NULL in it match nothing."""

    def __init__(self, tie: Tie, of: Taken, to: Taken) -> None:
        of_key, to_key = key_of(tie, tie.of), key_of(tie, tie.to)
        of_values, of_places, _ = key_columns(of_key, of.column, len(of))
        to_values, to_places, _ = key_columns(to_key, to.column, len(to))
        of_codes, to_codes = matched_codes(of_values, to_values, of_key.doubles)
        self.source = tie.of
        self.least = np.ones(len(of), dtype=np.int64)
        self.most = np.zeros(len(of), dtype=np.int64)
        self.least[of_places] = self.most[of_places] = of_codes
        self._codes = np.zeros(len(to), dtype=np.int64)
        self._held = np.zeros(len(to), dtype=np.bool_)
        self._codes[to_places], self._held[to_places] = to_codes, True

    def codes_at(self, places: Places) -> tuple[Places, Integers]:
        """Return which of some places of the other's rows have a code, and these codes."""
        held = np.flatnonzero(self._held[places])
        return held, self._codes[places[held]]


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
