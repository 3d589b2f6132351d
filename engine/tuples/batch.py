"""Columns of values, and a batch of tuples made of them.

A `Column` is the one form values take between the wire, the SteMs and the evaluator. Invariants:
`values` and `valid` have the same length and are never written after construction; under a NULL
(`valid` false) `values` holds an arbitrary value of the dtype; floats are finite.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NewType

import numpy as np
from numpy.typing import NDArray

from psoup.engine.tuples.schema import ColumnType, StreamId, StreamSchema
from psoup.engine.tuples.value_type import value_type

TupleId = NewType("TupleId", int)
"""Global, given by the log: 1, 2, 3 … over all streams."""

Seq = NewType("Seq", int)
"""Position in the one total order of accepted operations: 1, 2, 3 …; 0 = before the first."""

DTYPES: dict[ColumnType, np.dtype[Any]] = {
    ColumnType.INT64: np.dtype(np.int64),
    ColumnType.FLOAT64: np.dtype(np.float64),
    ColumnType.BOOL: np.dtype(np.bool_),
    ColumnType.STRING: np.dtype(np.int32),
    ColumnType.TIMESTAMP: np.dtype(np.int64),
}
"""dtype of `Column.values` by type; strings are codes into a dictionary, timestamps microseconds."""


class AscendingTexts(tuple[str, ...]):
    """The texts of a dictionary that ascend, each of them once.

    Attributes:
        orders: their orders by what is computed of them, as far as these were asked for; they follow from the texts.
            Replaced, never changed, so that readers need no lock.
    """

    orders: Mapping[Any, Any] = MappingProxyType({})


@value_type
class Column:
    """n values of one type.

    Attributes:
        type: what the values mean.
        values: (n,) of `DTYPES[type]`; for strings codes into `dictionary`.
        valid: (n,) bool, False = NULL; None = no NULL.
        dictionary: for strings only: code -> text. May hold texts no row uses, but none twice: texts are equal where
            codes are, and segments give each place of it a code of their own.
    """

    type: ColumnType
    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    dictionary: Sequence[str] | None = None

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    def take(self, rows: NDArray[Any]) -> "Column":
        """Return the values at positions `rows` (indices or a bool mask), in that order."""
        valid = None if self.valid is None else self.valid[rows]
        return Column(self.type, self.values[rows], valid, self.dictionary)

    def part(self, some: slice) -> "Column":
        """Return the values of a slice, as a view."""
        valid = None if self.valid is None else self.valid[some]
        return Column(self.type, self.values[some], valid, self.dictionary)

    def to_list(self) -> list[int | float | bool | str | None]:
        """Return Python values, None for NULL. For small results and tests: O(n) objects."""
        if self.dictionary is not None:
            dictionary = self.dictionary
            plain: list[Any] = (
                [dictionary[code] for code in self.values.tolist()]
                if (self.valid is None)
                else [
                    dictionary[code] if ok else None
                    for code, ok in zip(self.values.tolist(), self.valid.tolist(), strict=True)
                ]
            )
            return plain
        plain = self.values.tolist()
        if self.valid is not None:
            plain = [v if ok else None for v, ok in zip(plain, self.valid.tolist(), strict=True)]
        return plain


def empty_column(kind: ColumnType) -> Column:
    """Return no values of a type."""
    dictionary = ("",) if kind is ColumnType.STRING else None
    return Column(kind, np.empty(0, dtype=DTYPES[kind]), None, dictionary)


def null_column(kind: ColumnType, count: int) -> Column:
    """Return `count` NULLs of a type."""
    dictionary = ("",) if kind is ColumnType.STRING else None
    there = np.zeros(count, dtype=np.bool_)
    return Column(kind, np.zeros(count, dtype=DTYPES[kind]), there, dictionary)


@value_type
class TupleBatch:
    """The tuples of one operation, in the order they were sent.

    Attributes:
        stream_id: the stream they belong to.
        schema: its declaration; `columns` are in its order.
        columns: one per column of the schema, n values each.
        first_tuple_id: row i has tuple id `first_tuple_id + i`.
        times_us: (n,) int64: declared time, or the arrival time for every row.
        seq: the operation that brought them.
        arrival_us: when the log took them.
    """

    stream_id: StreamId
    schema: StreamSchema
    columns: tuple[Column, ...]
    first_tuple_id: TupleId
    times_us: NDArray[np.int64]
    seq: Seq
    arrival_us: int

    def __len__(self) -> int:
        """Return the number of tuples."""
        return len(self.times_us)

    @property
    def span_us(self) -> tuple[int, int]:
        """Return the smallest and the largest time of the tuples, of which there is one at least."""
        if len(self.times_us) == 1:
            return (time_us := self.times_us.item(0)), time_us
        return int(self.times_us.min()), int(self.times_us.max())

    def column(self, name: str) -> Column:
        """Return the column of this name; KeyError if the schema has none."""
        for schema, column in zip(self.schema.columns, self.columns, strict=True):
            if schema.name == name:
                return column
        raise KeyError(name)

    def whole(self) -> "TupleBatch":
        """Return the batch itself: it is in columns."""
        return self


@value_type
class LoneTuple:
    """A batch of one tuple without booleans and NULLs: what sensors send.

    It is a whole operation, and making arrays of its values would take longer than all else that is done with it.

    Attributes:
        stream_id, schema, first_tuple_id, seq, arrival_us: as in `TupleBatch`.
        values: one per column of the schema.
        text_bytes: of its texts, in UTF-8.
        time_us: declared time, or the arrival time.
    """

    stream_id: StreamId
    schema: StreamSchema
    values: Sequence[int | float | str]
    text_bytes: int
    first_tuple_id: TupleId
    time_us: int
    seq: Seq
    arrival_us: int

    def __len__(self) -> int:
        """Return 1."""
        return 1

    @property
    def span_us(self) -> tuple[int, int]:
        """Return the time, twice."""
        return self.time_us, self.time_us

    def whole(self) -> TupleBatch:
        """Return the batch in columns."""
        columns = tuple(
            Column(ColumnType.STRING, np.zeros(1, dtype=np.int32), None, (value,))
            if isinstance(value, str)
            else Column(column.type, np.array([value], dtype=DTYPES[column.type]))
            for column, value in zip(self.schema.columns, self.values, strict=True)
        )
        times_us = np.array([self.time_us], dtype=np.int64)
        return TupleBatch(
            self.stream_id,
            self.schema,
            columns,
            self.first_tuple_id,
            times_us,
            self.seq,
            self.arrival_us,
        )


Batch = TupleBatch | LoneTuple
