"""From a logged body to a batch of tuples, without opening an Arrow stream where the body is as psoup writes it.

Columns of numbers and instants are views of the body; what has NULLs, booleans and texts is made anew.
"""

import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psoup.engine.errors import IntegrityError
from psoup.engine.limits import BODY_PLANS_MAX
from psoup.engine.tuples import ipc
from psoup.engine.tuples.arrow import (
    ARROW_TYPES,
    arrow_schema,
    column_from_arrow,
    columns_from_arrow,
    decode_batch,
)
from psoup.engine.tuples.batch import (
    Batch,
    Column,
    LoneTuple,
    Seq,
    TupleBatch,
    TupleId,
    null_column,
)
from psoup.engine.tuples.schema import ColumnType, StreamId, StreamSchema

FEW_TEXTS: Final = 32
"""Up to so many rows texts are read one by one, which is faster than calling pyarrow for them."""

TEXTS_OUTSIDE: Final = "Texts of a logged batch lie outside its bytes."

BUFFERS: Final = {kind: 2 + (kind is ColumnType.STRING) for kind in ColumnType}
"""Buffers of a column in the format: which values are valid; for texts where each ends; the values."""


class _Part(NamedTuple):
    """A column whose values are not words of 8 bytes, or some of them NULL."""

    kind: ColumnType
    nulls: int
    buffers: tuple[ipc.Buffer, ...]


class _Lone(NamedTuple):
    """How to read a `LoneTuple`.

    Attributes:
        words: reads a number of each column out of the whole body; of a text where it begins and ends.
        texts: of each column of texts its place in the schema, and where its bytes lie.
    """

    words: struct.Struct
    texts: tuple[tuple[int, ipc.Buffer], ...]


class _Plan(NamedTuple):
    """How to read every body that begins alike.

    Attributes:
        rows: of the batch.
        head: schema and message, all before the values.
        past: length of the body.
        columns: type, whether the values are floats, words before the first value and up to the last one; of a
            column of booleans, texts or NULLs, its `_Part` instead.
        lone: how to read the body as a `LoneTuple`; None where the rows are no such.
    """

    rows: int
    head: bytes
    past: int
    columns: tuple[tuple[ColumnType, bool, int, int, _Part | None], ...]
    lone: _Lone | None


NO_PLAN: Final = _Plan(0, b"no stream begins like this", 0, (), None)


