"""The files of a load, cut into batches that depend only on content and options: a repeated load cuts the same ones."""

import gzip
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import zstandard

from psoup.engine.limits import MIB
from psoup.engine.tuples.arrow import ARROW_TYPES, encode_batch
from psoup.pipeline.load.plan import LoadFile, LoadPlan

BATCH_BYTES_MAX: Final = 8 * MIB
"""A batch with more bytes of Arrow is halved. Half of the limit of a log entry."""
FIRST_VERSION: Final = 2**52
"""Version of a file's first batch. Higher than any position of the log: a load asks for a file with positions."""


@dataclass(frozen=True, slots=True)
class LoadBatch:
    """One batch of a file: its first row in the file, and its rows as an Arrow stream, compressed if asked for.

    The last batch of a file, its end, has no rows; its `witness` is a row of the file.
    """

    file: LoadFile
    version: int
    first_row: int
    rows: int
    body: bytes
    witness: bytes = b""


def batches_of(plan: LoadPlan) -> Generator[LoadBatch, None, None]:
    """Yield the batches of each file in order, each within the limit of a request, and the file's end.

    Raises:
        DataFileError: a value does not fit its column, or a file has changed.
    """
    schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in plan.columns])
    for file in plan.files:
        with file.source.shown():
            yield from _of_file(file, plan, schema)


def empty_body(plan: LoadPlan) -> bytes:
    """Return the body of a batch without rows."""
    schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in plan.columns])
    return _packed(_empty(schema), plan.request.encoding)


def read_ahead(batches: Generator[LoadBatch, None, None]) -> Generator[LoadBatch, None, None]:
    """Yield the same batches, and read the next one meanwhile in a thread. `close()` waits for the thread."""
    reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="psoup-read")
    with closing(batches), reader as pool:
        following = pool.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = pool.submit(next, batches, None)
            yield batch


def _of_file(file: LoadFile, plan: LoadPlan, schema: pa.Schema) -> Iterator[LoadBatch]:
    request = plan.request
    first_row, version = 0, FIRST_VERSION
    witness = b""
    for batch in file.data.batches(plan.columns, rows=request.batch_rows, sort=request.sort):
        for piece in _split(batch.cast(schema)):
            witness = witness or _packed(encode_batch(piece.slice(0, 1)), request.encoding)
            body = _packed(encode_batch(piece), request.encoding)
            file.check_unchanged()
            yield LoadBatch(file, version, first_row, piece.num_rows, body)
            version += 1
            first_row += piece.num_rows
    if witness:
        body = _packed(_empty(schema), request.encoding)
        yield LoadBatch(file, version, first_row, 0, body, witness)


def _empty(schema: pa.Schema) -> bytes:
    return encode_batch(pa.RecordBatch.from_pylist([], schema=schema))


def _split(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= BATCH_BYTES_MAX or batch.num_rows == 1:
        yield batch
        return
    middle = batch.num_rows // 2
    yield from _split(batch.slice(0, middle))
    yield from _split(batch.slice(middle))


def _packed(body: bytes, encoding: str | None) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(body, compresslevel=1, mtime=0)
        case "zstd":
            return zstandard.ZstdCompressor().compress(body)
        case _:
            return body
