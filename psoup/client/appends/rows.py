"""Rows of a program as bodies of appends, none larger than one request may be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from psoup.client.columns import arrow_table, fitted, least_row_bytes
from psoup.client.connections.messages import ARROW_STREAM, JSON, NDJSON, json_bytes
from psoup.client.errors import DefinitionError

BATCH_ROWS: Final = 100_000
"""Rows of one request: half of what the service takes."""
BATCH_BYTES: Final = 8 << 20
"""Bytes of one request: a quarter of what the service takes, half of what it writes as one entry of its log."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One body, and how many rows there are in it and before it."""

    content: bytes = field(repr=False)
    content_type: str
    first_row: int
    rows: int


def batches(rows: Any, columns: Sequence[Mapping[str, Any]]) -> Iterator[Batch]:  # noqa: ANN401 (rows are of any library)
    """Yield the batches of some rows. The same rows make the same batches.

    Args:
        rows: a frame of pandas or polars, a table or batch of pyarrow, whatever has Arrow's stream interface, one
            object, or several.
        columns: of the stream's description.

    Raises:
        DefinitionError: the rows are nothing of these, or a value does not fit its column; says which.
    """
    rows_max = min(BATCH_ROWS, max(1, BATCH_BYTES // least_row_bytes(columns)))
    if isinstance(rows, Mapping):
        rows = [rows]
    table = arrow_table(rows)
    if table is not None:
        yield from _arrow_batches(fitted(table, columns), rows_max)
    elif isinstance(rows, Iterable) and not isinstance(rows, str | bytes):
        yield from _json_batches(rows, rows_max)
    else:
        raise DefinitionError(
            f"Rows are a {type(rows).__name__}: expected a frame of pandas or polars, a table of pyarrow, or objects."
        )


def _arrow_batches(table: pa.Table, rows_max: int) -> Iterator[Batch]:
    # Of a table without columns a slice would have as many rows as are asked for.
    rows = len(table)
    row_bytes = max(1, -(-table.nbytes // max(1, rows)))
    step = max(1, min(rows_max, BATCH_BYTES // row_bytes))
    for first in range(0, max(1, rows), step):
        yield from _halved(table.slice(first, min(step, rows - first)), first)


def _halved(piece: pa.Table, first: int) -> Iterator[Batch]:
    """Yield a piece of a table as one batch, or halved until each is small enough: rows are not all of one size."""
    if len(piece) > 1 and piece.nbytes > BATCH_BYTES:
        half = len(piece) // 2
        yield from _halved(piece.slice(0, half), first)
        yield from _halved(piece.slice(half), first + half)
        return
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, piece.schema) as writer:
        writer.write_table(piece)
    yield Batch(sink.getvalue().to_pybytes(), ARROW_STREAM, first, len(piece))


def _json_batches(rows: Iterable[Any], rows_max: int) -> Iterator[Batch]:
    lines: list[bytes] = []
    first = size = 0
    for number, row in enumerate(rows):
        line = _line(row, number)
        if lines and (len(lines) == rows_max or size + len(line) > BATCH_BYTES):
            yield Batch(b"".join(lines), NDJSON, first, len(lines))
            lines, first, size = [], number, 0
        lines.append(line)
        size += len(line)
    if lines:
        yield Batch(b"".join(lines), NDJSON, first, len(lines))
    else:
        yield Batch(b"[]", JSON, 0, 0)


def _line(row: object, number: int) -> bytes:
    if not isinstance(row, Mapping):
        raise DefinitionError(f"Row {number} is a {type(row).__name__}: expected an object.")
    return json_bytes(row if isinstance(row, dict) else dict(row), f"Row {number}") + b"\n"