class BatchReader:
    """Reads the bodies of one stream. Every answer is that of `columns_from_arrow(decode_batch(...))`.

    A body that was checked before columns were added is read as it is, by the reader of that declaration, and gets
    NULL in them.
    """

    def __init__(self, schema: StreamSchema) -> None:
        """Prepare for the bodies of this declaration."""
        self.schema = schema
        self._time_index = schema.time_index
        self._has_floats = any(one.type is ColumnType.FLOAT64 for one in schema.columns)
        self._begin: bytes = arrow_schema(schema).serialize().to_pybytes()
        self._plans: dict[bytes, _Plan] = {}
        self._last = NO_PLAN
        self._earlier: list[BatchReader] = []
        """The readers of earlier declarations, made when a body is none of this one."""

    def batch(
        self,
        body: bytes,
        *,
        stream_id: StreamId,
        first_tuple_id: TupleId,
        seq: Seq,
        arrival_us: int,
    ) -> Batch:
        """Return the tuples of one logged batch; undated tuples get the arrival time.

        Raises:
            IntegrityError: the bytes are not one Arrow IPC stream of one batch of exactly this stream.

        Cost: one microsecond for a `LoneTuple`; else some, and O(values) for booleans, texts and columns with NULLs.
        """
        plan = self._plan(body)
        try:
            if plan is not None and plan.lone is not None:
                values, size = _lone_values(body, plan.lone)
                time_us = arrival_us if self._time_index is None else values[self._time_index]
                return LoneTuple(
                    stream_id, self.schema, values, size, first_tuple_id, time_us, seq, arrival_us
                )
            rows, columns = self._columns(body, plan)
        except UnicodeDecodeError as error:
            raise IntegrityError(
                f"A text in a batch of stream {self.schema.name} is not UTF-8."
            ) from error
        if self._time_index is None:
            times_us = np.full(rows, arrival_us, dtype=np.int64)
        else:
            times_us = columns[self._time_index].values
        return TupleBatch(
            stream_id, self.schema, columns, first_tuple_id, times_us, seq, arrival_us
        )

    def newest_us(self, body: bytes) -> int | None:
        """Return the latest time of a body's tuples; None where they have none, or it takes longer than to look."""
        plan = self._plan(body)
        if plan is None or self._time_index is None or not plan.rows:
            return None
        _, _, begin, past, part = plan.columns[self._time_index]
        if part is not None:
            return None
        words: NDArray[np.int64] = np.frombuffer(body, np.int64)
        return int(words[begin:past].max())

    def columns(self, body: bytes) -> tuple[int, tuple[Column, ...]]:
        """Return how many rows a body has, and their columns. Raises IntegrityError, UnicodeDecodeError."""
        return self._columns(body, self._plan(body))

    def _columns(self, body: bytes, plan: _Plan | None) -> tuple[int, tuple[Column, ...]]:
        if plan is None:
            earlier = self._earlier_reader(body)
            if earlier is not None:
                rows, columns = earlier.columns(body)
                later = self.schema.columns[len(columns) :]
                return rows, (*columns, *[null_column(c.type, rows) for c in later])
            batch = decode_batch(self.schema, body)
            return batch.num_rows, columns_from_arrow(self.schema, batch)
        rows = plan.rows
        words: NDArray[Any] = np.frombuffer(body, np.int64)
        held = words, words.view(np.float64) if self._has_floats else words
        return rows, tuple(
            [
                Column(kind, held[is_float][begin:past])
                if part is None
                else _read(body, part, rows)
                for kind, is_float, begin, past, part in plan.columns
            ]
        )

    def _plan(self, body: bytes) -> _Plan | None:
        """Return how to read the body; None where pyarrow has to."""
        plan = self._last
        if not body.startswith(plan.head):
            plan = self._last = self._known(body)
        return plan if len(body) == plan.past and body.endswith(ipc.END) else None

    def begins(self, body: bytes) -> bool:
        """Return whether a body has the columns of this declaration, written as psoup writes them."""
        return body.startswith(self._begin)

    def _earlier_reader(self, body: bytes) -> "BatchReader | None":
        """Return the reader of the earlier declaration that a body begins with; None if it does not."""
        schema = self.schema
        if schema.added and not self._earlier:
            counts = range(len(schema.columns) - schema.added, len(schema.columns))
            self._earlier = [BatchReader(schema.of_first(count)) for count in counts]
        return next((one for one in self._earlier if one.begins(body)), None)

    def _known(self, body: bytes) -> _Plan:
        begin = len(self._begin)
        metadata = ipc.metadata_of(body, begin) if self.begins(body) else b""
        plan = self._plans.get(metadata)
        if plan is None:
            layout = ipc.layout(metadata, begin)
            plan = NO_PLAN if layout is None else self._planned(layout, body)
            if plan is not NO_PLAN:
                if len(self._plans) >= BODY_PLANS_MAX:
                    self._plans.clear()
                self._plans[metadata] = plan
        return plan

    def _planned(self, layout: ipc.Layout, body: bytes) -> _Plan:
        kinds = [column.type for column in self.schema.columns]
        if layout.past % ipc.WORD_BYTES or len(layout.null_counts) != len(kinds):
            return NO_PLAN
        if sum(BUFFERS[kind] for kind in kinds) != len(layout.buffers):
            return NO_PLAN
        found: list[tuple[ColumnType, bool, int, int, _Part | None]] = []
        place = 0
        for kind, nulls in zip(kinds, layout.null_counts, strict=True):
            buffers = layout.buffers[place : place + BUFFERS[kind]]
            place += BUFFERS[kind]
            if not _has_room(kind, layout.rows, nulls, buffers):
                return NO_PLAN
            begin = buffers[-1].begin // ipc.WORD_BYTES
            is_words = not nulls and kind not in {ColumnType.STRING, ColumnType.BOOL}
            part = None if is_words else _Part(kind, nulls, buffers)
            is_float = kind is ColumnType.FLOAT64
            found.append((kind, is_float, begin, begin + layout.rows, part))
        lone = None
        if layout.rows == 1 and not self.schema.added:
            lone = _lone(found)
        return _Plan(layout.rows, body[: layout.begin], layout.past, tuple(found), lone)


