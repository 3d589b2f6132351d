"""A body of rows to one Arrow record batch in the stream's exact schema, or a refusal that lists the rows.

Whatever the format, the batch that comes out is the same: what the log keeps and the digest is made of.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from psoup.app.errors import BadBodyError, UnsupportedMediaError
from psoup.app.wire.rows.arrow import arrays_from_arrow
from psoup.app.wire.rows.columns import arrays_from_columns
from psoup.app.wire.rows.csv import arrays_from_csv
from psoup.app.wire.rows.errors import (
    TOO_FAR_IN_FUTURE,
    TOO_LONG,
    LinesOf,
    RowError,
    RowErrors,
    value_error,
)
from psoup.app.wire.rows.json import arrays_from_json
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ColumnType, StreamSchema

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"
ARROW: Final = "application/vnd.apache.arrow.stream"
COLUMNS: Final = "application/vnd.psoup.columns+json"
MEDIA_TYPES: Final = (JSON, NDJSON, CSV, ARROW, COLUMNS)
ALIASES: Final = {"application/jsonl": NDJSON}
_TYPES_KNOWN_MAX: Final = 64
"""Values of `Content-Type` whose meaning is remembered: a client sends the same one each time."""
_FIXED_BYTES: Final = {ColumnType.BOOL: 1}


class _Checks(NamedTuple):
    """What is checked of all rows of a declaration, whatever they are written in.

    Attributes:
        time_index: the column that dates them; None = their arrival does.
        fixed_bytes: of a row, its texts aside.
        text_indices: columns of texts; () where no row of the longest ones is too large.
    """

    time_index: int | None
    fixed_bytes: int
    text_indices: tuple[int, ...]


Reader = Callable[[bytes, StreamSchema], tuple[list[pa.Array], LinesOf | None]]


@functools.lru_cache(_TYPES_KNOWN_MAX)
def media_type_of(content_type: str | None, taken: tuple[str, ...] = MEDIA_TYPES) -> str:
    """Return which of `taken` a Content-Type names; parameters other than a charset are ignored.

    Raises:
        UnsupportedMediaError: none of them, or text that is not UTF-8.
    """
    name, _, parameters = (content_type or "").partition(";")
    name = name.strip().lower()
    name = ALIASES.get(name, name)
    if name in taken and _charset(parameters) in (None, "utf-8", "utf8", "us-ascii"):
        return name
    raise UnsupportedMediaError(
        f"The Content-Type is missing or not one that is taken here. Send one of: {', '.join(taken)}.",
        supported=list(taken),
        supported_header=", ".join(taken),
    )


def read_rows(body: bytes, media_type: str, schema: StreamSchema, *, now_us: int) -> pa.RecordBatch:
    """Return the rows as one record batch with `arrow_schema(schema)`.

    Args:
        body: without its content encoding.
        media_type: one of MEDIA_TYPES, what the body is.
        schema: the stream's declaration.
        now_us: the server's clock, for rows dated too far past it.

    Raises:
        BadBodyError: the body is not of its media type.
        BodyTooLargeError: too many rows.
        RowsRejectedError: rows that do not fit the stream.
    """
    if not body:
        raise BadBodyError("The body has no bytes.", reason="empty", offset=0)
    arrays, lines_of = _READERS[media_type](body, schema)
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))
    checks, latest_us = _checks(schema), now_us + schema.future_us
    index = checks.time_index
    is_late = index is not None and _newest_us(batch, index) > latest_us
    if is_late or checks.text_indices:
        errors = RowErrors()
        if index is not None:
            _note_late(batch, schema, index, latest_us, errors)
        _note_too_large(batch, checks, errors)
        errors.raise_if_any(lines_of)
    return batch


@functools.lru_cache(limits.STREAMS_COUNT_CEILING)
def _checks(schema: StreamSchema) -> _Checks:
    """Return what is checked of a declaration's rows."""
    kinds = [column.type for column in schema.columns]
    fixed = sum(_FIXED_BYTES.get(kind, 8) for kind in kinds if kind is not ColumnType.STRING)
    texts = tuple(i for i, kind in enumerate(kinds) if kind is ColumnType.STRING)
    fits = fixed + len(texts) * limits.STRING_BYTES_MAX <= limits.ROW_BYTES_MAX
    return _Checks(schema.time_index, fixed, () if fits else texts)


def _charset(parameters: str) -> str | None:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"').lower()
    return None


def _newest_us(batch: pa.RecordBatch, index: int) -> int:
    """Return the largest time of a column of instants, the least there is where there are no rows."""
    times = batch.column(index).view(pa.int64()).to_numpy()
    if len(times) == 1:  # as sensors send them
        return int(times.item())
    return int(times.max(initial=limits.TIMESTAMP_US_MIN))


def _note_late(
    batch: pa.RecordBatch, schema: StreamSchema, index: int, latest_us: int, errors: RowErrors
) -> None:
    """Note the rows that are dated past the latest instant that may be."""
    times = batch.column(index).view(pa.int64())
    expected = f"at most {format_instant(latest_us)}"

    def error(i: int) -> RowError:
        got = format_instant(times[i].as_py())
        one = value_error(schema.columns[index], (i, TOO_FAR_IN_FUTURE, got))
        return dataclasses.replace(one, expected=expected)

    late = pc.indices_nonzero(pc.greater(times, latest_us)).to_pylist()
    errors.add_each(late, error, place=index)


def _note_too_large(batch: pa.RecordBatch, checks: _Checks, errors: RowErrors) -> None:
    """Note the rows whose texts take more than a row may have."""
    if not checks.text_indices:
        return
    texts = map(batch.column, checks.text_indices)
    sizes = functools.reduce(pc.add, (pc.binary_length(one).fill_null(0) for one in texts))
    fixed = checks.fixed_bytes
    room = limits.ROW_BYTES_MAX - fixed

    def error(i: int) -> RowError:
        got = f"{fixed + sizes[i].as_py()} bytes"
        return RowError(i, "", TOO_LONG, f"a row of at most {limits.ROW_BYTES_MAX} bytes", got)

    errors.add_each(pc.indices_nonzero(pc.greater(sizes, room)).to_pylist(), error, place=-1)


_READERS: Final[dict[str, Reader]] = {
    JSON: lambda body, schema: arrays_from_json(body, schema, lines=False),
    NDJSON: lambda body, schema: arrays_from_json(body, schema, lines=True),
    CSV: arrays_from_csv,
    ARROW: lambda body, schema: (arrays_from_arrow(body, schema), None),
    COLUMNS: lambda body, schema: (arrays_from_columns(body, schema), None),
}
