"""Operations and batches for tests of the engine's parts, without a log and without a store."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from psoup.engine.log.operation import Content, Operation, Rows
from psoup.engine.tuples.arrow import arrow_schema, encode_batch
from psoup.engine.tuples.batch import Seq, TupleBatch, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamId,
    StreamSchema,
)

SCHEMA = StreamSchema(
    "s",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("a", ColumnType.INT64),
        ColumnSchema("t", ColumnType.STRING),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)
"""Dated tuples: a time, a number, a text."""

WIDE = replace(
    SCHEMA,
    columns=(*SCHEMA.columns, ColumnSchema("more", ColumnType.INT64)),
    retention=Retention(rows=7_000),
)
"""The same with a column more, and less kept."""

REQUIRED = ColumnSchema("x", ColumnType.BOOL, nullable=False)
"""A column that no stream with tuples gets."""

Row = tuple[int, int | None, str | None]
"""A row of SCHEMA."""


def schema_keeping(
    *, name: str = "s", clock: ClockKind = ClockKind.HIGH_WATER, **kept: int | None
) -> StreamSchema:
    """Return SCHEMA with another retention; bounds that are not given are none."""
    retention = Retention(**{"rows": None, "bytes": None, **kept})
    return StreamSchema(name, SCHEMA.columns, "ts", clock, retention)


def body_of(rows: Sequence[Row], schema: StreamSchema = SCHEMA) -> bytes:
    """Return rows of SCHEMA's columns as the body of a batch."""
    arrow = arrow_schema(schema)
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = [
        pa.array(list(values), pa.int64() if field.name == "ts" else field.type).cast(field.type)
        for values, field in zip(columns, arrow, strict=True)
    ]
    return encode_batch(pa.record_batch(arrays, schema=arrow))


def wide_rows(first: int, count: int) -> Rows:
    """Return rows of WIDE, dated from `first` on, as a batch of stream 1."""
    numbers = range(first, first + count)
    cells = [
        list(numbers),
        [i % 7 for i in numbers],
        ["x"] * count,
        [i % 9 or None for i in numbers],
    ]
    arrow = arrow_schema(WIDE)
    arrays = [
        pa.array(values, pa.int64() if field.name == "ts" else field.type).cast(field.type)
        for values, field in zip(cells, arrow, strict=True)
    ]
    return Rows(StreamId(1), "s", count, encode_batch(pa.record_batch(arrays, schema=arrow)))


def batch_of(rows: Sequence[Row], *, first_tuple_id: int = 1, seq: int = 1) -> TupleBatch:
    """Return rows as a batch of stream 1."""
    return (
        BatchReader(SCHEMA)
        .batch(
            body_of(rows),
            stream_id=StreamId(1),
            first_tuple_id=TupleId(first_tuple_id),
            seq=Seq(seq),
            arrival_us=seq,
        )
        .whole()
    )


class Operations:
    """Gives contents their place in a log: seq, arrival time, tuple ids."""

    def __init__(self, arrival_us: int = 0) -> None:
        """Begin before the first operation."""
        self.arrival_us = arrival_us
        self._seqs = itertools.count(1)
        self._tuple_id = 1

    def __call__(self, content: Content, *, after_us: int = 1) -> Operation:
        """Return the next operation, `after_us` later than the one before."""
        self.arrival_us += after_us
        made = Operation(Seq(next(self._seqs)), self.arrival_us, TupleId(self._tuple_id), content)
        if isinstance(content, Rows):
            self._tuple_id += content.rows
        return made

    def rows(
        self, rows: Sequence[Row], *, stream_id: int = 1, name: str = "s", after_us: int = 1
    ) -> Operation:
        """Return the next operation: a batch of SCHEMA's columns."""
        content = Rows(StreamId(stream_id), name, len(rows), body_of(rows))
        return self(content, after_us=after_us)
