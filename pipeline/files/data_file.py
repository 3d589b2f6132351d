"""`DataFile`, the front door: one file of rows, whatever its format and compression.

The rows and their order depend on the file's content and the options alone, and so do the batches:
that is what lets an interrupted load be repeated.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from engine.tuples.schema import ColumnSchema, ColumnType
from pipeline.errors import DataFileError
from pipeline.files.csv_rows import CsvRows
from pipeline.files.json_rows import JsonRows
from pipeline.files.kinds import InferredColumn
from pipeline.files.opening import ByteCount, digest_of, format_of
from pipeline.files.options import FileFormat, ReadOptions
from pipeline.files.parquet_rows import ParquetRows
from pipeline.files.sorting import sorted_by


class Rows(Protocol):
    """What each format's reader does."""

    names: tuple[str, ...]
    total: int | None
    """How many rows there are; None = not known before they are surveyed."""

    def survey(self) -> tuple[InferredColumn, ...]:
        """Return the type of every column."""
        ...

    def read(self, columns: Sequence[ColumnSchema]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`."""
        ...

    def line_of(self, row: int) -> int | None:
        """Return the line at which row `row`, counted from 0, begins."""
        ...


class DataFile:
    """One file of rows. Opening it reads its head; `survey` and `batches` read it whole."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        """Read the file's head.

        Raises:
            DataFileError: it cannot be read, or not as `options` say.
        """
        self.path = path
        self.options = options
        try:
            self.size_bytes = path.stat().st_size
        except OSError as error:
            raise DataFileError(
                f"it cannot be read: {error.strerror or error}", file=str(path)
            ) from error
        self._count = ByteCount()
        self.format = options.format or format_of(path)
        self._rows = self._reader()

    @property
    def bytes_read(self) -> int:
        """How far the pass that runs now has read the file, in bytes on disk."""
        return min(self._count.read, self.size_bytes)

    def fraction(self, rows: int) -> float:
        """Return how much of the file is done when `rows` of its rows are, in 0 to 1.

        Exact where the number of rows is known; else told by the bytes read, which run ahead.
        """
        if self._rows.total is not None:
            return rows / max(self._rows.total, 1)
        return self.bytes_read / max(self.size_bytes, 1)

    def digest(self) -> str:
        """Return the SHA-256 of the content, in hexadecimal digits."""
        return digest_of(self.path)

    def survey(self) -> tuple[InferredColumn, ...]:
        """Return every column with the narrowest type that holds all its values.

        Raises:
            DataFileError: the file is damaged, or has no rows that tell the types.
        """
        found = self._rows.survey()
        typed = self.format is FileFormat.PARQUET  # by itself, with rows or without
        if not found or not (typed or self._rows.total):
            example = ", ".join(f"{column.name} string" for column in found) or "name type, ..."
            raise DataFileError(
                "it has no rows to tell the columns' types from",
                file=str(self.path),
                hint=f'Pass --schema "{example}" with the types there will be.',
            )
        return tuple(
            InferredColumn(c.name, ColumnType.TIMESTAMP, c.nulls)
            if c.name == self.options.time
            else c
            for c in found
        )

    def check_columns(self, columns: Sequence[ColumnSchema]) -> None:
        """Refuse columns of the file that are none of `columns`, before a row is read.

        Raises:
            DataFileError: names the first such column.
        """
        known = {column.name for column in columns}
        for name in self._rows.names:
            if name not in known:
                listed = ", ".join(column.name for column in columns)
                raise DataFileError(
                    f"the stream has no such column; it has {listed}",
                    file=str(self.path),
                    column=name,
                    hint=f"Pass --skip-columns {name!r} to leave it out.",
                )

    def batches(
        self, columns: Sequence[ColumnSchema], *, rows: int, sort: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows as record batches of exactly `rows` rows, the last one of fewer.

        Args:
            columns: names and types; columns the file does not have are NULL.
            rows: in one batch.
            sort: in order of the time column, which `options.time` names.

        Raises:
            DataFileError: a value does not fit its column, or a column that allows no NULL has one.
        """
        self.check_columns(columns)
        found = self._checked(columns)
        if sort:
            if self.options.time is None:
                msg = "sorting needs options.time"
                raise ValueError(msg)
            found = sorted_by(found, self.options.time, rows=rows)
        return _recut(found, rows)

    def line_of(self, row: int) -> int | None:
        """Return the line of row `row` (counted from 0, in the file's order)."""
        return self._rows.line_of(row)

    def _checked(self, columns: Sequence[ColumnSchema]) -> Iterator[pa.RecordBatch]:
        row = 0
        for batch in self._rows.read(columns):
            for column, array in zip(columns, batch.columns, strict=True):
                if not column.nullable and array.null_count:
                    index = array.is_null().index(True).as_py()
                    raise DataFileError(
                        "this column allows no NULL and the cell is empty",
                        file=str(self.path),
                        line=self._rows.line_of(row + index),
                        column=column.name,
                    )
            row += batch.num_rows
            yield batch
        self._rows.total = row

    def _reader(self) -> Rows:
        match self.format:
            case FileFormat.CSV:
                return CsvRows(self.path, self.options, self._count)
            case FileFormat.PARQUET:
                return ParquetRows(self.path, self.options, self._count)
            case FileFormat.JSON | FileFormat.NDJSON:
                return JsonRows(self.path, self.options, self._count, self.format)


def _recut(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of exactly `rows`, however the reader cut them."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        rest = batch
        while count + rest.num_rows >= rows:
            held.append(rest.slice(0, rows - count))
            yield _joined(held)
            rest = rest.slice(rows - count)
            held, count = [], 0
        if rest.num_rows:
            held.append(rest)
            count += rest.num_rows
    if count:
        yield _joined(held)


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
