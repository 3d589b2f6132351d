"""Rows as CSV with a header, after RFC 4180. An empty unquoted cell is NULL, `""` is the empty text.

Arrow splits the cells; it takes more than the RFC does (text after a closing quote, a quote that never
closes, lines that a carriage return ends), so quoting is checked before. Cells are read as text and typed
column by column.
"""

import functools
import io
import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from psoup.app.errors import BadBodyError
from psoup.app.wire.control import decode_text
from psoup.app.wire.reasons import first_repeated
from psoup.app.wire.rows.csv_records import count_cells, lines_of_rows, record_ends
from psoup.app.wire.rows.errors import (
    MISSING,
    TYPE_MISMATCH,
    UNKNOWN_COLUMN,
    LinesOf,
    RowErrors,
    WrongValue,
    reject_columns,
    value_error,
)
from psoup.app.wire.rows.values import judge, texts_fit, timestamps_from_texts
from psoup.engine import limits
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.instants import instants_of
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema
from psoup.engine.tuples.time_unit import TimeUnit

INT = r"^-?[0-9]+$"
FLOAT = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_SLICE_ROWS = 128
"""Of a column that is wrong somewhere, slices that are right are passed over: one wrong value costs so many."""


@functools.cache
def _bool_texts() -> pa.Array:
    """Return the two texts of a BOOL. Not made before they are needed: the first array of a process loads pandas."""
    return pa.array(["false", "true"])


def arrays_from_csv(body: bytes, schema: StreamSchema) -> tuple[list[pa.Array], LinesOf]:
    """Return one Arrow array per column, and where each row stands in the body.

    Columns are found by their name in the header, in any order; one that is absent is all NULL.

    Raises:
        BadBodyError: not CSV: not UTF-8, wrong quoting, a row with another number of cells.
        BodyTooLargeError: more than BATCH_ROWS_MAX rows.
        RowsRejectedError: columns that do not exist or are missing, values that do not fit.
    """
    decode_text(body)
    ends = record_ends(body)
    table = _read(body, header=body[: ends[0]])

    def lines_of(indices: Sequence[int]) -> Sequence[int]:
        return lines_of_rows(body, ends, indices, keep_empty=table.num_columns == 1)

    _check_header(table.column_names, schema, lines_of)
    arrays, errors = [], RowErrors()
    for place, column in enumerate(schema.columns):
        if column.name not in table.column_names:
            arrays.append(pa.nulls(table.num_rows, ARROW_TYPES[column.type]))
            continue
        cells = table.column(column.name).combine_chunks()
        array = _fast_cells(column, cells)
        if array is None:
            errors.add_each(
                _wrong_cells(column, cells), functools.partial(value_error, column), place=place
            )
        arrays.append(array)
    errors.raise_if_any(lines_of)
    if any(array is None for array in arrays):
        raise BadBodyError("The cells could not be read.", reason="cells")
    return arrays, lines_of


def _read(body: bytes, *, header: bytes) -> pa.Table:
    """Return all cells as text; `header` is the first record without its line feed."""
    cells = count_cells(header)
    if cells > limits.JSON_MEMBERS_MAX:
        raise BadBodyError(
            "The header has too many columns.", reason="members", limit=limits.JSON_MEMBERS_MAX
        )
    if not header.strip(b"\r"):
        raise BadBodyError("The body has no header.", reason="header", offset=0)
    names = arrow_csv.read_csv(io.BytesIO(header + b"\n"), read_options=_whole(header)).column_names
    wrong: list[arrow_csv.InvalidRow] = []

    def collect(row: arrow_csv.InvalidRow) -> str:
        wrong.append(row)
        return "error"

    try:
        return arrow_csv.read_csv(
            io.BytesIO(body if body.endswith(b"\n") else body + b"\n"),
            read_options=_whole(body),
            parse_options=arrow_csv.ParseOptions(
                newlines_in_values=True,
                # With one column an empty line is a row that holds NULL.
                ignore_empty_lines=cells > 1,
                invalid_row_handler=collect,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )
    except pa.ArrowInvalid as error:
        if not wrong:
            raise BadBodyError("The body is not CSV.", reason="CSV") from error
        raise BadBodyError(
            "A row has another number of cells than the header.",
            reason=f"record {wrong[0].number} has {wrong[0].actual_columns} cells,"
            f" the header {wrong[0].expected_columns}",
        ) from error


def _whole(text: bytes) -> arrow_csv.ReadOptions:
    return arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 2)


