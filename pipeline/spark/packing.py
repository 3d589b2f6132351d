"""Rows into parts that a request may hold: a function of the rows and their batches alone."""

from collections.abc import Iterable, Iterator

import pyarrow as pa


def packed(
    batches: Iterable[pa.RecordBatch], *, nbytes_max: int, rows_max: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in their order, in batches as large as may be; none without rows.

    A row that is larger by itself is a batch of its own. Holds one batch more than it yields.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        for piece in _pieces(batch, nbytes_max, rows_max):
            over = size + piece.nbytes > nbytes_max
            if waiting and (over or rows + piece.num_rows > rows_max):
                yield pa.concat_batches(waiting)
                waiting, rows, size = [], 0, 0
            waiting.append(piece)
            rows, size = rows + piece.num_rows, size + piece.nbytes
    if waiting:
        yield pa.concat_batches(waiting)


def _pieces(batch: pa.RecordBatch, nbytes_max: int, rows_max: int) -> Iterator[pa.RecordBatch]:
    """Yield the batch, halved until each piece fits; nothing of one without rows."""
    rows = batch.num_rows
    if rows > 1 and (batch.nbytes > nbytes_max or rows > rows_max):
        yield from _pieces(batch.slice(0, rows // 2), nbytes_max, rows_max)
        yield from _pieces(batch.slice(rows // 2), nbytes_max, rows_max)
    elif rows:
        yield batch
