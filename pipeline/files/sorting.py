"""Sorts rows by time, outside of memory.

The rows are written to a temporary file once and read back in order, so memory holds 16 bytes a row. Rows of the same
time keep the file's order.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_CHUNK_ROWS: Final = 65_536


def sorted_by(
    batches: Iterator[pa.RecordBatch], column: str, *, rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows sorted by `column`, which holds timestamps and no NULL.

    Args:
        batches: read to the end before the first batch is yielded.
        column: name of the time column.
        rows: number of rows of a yielded batch.

    Cost: O(n log n) time; 16 bytes of memory and one temporary copy on disk per row.
    """
    with tempfile.TemporaryDirectory(prefix="psoup-sort-") as folder:
        path = Path(folder) / "rows.arrow"
        times, starts = _spill(batches, column, path)
        if not times.size:
            return
        order = np.argsort(times, kind="stable")
        with pa.memory_map(str(path)) as mapped:
            chunks = pa.ipc.open_file(mapped)
            for first in range(0, order.size, rows):
                yield _gathered(chunks, starts, order[first : first + rows])


def _spill(
    batches: Iterator[pa.RecordBatch], column: str, path: Path
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write the rows to `path`; return their times and the first row of each chunk."""
    times: list[NDArray[np.int64]] = []
    starts = [0]
    writer: pa.ipc.RecordBatchFileWriter | None = None
    try:
        for batch in batches:
            writer = writer or pa.ipc.new_file(str(path), batch.schema)
            for first in range(0, batch.num_rows, _CHUNK_ROWS):
                chunk = batch.slice(first, _CHUNK_ROWS)
                writer.write_batch(chunk)
                starts.append(starts[-1] + chunk.num_rows)
                times.append(chunk.column(column).cast(pa.int64()).to_numpy())
    finally:
        if writer is not None:
            writer.close()
    everything = np.concatenate(times) if times else np.empty(0, dtype=np.int64)
    return everything, np.asarray(starts, dtype=np.int64)


def _gathered(
    chunks: pa.ipc.RecordBatchFileReader, starts: NDArray[np.int64], wanted: NDArray[np.int64]
) -> pa.RecordBatch:
    """Return the rows at the positions `wanted`, in that order."""
    owners = np.searchsorted(starts, wanted, side="right") - 1
    parts = []
    places = []
    for owner in np.unique(owners):
        here = np.flatnonzero(owners == owner)
        parts.append(chunks.get_batch(int(owner)).take(pa.array(wanted[here] - starts[owner])))
        places.append(here)
    together = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    back = np.empty(wanted.size, dtype=np.int64)
    back[np.concatenate(places)] = np.arange(wanted.size)
    return together.take(pa.array(back))
