"""Rows of a program as bodies of appends, none larger than one request may be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import pyarrow as pa

from psoup.client.columns import ARROW_TYPES
from psoup.client.errors import DefinitionError
from psoup.client.messages import ARROW_STREAM, JSON, NDJSON

BATCH_ROWS: Final = 100_000
"""Rows of one request: half of what the service takes."""
BATCH_BYTES: Final = 8 << 20
"""Bytes of one request: a quarter of what the service takes."""
_JSON_OPTIONS: Final = (
    orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
)


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
    if isinstance(rows, Mapping):
        rows = [rows]
    table = _table(rows)
    if table is not None:
        yield from _arrow_batches(_cast(table, columns))
    elif isinstance(rows, Iterable) and not isinstance(rows, str | bytes):
        yield from _json_batches(rows)
    else:
        raise DefinitionError(
            f"Rows are a {type(rows).__name__}: expected a frame of pandas or polars, a table of pyarrow, or objects."
        )


def _table(rows: Any) -> pa.Table | None:  # noqa: ANN401 (rows are of any library)
    """Return rows that lie in columns as a table; None: they do not."""
    if type(rows).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(rows, preserve_index=False)
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    return pa.table(rows) if hasattr(rows, "__arrow_c_stream__") else None


def _cast(table: pa.Table, columns: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the table with the types of its stream; a column that the stream lacks stays, and the service names it."""
    types = {column["name"]: ARROW_TYPES[column["type"]] for column in columns}
    for place, name in enumerate(table.column_names):
        kind = types.get(name)
        if kind is None or table.column(place).type == kind:
            continue
        try:
            cast = table.column(place).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DefinitionError(
                f"Column {name!r} does not fit the stream, where it is of the type {kind}: {error}. Nothing was sent."
            ) from error
        table = table.set_column(place, name, cast)
    return table


def _arrow_batches(table: pa.Table) -> Iterator[Batch]:
    row_bytes = max(1, table.nbytes // max(1, len(table)))
    step = max(1, min(BATCH_ROWS, BATCH_BYTES // row_bytes))
    for first in range(0, max(1, len(table)), step):
        piece = table.slice(first, step)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, piece.schema) as writer:
            writer.write_table(piece)
        yield Batch(sink.getvalue().to_pybytes(), ARROW_STREAM, first, len(piece))


def _json_batches(rows: Iterable[Any]) -> Iterator[Batch]:
    lines: list[bytes] = []
    first = size = 0
    for number, row in enumerate(rows):
        line = _line(row, number)
        if lines and (len(lines) == BATCH_ROWS or size + len(line) > BATCH_BYTES):
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
    try:
        return orjson.dumps(row if isinstance(row, dict) else dict(row), option=_JSON_OPTIONS)
    except TypeError as error:
        raise DefinitionError(f"Row {number} cannot be sent: {error}.") from error
