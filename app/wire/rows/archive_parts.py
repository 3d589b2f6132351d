"""Parts of histories: rows as an Arrow stream, checked in full when they come, and cut into pages when they are read.

The columns are exact: `_time`, the time of the row's earliest tuple; `_id`, its tuple ids in FROM order with `-`
between them, or 24 hexadecimal digits of a group; `_x`, when it leaves the window; then the query's outputs, with the
types that they have in answers. Where the query groups, orders or limits rows, `_row` stands in place of `_time`: how
many rows of the answer stand before the row.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psoup.app.errors import BodyTooLargeError
from psoup.app.wire.bounds import check_decoded_size
from psoup.app.wire.rows.arrow_messages import UNREADABLE, plain_rows, unreadable
from psoup.app.wire.rows.values import timestamps_in_range
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError
from psoup.engine.invocation.position.answer import NO_PART
from psoup.engine.invocation.row_digest import DIGEST_BYTES
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.reading import Reading
from psoup.engine.store.archive_answers import HistoryPart, Place
from psoup.engine.tuples.arrow import ARROW_TYPES, column_from_arrow, encode_batch
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_NAMED: Final = (("_id", ColumnType.STRING), ("_x", ColumnType.TIMESTAMP))
_DATED: Final = (("_time", ColumnType.TIMESTAMP), *_NAMED)
_NUMBERED: Final = (("_row", ColumnType.INT64), *_NAMED)
"""Columns in front of the query's outputs."""
_DIGEST: Final = f"^[0-9a-f]{{{2 * DIGEST_BYTES}}}$"
_ONE_ID: Final = "[1-9][0-9]{0,17}"
_NEVER_US: Final = limits.TIMESTAMP_US_MAX + 1
"""Past every instant that can be written: the row does not leave."""


class Slice(NamedTuple):
    """Rows `[first, past)` of the part that has this body."""

    body: bytes
    first: int
    past: int


class PageRows(NamedTuple):
    """The rows of a page, n of them, of a query over s sources.

    Attributes:
        columns: name and values of each output.
        tuple_ids: (n,), or (s, n) for several sources; zeros for groups.
        row_ids: (n,) digests of groups; None = rows are known by their tuple ids.
        leaves_us: (n,) when they leave the window, later than can be written = never; None = none of them ever does.
    """

    columns: tuple[tuple[str, Column], ...]
    tuple_ids: NDArray[np.int64]
    row_ids: NDArray[np.bytes_] | None
    leaves_us: NDArray[np.int64] | None


def read_part(number: int, body: bytes, reading: Reading) -> HistoryPart:
    """Return a part, as it is kept. CPU work: runs in a pool.

    Args:
        number: of the part.
        body: an Arrow IPC stream of any number of batches, without its content encoding.
        reading: clause and shape of the query.

    Raises:
        BadBodyError: not one whole Arrow IPC stream, or compressed buffers.
        BodyTooLargeError: what it decodes to, or what is kept of it, is over HISTORY_PART_BYTES_MAX.
        InvalidFieldError: other columns than the query's, values that no answer has, or rows not in order.

    Cost: O(values).
    """
    try:
        plain_rows(body)
        batch = _whole_batch(body, reading)
    except UNREADABLE as error:
        raise unreadable(error) from error
    _check_values(batch, reading)
    places = _places_of(batch, reading)
    kept = encode_batch(batch)
    if len(kept) > limits.HISTORY_PART_BYTES_MAX:
        raise BodyTooLargeError(
            "The part is over its limit: split it.",
            limit="part of a history",
            max_bytes=limits.HISTORY_PART_BYTES_MAX,
        )
    rows = batch.num_rows
    first, last = (_place(places, 0), _place(places, rows - 1)) if rows else ((), ())
    return HistoryPart(number, rows, first, last, kept)


