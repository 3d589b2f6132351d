"""Packs rows into parts of limited size, which depend only on the rows and their batches."""

from collections.abc import Iterable, Iterator

import pyarrow as pa


def packed(
    batches: Iterable[pa.RecordBatch], *, nbytes_max: int, rows_max: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order, in batches as large as the limits allow; none without rows.

    A single row above `nbytes_max` is a batch of its own. Holds one more batch than it yields.
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
    """Yield the batch, halved until each piece fits; nothing for a batch without rows."""
    rows = batch.num_rows
    if rows > 1 and (batch.nbytes > nbytes_max or rows > rows_max):
        yield from _pieces(batch.slice(0, rows // 2), nbytes_max, rows_max)
        yield from _pieces(batch.slice(rows // 2), nbytes_max, rows_max)
    elif rows:
        yield batch
