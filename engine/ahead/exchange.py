"""Tasks and hits as Arrow tables, in which a cluster carries them between the engine and its executors.

An array travels as its bytes, little-endian; a task or a chunk is one row.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.ahead.planning import ChunkTask
from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.tuples.schema import StreamId

TASKS: Final = pa.schema(
    [
        ("stream", pa.int64()),
        ("first_chunk", pa.int64()),
        ("past_chunk", pa.int64()),
        ("rows", pa.list_(pa.int64())),
        ("bodies", pa.list_(pa.binary())),
    ]
)
"""One ChunkTask a row."""
ARRAYS: Final[Mapping[str, np.dtype[Any]]] = {
    "clause_ids": np.dtype("<i8"),
    "forms": np.dtype("u1"),
    "counts": np.dtype("<i4"),
    "places": np.dtype("<i4"),
    "offsets": np.dtype("<u2"),
    "bitmaps": LITTLE,
}
"""The arrays of a MatchBlock, in the order of its fields."""
BLOCKS: Final = pa.schema(
    [("stream", pa.int64()), ("chunk", pa.int64()), *((name, pa.binary()) for name in ARRAYS)]
)
"""The hits of one chunk a row."""
Blocks = dict[tuple[StreamId, int], MatchBlock]
"""By stream and chunk."""


SCANS: Final = pa.schema(
    [("clause", pa.int64()), ("chunk", pa.int64()), ("words", pa.binary()), ("counts", pa.binary())]
)
"""The rows of one task that satisfy one clause: a bit for each row, and the number in each chunk."""


def write_task(task: ChunkTask) -> pa.RecordBatch:
    """Return a task as a table of one row, which becomes a partition of its own if there are enough executors."""
    row = {
        "stream": task.stream_id,
        "first_chunk": task.first_chunk,
        "past_chunk": task.past_chunk,
        "rows": [rows for _, rows in task.bodies],
        "bodies": [body for body, _ in task.bodies],
    }
    return pa.RecordBatch.from_pylist([row], schema=TASKS)


def read_tasks(batch: pa.RecordBatch) -> Iterator[ChunkTask]:
    """Yield the tasks of a table."""
    for row in batch.to_pylist():
        bodies = tuple(zip(row["bodies"], row["rows"], strict=True))
        yield ChunkTask(StreamId(row["stream"]), row["first_chunk"], row["past_chunk"], bodies)


def write_block(stream_id: StreamId, chunk: int, block: MatchBlock) -> pa.RecordBatch:
    """Return the hits of a chunk as a table of one row."""
    arrays: list[Any] = [pa.array([stream_id], pa.int64()), pa.array([chunk], pa.int64())]
    for name, dtype in ARRAYS.items():
        array = getattr(block, name).astype(dtype, copy=False)
        arrays.append(pa.array([array.tobytes()], pa.binary()))
    return pa.RecordBatch.from_arrays(arrays, schema=BLOCKS)


def read_blocks(batches: Iterable[pa.RecordBatch]) -> Blocks:
    """Return the hits that `write_block` wrote. Arrays are read-only views, which keep the batches alive."""
    blocks: Blocks = {}
    for batch in batches:
        keys = zip(batch["stream"].to_pylist(), batch["chunk"].to_pylist(), strict=True)
        for at, (stream, chunk) in enumerate(keys):
            arrays: dict[str, NDArray[Any]] = {
                name: np.frombuffer(memoryview(batch[name][at].as_buffer()), dtype)
                for name, dtype in ARRAYS.items()
            }
            arrays["bitmaps"] = arrays["bitmaps"].reshape(-1, CHUNK_WORDS)
            blocks[StreamId(stream), chunk] = MatchBlock(**arrays)
    return blocks


def write_scan(
    clause_id: ClauseId, first_chunk: int, words: Words, counts: NDArray[np.int32]
) -> pa.RecordBatch:
    """Return a table of one row: which rows of a task satisfy a clause, and how many in each chunk."""
    row = {
        "clause": clause_id,
        "chunk": first_chunk,
        "words": words.astype(LITTLE, copy=False).tobytes(),
        "counts": counts.astype("<i4", copy=False).tobytes(),
    }
    return pa.RecordBatch.from_pylist([row], schema=SCANS)


def read_scans(
    batches: Iterable[pa.RecordBatch],
) -> dict[tuple[ClauseId, int], tuple[Words, NDArray[np.int32]]]:
    """Return the scans that `write_scan` wrote, by clause and first chunk. Arrays are read-only views."""
    return {
        (ClauseId(row["clause"]), row["chunk"]): (
            np.frombuffer(row["words"], LITTLE),
            np.frombuffer(row["counts"], "<i4"),
        )
        for batch in batches
        for row in batch.to_pylist()
    }
