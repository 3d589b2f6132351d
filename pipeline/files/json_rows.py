"""Rows of NDJSON, or of a JSON document: an array of objects, one object, or several in a row.

Members may come in any order and be missing (NULL). Arrays and objects inside a row become their
JSON text. Documents are decoded element by element, never as a whole.
"""

import codecs
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa

from engine.limits import COLUMNS_COUNT_MAX, FLOAT64_EXACT_INT_MAX, MIB, ROW_BYTES_MAX
from engine.tuples.arrow import ARROW_TYPES
from engine.tuples.schema import ColumnSchema, ColumnType
from pipeline.errors import DataFileError
from pipeline.files import casting
from pipeline.files.kinds import ColumnSurvey, InferredColumn, Kind
from pipeline.files.opening import ByteCount, open_bytes
from pipeline.files.options import FileFormat, ReadOptions

Row = Mapping[str, Any]
BLOCK_ROWS: Final = 8_192
INT64_MAX: Final = 2**63 - 1
_BLANKS: Final = " \t\r\n,"
_DATED: Final = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)


class JsonRows:
    """The rows of one file of JSON objects. `names` is empty: only a survey knows them all."""

    def __init__(
        self, path: Path, options: ReadOptions, count: ByteCount, form: FileFormat
    ) -> None:
        """Read nothing yet."""
        self._path = path
        self._options = options
        self._count = count
        self._form = form
        self.names: tuple[str, ...] = ()
        self.total: int | None = None

    def survey(self) -> tuple[InferredColumn, ...]:
        """Return the type of every member, in the order in which they first appear."""
        surveys: dict[str, ColumnSurvey] = {}
        present: dict[str, int] = {}
        skipped: set[str] = set()
        rows = 0
        for line, row in self._rows():
            rows += 1
            for name, value in row.items():
                if name in self._options.skip:
                    skipped.add(name)
                    continue
                survey = surveys.get(name) or surveys.setdefault(name, ColumnSurvey(name))
                if len(surveys) > COLUMNS_COUNT_MAX:
                    raise self._refusal(
                        f"more than {COLUMNS_COUNT_MAX} members have been seen by here",
                        line,
                        hint="Pass --skip-columns a,b to leave some out.",
                    )
                if value is not None:
                    present[name] = present.get(name, 0) + 1
                    _look_at(survey, value, line)
        self._options.check_skipped(self._path, [*surveys, *sorted(skipped)])
        self.total = rows
        for name, survey in surveys.items():
            survey.nulls = rows - present.get(name, 0)
        return tuple(survey.result(survey.witness_at) for survey in surveys.values())

    def read(self, columns: Sequence[ColumnSchema]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches of `columns`; absent members are NULL.

        Raises:
            DataFileError: a member is not a column, or its value does not fit.
        """
        known = {column.name for column in columns} | self._options.skip
        lines: list[int] = []
        rows: list[Row] = []
        for line, row in self._rows():
            if not row.keys() <= known:
                name = next(iter(row.keys() - known))
                raise self._refusal(
                    "the stream has no such column",
                    line,
                    column=name,
                    hint=f"Pass --skip-columns {name!r} to leave it out.",
                )
            lines.append(line)
            rows.append(row)
            if len(rows) == BLOCK_ROWS:
                yield self._batch(columns, rows, lines)
                lines, rows = [], []
        if rows:
            yield self._batch(columns, rows, lines)

    def line_of(self, row: int) -> int | None:
        """Return the line at which row `row`, counted from 0, begins. Cost: reads up to there."""
        for index, (line, _) in enumerate(self._rows()):
            if index == row:
                return line
        return None

    def _batch(
        self, columns: Sequence[ColumnSchema], rows: Sequence[Row], lines: Sequence[int]
    ) -> pa.RecordBatch:
        arrays = []
        for column in columns:
            values = [row.get(column.name) for row in rows]
            try:
                arrays.append(_array(values, column.type, self._options))
            except casting.Misfit as misfit:
                raise self._refusal(
                    misfit.reason,
                    lines[misfit.index],
                    column=column.name,
                    value=_json_text(values[misfit.index]),
                    hint=misfit.hint,
                ) from None
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])

    def _rows(self) -> Iterator[tuple[int, Row]]:
        """Yield (line, row): the objects of the file, each with the line at which it begins."""
        with open_bytes(self._path, self._count) as plain:
            found = self._by_line(plain) if self._form is FileFormat.NDJSON else self._in(plain)
            for line, value in found:
                if not isinstance(value, dict):
                    raise self._refusal("a row has to be an object", line)
                yield line, value

    def _by_line(self, plain: Any) -> Iterator[tuple[int, object]]:  # noqa: ANN401 (IO[bytes])
        for line, text in enumerate(plain, start=1):
            stripped = text.strip().removeprefix(codecs.BOM_UTF8)
            if not stripped:
                continue
            try:
                yield line, orjson.loads(stripped)
            except orjson.JSONDecodeError as error:
                raise self._refusal(f"it is not JSON: {error.msg}", line) from None

    def _in(self, plain: Any) -> Iterator[tuple[int, object]]:  # noqa: ANN401 (IO[bytes])
        """Yield the elements of a document: one at a time, from a window that slides over it."""
        window = _Window(plain)
        bracketed = window.skip("\ufeff" + _BLANKS.replace(",", "")) == "["
        if bracketed:
            window.advance(1)
        while (begins := window.skip(_BLANKS)) and begins != "]":
            line = window.line
            try:
                yield line, window.decode()
            except ValueError as error:
                raise self._refusal(f"it is not JSON: {error}", line) from None
        if bracketed:
            if begins != "]":
                raise self._refusal("the array does not end: the file is cut short", window.line)
            window.advance(1)
        if window.skip(_BLANKS):
            raise self._refusal("something follows after the array", window.line)

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


class _Window:
    """A piece of a document's text: grows until one element is whole, drops what was decoded."""

    def __init__(self, plain: Any) -> None:  # noqa: ANN401 (IO[bytes])
        self._plain = plain
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder(parse_constant=_no_constant)
        self._text = ""
        self._at = 0
        self._ended = False
        self.line = 1

    def skip(self, blanks: str) -> str:
        """Advance over `blanks`; return the character after them, empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in blanks:
                self.advance(1)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def advance(self, characters: int) -> None:
        """Move over text that is done with."""
        past = self._at + characters
        self.line += self._text.count("\n", self._at, past)
        self._at = past

    def decode(self) -> object:
        """Return the element that begins here, and move behind it."""
        while True:
            try:
                value, past = self._json.raw_decode(self._text, self._at)
            except ValueError:
                # Cut off by the window's end, or wrong: a row that is longer than rows may be is
                # wrong, so that damage at the front does not pull the whole file into memory.
                if len(self._text) - self._at > 4 * ROW_BYTES_MAX + MIB or not self._grow():
                    raise
            else:
                self.advance(past - self._at)
                return value

    def _grow(self) -> bool:
        if self._ended:
            return False
        block = self._plain.read(MIB)
        self._ended = not block
        self._text = self._text[self._at :] + self._decoder.decode(block, final=self._ended)
        self._at = 0
        return not self._ended


def _no_constant(name: str) -> object:
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)


def _look_at(survey: ColumnSurvey, value: Any, line: int) -> None:  # noqa: ANN401 (any JSON value)
    if survey.kind is Kind.TEXT:
        return
    largest = 0
    match value:
        case bool():
            kind = Kind.BOOL
        case int():
            kind = Kind.INT if abs(value) <= INT64_MAX else Kind.TEXT
            largest = abs(value)
        case float():
            kind = Kind.FLOAT
        case str():
            kind = Kind.TIMESTAMP if _is_timestamp(value) else Kind.TEXT
        case _:
            kind = Kind.TEXT
    survey.add(kind, largest=largest, witness=_json_text(value), at=line)


def _is_timestamp(text: str) -> bool:
    if _DATED.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _json_text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _array(values: Sequence[Any], kind: ColumnType, options: ReadOptions) -> pa.Array:
    """Return JSON values as an array of the type.

    Raises:
        Misfit: the first value that is not of the type.
    """
    match kind:
        case ColumnType.STRING:
            texts = [None if value is None else _json_text(value) for value in values]
            return casting.checked_text(pa.array(texts, pa.string()))
        case ColumnType.BOOL:
            _check(values, lambda v: isinstance(v, bool), "expected true or false (bool)")
        case ColumnType.INT64:
            _check(values, _is_int64, "expected an integer (int64)")
        case ColumnType.FLOAT64:
            _check(values, _is_float64, "expected a number that float64 holds (float64)")
        case ColumnType.TIMESTAMP:
            return _timestamps(values, options)
    return pa.array(values, ARROW_TYPES[kind])


def _timestamps(values: Sequence[Any], options: ReadOptions) -> pa.Array:
    if options.epoch is None:
        _check(
            values,
            lambda v: isinstance(v, str),
            "expected an ISO 8601 text (timestamp)",
            hint="Where numbers count from 1970, pass --epoch s|ms|us|ns.",
        )
        return casting.text_as(pa.array(values, pa.string()), ColumnType.TIMESTAMP, None)
    texts = [None if value is None else _json_text(value) for value in values]
    return casting.text_as(pa.array(texts, pa.string()), ColumnType.TIMESTAMP, options.epoch)


def _check(values: Sequence[Any], fits: Any, reason: str, hint: str = "") -> None:  # noqa: ANN401 (a predicate)
    for index, value in enumerate(values):
        if value is not None and not fits(value):
            hint = hint or "Pass --schema with string for it."
            raise casting.Misfit(index, reason, hint)


def _is_int64(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX


def _is_float64(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, int):
        return abs(value) <= FLOAT64_EXACT_INT_MAX
    return math.isfinite(value)
