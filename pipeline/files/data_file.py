"""`DataFile`, the front door: one file of rows, whatever its format and compression.

The rows and their order depend on the file's content and the options alone, and so do the batches:
that is what lets an interrupted load be repeated.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import DataFileError, NoRowsError
from psoup.pipeline.files.columns.decisions import wanted_types
from psoup.pipeline.files.columns.kinds import InferredColumn
from psoup.pipeline.files.columns.readings import Reading, asked_reading
from psoup.pipeline.files.notes import ambiguity
from psoup.pipeline.files.opening import ByteCount, digest_of, format_of
from psoup.pipeline.files.options import FileFormat, ReadOptions
from psoup.pipeline.files.readers.csv_rows import CsvRows
from psoup.pipeline.files.readers.geojson import format_of_json
from psoup.pipeline.files.readers.json_rows import JsonRows
from psoup.pipeline.files.readers.parquet_rows import ParquetRows
from psoup.pipeline.files.readers.zeek import zeek_options
from psoup.pipeline.files.sorting import sorted_by

_EVERY_ROW: Final = (
    "Each row needs its time: name a column, or columns to join, in which none is missing."
)


class Rows(Protocol):
    """What each format's reader does."""

    names: tuple[str, ...]
    notes: tuple[str, ...]
    """What was decided about the file as a whole that the user may not expect."""
    total: int | None
    """How many rows there are; None = not known before they are surveyed."""

    def survey(self, wanted: Mapping[str, ColumnType]) -> tuple[InferredColumn, ...]:
        """Return every column as it is read; those of `wanted` have these types, whatever they look like."""
        ...

    def read(
        self, columns: Sequence[ColumnSchema], readings: Mapping[str, Reading]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`, each read as `readings` say."""
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
        try:
            self.size_bytes = path.stat().st_size
        except OSError as error:
            raise DataFileError(
                f"it cannot be read: {error.strerror or error}", file=str(path)
            ) from error
        self._count = ByteCount()
        self.format = options.format or format_of(path)
        if options.format is None and self.format is FileFormat.JSON:
            self.format = format_of_json(path, options.charset)
        self.options = zeek_options(path, options) if self.format is FileFormat.ZEEK else options
        self._rows = self._reader()
        self._surveyed: tuple[InferredColumn, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the head of the file names; empty for JSON, whose rows name their own."""
        return self._rows.names

    @property
    def rows(self) -> int | None:
        """How many rows there are; None = not known before a pass over the file."""
        return self._rows.total

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
        return digest_of(self.path, self._count)

    def survey(
        self, declared: Mapping[str, ColumnType] | None = None
    ) -> tuple[InferredColumn, ...]:
        """Return every column with the narrowest type that holds all its values, or the one it is given.

        What the whole file shows then decides how `batches` reads it, unless `settle` says otherwise.

        Args:
            declared: the types of the stream's columns, where it has them.

        Raises:
            NoRowsError: the file has no rows that tell the types.
            DataFileError: the file is damaged.
        """
        wanted = wanted_types(self.options, declared or {})
        found = self._rows.survey(wanted)
        typed = self.format is FileFormat.PARQUET  # by itself, with rows or without
        if declared is None and (not found or not (typed or self._rows.total)):
            example = ", ".join(f"{column.name} string" for column in found) or "name type, ..."
            raise NoRowsError(
                "it has no rows to tell the columns' types from",
                file=str(self.path),
                hint=f'Pass --schema "{example}" with the types there will be.',
            )
        self._surveyed = found
        return found

    def settle(self, found: Sequence[InferredColumn], types: Mapping[str, ColumnType]) -> None:
        """Read the file as the survey of all files of a load found it, having looked for times that are none.

        Args:
            found: the columns of this file, read as the other files allow.
            types: of the columns of all files.

        Raises:
            DataFileError: times may mean two things, are not written as they are to be read, or are missing.
        """
        self._surveyed = tuple(found)
        times = [c for c in found if types[c.name] is ColumnType.TIMESTAMP]
        for column in times:
            if column.ambiguous:
                raise DataFileError(ambiguity(column), file=str(self.path), column=column.name)
        time = self.options.time
        if any(c.misfits for c in times) or (time in types and self._is_undated(found)):
            # Reading says which value it is, and where, before anything is sent.
            columns = [ColumnSchema(name, kind, name != time) for name, kind in types.items()]
            for _ in self._checked(columns):
                pass

    def _is_undated(self, found: Sequence[InferredColumn]) -> bool:
        """Return whether a row lacks its time."""
        own = next((c for c in found if c.name == self.options.time), None)
        return own is None or bool(own.nulls or own.markers)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided about the file as a whole that the user may not expect, in sentences."""
        log = self.format is FileFormat.ZEEK
        header = (
            ("fields, types and what is NULL are those that the log's header names",) if log else ()
        )
        return (*header, *self._rows.notes)

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
        for batch in self._read(columns):
            for column, array in zip(columns, batch.columns, strict=True):
                if not column.nullable and array.null_count:
                    index = array.is_null().index(True).as_py()
                    raise DataFileError(
                        "this column allows no NULL and the value is missing",
                        file=str(self.path),
                        line=self._rows.line_of(row + index),
                        column=column.name,
                        hint=_EVERY_ROW if column.name == self.options.time else "",
                    )
            row += batch.num_rows
            yield batch
        self._rows.total = row

    def _read(self, columns: Sequence[ColumnSchema]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, as many from the front as the options allow, read as the survey decided."""
        readings = {c.name: asked_reading(self.options, c.name) for c in columns}
        readings |= {c.name: c.reading for c in self._surveyed}
        batches = self._rows.read(columns, readings)
        if self.options.limit is None:
            yield from batches
            return
        room = self.options.limit
        for batch in batches:
            yield batch.slice(0, room)
            room -= min(room, batch.num_rows)
            if room == 0:
                return

    def _reader(self) -> Rows:
        match self.format:
            case FileFormat.CSV | FileFormat.ZEEK:
                return CsvRows(self.path, self.options, self._count)
            case FileFormat.PARQUET:
                return ParquetRows(self.path, self.options, self._count)
            case FileFormat.JSON | FileFormat.NDJSON | FileFormat.GEOJSON:
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
