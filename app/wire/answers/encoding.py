"""Columns of an answer to bytes: JSON rows, JSON arrays, NDJSON, CSV, Arrow. Column by column.

A few rows are written one by one: what each column costs once, microseconds, is more than what they save. JSON of some
rows is written by orjson and a kernel (`json_columns.py`), of many, and CSV, by Arrow (`cells.py`). All ways write
the same bytes. Timestamps are RFC 3339 UTC with exactly six decimals.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from psoup.app.wire.answers.cells import (
    CSV_STYLE,
    JSON_STYLE,
    Ids,
    Piece,
    RowIds,
    Style,
    csv_text,
    distinct_texts,
    joined,
    pieces_of,
    text_array,
)
from psoup.app.wire.answers.instants import instants
from psoup.app.wire.answers.json_columns import transposed
from psoup.engine import limits
from psoup.engine.tuples.arrow import column_to_arrow
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Cell = int | float | bool | str | None
FEW_OBJECTS: Final = 16
FEW_ARRAYS: Final = 50
FEW_ARRAYS_OF_TEXTS: Final = 1_000
FEW_LINES: Final = 150
"""Up to here row by row is faster: orjson writes arrays sooner than objects, texts soonest, and Python CSV latest."""
MANY_ROWS: Final = 3_000
"""Beyond this texts alone are written faster by Arrow, which looks at each text of a dictionary once."""
_SLICE_ROWS: Final = 16_384
"""Rows whose pieces exist at a time."""
_NAME_BYTES: Final = 4
_VALUE_BYTES: Final = 12
_INSTANT_BYTES: Final = 30
"""What a name, an instant and any other value add to a row of JSON, about."""
_POWERS_OF_TEN: Final = 10 ** np.arange(1, 19, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RowSet:
    """Rows to be written: named columns of one length, `_id` and `_x` among them where wanted."""

    columns: tuple[tuple[str, Column | Ids], ...]
    length: int

    @property
    def names(self) -> list[str]:
        """Return the names in order."""
        return [name for name, _ in self.columns]

    def estimate_bytes(self) -> int:
        """Return about how many bytes of JSON the rows make; text is counted without escapes."""
        return sum(
            (len(name) + _NAME_BYTES) * self.length + _estimate(column)
            for name, column in self.columns
        )


def meta_columns(
    ids: RowIds, leaves_us: NDArray[np.int64] | None
) -> tuple[tuple[str, Column | Ids], ...]:
    """Return `_id` and `_x`, NULL where no instant that can be written is; ids as in `Ids`."""
    if leaves_us is None:
        length = ids.shape[-1]
        leaves_us = np.zeros(length, dtype=np.int64)
        valid = np.zeros(length, dtype=np.bool_)
    else:
        valid = leaves_us <= limits.TIMESTAMP_US_MAX
    return ("_id", Ids(ids)), ("_x", Column(ColumnType.TIMESTAMP, leaves_us, valid))


def json_rows(rows: RowSet) -> Sequence[object] | orjson.Fragment:
    """Return the rows as objects, to be put into a document that orjson writes."""
    if _are_few(rows, FEW_OBJECTS):
        return row_objects(rows)
    return _fragment(rows, _members(rows), "}")


def json_arrays(rows: RowSet) -> Sequence[object] | orjson.Fragment:
    """Return the rows as arrays in the order of the names, to be put into a document likewise."""
    if _are_few(rows, FEW_ARRAYS) or (_are_few(rows, FEW_ARRAYS_OF_TEXTS) and _are_texts(rows)):
        return row_arrays(rows)
    return _fragment(rows, _separators(rows, "["), "]")


def to_ndjson(rows: RowSet) -> bytes:
    """Return one JSON object per line."""
    if _are_few(rows, FEW_OBJECTS):
        lines = (orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in row_objects(rows))
        return b"".join(lines)
    return b"".join(_json(rows, _members(rows), "}\n"))


def to_csv(rows: RowSet) -> bytes:
    """Return CSV with a header. NULL is an empty cell, the empty text two quotes."""
    return csv_header(rows) + csv_lines(rows)


def csv_header(rows: RowSet) -> bytes:
    """Return the line of the names."""
    return (",".join(map(csv_text, rows.names)) + "\n").encode()


def csv_lines(rows: RowSet) -> bytes:
    """Return the lines below the header."""
    if _are_few(rows, FEW_LINES):
        lines = (",".join(map(_csv_cell, row)) + "\n" for row in row_arrays(rows))
        return "".join(lines).encode()
    return b"".join(_slices(rows, _separators(rows, ""), "\n", CSV_STYLE))


def to_arrow(rows: RowSet) -> bytes:
    """Return an Arrow IPC stream of one record batch, uncompressed."""
    return arrow_stream([arrow_batch(rows)])


def arrow_batch(rows: RowSet) -> pa.RecordBatch:
    """Return the rows as one record batch."""
    arrays = [_arrow(column) for _, column in rows.columns]
    return pa.RecordBatch.from_arrays(arrays, names=rows.names)


def arrow_stream(batches: Sequence[pa.RecordBatch]) -> bytes:
    """Return an Arrow IPC stream of record batches of one schema, at least one, uncompressed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def row_objects(rows: RowSet) -> list[dict[str, Cell]]:
    """Return the rows as objects. For few: O(n) objects."""
    return list(
        map(dict, map(zip, repeat(rows.names), row_arrays(rows)))
    )  # twice as fast as a loop


