"""Columns of an answer to bytes: JSON rows, JSON columns, NDJSON, CSV, Arrow. Column by column.

Timestamps are RFC 3339 UTC with exactly six decimals, so that comparing the texts compares the times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from engine import limits
from engine.tuples.arrow import column_to_arrow
from engine.tuples.batch import Column
from engine.tuples.schema import ColumnType

Cell = int | float | bool | str | None
_CSV_SPECIAL = frozenset(',"\r\n')
_SLICE_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class RowSet:
    """Rows to be written: named columns of one length, `_id` and `_x` among them where wanted."""

    columns: tuple[tuple[str, Column], ...]
    length: int

    @property
    def names(self) -> list[str]:
        """Return the names in order."""
        return [name for name, _ in self.columns]

    def estimate_bytes(self) -> int:
        """Return about how many bytes of JSON the rows make; text is counted without escapes."""
        size = 0
        for name, column in self.columns:
            per_value = len(name) + 4 + (30 if column.type is ColumnType.TIMESTAMP else 12)
            size += per_value * self.length
            if column.dictionary is not None and self.length:
                lengths = np.array([len(text) for text in column.dictionary], dtype=np.int64)
                size += int(lengths[column.values].sum())
        return size


def instants(us: NDArray[np.int64]) -> list[str]:
    """Return instants of the years 1 to 9999 as RFC 3339 texts."""
    texts = np.datetime_as_string(us.view("M8[us]"), unit="us", timezone="UTC")
    return texts.tolist()  # type: ignore[no-any-return]


def meta_columns(
    tuple_ids: NDArray[np.int64], leaves_us: NDArray[np.int64] | None
) -> tuple[tuple[str, Column], ...]:
    """Return `_id` (text: a join's are several) and `_x`, NULL where no instant that can be written is."""
    length = len(tuple_ids)
    texts = tuple(map(str, tuple_ids.tolist()))
    ids = Column(ColumnType.STRING, np.arange(length, dtype=np.int32), None, texts or ("",))
    if leaves_us is None:
        leaves_us = np.zeros(length, dtype=np.int64)
        valid = np.zeros(length, dtype=np.bool_)
    else:
        valid = leaves_us <= limits.TIMESTAMP_US_MAX
    return ("_id", ids), ("_x", Column(ColumnType.TIMESTAMP, leaves_us, valid))


def cells(column: Column) -> Sequence[Cell]:
    """Return a column's values as JSON has them; None for NULL."""
    if column.type is not ColumnType.TIMESTAMP:
        return column.to_list()
    if column.valid is None:
        return instants(column.values)
    kept = np.where(column.valid, column.values, 0)
    return [
        text if ok else None for text, ok in zip(instants(kept), column.valid.tolist(), strict=True)
    ]


def row_objects(rows: RowSet) -> list[dict[str, Cell]]:
    """Return the rows as objects."""
    names = rows.names
    if not names:
        return [{} for _ in range(rows.length)]
    values = zip(*(cells(column) for _, column in rows.columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def row_arrays(rows: RowSet) -> list[tuple[Cell, ...]]:
    """Return the rows as arrays, in the order of the names."""
    if not rows.columns:
        return [() for _ in range(rows.length)]
    return list(zip(*(cells(column) for _, column in rows.columns), strict=True))


def to_ndjson(rows: RowSet) -> bytes:
    """Return one JSON object per line. Objects exist for a slice of the rows at a time."""
    return b"".join(_ndjson_slices(rows))


def to_csv(rows: RowSet) -> bytes:
    """Return CSV with a header. NULL is an empty cell, the empty text two quotes."""
    lines = [",".join(_quoted(name) for name in rows.names)]
    columns = [_csv_cells(column) for _, column in rows.columns]
    lines.extend(",".join(row) for row in zip(*columns, strict=True))
    return ("\n".join(lines) + "\n").encode()


def to_arrow(rows: RowSet) -> bytes:
    """Return an Arrow IPC stream of one record batch, uncompressed."""
    arrays = [column_to_arrow(column) for _, column in rows.columns]
    batch = pa.RecordBatch.from_arrays(arrays, names=rows.names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _ndjson_slices(rows: RowSet) -> Iterator[bytes]:
    for first in range(0, rows.length, _SLICE_ROWS):
        last = min(first + _SLICE_ROWS, rows.length)
        columns = tuple((name, column.part(slice(first, last))) for name, column in rows.columns)
        objects = row_objects(RowSet(columns, last - first))
        yield b"".join(orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in objects)


def _csv_cells(column: Column) -> list[str]:
    if column.dictionary is not None:
        quoted = [_quoted(text) for text in column.dictionary]
        texts = [quoted[code] for code in column.values.tolist()]
        if column.valid is None:
            return texts
        return [t if ok else "" for t, ok in zip(texts, column.valid.tolist(), strict=True)]
    if column.type is ColumnType.BOOL:
        words = {True: "true", False: "false", None: ""}
        return [words[value] for value in column.to_list()]  # type: ignore[index]
    return ["" if value is None else str(value) for value in cells(column)]


def _quoted(text: str) -> str:
    if text and _CSV_SPECIAL.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