def _check_header(names: list[str], schema: StreamSchema, lines_of: LinesOf) -> None:
    if len(set(names)) < len(names):
        twice = first_repeated(names)
        raise BadBodyError("The header names a column twice.", reason="header", column=twice)
    known = [column.name for column in schema.columns]
    unknown = [name for name in names if name not in known]
    reject_columns(unknown, UNKNOWN_COLUMN, known).raise_if_any(lines_of)
    missing = [c.name for c in schema.columns if not c.nullable and c.name not in names]
    reject_columns(missing, MISSING, known).raise_if_any(lines_of)


def _fast_cells(column: ColumnSchema, cells: pa.Array) -> pa.Array | None:
    if cells.null_count and not column.nullable:
        return None
    try:
        if column.unit is not None:
            return _timestamps(cells, column.unit)
        return _READERS[column.type](cells)
    except pa.ArrowInvalid:
        return None


def _ints(cells: pa.Array) -> pa.Array | None:
    return cells.cast(pa.int64()) if _all_match(cells, INT) else None


def _floats(cells: pa.Array) -> pa.Array | None:
    if not _all_match(cells, FLOAT):
        return None
    whole = pc.if_else(pc.match_substring_regex(cells, INT), cells, None)
    ends = pc.min_max(whole.cast(pa.int64())).as_py()
    exact = limits.FLOAT64_EXACT_INT_MAX
    if ends["min"] is not None and not -exact <= ends["min"] <= ends["max"] <= exact:
        return None
    values = pc.utf8_ltrim(cells, "+").cast(pa.float64())
    return values if pc.all(pc.is_finite(values), min_count=0).as_py() else None


def _bools(cells: pa.Array) -> pa.Array | None:
    codes = pc.index_in(cells, _bool_texts())
    if codes.null_count > cells.null_count:
        return None
    return pc.equal(codes, 1)


def _strings(cells: pa.Array) -> pa.Array | None:
    return cells if texts_fit(cells) else None


def _timestamps(cells: pa.Array, unit: TimeUnit = TimeUnit.US) -> pa.Array | None:
    whole = pc.if_else(pc.match_substring_regex(cells, INT), cells, None)
    us = instants_of(whole.cast(pa.int64()), unit)
    if us is None:
        return None
    texts = timestamps_from_texts(pc.if_else(pc.is_valid(us), None, cells))
    if texts is None:
        return None
    return pc.coalesce(us, texts).cast(ARROW_TYPES[ColumnType.TIMESTAMP])


_READERS = {
    ColumnType.INT64: _ints,
    ColumnType.FLOAT64: _floats,
    ColumnType.BOOL: _bools,
    ColumnType.STRING: _strings,
    ColumnType.TIMESTAMP: _timestamps,
}


def _all_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())


def _wrong_cells(column: ColumnSchema, cells: pa.Array) -> Iterator[WrongValue]:
    """Yield (row, code, text) of each cell that does not fit."""
    for first in range(0, len(cells), _SLICE_ROWS):
        some = cells.slice(first, _SLICE_ROWS)
        if _fast_cells(column, some) is not None:
            continue
        for i, cell in enumerate(some.to_pylist(), first):
            value = None if cell is None else _typed(column.type, cell)
            code = TYPE_MISMATCH if value is _UNREADABLE else judge(column, value)
            if code is not None:
                yield i, code, cell


_UNREADABLE = object()


def _typed(kind: ColumnType, cell: str) -> object:
    """Return what a cell says as the value JSON would have had, or _UNREADABLE."""
    if kind is ColumnType.BOOL:
        return {"true": True, "false": False}.get(cell, _UNREADABLE)
    if kind is ColumnType.STRING:
        return cell
    if re.fullmatch(INT, cell) and len(cell) <= limits.STRING_BYTES_MAX // 4:
        return int(cell)
    if kind is ColumnType.FLOAT64:
        return float(cell) if re.fullmatch(FLOAT, cell) else _UNREADABLE
    return cell if kind is ColumnType.TIMESTAMP else _UNREADABLE
