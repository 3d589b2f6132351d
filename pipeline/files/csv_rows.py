"""Rows of a CSV. An empty cell is NULL, `""` the empty string, as in the service's own CSV.

Arrow splits the text into cells; types are decided afterwards, over the whole file (`kinds`). Lines
are found again only where something is wrong, by reading the file once more.
"""

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv as pa_csv

from engine.limits import MIB
from engine.tuples.arrow import ARROW_TYPES
from engine.tuples.schema import ColumnSchema
from pipeline.errors import DataFileError
from pipeline.files import casting
from pipeline.files.csv_records import whole_records
from pipeline.files.kinds import ColumnSurvey, InferredColumn
from pipeline.files.opening import ByteCount, open_bytes, plain_suffix
from pipeline.files.options import SKIPPED, ReadOptions
from pipeline.files.text_kinds import look_at_text

BLOCK_BYTES: Final = MIB
"""Text read at a time; a record is shorter."""
_WRONG_FIELDS: Final = "columns, got"
"""A part of what Arrow says of a record with more or fewer fields than there are names."""


class CsvRows:
    """The rows of one CSV file. `names` are its columns in order."""

    def __init__(self, path: Path, options: ReadOptions, count: ByteCount) -> None:
        """Read the header and the first record.

        Raises:
            DataFileError: no header, names missing or twice, fewer or more names than fields, or one to
                skip that there is not.
        """
        self._path = path
        self._options = options
        self._count = count
        self._delimiter = options.delimiter or ("\t" if plain_suffix(path) == ".tsv" else ",")
        self.total: int | None = None
        self._header_lines, header, fields = self._head()
        self._fields = _field_names(path, options, header, fields)
        options.check_skipped(path, [name for name in self._fields if name != SKIPPED])
        self.names = tuple(
            name for name in self._fields if name != SKIPPED and name not in options.skip
        )

    def survey(self) -> tuple[InferredColumn, ...]:
        """Return the type of every column, having read the whole file."""
        surveys = [ColumnSurvey(name) for name in self.names]
        row = 0
        for block in self._blocks():
            for survey, array in zip(surveys, block.columns, strict=True):
                survey.nulls += array.null_count
                if survey.name != self._options.time:
                    look_at_text(survey, casting.trimmed_or_null(array), row)
            row += block.num_rows
        self.total = row
        lines = self._lines_of({s.witness_at for s in surveys if s.witness_at is not None})
        return tuple(
            s.result(None if s.witness_at is None else lines.get(s.witness_at)) for s in surveys
        )

    def read(self, columns: Sequence[ColumnSchema]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`; those the file does not have are NULL.

        Raises:
            DataFileError: a value does not fit its column.
        """
        row = 0
        for block in self._blocks():
            arrays = [self._column(block, column, row) for column in columns]
            row += block.num_rows
            yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])

    def line_of(self, row: int) -> int | None:
        """Return the line at which row `row`, counted from 0, begins. Cost: reads up to there."""
        return self._lines_of({row}).get(row)

    def _column(self, block: pa.RecordBatch, column: ColumnSchema, first_row: int) -> pa.Array:
        if column.name not in self.names:
            return pa.nulls(block.num_rows, ARROW_TYPES[column.type])
        array = block.column(self.names.index(column.name))
        try:
            return casting.text_as(array, column.type, self._options.epoch)
        except casting.Misfit as misfit:
            hint = misfit.hint
            if not hint:
                hint = f'Pass --null {array[misfit.index].as_py()!r} or --schema "... {column.name} string ...".'
            raise DataFileError(
                misfit.reason,
                file=str(self._path),
                line=self.line_of(first_row + misfit.index),
                column=column.name,
                value=array[misfit.index].as_py(),
                hint=hint,
            ) from None

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        """Yield the cells as text, one column for each of `names`."""
        skipped_lines = self._header_lines
        with open_bytes(self._path, self._count) as plain:
            blocks = whole_records(
                plain,
                delimiter=self._delimiter,
                block_bytes=BLOCK_BYTES,
                file=str(self._path),
            )
            for text in blocks:
                try:
                    yield from self._cells(text, skipped_lines)
                except pa.ArrowInvalid as error:
                    raise self._refusal(error) from error
                skipped_lines = 0

    def _cells(self, text: bytes, skipped_lines: int) -> list[pa.RecordBatch]:
        """Return the cells of whole records.

        Nothing of Python is left to Arrow's threads, in which it would outlive the interpreter: no callback, and a
        copy of the text, since the last owner of a Python object's memory has to enter Python to give it back.
        """
        numbered = [str(i) for i in range(len(self._fields))]
        kept = [str(i) for i, name in enumerate(self._fields) if name in self.names]
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
            pa_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
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
        """Return the error of a file that cannot be split into cells, with the line."""
        if _WRONG_FIELDS in str(error):
            for line, record in self._records():
                if len(record) != len(self._fields):
                    return DataFileError(
                        f"expected {len(self._fields)} fields, this record has {len(record)}",
                        file=str(self._path),
                        line=line,
                        hint="Is the delimiter right (--delimiter)? Is a quote missing?",
                    )
        with open_bytes(self._path, ByteCount()) as plain:
            for line, text in enumerate(plain, start=1):
                try:
                    text.decode()
                except UnicodeDecodeError:
                    return DataFileError("the text is not UTF-8", file=str(self._path), line=line)
        return DataFileError(f"it is not a CSV: {error}", file=str(self._path))

    def _head(self) -> tuple[int, list[str] | None, int | None]:
        """Return the lines the header takes, its names, and the fields of the first record."""
        records = self._records(with_header=True)
        first = next(records, None)
        if not self._options.header:
            return 0, None, None if first is None else len(first[1])
        if first is None:
            raise DataFileError("it has no header", file=str(self._path))
        second = next(records, None)
        lines = first[0] + sum(name.count("\n") for name in first[1])
        return lines, first[1], None if second is None else len(second[1])

    def _records(self, *, with_header: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield (line at which it begins, cells) of each record that is not empty."""
        with open_bytes(self._path, ByteCount()) as plain:
            text = io.TextIOWrapper(plain, encoding="utf-8-sig", errors="replace", newline="")
            reader = csv.reader(text, delimiter=self._delimiter)
            begins = 1
            for record in reader:
                if record and (with_header or begins > self._header_lines):
                    yield begins, record
                begins = reader.line_num + 1
            text.detach()

    def _lines_of(self, rows: Collection[int]) -> dict[int, int]:
        """Return the line at which each of these rows begins."""
        found: dict[int, int] = {}
        if not rows:
            return found
        last = max(rows)
        for row, (line, _) in enumerate(self._records()):
            if row in rows:
                found[row] = line
            if row >= last:
                break
        return found


def _field_names(
    path: Path, options: ReadOptions, header: list[str] | None, fields: int | None
) -> tuple[str, ...]:
    """Return a name for each field of a record, `-` where it is left out."""

    def refuse(reason: str, hint: str) -> DataFileError:
        return DataFileError(reason, file=str(path), line=1, hint=hint)

    if options.columns is not None:
        count = fields if fields is not None else len(header or options.columns)
        if len(options.columns) != count:
            given = len(options.columns)
            raise refuse(
                f"--columns names {given} fields, the records have {count}",
                f"Name {count}, with - for one to leave out.",
            )
        names = tuple(options.columns)
    elif header is None:
        raise refuse("without a header the columns have no names", "Pass --columns a,b,c.")
    else:
        names = tuple(header)
        if fields is not None and fields != len(names):
            raise refuse(
                f"the header names {len(names)} columns, the first record has {fields} fields",
                f"Pass --columns {_suggested(names, fields)} (- leaves a field out).",
            )
    used = [name for name in names if name != SKIPPED]
    twice = sorted({name for name in used if used.count(name) > 1})
    if twice or "" in used:
        what = (
            f"two columns are called {twice[0]!r}" if twice and twice[0] else "a column has no name"
        )
        raise refuse(
            what, f"Pass --columns {_suggested(names, len(names))} with names of your own."
        )
    return names


def _suggested(names: Sequence[str], fields: int) -> str:
    """Return a list to paste: the header's names, with `-` for fields it does not name.

    Where one name is missing it is the first, as R and pandas write the row's own label.
    """
    missing = [SKIPPED] * max(fields - len(names), 0)
    shown = [*missing, *(name or SKIPPED for name in names)][:fields]
    listed = ",".join(shown)
    return f"'{listed}'" if any(not c.isalnum() and c not in ",-_" for c in listed) else listed