def page_rows(slices: Iterable[Slice], reading: Reading) -> PageRows:
    """Return rows of an answer, slices of its parts in order; at least one slice.

    Cost: O(rows), whatever the parts have.
    """
    batches = []
    for body, first, past in slices:
        with pa.ipc.open_stream(body) as reader:
            batches.append(reader.read_next_batch().slice(first, past - first))
    table = pa.Table.from_batches(batches).combine_chunks()
    arrays = [
        column.chunk(0) if column.num_chunks else pa.array([], column.type)
        for column in table.columns
    ]
    leaves: NDArray[np.int64] | None = None
    if arrays[2].null_count < len(arrays[2]):
        leaves = arrays[2].view(pa.int64()).fill_null(_NEVER_US).to_numpy(zero_copy_only=False)
    columns = tuple(
        (output.name, column_from_arrow(output.type, array))
        for output, array in zip(reading.shape.outputs, arrays[len(_DATED) :], strict=True)
    )
    if reading.shape.keys is not None:
        digests = np.array(arrays[1].to_pylist(), dtype=f"S{2 * DIGEST_BYTES}")
        return PageRows(columns, np.zeros(len(digests), dtype=np.int64), digests, leaves)
    return PageRows(columns, _numbers(arrays[1], len(reading.clause.sources)), None, leaves)


def _whole_batch(body: bytes, reading: Reading) -> pa.RecordBatch:
    """Return the rows of a stream as one batch.

    Raises:
        InvalidFieldError: it has other columns.
        BodyTooLargeError: it would be larger than a part may be: columns can share their bytes in a stream.
    """
    with pa.ipc.open_stream(body) as reader:
        _check_columns(reader.schema, reading)
        batches = list(reader)
    for one in batches:
        one.validate()
    size = sum(one.nbytes for one in batches)
    check_decoded_size(size, bytes_max=limits.HISTORY_PART_BYTES_MAX)
    schema = pa.schema([pa.field(name, ARROW_TYPES[kind]) for name, kind in _columns(reading)])
    plain = [pa.RecordBatch.from_arrays(one.columns, schema=schema) for one in batches]
    table = pa.Table.from_batches(plain, schema)
    table.validate(full=True)
    found = table.combine_chunks().to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema)


def _columns(reading: Reading) -> list[tuple[str, ColumnType]]:
    added = _DATED if reading.selects_only else _NUMBERED
    return [*added, *((output.name, output.type) for output in reading.shape.outputs)]


def _check_columns(given: pa.Schema, reading: Reading) -> None:
    wanted = [(name, ARROW_TYPES[kind]) for name, kind in _columns(reading)]
    found = [(field.name, field.type) for field in given]
    if found == wanted:
        return
    wrong = [
        (f"/columns/{place}", f"expected {name} {kind}, got {_shown(found[place : place + 1])}")
        for place, (name, kind) in enumerate(wanted)
        if found[place : place + 1] != [(name, kind)]
    ]
    if len(found) > len(wanted):
        reason = f"expected no more columns, got {_shown(found[len(wanted) :])}"
        wrong.append((f"/columns/{len(wanted)}", reason))
    first = wanted[0][0]
    raise InvalidFieldError(
        f"The columns are not those of the query: {first}, _id, _x, then its outputs.", errors=wrong
    )


def _shown(fields: Sequence[tuple[str, Any]]) -> str:
    text = ", ".join(f"{name} {kind}" for name, kind in fields)
    return text[: limits.QUERY_NAME_LENGTH_MAX] or "none"


def _check_values(batch: pa.RecordBatch, reading: Reading) -> None:
    """Refuse values that no answer has: NULL as time or id, floats without a number, instants out of range, long texts.

    A text is of a tuple, or a literal of the query.
    """
    wrong: list[tuple[str, str]] = []
    written = [len(sql_expression(one.expression).encode()) for one in reading.shape.outputs]
    text_bytes_max = max(limits.STRING_BYTES_MAX, *written)
    for place, (field, array) in enumerate(zip(batch.schema, batch.columns, strict=True)):
        pointer = f"/columns/{place}"
        if place < 2 and array.null_count:
            wrong.append((pointer, "expected no NULL"))
        elif pa.types.is_floating(field.type):
            if not pc.all(pc.is_finite(array), min_count=0).as_py():
                wrong.append((pointer, "expected finite numbers, or NULL"))
        elif pa.types.is_timestamp(field.type) and not timestamps_in_range(array.view(pa.int64())):
            wrong.append((pointer, "expected instants of the years 1 to 9999, or NULL"))
        elif pa.types.is_string(field.type) and _longest(array) > text_bytes_max:
            wrong.append((pointer, f"expected texts of {text_bytes_max} bytes at most, or NULL"))
    if wrong:
        raise InvalidFieldError("Values of the part are none that an answer has.", errors=wrong)


