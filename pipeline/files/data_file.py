"""`DataFile`: one file of rows, of any format and compression.

Rows, their order and their batches depend only on the file's content and the options, so that an interrupted load can
be repeated.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import DataFileError, NoRowsError
from psoup.pipeline.files.columns.decisions import wanted_types
from psoup.pipeline.files.columns.kinds import InferredColumn
from psoup.pipeline.files.columns.readings import Reading, given_reading
from psoup.pipeline.files.notes import ambiguity
from psoup.pipeline.files.opening import ByteCount, digest_of, format_of, refuse_binary
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
    """The reader of a format."""

    names: tuple[str, ...]
    notes: tuple[str, ...]
    """Sentences about decisions for the whole file that the user may not expect."""
    total: int | None
    """Number of rows; None: not known before a survey."""

    def survey(self, wanted: Mapping[str, ColumnType]) -> tuple[InferredColumn, ...]:
        """Return how every column is read; columns in `wanted` get these types, whatever their values look like."""
        ...

    def read(
        self, columns: Sequence[ColumnSchema], readings: Mapping[str, Reading]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`, each read as its entry in `readings` says."""
        ...

    def line_of(self, row: int) -> int | None:
        """Return the line at which row `row`, counted from 0, begins."""
        ...


class DataFile:
    """One file of rows. The constructor reads its head; `survey` and `batches` read the whole file."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        """Read the file's head.

        Raises:
            DataFileError: the file cannot be read, or not with these options.
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
        if self.format is not FileFormat.PARQUET:
            refuse_binary(path, charset=options.charset)
        if options.format is None and self.format is FileFormat.JSON:
            self.format = format_of_json(path, options.charset)
        self.options = zeek_options(path, options) if self.format is FileFormat.ZEEK else options
        self._rows = self._reader()
        self._surveyed: tuple[InferredColumn, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns that the head of the file names; empty for JSON, whose rows name their own."""
        return self._rows.names

    @property
    def rows(self) -> int | None:
        """Return the number of rows; None: not known before a pass over the file."""
        return self._rows.total

    @property
    def bytes_read(self) -> int:
        """Return the bytes on disk that the running pass has read."""
        return min(self._count.read, self.size_bytes)

    def fraction(self, rows: int) -> float:
        """Return the fraction of the file, 0 to 1, that its first `rows` rows make up.

        Exact if the number of rows is known; else estimated by the bytes read, which run ahead.
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
        """Return every column with its declared type, or the narrowest type that holds all its values.

        `batches` then reads the columns as the survey says, unless `settle` changes that.

        Args:
            declared: types of the stream's columns; None: not declared.

        Raises:
            NoRowsError: the file has no rows from which to infer types.
            DataFileError: the file is damaged.
        """
        wanted = wanted_types(self.options, declared or {})
        columns = self._rows.survey(wanted)
        typed = self.format is FileFormat.PARQUET  # its schema has types, even without rows
        if declared is None and (not columns or not (typed or self._rows.total)):
            example = ", ".join(f"{column.name} string" for column in columns) or "name type, ..."
            raise NoRowsError(
                "it has no rows to tell the columns' types from",
                file=str(self.path),
                hint=f'Pass --schema "{example}" with the types there will be.',
            )
        self._surveyed = columns
        return columns

    def settle(self, columns: Sequence[InferredColumn], types: Mapping[str, ColumnType]) -> None:
        """Fix how `batches` reads the file, given all files of the load; check its times.

        Args:
            columns: the columns of this file, after the files have agreed on the order of day and month.
            types: of the columns of all files together.

        Raises:
            DataFileError: times are ambiguous, have another format, or are missing.
        """
        self._surveyed = tuple(columns)
        times = [c for c in columns if types[c.name] is ColumnType.TIMESTAMP]
        for column in times:
            if column.ambiguous:
                raise DataFileError(
                    ambiguity(column, time=self.options.time),
                    file=str(self.path),
                    column=column.name,
                )
        time = self.options.time
        if any(c.misfits for c in times) or (time in types and self._lacks_times(columns)):
            # Read the file before anything is sent: the error names the value and its line.
            schema = [ColumnSchema(name, kind, name != time) for name, kind in types.items()]
            for _ in self._checked(schema):
                pass

    def _lacks_times(self, columns: Sequence[InferredColumn]) -> bool:
        """Return whether a row has no time."""
        own = next((c for c in columns if c.name == self.options.time), None)
        return own is None or bool(own.nulls or own.markers)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences about decisions for the whole file that the user may not expect."""
        log = self.format is FileFormat.ZEEK
        header = (
            ("fields, types and what is NULL are those that the log's header names",) if log else ()
        )
        return (*header, *self._rows.notes)

    def check_columns(self, columns: Sequence[ColumnSchema]) -> None:
        """Refuse columns of the file that are not in `columns`, before a row is read.

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
                    hint=f"Pass --skip-columns {name!r} to leave it out. psoup declare STREAM --add {name}:TYPE adds it to the stream.",
                )

    def batches(
        self, columns: Sequence[ColumnSchema], *, rows: int, sort: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows as record batches of exactly `rows` rows; the last one may have fewer.

        Args:
            columns: names and types; columns that the file lacks are NULL.
            rows: number of rows of a batch.
            sort: whether to sort by the time column, `options.time`.

        Raises:
            DataFileError: a value does not fit its column, or is NULL where the column allows none.
        """
        self.check_columns(columns)
        batches = self._checked(columns)
        if sort:
            if self.options.time is None:
                msg = "sorting needs options.time"
                raise ValueError(msg)
            batches = sorted_by(batches, self.options.time, rows=rows)
        return _recut(batches, rows)

    def line_of(self, row: int) -> int | None:
        """Return the line of row `row`, counted from 0 in the file's order."""
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
        """Yield the first rows, up to the option `limit`, read as the survey says."""
        readings = {c.name: given_reading(self.options, c.name) for c in columns}
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
    """Yield the same rows in batches of exactly `rows` rows."""
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
