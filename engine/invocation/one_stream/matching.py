"""The rows of a stream that satisfy a clause: read where they are kept, evaluated where they are not.

Kept are the hits of whole chunks, by the clause's policy. The rest (the chunk that is still open, chunks from
before the clause where it is cheap, dense chunks of `auto`) is evaluated over the columns: the same rows, found
later.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import TupleSource
from psoup.engine.kernels.gather import ascends
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.results.contract import ResultsReader, Snapshot


def matching_rows(
    results: ResultsReader,
    source: TupleSource,
    snapshot: Snapshot,
    clause: StandingQueryClause,
    *,
    chunks: Sequence[int],
    floor_row: int,
    past_row: int,
) -> NDArray[np.int64]:
    """Return the rows of `chunks` in `[floor_row, past_row)` that satisfy the snapshot's clause, ascending.

    Args:
        results: where hits are kept.
        source: where tuples are held.
        snapshot: of the query.
        clause: the snapshot's, bound.
        chunks: ascending.
        floor_row: the first row to look at.
        past_row: the row past the last one, at most the snapshot's number of rows.

    Raises:
        PageExpiredError: a row that has to be evaluated is not held any more.

    Cost: O(chunks + hits), and a scan of the chunks whose hits are not kept.
    """
    record, stream = snapshot.clause, snapshot.streams[0]
    kept = [chunk for chunk in chunks if record.keeps(chunk, stream.rows)]
    evaluated = set(chunks).difference(kept)
    found: list[NDArray[np.int64]] = []
    for first, past in runs(kept):
        for rows, unkept in results.hits(record, first, past):
            found.append(rows)
            evaluated.update(unkept)
    for first, past in runs(sorted(evaluated)):
        begin, end = max(first * CHUNK_ROWS, floor_row), min(past * CHUNK_ROWS, past_row)
        if begin < end:
            found.append(source.matching(stream.stream_id, clause, begin, end))
    found = sorted((rows for rows in found if len(rows)), key=lambda rows: int(rows[0]))
    if not found:
        return np.empty(0, dtype=np.int64)
    every = found[0] if len(found) == 1 else np.concatenate(found)
    if not ascends(every):  # evaluated chunks lie between kept ones
        every.sort()
    if every[0] >= floor_row and every[-1] < past_row:
        return every
    return every[every.searchsorted(floor_row) : every.searchsorted(past_row)]


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs `[first, past)` of consecutive numbers, which ascend."""
    first = past = -1
    for number in numbers:
        if number != past:
            if past > first:
                yield first, past
            first = number
        past = number + 1
    if past > first:
        yield first, past