def row_arrays(rows: RowSet) -> list[tuple[Cell, ...]]:
    """Return the rows as arrays, in the order of the names. For few: O(n) objects."""
    if not rows.columns:
        return [() for _ in range(rows.length)]
    return list(zip(*(_cells(column) for _, column in rows.columns), strict=True))


def _are_few(rows: RowSet, most: int) -> bool:
    return rows.length <= most or not rows.columns


def _are_texts(rows: RowSet) -> bool:
    """Return whether Python has all values already, but for their codes."""
    return all(
        isinstance(column, Column) and column.type is ColumnType.STRING
        for _, column in rows.columns
    )


def _members(rows: RowSet) -> list[str]:
    """Return what stands before each value of an object."""
    names = [orjson.dumps(name).decode() for name in rows.names]
    return [f"{',' if i else '{'}{name}:" for i, name in enumerate(names)]


def _separators(rows: RowSet, first: str) -> list[str]:
    """Return what stands before each value of a row without names."""
    return [first, *[","] * (len(rows.columns) - 1)]


def _fragment(rows: RowSet, before: Sequence[str], end: str) -> orjson.Fragment:
    """Return the rows as one JSON array, a comma behind each row but the last."""
    parts = list(_json(rows, before, end + ","))
    parts[-1] = parts[-1][:-1]
    return orjson.Fragment(b"".join((b"[", *parts, b"]")))


def _json(rows: RowSet, before: Sequence[str], end: str) -> Iterable[memoryview]:
    """Return the bytes of some rows after the other, as `_slices` does."""
    if rows.length > MANY_ROWS:
        return _slices(rows, before, end, JSON_STYLE)
    return (transposed([column for _, column in rows.columns], before, end, rows.length),)


def _slices(rows: RowSet, before: Sequence[str], end: str, style: Style) -> Iterator[memoryview]:
    """Yield the bytes of some rows after the other; `before` stands before values, `end` behind rows."""
    for first in range(0, rows.length, _SLICE_ROWS):
        some = slice(first, min(first + _SLICE_ROWS, rows.length))
        pieces: list[Piece] = []
        ahead = ""
        for text, (_, column) in zip(before, rows.columns, strict=True):
            more, ahead = pieces_of(column.part(some), ahead + text, style)
            pieces += more
        yield memoryview(joined([*pieces, ahead + end], some.stop - some.start, style))


def _cells(column: Column | Ids) -> Sequence[Cell]:
    """Return a column's values as JSON has them; None for NULL."""
    if isinstance(column, Ids) or column.type is not ColumnType.TIMESTAMP:
        return column.to_list()
    texts = instants(column.values)
    if column.valid is None:
        return texts
    return [text if ok else None for text, ok in zip(texts, column.valid.tolist(), strict=True)]


def _arrow(column: Column | Ids) -> pa.Array:
    if isinstance(column, Ids):
        return column.to_arrow()
    return text_array(column) if column.type is ColumnType.STRING else column_to_arrow(column)


def _csv_cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return csv_text(value) if isinstance(value, str) else str(value)


def _estimate(column: Column | Ids) -> int:
    """Return about how many bytes of JSON a column's values make."""
    if isinstance(column, Ids) and column.are_digests:
        return (_VALUE_BYTES + column.values.dtype.itemsize) * len(column)
    if isinstance(column, Ids):
        digits = np.searchsorted(_POWERS_OF_TEN, column.values, side="right") + 1
        return (_VALUE_BYTES - 1) * len(column) + int(digits.sum()) + column.values.size
    if column.type is ColumnType.TIMESTAMP:
        return _INSTANT_BYTES * len(column)
    if column.type is not ColumnType.STRING:
        return _VALUE_BYTES * len(column)
    if len(column) <= FEW_LINES:
        return _VALUE_BYTES * len(column) + sum(
            len(str(t)) for t in column.to_list() if t is not None
        )
    texts, places = distinct_texts(column)
    return _VALUE_BYTES * len(column) + int(np.array(list(map(len, texts)))[places].sum())
