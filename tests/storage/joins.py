"""Composite tuples of the stand-in for the engine: what an entrant finds is a function of who it is.

How many, which rows, and which clauses they satisfy follow fixed rules, so that every form of a page occurs: one
composite or several pages of them, rows of a few chunks or of all that is held, lists and bitmaps.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from bitarray import bitarray
from numpy.typing import NDArray

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.delta import ClauseRecord, StreamRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import LIST_ROWS_MAX, Page
from tests.storage.hits import block_of, hits

COUNTS = (0, 1, 3, 60, 700, CHUNK_ROWS + 9)


def whole(stream: StreamRecord) -> int:
    """Return how many rows of the stream lie in whole chunks."""
    return stream.rows // CHUNK_ROWS * CHUNK_ROWS


def has_gone(page: CompositePage, streams: Sequence[StreamRecord]) -> bool:
    """Return whether each composite has a part that is no longer held."""
    pairs = zip(page.past_rows, streams, strict=True)
    return any(past <= stream.dropped_row for past, stream in pairs)


def entered(
    entrant: CompositeKey, streams: Sequence[StreamRecord], clauses: Sequence[ClauseRecord]
) -> dict[CompositeKey, CompositePage]:
    """Return the pages of an entrant, told by the key of its first page, whom these clauses meet."""
    group, place, number, _ = entrant
    chance = np.random.default_rng([group, place, number])
    count = int(chance.choice(COUNTS))
    spans = [(stream.dropped_row, whole(stream)) for stream in streams]
    if place < len(streams):
        spans[place] = number * CHUNK_ROWS, (number + 1) * CHUNK_ROWS
    if any(first >= past for first, past in spans):
        return {}
    rows = np.array([chance.integers(first, past, count) for first, past in spans])
    asked = {clause.clause_id: hits(clause.clause_id, 0, count) for clause in clauses}
    return pages_of(entrant, rows, asked)


def pages_of(
    entrant: CompositeKey, rows: NDArray[np.int64], asked: Mapping[ClauseId, NDArray[np.int64]]
) -> dict[CompositeKey, CompositePage]:
    """Return pages of (n, p) rows, given which of the p composites satisfy each clause."""
    times = rows * 1_000 + np.arange(len(rows))[:, np.newaxis]
    wanted = np.unique(np.concatenate([np.empty(0, np.int64), *asked.values()]))
    order = wanted[np.argsort(times.max(axis=0)[wanted], kind="stable")]
    pages = {}
    for page, at in enumerate(range(0, len(order), CHUNK_ROWS)):
        some = order[at : at + CHUNK_ROWS]
        found = {c: np.flatnonzero(np.isin(some, places)) for c, places in asked.items()}
        told = {c: page_of(c, places) for c, places in found.items() if len(places)}
        pages[(*entrant[:3], page)] = CompositePage(
            rows[:, some],
            times.min(axis=0)[some],
            times.max(axis=0)[some],
            block_of(told, {c: len(found[c]) for c in told}),
        )
    return pages


def page_of(clause_id: ClauseId, places: NDArray[np.int64]) -> Page:
    """Return places in the form that this clause keeps so many in."""
    if len(places) <= LIST_ROWS_MAX or clause_id % 5 == 0:
        return Page(places.astype(np.uint16), None)
    bits = bitarray(CHUNK_ROWS, endian="little")
    bits[places.tolist()] = 1
    return Page(None, bits)
