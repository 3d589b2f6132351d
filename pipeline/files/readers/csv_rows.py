"""Rows of a CSV. An empty cell is NULL, `""` the empty string, as in the service's own CSV.

Arrow splits the text into cells; types are decided afterwards, over the whole file (`kinds`). Lines
are found again only where something is wrong, by reading the file once more.
"""

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv as pa_csv

from psoup.engine.limits import MIB
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.columns import casting
from psoup.pipeline.files.columns.decisions import begun_survey, decide_column
from psoup.pipeline.files.columns.hints import misfit_hint
from psoup.pipeline.files.columns.joined_time import JoinedTime
from psoup.pipeline.files.columns.kinds import InferredColumn, Kind
from psoup.pipeline.files.columns.markers import count_markers
from psoup.pipeline.files.columns.readings import Reading
from psoup.pipeline.files.columns.text_kinds import profiler_for
from psoup.pipeline.files.opening import ByteCount, open_text
from psoup.pipeline.files.options import SKIPPED, ReadOptions
from psoup.pipeline.files.readers.csv_head import read_head, records_of
from psoup.pipeline.files.readers.csv_records import whole_records

BLOCK_BYTES: Final = MIB
"""Text read at a time; a record is shorter."""
_WRONG_FIELDS: Final = "columns, got"
"""Part of Arrow's message about a record with more or fewer fields than names."""


