"""Which rows chunks have, of those that follow each other: as counting them tells, however runs came together."""

import numpy as np
import pytest

from psoup.engine.aggregates.partials.chunk_rows import (
    NO_EXTENT,
    RowExtent,
    chunk_rows,
    extent_of,
    united,
)

CHUNKS, CHUNK = 9, 10


def run_of(rows, first, past):
    own = rows[(rows >= first * CHUNK) & (rows < past * CHUNK)]
    return chunk_rows(first, own, own.searchsorted(np.arange(first, past + 1) * CHUNK))


@pytest.mark.parametrize("seed", range(12))
def test_extent_differential_is_that_of_the_rows(seed):
    """Of runs made at once, put together, and cut; some chunks have no row, sometimes none has."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(CHUNKS * CHUNK) < rng.choice([0.0, 0.03, 0.5]))
    cut, since = sorted(rng.integers(1, CHUNKS, 2).tolist())
    runs = [run_of(rows, 0, CHUNKS), run_of(rows, 0, since).followed(run_of(rows, since, CHUNKS))]
    runs += [run.since(cut) for run in runs]
    for run in runs:
        for first in range(run.first, CHUNKS):
            for past in range(first, CHUNKS + 1):
                own = rows[(rows >= first * CHUNK) & (rows < past * CHUNK)]
                assert extent_of(own) == run.extent(first, past)


def test_united_extents_reach_from_the_first_row_to_the_last():
    """Whatever their order; those without rows change nothing."""
    assert RowExtent(5, 1, 9) == united([RowExtent(2, 4, 9), NO_EXTENT, RowExtent(3, 1, 3)])
    assert NO_EXTENT == united([NO_EXTENT, NO_EXTENT])