def _lone(columns: Sequence[tuple[ColumnType, bool, int, int, _Part | None]]) -> _Lone | None:
    """Return how to read the columns of a plan as a `LoneTuple`; None where they are no such, or in another order."""
    read, past = ["<"], 0
    texts: list[tuple[int, ipc.Buffer]] = []
    for place, (_, is_float, first, _, part) in enumerate(columns):
        begin, form = ipc.WORD_BYTES * first, "d" if is_float else "q"
        if part is not None:
            if part.nulls or part.kind is not ColumnType.STRING:
                return None
            _, ends, held = part.buffers
            begin, form = ends.begin, "ii"
            texts.append((place, held))
        if begin < past:
            return None
        read.append(f"{begin - past}x{form}")
        past = begin + ipc.WORD_BYTES
    return _Lone(struct.Struct("".join(read)), tuple(texts))


def _lone_values(body: bytes, lone: _Lone) -> tuple[Sequence[Any], int]:
    """Return the values of a `LoneTuple`, and the bytes of its texts. Raises IntegrityError as `_texts` does."""
    words = lone.words.unpack_from(body)
    if not lone.texts:
        return words, 0
    values, size = list(words), 0
    for place, held in lone.texts:
        first, past = values[place : place + 2]
        if not 0 <= first <= past <= held.length:
            raise IntegrityError(TEXTS_OUTSIDE)
        values[place : place + 2] = [body[held.begin + first : held.begin + past].decode()]
        size += past - first
    return values, size


def _has_room(kind: ColumnType, rows: int, nulls: int, buffers: tuple[ipc.Buffer, ...]) -> bool:
    """Return whether the buffers are long enough for so many rows."""
    bits = -(-rows // 8)
    if nulls and buffers[0].length < bits:
        return False
    if kind is ColumnType.STRING:
        return buffers[1].length >= 4 * (rows + 1)
    return buffers[1].length >= (bits if kind is ColumnType.BOOL else ipc.WORD_BYTES * rows)


def _bits(body: bytes, buffer: ipc.Buffer, rows: int) -> NDArray[np.bool_]:
    held = np.frombuffer(body, np.uint8, -(-rows // 8), buffer.begin)
    return np.unpackbits(held, count=rows, bitorder="little").view(np.bool_)


def _read(body: bytes, part: _Part, rows: int) -> Column:
    return (_texts if part.kind is ColumnType.STRING else _values)(body, part, rows)


def _values(body: bytes, part: _Part, rows: int) -> Column:
    """Return a column of booleans, or one of words with NULLs, under which there are zeros."""
    kind, nulls, (valid, held) = part
    if kind is ColumnType.BOOL:
        values: NDArray[Any] = _bits(body, held, rows)
    else:
        dtype = np.float64 if kind is ColumnType.FLOAT64 else np.int64
        values = np.frombuffer(body, dtype, rows, held.begin)
    if not nulls:
        return Column(kind, values)
    there = _bits(body, valid, rows)
    return Column(kind, np.where(there, values, values.dtype.type(0)), there)


def _texts(body: bytes, part: _Part, rows: int) -> Column:
    """Return a column of texts as codes into those that occur, in order of appearance.

    Raises:
        IntegrityError: texts lie outside their buffer, where neither Arrow nor this may look.
    """
    kind, nulls, buffers = part
    valid, ends, held = buffers
    bounds = np.frombuffer(body, np.int32, rows + 1, ends.begin)
    few = bounds.tolist() if rows <= FEW_TEXTS else []
    ascending = few == sorted(few) if few else bool((bounds[:-1] <= bounds[1:]).all())
    if not ascending or bounds.item(0) < 0 or bounds.item(rows) > held.length:
        raise IntegrityError(TEXTS_OUTSIDE)
    if not few:
        lent = [
            pa.py_buffer(memoryview(body)[one.begin : one.begin + one.length]) for one in buffers
        ]
        lent[0] = lent[0] if nulls else None
        return column_from_arrow(
            kind, pa.Array.from_buffers(ARROW_TYPES[kind], rows, lent, null_count=nulls)
        )
    there = _bits(body, valid, rows) if nulls else None
    known: dict[bytes, int] = {}
    codes = np.zeros(rows, dtype=np.int32)
    text = body[held.begin : held.begin + held.length]
    for row in range(rows):
        if there is None or there[row]:
            codes[row] = known.setdefault(text[few[row] : few[row + 1]], len(known))
    return Column(kind, codes, there, tuple(map(bytes.decode, known)) or ("",))
