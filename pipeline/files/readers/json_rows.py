"""Rows of NDJSON, of a JSON document (an array of objects, one object, or several in a row), or of GeoJSON.

Members may come in any order and be missing (NULL). Objects inside a row become columns of their members, arrays
their JSON text. Documents are decoded element by element, never as a whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

import orjson
import pyarrow as pa

from psoup.engine.limits import COLUMNS_COUNT_MAX, JSON_DEPTH_MAX
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.columns import casting
from psoup.pipeline.files.columns.hints import misfit_hint
from psoup.pipeline.files.columns.joined_time import JoinedTime
from psoup.pipeline.files.columns.kinds import InferredColumn
from psoup.pipeline.files.columns.readings import Reading
from psoup.pipeline.files.opening import ByteCount, open_text
from psoup.pipeline.files.options import FileFormat, ReadOptions
from psoup.pipeline.files.readers.flattening import Flattener, Row, depth_of
from psoup.pipeline.files.readers.geojson import WHOLE, feature_row
from psoup.pipeline.files.readers.json_documents import (
    ELEMENT_CHARACTERS_MAX,
    DocumentError,
    elements,
    features,
)
from psoup.pipeline.files.readers.json_survey import JsonSurvey
from psoup.pipeline.files.readers.json_values import array_of, json_text

BLOCK_ROWS: Final = 8_192
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


class JsonRows:
    """The rows of one file of JSON objects. `names` is empty, because only a survey knows all names."""

    def __init__(
        self, path: Path, options: ReadOptions, count: ByteCount, form: FileFormat
    ) -> None:
        """Read nothing yet."""
        self._path = path
        self._options = options
        self._count = count
        self._form = form
        self._joined = JoinedTime.of(options)
        self._nulls = frozenset(options.nulls)
        self.names: tuple[str, ...] = ()
        self.total: int | None = None
        self.notes: tuple[str, ...] = ()

    def survey(self, wanted: Mapping[str, ColumnType]) -> tuple[InferredColumn, ...]:
        """Read the whole file; return how every member is read, by first appearance. `wanted` types are fixed."""
        flattener = self._flattener(wanted)
        survey = JsonSurvey(self._options, wanted)
        for line, row in self._rows(flattener):
            survey.add(line, row)
            if len(survey.surveys) > COLUMNS_COUNT_MAX:
                raise self._refusal(
                    f"the rows up to here have more than {COLUMNS_COUNT_MAX} members",
                    line,
                    hint="Pass --skip-columns a,b to leave some out, or --no-flatten to keep objects whole.",
                )
        columns = survey.columns(flattener)
        self._options.check_columns(self._path, survey.seen)
        self.total = survey.rows
        self.notes = survey.notes(flattener, features=self._form is FileFormat.GEOJSON)
        return columns

    def read(
        self, columns: Sequence[ColumnSchema], readings: Mapping[str, Reading]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`; absent members are NULL.

        Raises:
            DataFileError: a member is not a column, or its value does not fit.
        """
        names = {column.name for column in columns}
        known = names | self._options.skip
        lines: list[int] = []
        rows: list[Row] = []
        for line, row in self._rows(self._flattener(names)):
            name = next((n for n, v in row.items() if n not in known and v is not None), None)
            if name is not None:
                raise self._refusal(
                    "the stream has no such column",
                    line,
                    column=name,
                    hint=f"Pass --skip-columns {name!r} to leave it out. psoup declare STREAM --add {name}:TYPE adds it to the stream.",
                )
            lines.append(line)
            rows.append(row)
            if len(rows) == BLOCK_ROWS:
                yield self._batch(columns, readings, rows, lines)
                lines, rows = [], []
        if rows:
            yield self._batch(columns, readings, rows, lines)

    def line_of(self, row: int) -> int | None:
        """Return the line at which row `row`, counted from 0, begins. Cost: reads the file up to it."""
        for index, (line, _) in enumerate(self._rows(None)):
            if index == row:
                return line
        return None

    def _flattener(self, names: Iterable[str]) -> Flattener | None:
        """Return the flattener of rows, which keeps columns in `names` whole; None: objects are not flattened."""
        if not self._options.flatten:
            return None
        whole = {WHOLE} if self._form is FileFormat.GEOJSON else set()
        return Flattener({*names, *whole}, self._options.skip)

    def _batch(
        self,
        columns: Sequence[ColumnSchema],
        readings: Mapping[str, Reading],
        rows: Sequence[Row],
        lines: Sequence[int],
    ) -> pa.RecordBatch:
        arrays = []
        for column in columns:
            values = [row.get(column.name) for row in rows]
            try:
                arrays.append(array_of(values, column.type, readings[column.name], self._nulls))
            except casting.Misfit as misfit:
                value = values[misfit.index]
                shown = json_text(value)
                raise self._refusal(
                    misfit.reason,
                    lines[misfit.index],
                    column=column.name,
                    value=shown,
                    hint=misfit.hint
                    or misfit_hint(column.name, column.type, shown, nulls=isinstance(value, str)),
                ) from None
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])

    def _rows(self, flattener: Flattener | None) -> Iterator[tuple[int, Row]]:
        """Yield (first line, row) of each object of the file, flattened."""
        with open_text(self._path, self._count, self._options.charset) as plain:
            try:
                for line, value in self._values(plain):
                    if not isinstance(value, dict):
                        raise self._refusal("a row has to be an object", line)
                    yield line, self._flat(value, line, flattener)
            except DocumentError as error:
                raise self._refusal(error.reason, error.line) from None

    def _flat(self, value: Row, line: int, flattener: Flattener | None) -> Row:
        """Return the row of an object of the file."""
        row = value
        nested = not _SCALARS.issuperset(map(type, value.values()))
        if nested and depth_of(value) > JSON_DEPTH_MAX:
            raise self._refusal(f"it is nested deeper than {JSON_DEPTH_MAX} levels", line)
        if self._form is FileFormat.GEOJSON:
            try:
                row = feature_row(value)
            except ValueError as error:
                raise self._refusal(f"it is not GeoJSON: {error}", line) from None
        if flattener is not None and nested:
            try:
                row = flattener.row(row)
            except ValueError as error:
                raise self._refusal(
                    "two members would be this column once objects are flattened",
                    line,
                    column=str(error),
                    hint="Pass --no-flatten to keep objects whole.",
                ) from None
        if self._joined is None:
            return row
        if self._joined.name in row:
            self._options.check_columns(self._path, row)
        return {self._joined.name: self._joined.of_row(row), **row}

    def _values(self, plain: IO[bytes]) -> Iterator[tuple[int, object]]:
        match self._form:
            case FileFormat.NDJSON:
                return self._by_line(plain)
            case FileFormat.GEOJSON:
                return features(plain)
            case _:
                return elements(plain)

    def _by_line(self, plain: IO[bytes]) -> Iterator[tuple[int, object]]:
        line = 0
        while text := plain.readline(ELEMENT_CHARACTERS_MAX + 1):
            line += 1
            if len(text) > ELEMENT_CHARACTERS_MAX:
                raise self._refusal(
                    f"this line is longer than {ELEMENT_CHARACTERS_MAX:,} bytes", line
                )
            if not text.strip():
                continue
            try:
                yield line, orjson.loads(text)
            except orjson.JSONDecodeError as error:
                raise self._refusal(f"it is not JSON: {error.msg}", line) from None

    def _refusal(
        self,
        reason: str,
        line: int,
        *,
        column: str | None = None,
        value: str | None = None,
        hint: str = "",
    ) -> DataFileError:
        return DataFileError(
            reason, file=str(self._path), line=line, column=column, value=value, hint=hint
        )
