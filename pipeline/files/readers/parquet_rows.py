"""Rows of a Parquet file, row group by row group. Its own types decide; lines are row numbers.

Integers become int64, floats and decimals float64, dates and timestamps timestamp (without a zone
they are UTC, below the microsecond cut off), dictionaries what they hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.columns import casting
from psoup.pipeline.files.columns.decisions import begun_survey, decide_column
from psoup.pipeline.files.columns.joined_time import JoinedTime
from psoup.pipeline.files.columns.kinds import KINDS, ColumnSurvey, InferredColumn, Kind
from psoup.pipeline.files.columns.markers import count_markers
from psoup.pipeline.files.columns.readings import Reading, given_reading
from psoup.pipeline.files.columns.text_kinds import profiler_for
from psoup.pipeline.files.opening import DAMAGE, ByteCount, plain_file
from psoup.pipeline.files.options import ReadOptions
from psoup.pipeline.files.times.forms import ISO, Epoch, microseconds

BLOCK_ROWS: Final = 65_536


class ParquetRows:
    """The rows of one Parquet file. `names` are its columns in order."""

    def __init__(self, path: Path, options: ReadOptions, count: ByteCount) -> None:
        """Read the file's schema.

        Raises:
            DataFileError: it is not Parquet, has a column of a type no stream has, or not one to skip.
        """
        self._path = path
        self._options = options
        self._count = count
        with self._open() as file:
            schema = file.schema_arrow
            self.total: int | None = file.metadata.num_rows
        options.check_columns(path, schema.names)
        self.notes: tuple[str, ...] = ()
        self._joined = JoinedTime.of(options)
        self._types = {
            field.name: self._type_of(field) for field in schema if field.name not in options.skip
        }
        self._numbers = frozenset(field.name for field in schema if _is_number(field.type))
        self.names = tuple(self._types)
        if self._joined is not None:
            self.names = (self._joined.name, *self.names)

    def survey(self, wanted: Mapping[str, ColumnType]) -> tuple[InferredColumn, ...]:
        """Return the columns with the file's types. Values are looked at where texts or numbers are to be read.

        Text columns with another wanted type are surveyed; text that stays text is searched for empty texts, and
        numbers that are to be times are counted. Cost: reads these columns.
        """
        found = []
        counted = self._counted(wanted)
        for name in self.names:
            own = self._types.get(name, ColumnType.STRING)
            kind = wanted.get(name, own)
            if own is ColumnType.STRING and kind is not own:
                found.append(self._surveyed(name, kind))
                continue
            told = KINDS[kind] if self.total else Kind.NOTHING
            survey = counted.get(name, ColumnSurvey(name))
            found.append(
                InferredColumn(
                    name,
                    kind,
                    survey.nulls,
                    told,
                    reading=given_reading(self._options, name),
                    misfits=survey.counted is not None and survey.counted.misfits,
                    empty_texts=survey.empty_texts,
                    counted=survey.counted,
                )
            )
        return tuple(found)

    def _counted(self, wanted: Mapping[str, ColumnType]) -> dict[str, ColumnSurvey]:
        """Return what there is in columns of text that stay text, and in numbers that are to be times."""
        surveys = {}
        for name, own in self._types.items():
            kind = wanted.get(name, own)
            survey = begun_survey(name, self._options, kind)
            times = survey.counted is not None and name in self._numbers
            if times or own is kind is ColumnType.STRING:
                surveys[name] = survey
        if not surveys:
            return surveys
        with self._open() as file:
            for block in file.iter_batches(batch_size=BLOCK_ROWS, columns=list(surveys)):
                for name, survey in surveys.items():
                    values = _column_of(block, name)
                    survey.nulls += values.null_count
                    if survey.counted is not None:
                        survey.count_times(values)
                    else:
                        survey.look_for_empty(values.cast(pa.string()))
        return surveys

    def _surveyed(self, name: str, kind: ColumnType) -> InferredColumn:
        """Survey the texts of a column; return how they are read."""
        survey = begun_survey(name, self._options, kind)
        joined = self._joined is not None and name == self._joined.name
        profiler = profiler_for(self._options, name)
        row = 0
        with self._open() as file:
            wanted = list(self._options.time_parts) if joined else [name]
            for block in file.iter_batches(batch_size=BLOCK_ROWS, columns=wanted):
                texts = casting.trimmed_or_null(self._array(block, name).cast(pa.string()))
                survey.nulls += texts.null_count
                texts = count_markers(texts, survey.markers)
                profiler.fold(survey, texts, range(row, row + block.num_rows))
                survey.count_times(texts)
                row += block.num_rows
        return decide_column(survey, survey.witness_at, self._options, kind)

    def _array(self, block: pa.RecordBatch, name: str) -> pa.Array:
        """Return a column of the file, or the time column joined from others."""
        if self._joined is not None and name == self._joined.name:
            parts = {part: _column_of(block, part).cast(pa.string()) for part in self._joined.parts}
            return self._joined.of_columns(parts)
        return _column_of(block, name)

    def read(
        self, columns: Sequence[ColumnSchema], readings: Mapping[str, Reading]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`; columns that the file lacks are NULL.

        Raises:
            DataFileError: a value does not fit its column.
        """
        wanted = [column.name for column in columns if column.name in self._types]
        wanted += [part for part in self._options.time_parts if part not in wanted]
        row = 0
        with self._open() as file:
            for block in file.iter_batches(batch_size=BLOCK_ROWS, columns=wanted):
                arrays = [self._column(block, column, readings, row) for column in columns]
                row += block.num_rows
                yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])

    def line_of(self, row: int) -> int | None:
        """Return the number of the row, counted from 1: Parquet has no lines."""
        return row + 1

    def _column(
        self,
        block: pa.RecordBatch,
        column: ColumnSchema,
        readings: Mapping[str, Reading],
        first_row: int,
    ) -> pa.Array:
        if column.name not in self.names:
            return pa.nulls(block.num_rows, ARROW_TYPES[column.type])
        array = self._array(block, column.name)
        if "nan" in {token.lower() for token in self._options.nulls} and pa.types.is_floating(
            array.type
        ):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        try:
            return _converted(array, column.type, readings[column.name])
        except casting.Misfit as misfit:
            raise DataFileError(
                misfit.reason,
                file=str(self._path),
                line=first_row + misfit.index + 1,
                column=column.name,
                value=str(array[misfit.index].as_py()),
                hint=misfit.hint,
            ) from None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataFileError(
                f"{array.type} cannot be read as {column.type}: {error}",
                file=str(self._path),
                column=column.name,
                hint=f'Pass "{column.name} {self._types[column.name]}" to --types or --schema.',
            ) from None

    def _type_of(self, field: pa.Field) -> ColumnType:
        if field.name == self._options.time and self._options.epoch is not None:
            return ColumnType.TIMESTAMP
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        tests = {
            ColumnType.BOOL: (pa.types.is_boolean, pa.types.is_null),
            ColumnType.INT64: (pa.types.is_integer,),
            ColumnType.FLOAT64: (pa.types.is_floating, pa.types.is_decimal),
            ColumnType.STRING: (
                pa.types.is_string,
                pa.types.is_large_string,
                pa.types.is_string_view,
            ),
            ColumnType.TIMESTAMP: (pa.types.is_timestamp, pa.types.is_date),
        }
        for name, matches in tests.items():
            if any(match(kind) for match in matches):
                return name
        raise DataFileError(
            f"{field.type} is not a type that a stream can have",
            file=str(self._path),
            column=field.name,
            hint=f"Pass --skip-columns {field.name!r} to leave it out.",
        )

    @contextmanager
    def _open(self) -> Iterator[pq.ParquetFile]:
        """Open the file by its path, so that Arrow's threads read it without Python."""
        try:
            with plain_file(self._path, self._count) as plain, pq.ParquetFile(plain) as file:
                yield file
        except (*DAMAGE, pa.ArrowInvalid) as error:
            raise DataFileError(
                f"it is not Parquet: {str(error).rstrip('.')}", file=str(self._path)
            ) from error


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _column_of(block: pa.RecordBatch, name: str) -> pa.Array:
    array = block.column(block.schema.get_field_index(name))
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _converted(array: pa.Array, kind: ColumnType, reading: Reading) -> pa.Array:
    """Return a column of the file cast to a type of the stream.

    Raises:
        Misfit: a value that does not fit.
        pa.ArrowInvalid: the types do not go together.
    """
    if kind is ColumnType.TIMESTAMP:
        if _is_number(array.type):
            if isinstance(reading.form, Epoch):
                return casting.checked_times(microseconds(array, reading.form.unit))
            if reading.form is ISO:
                raise casting.Misfit(
                    0, "a number is no timestamp", "Pass --epoch s|ms|us|ns if it counts from 1970."
                )
            return casting.text_as(array.cast(pa.string()), kind, reading)
        if _is_text(array.type):
            return casting.text_as(array.cast(pa.string()), kind, reading)
        # allow_time_truncate: what lies below the microsecond is cut off, as in text.
        whole = array.cast(
            options=pc.CastOptions(
                target_type=pa.timestamp("us", getattr(array.type, "tz", None)),
                allow_time_truncate=True,
            )
        )
        return casting.checked_times(whole.cast(pa.int64()).cast(ARROW_TYPES[kind]))
    if _is_text(array.type):
        return casting.text_as(array.cast(pa.string()), kind, reading)
    converted = array.cast(ARROW_TYPES[kind])
    if kind is ColumnType.FLOAT64:
        return casting.checked_floats(converted)
    return casting.checked_text(converted) if kind is ColumnType.STRING else converted


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
