"""Where kernels write hits, and what they wrote as values that compare."""

import numpy as np

from psoup.engine.kernels import hits
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE
from psoup.engine.kernels.hits import Written
from tests.engine.kernels import twins


def written(*, clauses) -> Written:
    """Return room for the hits of so many clauses, whatever they are; what is there is rubbish."""
    return Written(
        names=np.full(clauses, 77, dtype=np.int32),
        forms=np.full(clauses, 77, dtype=np.uint8),
        counts=np.full(clauses, 77, dtype=np.int32),
        places=np.full(clauses, 77, dtype=np.int32),
        offsets=np.full(clauses * hits.ROOM, 77, dtype=np.uint16),
        bitmaps=np.full((clauses, CHUNK_WORDS), 77, dtype=LITTLE),
        past=np.zeros(3, dtype=np.int64),
    )


def room_for(*, entries: int, lists: int, bitmaps: int) -> Written:
    """Return room for so many entries, lists of every row and bitmaps; what is there is rubbish."""
    most = written(clauses=max(entries, lists, bitmaps))
    return Written(
        names=most.names[:entries],
        forms=most.forms[:entries],
        counts=most.counts[:entries],
        places=most.places[:entries],
        offsets=most.offsets[: lists * hits.ROOM],
        bitmaps=most.bitmaps[:bitmaps],
        past=most.past,
    )


def taken(out: Written):
    """Return (clause, form and rows) of what is written, in its order, and let it be written over.

    Asserts that lists and bitmaps lie one behind the other, and that they are counted.
    """
    pages = plain_written(out)
    entries, offsets, bitmaps = out.past.tolist()
    forms, counts = out.forms[:entries], out.counts[:entries]
    lists, maps = forms == hits.LIST, forms == hits.BITMAP
    begins = np.cumsum(counts[lists]) - counts[lists]
    assert (begins == out.places[:entries][lists]).all(), "lists lie one behind the other"
    assert (np.arange(maps.sum()) == out.places[:entries][maps]).all(), "so do bitmaps"
    assert (counts[lists].sum(), maps.sum()) == (offsets, bitmaps), "what is written is counted"
    out.past[:] = 0
    return [(name, pages[name]) for name in out.names[:entries].tolist()]


def plain_written(out: Written):
    """Return by clause its form and its rows, or how many where they are not kept."""
    found = {}
    for at in range(int(out.past[0])):
        name, count, place = int(out.names[at]), int(out.counts[at]), int(out.places[at])
        assert name not in found, "each clause once"
        if out.forms[at] == hits.LIST:
            found[name] = ("list", out.offsets[place : place + count].tolist())
        elif out.forms[at] == hits.BITMAP:
            rows = sorted(twins.bits_of(out.bitmaps[place]))
            assert count == len(rows), "hits are counted"
            found[name] = ("bitmap", rows)
        else:
            assert place == hits.UNPLACED
            found[name] = ("unkept", count)
    return found


def kept(rows, wanted):
    """Return what `plain_written` says of ascending rows, some, of which this is wanted."""
    if len(rows) <= hits.LIST_ROWS_MAX or wanted == hits.LISTS:
        return ("list", rows)
    return ("bitmap", rows) if wanted == hits.SMALLER else ("unkept", len(rows))
