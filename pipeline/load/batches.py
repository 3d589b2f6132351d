"""The files of a load cut into batches: by their content and the options alone, so that a repeated load cuts alike."""

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
"""A batch with more bytes of Arrow is halved: half of what one entry of the log may hold."""
FIRST_VERSION: Final = 2**52
"""Of a file's batches: above every position of the log, with which a load asks whether a file is known."""


@dataclass(frozen=True, slots=True)
class Part:
    """One batch on its way: where its rows begin in the file, and its Arrow stream, compressed as asked for.

    Behind the batches of a file comes its end, a batch without rows; `witness` is then a row of the file.
    """

    file: LoadFile
    version: int
    first_row: int
    rows: int
    body: bytes
    witness: bytes = b""


def parts_of(plan: LoadPlan) -> Generator[Part, None, None]:
    """Yield the batches of each file in order, each no larger than a request may be, and the file's end.

    Raises:
        DataFileError: a value does not fit, or a file has changed.
    """
    schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in plan.columns])
    for file in plan.files:
        with file.source.shown():
            yield from _of_file(file, plan, schema)


def nothing(plan: LoadPlan) -> bytes:
    """Return the body of a batch without rows."""
    schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in plan.columns])
    return _packed(_empty(schema), plan.request.encoding)


def read_ahead(parts: Generator[Part, None, None]) -> Generator[Part, None, None]:
    """Yield the same parts, reading the next one while this one is being sent. Closed, it waits for its thread."""
    reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="psoup-read")
    with closing(parts), reader as pool:
        following = pool.submit(next, parts, None)
        while (part := following.result()) is not None:
            following = pool.submit(next, parts, None)
            yield part


def _of_file(file: LoadFile, plan: LoadPlan, schema: pa.Schema) -> Iterator[Part]:
    request = plan.request
    first_row, version = 0, FIRST_VERSION
    witness = b""
    for batch in file.data.batches(plan.columns, rows=request.batch_rows, sort=request.sort):
        for piece in _halved(batch.cast(schema)):
            witness = witness or _packed(encode_batch(piece.slice(0, 1)), request.encoding)
            body = _packed(encode_batch(piece), request.encoding)
            file.check_unchanged()
            yield Part(file, version, first_row, piece.num_rows, body)
            version += 1
            first_row += piece.num_rows
    if witness:
        body = _packed(_empty(schema), request.encoding)
        yield Part(file, version, first_row, 0, body, witness)


def _empty(schema: pa.Schema) -> bytes:
    return encode_batch(pa.RecordBatch.from_pylist([], schema=schema))


def _halved(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= BATCH_BYTES_MAX or batch.num_rows == 1:
        yield batch
        return
    middle = batch.num_rows // 2
    yield from _halved(batch.slice(0, middle))
    yield from _halved(batch.slice(middle))


def _packed(body: bytes, encoding: str | None) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(body, compresslevel=1, mtime=0)
        case "zstd":
            return zstandard.ZstdCompressor().compress(body)
        case _:
            return body