class CsvRows:
    """The rows of one CSV file. `names` are its columns in order."""

    def __init__(self, path: Path, options: ReadOptions, count: ByteCount) -> None:
        """Read the header and the first records.

        Raises:
            DataFileError: no header, names missing or twice, fewer or more names than fields, or one to
                skip that there is not.
        """
        self._path = path
        self._options = options
        self._count = count
        self.total: int | None = None
        self._head = read_head(path, options)
        self._joined = JoinedTime.of(options)
        given = [name for name in self._head.fields if name != SKIPPED]
        options.check_columns(path, given)
        self.notes = self._head.notes
        self._cell_names = tuple(
            name for name in given if name not in options.skip or name in options.time_parts
        )
        self.names = tuple(name for name in given if name not in options.skip)
        if self._joined is not None:
            self.names = (self._joined.name, *self.names)

    def survey(self, wanted: Mapping[str, ColumnType]) -> tuple[InferredColumn, ...]:
        """Read the whole file; return how every column is read. `wanted` types are fixed."""
        surveys = [begun_survey(name, self._options, wanted.get(name)) for name in self.names]
        profilers = {name: profiler_for(self._options, name) for name in self.names}
        row = 0
        for block in self._blocks():
            places = range(row, row + block.num_rows)
            for survey, array in zip(surveys, block.columns, strict=True):
                survey.nulls += array.null_count
                kind = wanted.get(survey.name)
                if kind is None or kind is ColumnType.STRING:
                    survey.look_for_empty(array)
                if kind is ColumnType.STRING or (kind is None and survey.kind is Kind.TEXT):
                    count_markers(array, survey.markers)
                    continue
                texts = count_markers(casting.trimmed_or_null(array), survey.markers)
                if kind is None or kind is ColumnType.TIMESTAMP:
                    profilers[survey.name].fold(survey, texts, places)
                    survey.count_times(texts)
            row += block.num_rows
        self.total = row
        lines = self._lines_of({s.witness_at for s in surveys if s.witness_at is not None})
        return tuple(
            decide_column(
                survey,
                None if survey.witness_at is None else lines.get(survey.witness_at),
                self._options,
                wanted.get(survey.name),
            )
            for survey in surveys
        )

    def read(
        self, columns: Sequence[ColumnSchema], readings: Mapping[str, Reading]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`; columns that the file lacks are NULL.

        Raises:
            DataFileError: a value does not fit its column.
        """
        row = 0
        for block in self._blocks():
            arrays = [self._column(block, column, readings, row) for column in columns]
            row += block.num_rows
            yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])

    def line_of(self, row: int) -> int | None:
        """Return the line at which row `row`, counted from 0, begins. Cost: reads the file up to it."""
        return self._lines_of({row}).get(row)

    def _column(
        self,
        block: pa.RecordBatch,
        column: ColumnSchema,
        readings: Mapping[str, Reading],
        first_row: int,
    ) -> pa.Array:
        if column.name not in self.names:
            return pa.nulls(block.num_rows, ARROW_TYPES[column.type])
        array = block.column(self.names.index(column.name))
        try:
            return casting.text_as(array, column.type, readings[column.name])
        except casting.Misfit as misfit:
            value = array[misfit.index].as_py()
            raise DataFileError(
                misfit.reason,
                file=str(self._path),
                line=self.line_of(first_row + misfit.index),
                column=column.name,
                value=value,
                hint=misfit.hint or misfit_hint(column.name, column.type, value, nulls=True),
            ) from None

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        """Yield the cells as text, one column for each of `names`."""
        skipped_lines = self._head.header_lines
        with open_text(self._path, self._count, self._options.charset) as plain:
            blocks = whole_records(
                plain, self._head.dialect, block_bytes=BLOCK_BYTES, file=str(self._path)
            )
            for text in blocks:
                try:
                    for cells in self._cells(text, skipped_lines):
                        yield self._with_time(cells)
                except pa.ArrowInvalid as error:
                    raise self._refusal(error) from error
                skipped_lines = 0

    def _with_time(self, cells: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns `names` from those read, the joined time among them."""
        if self._joined is None:
            return cells
        columns = dict(zip(self._cell_names, cells.columns, strict=True))
        columns[self._joined.name] = self._joined.of_columns(columns)
        return pa.RecordBatch.from_arrays([columns[name] for name in self.names], names=self.names)

    def _cells(self, text: bytes, skipped_lines: int) -> list[pa.RecordBatch]:
        """Return the cells of whole records.

        Nothing of Python is left to Arrow's threads, in which it would outlive the interpreter: no callback, and a
        copy of the text, since the last owner of a Python object's memory has to enter Python to give it back.
        """
        numbered = [str(i) for i in range(len(self._head.fields))]
        kept = [str(i) for i, name in enumerate(self._head.fields) if name in self._cell_names]
        copy = pa.BufferOutputStream()
        copy.write(text)
        table = pa_csv.read_csv(
            pa.BufferReader(copy.getvalue()),
            pa_csv.ReadOptions(
                use_threads=False,
                block_size=len(text) + 1,
                column_names=numbered,
                skip_rows=skipped_lines,
            ),
            pa_csv.ParseOptions(
                delimiter=self._head.dialect.delimiter,
                quote_char='"' if self._head.dialect.quoted else False,
                newlines_in_values=True,
            ),
            pa_csv.ConvertOptions(
                include_columns=kept,
                column_types=dict.fromkeys(kept, pa.string()),
                null_values=["", *self._options.nulls],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        batches: list[pa.RecordBatch] = table.to_batches()
        return batches

    def _refusal(self, error: pa.ArrowInvalid) -> DataFileError:
        """Return the error about a file that cannot be split into cells, with the line."""
        if _WRONG_FIELDS in str(error):
            for line, record in self._records():
                if len(record) != len(self._head.fields):
                    return DataFileError(
                        f"expected {len(self._head.fields)} fields, this record has {len(record)}",
                        file=str(self._path),
                        line=line,
                        hint="Check the delimiter (--delimiter), and whether a quote is missing.",
                    )
        with open_text(self._path, ByteCount(), self._options.charset) as plain:
            for line, text in enumerate(plain, start=1):
                try:
                    text.decode()
                except UnicodeDecodeError:
                    return DataFileError(
                        "the text is not UTF-8",
                        file=str(self._path),
                        line=line,
                        hint="Pass its encoding, such as latin-1 or cp1252, by --charset.",
                    )
        return DataFileError(f"it is not a CSV: {error}", file=str(self._path))

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield (first line, cells) of each record after the header."""
        with open_text(self._path, ByteCount(), self._options.charset) as plain:
            text = io.TextIOWrapper(plain, encoding="utf-8", errors="replace", newline="")
            for line, record in records_of(text, self._head.dialect):
                if line > self._head.header_lines:
                    yield line, record
            text.detach()

    def _lines_of(self, rows: Collection[int]) -> dict[int, int]:
        """Return the first line of each of these rows."""
        lines: dict[int, int] = {}
        if not rows:
            return lines
        last = max(rows)
        for row, (line, _) in enumerate(self._records()):
            if row in rows:
                lines[row] = line
            if row >= last:
                break
        return lines
