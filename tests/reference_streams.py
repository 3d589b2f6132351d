"""The streams of the naive twin: every tuple ever sent, what retention has let go, and what counts in its bounds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from psoup.engine.tuples.schema import ClockKind, ColumnType, StreamSchema
from tests.reference_values import Row


class ReferenceTuple(NamedTuple):
    """One tuple: its place in the stream, its id, its time, its values."""

    row: int
    tuple_id: int
    time_us: int
    values: Row


@dataclass(slots=True)
class ReferenceStream:
    """A declared stream: everything ever sent to it, and the two floors of its retention."""

    schema: StreamSchema
    first_columns: frozenset[str]
    """Those it was declared with; the others were added."""
    tuples: list[ReferenceTuple] = field(default_factory=list)
    batches: list[list[ReferenceTuple]] = field(default_factory=list)
    """The same tuples, by the operation that brought them; none is empty."""
    batch_bytes: list[int] = field(default_factory=list)
    """What each batch counts in `retention.bytes`, of as many of the first batches as were asked for."""
    high_water_us: int | None = None
    floor_row: int = 0
    floor_us: int | None = None

    def retained(self) -> list[ReferenceTuple]:
        """Return the tuples that retention has not let go, in the order they were sent."""
        kept, floor_us = self.tuples[self.floor_row :], self.floor_us
        return kept if floor_us is None else [one for one in kept if one.time_us >= floor_us]

    def complete_from_us(self) -> int | None:
        """Return the time from which nothing has been forgotten; None = nothing ever was."""
        bounds = [one.time_us + 1 for one in self.tuples[: self.floor_row]]
        if self.floor_us is not None:
            bounds.append(self.floor_us)
        return max(bounds, default=None)


def decoded(schema: StreamSchema, body: bytes) -> list[Row]:
    """Return the tuples of a logged batch as dicts; timestamps in microseconds, None for columns it lacks."""
    table = pa.ipc.open_stream(body).read_all()
    cells = {}
    for column in schema.columns:
        if column.name not in table.column_names:
            cells[column.name] = [None] * table.num_rows
            continue
        array = table.column(column.name)
        if column.type is ColumnType.TIMESTAMP:
            array = array.cast(pa.int64())
        cells[column.name] = array.to_pylist()
    return [{name: listed[i] for name, listed in cells.items()} for i in range(table.num_rows)]


_VALUE_BYTES = {
    ColumnType.INT64: 8,
    ColumnType.FLOAT64: 8,
    ColumnType.TIMESTAMP: 8,
    ColumnType.BOOL: 1,
    ColumnType.STRING: 4,
}


def declared(schema: StreamSchema) -> ReferenceStream:
    """Return a stream without tuples."""
    return ReferenceStream(schema, frozenset(column.name for column in schema.columns))


def declare_otherwise(stream: ReferenceStream, schema: StreamSchema) -> None:
    """Let a stream keep more or less, and have more columns: None in the tuples there are."""
    nulls = dict.fromkeys(column.name for column in schema.columns)
    stream.batches = [
        [one._replace(values={**nulls, **one.values}) for one in batch] for batch in stream.batches
    ]
    stream.tuples = [one for batch in stream.batches for one in batch]
    stream.batch_bytes = []
    stream.schema = schema


def _value_bytes(stream: ReferenceStream, rows: Iterable[Row]) -> int:
    """Return what tuples count in `retention.bytes`: text also its UTF-8, a nullable value one more.

    A value of a column that was added counts where it is there.
    """
    total = 0
    for row in rows:
        for column in stream.schema.columns:
            value = row[column.name]
            if value is None and column.name not in stream.first_columns:
                continue
            total += _VALUE_BYTES[column.type] + column.nullable
            total += len(value.encode()) if isinstance(value, str) else 0
    return total


def _batch_bytes(stream: ReferenceStream) -> list[int]:
    """Return what each batch counts in `retention.bytes`."""
    for batch in stream.batches[len(stream.batch_bytes) :]:
        stream.batch_bytes.append(_value_bytes(stream, (one.values for one in batch)))
    return stream.batch_bytes


def forget(stream: ReferenceStream, arrival_us: int) -> None:
    """Raise the two floors to where the declaration puts them at this operation.

    Rows are forgotten one by one by their number and by their time, bytes batch by batch: the oldest
    batch goes while it has no retained row, or while those that have one are too large together; the
    newest is never too large.
    """
    kept = stream.schema.retention
    by_server = stream.schema.clock is ClockKind.SERVER
    now_us = arrival_us if by_server else stream.high_water_us
    if kept.time_us is not None and now_us is not None:
        floor_us = now_us - kept.time_us
        stream.floor_us = floor_us if stream.floor_us is None else max(stream.floor_us, floor_us)
    if kept.rows is not None:
        stream.floor_row = max(stream.floor_row, len(stream.tuples) - kept.rows)
    first = 0
    while first < len(stream.batches):
        oldest = stream.batches[first]
        if oldest[-1].row < stream.floor_row:
            first += 1
            continue
        full = (
            first < len(stream.batches) - 1
            and kept.bytes is not None
            and kept.bytes < sum(_batch_bytes(stream)[first:])
        )
        late = stream.floor_us is not None and all(o.time_us < stream.floor_us for o in oldest)
        if not (late or full):
            break
        stream.floor_row = oldest[-1].row + 1