def _longest(texts: pa.StringArray) -> int:
    """Return the bytes of the longest text; 0 = there is none."""
    return pc.max(pc.binary_length(texts)).as_py() or 0


def _places_of(batch: pa.RecordBatch, reading: Reading) -> list[NDArray[np.int64]]:
    """Return where the rows of a part stand. Raises InvalidFieldError where they are not in order, or an id is none."""
    firsts, texts = batch.column(0), batch.column(1)
    ids: Sequence[NDArray[np.int64]] = ()
    if reading.shape.keys is None:
        ids = list(np.atleast_2d(_ids_of(texts, reading)))
    else:
        _check_ids(texts, _DIGEST, f"{2 * DIGEST_BYTES} hexadecimal digits")
    if reading.selects_only:
        places = [firsts.view(pa.int64()).to_numpy(), *ids]
        _check_order(places)
        return places
    numbers: NDArray[np.int64] = firsts.to_numpy()
    if len(numbers) and (numbers != np.arange(len(numbers)) + max(0, numbers.item(0))).any():
        reason = "expected numbers that follow each other, from how many rows stand before the part"
        raise InvalidFieldError(
            "The rows of the part are not in order.", errors=[("/columns/0", reason)]
        )
    return [numbers]


def _ids_of(texts: pa.StringArray, reading: Reading) -> NDArray[np.int64]:
    """Return ids as `_numbers` does. Raises InvalidFieldError where a text is not as many ids as the query has sources.

    The last one may lack after a LEFT JOIN.
    """
    sources = len(reading.clause.sources)
    last = "" if reading.shape.left_join is None else "?"
    others = f"(-{_ONE_ID}){{{sources - 2}}}-({_ONE_ID}){last}" if sources > 1 else ""
    pattern = f"^{_ONE_ID}{others}$"
    form = "a tuple id" if sources == 1 else f"{sources} tuple ids with - between them"
    _check_ids(texts, pattern, form)
    return _numbers(texts, sources)


def _check_ids(texts: pa.StringArray, pattern: str, form: str) -> None:
    """Raise InvalidFieldError where a text does not match a pattern; `form` says which."""
    fits = pc.match_substring_regex(texts, pattern)
    if not pc.all(fits, min_count=0).as_py():
        row = pc.index(fits, value=False).as_py()
        wrong = [("/columns/1", f"row {row}: expected {form}")]
        raise InvalidFieldError("The part has an id that is none.", errors=wrong)


def _numbers(texts: pa.StringArray, sources: int) -> NDArray[np.int64]:
    """Return the tuple ids that the texts hold: (n,), or (sources, n) where a row has several; NO_PART for none."""
    if sources == 1:
        plain: NDArray[np.int64] = texts.cast(pa.int64()).to_numpy()
        return plain
    split = pc.split_pattern(texts, "-").flatten()
    parts = pc.if_else(pc.equal(split, ""), str(NO_PART), split).cast(pa.int64()).to_numpy()
    return np.ascontiguousarray(parts.reshape(-1, sources).T)


def _check_order(places: Sequence[NDArray[np.int64]]) -> None:
    """Refuse rows that are not in order of time, then ids as numbers, each once."""
    tied = np.ones(max(0, len(places[0]) - 1), dtype=np.bool_)
    wrong = np.zeros(len(tied), dtype=np.bool_)
    for values in places:
        wrong |= tied & (values[1:] < values[:-1])
        tied &= values[1:] == values[:-1]
    wrong |= tied
    if wrong.any():
        row = int(wrong.argmax()) + 1
        reason = f"row {row}: expected to come behind the row before it, by _time, then by ids as numbers"
        raise InvalidFieldError(
            "The rows of the part are not in order.", errors=[("/rows", reason)]
        )


def _place(places: Sequence[NDArray[np.int64]], row: int) -> Place:
    return tuple(int(values[row]) for values in places)
