"""What the windows of the sources of a join say of its composite tuples, by their earliest and latest time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import DatedRows
from psoup.engine.invocation.composite_hits import CompositeHits
from psoup.engine.results.composites import PageBounds

Rows = NDArray[np.int64]


class Dates:
    """What the spans of the sources say of a composite's earliest and latest time. A value.

    Attributes:
        unlike: places of the sources whose part has to be looked at as well: their spans are narrower than what
            the earliest and the latest time tell.
    """

    __slots__ = ("_least_begin", "_least_end", "_most_begin", "_most_end", "unlike")

    def __init__(self, spans: Sequence[DatedRows]) -> None:
        """Take one span for each source."""
        begins = [span.begin_us for span in spans]
        bounded = [begin for begin in begins if begin is not None]
        ends = [span.end_us for span in spans]
        self._least_begin = min(bounded) if len(bounded) == len(begins) else None
        self._most_begin = max(bounded, default=None)
        self._least_end, self._most_end = min(ends), max(ends)
        self.unlike = [
            place
            for place, span in enumerate(spans)
            if span.begin_us != self._least_begin or span.end_us != self._most_end
        ]

    def reach(self, page: PageBounds) -> bool:
        """Return whether a composite of the page may be dated so."""
        least, most = self._least_begin, self._most_begin
        return (
            (least is None or page.most_earliest >= least)
            and (most is None or page.most_latest >= most)
            and page.least_latest <= self._most_end
            and page.least_earliest <= self._least_end
        )

    def reached(self, hits: CompositeHits) -> slice:
        """Return where composites lie whose earliest time may be so."""
        first = 0
        if self._least_begin is not None:
            first = int(hits.earliest.searchsorted(self._least_begin))
        return slice(first, int(hits.earliest.searchsorted(self._least_end, side="right")))

    def shown(self, earliest: Rows, latest: Rows) -> NDArray[np.bool_]:
        """Return which composites, whose earliest times are `reached`, are dated so but for `unlike` sources."""
        shown = latest <= self._most_end
        if self._most_begin is not None and len(earliest) and earliest[0] < self._most_begin:
            shown &= latest >= self._most_begin
        return shown
